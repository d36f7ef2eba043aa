"""Derivation steps of UniformLoadShedder: the differences, and why each bundle goes or stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import Rate, messages, plain, throughput, total
from pulsar_conformance.reference.shedding import WRITTEN, Cycle
from pulsar_conformance.reference.shedding_steps import bundle_steps, keep_all_steps
from pulsar_conformance.reference.uniform import (
    MAX_SHARE,
    MAX_UNLOADED_BUNDLES,
    MIN_BYTES,
    MIN_MESSAGES,
    RATE_THRESHOLD,
    THROUGHPUT_THRESHOLD,
    Imbalance,
    most_bundles,
    movable_part,
)

MULTIPLE_WRITTEN: Mapping[str, Callable[[Rate, Rate], str]] = {
    "ratio": lambda most, least: f"{plain(most / least)} times as much",
    "difference": lambda most, least: f"more by {plain((most - least) / least)} times the least",
}

DIFFERENCE_WRITTEN: Mapping[str, Callable[[Rate, Rate], str]] = {
    "percent": lambda most, least: f"{plain((most - least) * 100 / least)} % more",
    "messages": lambda most, least: f"{messages(most - least)} more",
}

WHAT_DIFFERS: Mapping[str, str] = {
    "both": "both have to be over their thresholds",
    "either": "one of them has to be over its threshold",
}

COUNTED_UNITS: Mapping[str, str] = {"throughput": "bytes", "message-rate": "messages"}
"""The unit in which traffic is counted, by alternative of the reading `shed-measure`."""


def uniform_differences(cycle: Cycle) -> Iterator[Step]:
    """Yield as steps the differences between brokers, with the thresholds for these differences."""
    spread = Imbalance(cycle)
    yield _rates_step(spread)
    yield _throughputs_step(spread)
    if not spread.is_worthwhile:
        yield Step("decision", f"nothing is moved, as {_too_small_text(spread)}")
    elif not spread.triggers:
        needed = WHAT_DIFFERS[cycle.readings["uniform-trigger"]]
        yield Step("decision", f"nothing is moved, as {needed}")


def _too_small_text(spread: Imbalance) -> str:
    settings = spread.cycle.settings
    share = settings.number(MAX_SHARE)
    amounts = ((most - least) * share for least, most in (spread.messages, spread.throughput))
    names = ((messages, MIN_MESSAGES), (throughput, MIN_BYTES))
    told = (
        f"{written(amount)} is less than {written(settings.number(name))}"
        for amount, (written, name) in zip(amounts, names, strict=True)
    )
    return f"{plain(share)} of the differences is too little: {' and '.join(told)}"


def _rates_step(spread: Imbalance) -> Step:
    least, most = spread.messages
    written = DIFFERENCE_WRITTEN[spread.cycle.readings["uniform-difference"]]
    apart = f", {written(most, least)}" if least else ""
    compared = _threshold_text(spread, spread.rate_differs, RATE_THRESHOLD)
    return Step("message rates", f"{messages(least)} to {messages(most)}{apart}: {compared}")


def _throughputs_step(spread: Imbalance) -> Step:
    least, most = spread.throughput
    written = MULTIPLE_WRITTEN[spread.cycle.readings["uniform-multiplier"]]
    apart = f", {written(most, least)}" if least else ""
    compared = _threshold_text(spread, spread.throughput_differs, THROUGHPUT_THRESHOLD)
    return Step("throughputs", f"{throughput(least)} to {throughput(most)}{apart}: {compared}")


def _threshold_text(spread: Imbalance, differs: bool, name: str) -> str:
    threshold = plain(spread.cycle.settings.number(name))
    return f"over the threshold, {threshold}" if differs else f"not over the threshold, {threshold}"


def evening_steps(
    spread: Imbalance, broker: Broker, taken: Sequence[str], gap: Rate
) -> Iterator[Step]:
    """Yield as steps the traffic that may move, and why each bundle goes or stays."""
    cycle, part = spread.cycle, movable_part(spread.cycle, gap)
    if not spread.triggers:
        yield from keep_all_steps(cycle, broker, "need not shed any")
        return
    if broker is not spread.most_loaded:
        yield from keep_all_steps(cycle, broker, "is not the most loaded")
        return

    def stays(bundle: str, carried: Rate) -> str:
        if len(taken) == most_bundles(cycle) and carried + cycle.traffic(bundle) <= part:
            return f"{MAX_UNLOADED_BUNDLES} is {len(taken)}"
        left = cycle.written(part - carried)
        return f"more than the {left} left" if cycle.traffic(bundle) else "it carries nothing"

    share = "half" if part == gap / 2 else "a share"
    yield Step(
        "to move", f"up to {share} of what lies between most and least: {_part_text(cycle, gap)}"
    )
    yield from _other_measure_steps(cycle, broker, taken)
    yield from bundle_steps(cycle, broker, taken, stays, sums=True)


def _part_text(cycle: Cycle, gap: Rate) -> str:
    """Format the calculation of the traffic that may move."""
    part = movable_part(cycle, gap)
    share = "/ 2" if part == gap / 2 else f"x {plain(cycle.settings.number(MAX_SHARE))}"
    return f"{cycle.written(gap)} {share} = {cycle.written(part)}"


def _other_measure_steps(cycle: Cycle, broker: Broker, taken: Sequence[str]) -> Iterator[Step]:
    """Yield a step with the amount that may move in the measure that the readings do not choose.

    No step is yielded if no broker has less traffic in that measure. [UNIFORM-04, UNIFORM-05]
    """
    [other] = (one for one in WRITTEN if one != cycle.readings["shed-measure"])
    counted = cycle.measured_by(other)
    traffic = [counted.traffic_of(one) for one in counted.brokers.values()]
    gap = counted.traffic_of(broker) - min(traffic)
    if gap > 0:
        going = counted.written(total(map(counted.traffic, taken)))
        one_limit = "; only one of the two limits has to be kept"
        either = one_limit if MAX_SHARE in cycle.settings.defaults else ""
        if not either and total(map(counted.traffic, taken)) > movable_part(counted, gap):
            either = f": more, but only {COUNTED_UNITS[cycle.readings['shed-measure']]} are limited"
        text = f"{_part_text(counted, gap)}, and what goes carries {going}{either}"
        yield Step(f"in {COUNTED_UNITS[other]}", text)
