"""Answers about usage, averages, and the contents of load reports. [USAGE, DATA, REPORT]"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pulsar_conformance.reference import reports, usage
from pulsar_conformance.reference.averages import (
    FRAMES,
    MEAN,
    Average,
    average,
    carried,
    together,
)
from pulsar_conformance.reference.cluster import (
    RATE_FIELDS,
    RESOURCES,
    Broker,
    Rates,
    average_of,
    percent_of,
    unmeasured_rates,
)
from pulsar_conformance.reference.context import Answer, Case, Context, Refused
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.numbers import (
    ZERO,
    Fraction,
    Rate,
    exact,
    jsonable,
    messages,
    plain,
    quantity,
    throughput,
)

PLACES = 4
"""Decimal places of printed percentages, enough to show each difference that a check detects."""


def maximum(context: Context, case: Case) -> Derivation:
    """Answer `usage.max`. [USAGE-01 … 04]"""
    broker = Broker.read("broker", case["broker"])
    settings = context.settings(case)
    weight = usage.weights(settings) if case["weighted"] else usage.UNWEIGHTED
    used = usage.weighted_maximum(broker, weight)

    def explain() -> Iterator[Step]:
        for name, percent in broker.percent.items():
            weighted_percents_of = (
                f" x {plain(weight[name])} = {plain(percent * weight[name], PLACES)} %"
            )
            if not settings.counts(usage.WEIGHT_SETTINGS[name]):
                weighted_percents_of = ", does not count"
            yield Step(
                name,
                f"{plain(percent, PLACES)} %{weighted_percents_of if case['weighted'] else ''}",
            )
        maximum = f"{plain(used.percent, PLACES)} % of {used.resource or 'everything'}"
        yield Step("maximum", maximum)

    answer = {"percent": jsonable(used.percent), "resource": used.resource}
    return Derivation(answer, explain)


def nic(context: Context, case: Case) -> Derivation:
    """Answer `usage.nic`. [USAGE-05 … 07]"""
    reported = reported_speed(case)
    speed = usage.nic_speed(context.settings(case), reported)
    if speed is None:
        raise Refused("the NIC's speed is neither reported nor set")
    if speed < 0:
        raise Refused("a NIC speed below 0 is set")
    return speed_answer(reported, speed)


def reported_speed(case: Case) -> Fraction | None:
    """Return the reported speed of a network card in Gbit/s; None if none is reported."""
    reported = case["nics"][0]["reportedGbps"]
    return None if reported is None else exact(reported)


def speed_answer(reported: Fraction | None, speed: Fraction) -> Derivation:
    """Return the answer to `usage.nic`: the effective speed of a network card in Gbit/s."""

    def explain() -> Iterator[Step]:
        yield Step("reported", "nothing" if reported is None else f"{plain(reported)} Gbit/s")
        yield Step("speed", f"{plain(speed)} Gbit/s")

    return Derivation({"gbps": jsonable(speed)}, explain)


RATE_PLACES = 6
"""Decimal places of printed rates, enough to show each difference that a check detects."""

MAX_SUMMANDS = 6
"""Maximum number of values for which a sum is printed in full; of more values, only the first two
and the last are printed.
"""


def bundle(context: Context, case: Case) -> Derivation:
    """Answer `average.bundle`. [DATA-01 … 07]"""
    samples = [Rates.read(sample) for sample in case["samples"]]
    unmeasured = unmeasured_rates(context.readings["kilobyte"])
    chosen = context.readings["window"]
    frames = {
        frame: average(samples, int(case[window]), MEAN[chosen], unmeasured)
        for frame, window in FRAMES.items()
    }

    def explain() -> Iterator[Step]:
        for frame, known in frames.items():
            taken = quantity(len(samples), "sample")
            yield Step(frame, f"{taken} in a window of {known.window}")
            for step in _rates_steps(samples, known, chosen):
                yield step.within()

    answer = {
        frame: {**known.rates.write(), "numSamples": known.samples, "maxSamples": known.window}
        for frame, known in frames.items()
    }
    return Derivation(answer, explain)


def _rates_steps(samples: Sequence[Rates], known: Average, chosen: str) -> Iterator[Step]:
    if not samples:
        assumed = f"{messages(known.rates.messages_in)} and {throughput(known.rates.bytes_in)}"
        yield Step("rates", f"never measured: {assumed} each way are assumed")
        return
    if not any(known.rates.each()):
        yield Step("rates", "0 in every sample of the window")
    columns = zip(*(sample.each() for sample in samples), strict=True)
    for name, values, rate in zip(RATE_FIELDS, columns, known.rates.each(), strict=True):
        if rate:
            full = len(values) > known.window
            worked = (_FULL[chosen] if full else _mean_text)(values, known.window)
            yield Step(name, f"{worked} = {plain(rate, RATE_PLACES)}")


def _mean_text(values: Sequence[Rate], window: int) -> str:
    """Format the mean of the newest values in the window."""
    newest = [plain(value) for value in values[-window:]]
    if len(newest) > MAX_SUMMANDS:
        newest = [*newest[:2], "...", newest[-1]]
    return f"({' + '.join(newest)}) / {min(len(values), window)}"


def _fading_step_text(values: Sequence[Rate], window: int) -> str:
    """Format the step that adds the newest value to the fading average."""
    before = plain(MEAN["fading"](values[:-1], window), RATE_PLACES)
    return f"(({window} - 1) x {before} + {plain(values[-1])}) / {window}"


_FULL: Mapping[str, Callable[[Sequence[Rate], int], str]] = {
    "sliding": _mean_text,
    "fading": _fading_step_text,
}


def broker(context: Context, case: Case) -> Derivation:
    """Answer `average.broker`. [DATA-08 … 10]"""
    bundles, kilobyte = case["bundles"], context.readings["kilobyte"]
    sums = {
        frame: together(carried(bundles.get(name), frame, kilobyte) for name in case["owned"])
        for frame in FRAMES
    }

    def explain() -> Iterator[Step]:
        for frame, rates in sums.items():
            owned = quantity(len(case["owned"]), "bundle")
            yield Step(frame, f"the sum over {owned}: {_rates_text(rates)}")
            for name in case["owned"]:
                measured = average_of(bundles.get(name), frame)
                how = "" if measured else ", never measured"
                load = carried(bundles.get(name), frame, kilobyte)
                yield Step(name, f"{_rates_text(load)}{how}").within()

    return Derivation({frame: rates.write() for frame, rates in sums.items()}, explain)


def _rates_text(rates: Rates) -> str:
    """Format the message rates and throughput, in + out; a direction without load is left out."""
    messages_in, messages_out, bytes_in, bytes_out = rates.each()
    return (
        f"{_in_and_out(messages, messages_in, messages_out)}, "
        f"{_in_and_out(throughput, bytes_in, bytes_out)}"
    )


def _in_and_out(form: Callable[[Rate, int], str], into: Rate, out: Rate) -> str:
    """Format the values of both directions, with their unit once if it is the same."""
    texts = [form(one, RATE_PLACES) for one in (into, out) if one] or [form(ZERO, 0)]
    units = [text.partition(" ")[2] for text in texts]
    if units[0] == units[-1]:
        return f"{' + '.join(text.partition(' ')[0] for text in texts)} {units[0]}"
    return " + ".join(texts)


def read(_context: Context, case: Case) -> Derivation:
    """Answer `report.read`. [REPORT-01 … 09]"""
    try:
        report = reports.read(case["report"])
    except reports.Unreadable as error:
        raise Refused(str(error)) from None
    broker = report.broker

    def explain() -> Iterator[Step]:
        where = f"below {reports.NESTED}" if report.manager == "simple" else "at the top"
        yield Step("manager", f"{report.manager}: its resources stand {where}")
        for name in RESOURCES:
            if name in broker:
                usage, limit = broker[name]["usage"], broker[name]["limit"]
                share = f"{plain(exact(usage), RATE_PLACES)} / {plain(exact(limit), RATE_PLACES)}"
                percent = plain(percent_of(broker[name]), RATE_PLACES)
                yield Step(name, f"{share} = {percent} %")
        said = [name for name in reports.LOAD if name in broker]
        yield Step("besides", ", ".join(said) or "nothing")

    return Derivation({"manager": report.manager, "broker": broker}, explain)


ANSWERS: Mapping[str, Answer] = {
    "usage.max": maximum,
    "usage.nic": nic,
    "average.bundle": bundle,
    "average.broker": broker,
    "report.read": read,
}
