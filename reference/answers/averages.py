"""Bundle and broker averages over time. [DATA]"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pulsar_conformance.reference.averages import (
    FRAMES,
    MEAN,
    Average,
    average,
    carried,
    together,
)
from pulsar_conformance.reference.cluster import RATE_FIELDS, Rates, average_of, never_measured
from pulsar_conformance.reference.context import Answer, Case, Context
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.numbers import Rate, plain

PLACES = 6
"""Decimal places of printed rates, enough to distinguish the values that a check does."""

SHOWN = 6
"""Values printed in a sum; of a longer one, the first two and the last."""


def bundle(context: Context, case: Case) -> Derivation:
    """Answer `average.bundle`. [DATA-01 … 07]"""
    samples = [Rates.read(sample) for sample in case["samples"]]
    unmeasured = never_measured(context.readings["kilobyte"])
    chosen = context.readings["window"]
    frames = {
        frame: average(samples, int(case[window]), MEAN[chosen], unmeasured)
        for frame, window in FRAMES.items()
    }

    def explain() -> Iterator[Step]:
        for frame, known in frames.items():
            taken = f"{len(samples)} sample{'s' if len(samples) != 1 else ''}"
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
        assumed = f"{plain(known.rates.messages_in)} msg/s and {plain(known.rates.bytes_in)} B/s"
        yield Step("rates", f"never measured: {assumed} each way are assumed")
        return
    if not any(known.rates.each()):
        yield Step("rates", "0 in every sample of the window")
    columns = zip(*(sample.each() for sample in samples), strict=True)
    for name, values, rate in zip(RATE_FIELDS, columns, known.rates.each(), strict=True):
        if rate:
            full = len(values) > known.window
            worked = (_FULL[chosen] if full else _mean_of)(values, known.window)
            yield Step(name, f"{worked} = {plain(rate, PLACES)}")


def _mean_of(values: Sequence[Rate], window: int) -> str:
    """The mean of the newest values of a window."""
    newest = [plain(value) for value in values[-window:]]
    if len(newest) > SHOWN:
        newest = [*newest[:2], "...", newest[-1]]
    return f"({' + '.join(newest)}) / {min(len(values), window)}"


def _last_of(values: Sequence[Rate], window: int) -> str:
    """The newest value mixed into the average before it."""
    before = plain(MEAN["fading"](values[:-1], window), PLACES)
    return f"(({window} - 1) x {before} + {plain(values[-1])}) / {window}"


_FULL: Mapping[str, Callable[[Sequence[Rate], int], str]] = {
    "sliding": _mean_of,
    "fading": _last_of,
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
            yield Step(frame, f"the sum over {len(case['owned'])} bundles: {_written(rates)}")
            for name in case["owned"]:
                measured = average_of(bundles.get(name), frame)
                how = "" if measured else ", never measured"
                load = carried(bundles.get(name), frame, kilobyte)
                yield Step(name, f"{_written(load)}{how}").within()

    return Derivation({frame: rates.write() for frame, rates in sums.items()}, explain)


def _written(rates: Rates) -> str:
    """Messages in and out, bytes in and out."""
    messages_in, messages_out, bytes_in, bytes_out = map(plain, rates.each())
    return f"{messages_in} + {messages_out} msg/s, {bytes_in} + {bytes_out} B/s"


ANSWERS: Mapping[str, Answer] = {
    "average.bundle": bundle,
    "average.broker": broker,
}
