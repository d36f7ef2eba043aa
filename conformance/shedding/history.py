"""THRESHOLD: how earlier usage counts in the usage that ThresholdShedder compares."""

from __future__ import annotations

from collections.abc import Callable

from pulsar_conformance.conformance.common.check import POINTS, Expect
from pulsar_conformance.conformance.shedding import draw_threshold as draws
from pulsar_conformance.conformance.shedding.draw_cycles import (
    cycle_trials,
    sequence_decided_by_history,
    threshold_sequence,
)
from pulsar_conformance.conformance.shedding.operations import CYCLES, SHED
from pulsar_conformance.conformance.shedding.quantities import (
    UsageLevels,
    can_shed_by_any_measure,
    may_shed_for_overload,
    sheds_by,
)
from pulsar_conformance.conformance.shedding.threshold import (
    assume_no_lower_boundary,
    brokers_above,
    brokers_not_above,
    has_history,
    levels_of,
    must_keep,
    must_shed,
)
from pulsar_conformance.conformance.shedding.view import (
    CyclesInARow,
    SheddingCycle,
    Unloading,
    UnloadingInARow,
)
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.numbers import Fraction, Percent, plain, total

HALF = Fraction(1, 2)


Range = tuple[Percent, Percent]
"""The lowest and the highest possible usage."""


def _observed_range(levels: UsageLevels, broker: Broker) -> Range:
    """Return the lowest and highest usage that was observed on a broker."""
    seen = (*broker.history, levels.cycle.weighted_usage[broker.name])
    return min(seen), max(seen)


def _smoothed_range(levels: UsageLevels, broker: Broker) -> Range:
    """Return the lowest and the highest smoothed usage of a broker, given the weight of history.

    The documents do not say how the weight is applied, only that a larger weight brings the
    smoothed usage closer to earlier usage. The range therefore depends only on whether the weight
    is above one half.
    """
    present, share = levels.cycle.weighted_usage[broker.name], levels.history_share
    if not broker.history:
        return present, present
    whole = share in (0, HALF, 1)
    weights = (share,) if whole else (HALF, Fraction(int(share > HALF)))
    past = (min(broker.history), max(broker.history))
    usages = [weight * one + (1 - weight) * present for weight in weights for one in past]
    return min(usages), max(usages)


def _by_range(
    case: SheddingCycle,
    answer: Unloading,
    range_of: Callable[[UsageLevels, Broker], Range],
    expect: Expect,
) -> None:
    """Demand that a broker sheds, or keeps all, if every usage in the ranges requires this."""
    levels = levels_of(case, expect)
    expect.given(has_history(case), "brokers have a history")
    assume_no_lower_boundary(case, expect)
    ranges = {name: range_of(levels, broker) for name, broker in case.brokers.items()}
    lowest, highest = (total(end) for end in zip(*ranges.values(), strict=True))
    count = len(ranges)
    for name, broker in case.brokers.items():
        low, high = ranges[name]
        least = low - (highest - high + low) / count
        most = high - (lowest - low + high) / count
        sheds = least > levels.threshold + POINTS and levels.worthwhile(broker, least / 100)
        if sheds and expect.reached(can_shed_by_any_measure(case, broker)):
            allowed = f"{name} sheds: at least {plain(least)} points above the average"
            expect.that(bool(answer.of(broker)), allowed, answer)
        keeps = most < levels.threshold - POINTS and not may_shed_for_overload(case, broker)
        if keeps and expect.reached(bool(broker.bundles)):
            why = f"{name} is at most {plain(most)} points above the average"
            expect.nothing(answer.of(broker), why)


@SHED.check("THRESHOLD-07", draws=cycle_trials(draws.with_history))
def history_lies_between(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """The compared usage lies between the lowest and highest current or earlier usage."""
    _by_range(case, answer, _observed_range, expect)


@SHED.check("THRESHOLD-16", draws=cycle_trials(draws.decided_by_history))
def history_counts_by_its_share(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """The larger the weight of history, the closer the compared usage is to earlier usage."""
    _by_range(case, answer, _smoothed_range, expect)


def _exact_usage_range(levels: UsageLevels, broker: Broker) -> Range:
    usage = levels.usage[broker.name]
    return usage, usage


@SHED.check("THRESHOLD-18", draws=cycle_trials(draws.with_history, draws.decided_by_history))
def history_is_smoothed_exponentially(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """The compared usage is w × previous usage + (1 - w) × current usage for a weight w."""
    _by_range(case, answer, _exact_usage_range, expect)


@SHED.check("THRESHOLD-14", draws=cycle_trials(draws.forgotten_history))
def history_without_weight_does_not_count(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """If history has a weight of 0, earlier usage does not count."""
    levels = levels_of(case, expect)
    expect.given(has_history(case), "brokers have a history")
    expect.given(levels.history_share == 0, "history has a weight of 0")
    assume_no_lower_boundary(case, expect)
    for broker in brokers_above(levels):
        if expect.reached(can_shed_by_any_measure(case, broker)):
            must_shed(levels, broker, answer, expect)
    for broker in brokers_not_above(levels):
        if expect.reached(bool(broker.bundles)):
            must_keep(levels, broker, answer, expect)


@CYCLES.check("THRESHOLD-15", draws=threshold_sequence)
def usage_lies_between_usages_of_cycles(
    cycles: CyclesInARow, answer: UnloadingInARow, expect: Expect
) -> None:
    """In later cycles, the compared usage lies between the lowest and highest usage so far."""
    _in_later_cycles(history_lies_between, cycles, answer, expect)


@CYCLES.check("THRESHOLD-17", draws=sequence_decided_by_history)
def more_weight_of_history_counts_more(
    cycles: CyclesInARow, answer: UnloadingInARow, expect: Expect
) -> None:
    """In later cycles, the larger the weight of history, the closer the compared usage is to
    earlier usage.
    """
    _in_later_cycles(history_counts_by_its_share, cycles, answer, expect)


@CYCLES.check("THRESHOLD-19", draws=(threshold_sequence, sequence_decided_by_history))
def earlier_cycles_are_smoothed_exponentially(
    cycles: CyclesInARow, answer: UnloadingInARow, expect: Expect
) -> None:
    """In later cycles, the compared usage is smoothed exponentially over earlier cycles."""
    _in_later_cycles(history_is_smoothed_exponentially, cycles, answer, expect)


def _in_later_cycles(
    judge: Callable[[SheddingCycle, Unloading, Expect], None],
    cycles: CyclesInARow,
    answer: UnloadingInARow,
    expect: Expect,
) -> None:
    """Judge each cycle but the first, with the earlier cycles as usage history."""
    expect.given(len(cycles) > 1, "cycles in a row")
    first = cycles.alone(0)
    expect.given(sheds_by(first, "ThresholdShedder"), "ThresholdShedder sheds")
    assume_no_lower_boundary(first, expect)
    for one in list(answer)[1:]:
        judge(one.cycle, one, expect)
