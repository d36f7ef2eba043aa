"""UNIFORM: UniformLoadShedder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from math import ceil, floor
from random import Random
from typing import NamedTuple

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.check import SHARE, Expect, format_distinct
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.drawing import composite, loads
from pulsar_conformance.conformance.drawing.loads import SHARES, randoms
from pulsar_conformance.conformance.shedding.draw_clusters import (
    STRATEGY,
    Carried,
    Sketch,
    Traffic,
    carried_between,
    divided,
    multipliers,
    ranked_levels,
    uniform,
    with_ignored_inputs,
)
from pulsar_conformance.conformance.shedding.draw_cycles import cycle_trials
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.conformance.shedding.quantities import (
    FEWEST_BUNDLES,
    Extremes,
    may_shed_for_overload,
    sheds_by,
    surely_movable,
)
from pulsar_conformance.conformance.shedding.view import SheddingCycle, Unloading, usage_of
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.context import Settings
from pulsar_conformance.reference.numbers import (
    ZERO,
    Fraction,
    Rate,
    messages,
    plain,
    throughput,
    total,
)
from pulsar_conformance.reference.uniform import (
    MAX_SHARE,
    MAX_UNLOADED_BUNDLES,
    MIN_BYTES,
    MIN_MESSAGES,
    RATE_THRESHOLD,
    THROUGHPUT_THRESHOLD,
)

TRIGGERS = {"both": all, "either": any}
"""For each alternative of `uniform-trigger`, how its two conditions are combined.

The conditions are that the differences in messages and in bytes exceed their thresholds.
"""

MIN_COMPARED = Fraction(1)
"""Lowest rate that is compared, in messages or bytes per second: any multiple of 0 would be 0."""

Fits = Callable[[str], bool]

LEAST_DEFAULT = 0.2
"""The lowest documented default of maxUnloadPercentage."""


class Amount(NamedTuple):
    """Traffic in messages and bytes per second."""

    messages: Rate
    size: Rate


class Ends(NamedTuple):
    """The most and the least loaded broker, which are the same by messages, bytes and usage."""

    most: Broker
    least: Broker
    high: Amount
    low: Amount

    @property
    def gap(self) -> Amount:
        """The difference between the most and the least loaded broker."""
        return Amount(self.high.messages - self.low.messages, self.high.size - self.low.size)

    def limit_text(self, limit: str, amount: Amount, gone: Amount) -> str:
        """Return text with the limits in both measures, and the traffic actually unloaded."""
        pairs = ((messages, amount.messages, gone.messages), (throughput, amount.size, gone.size))
        (rate, sent), (size, carried) = (
            format_distinct(most, found, written) for written, most, found in pairs
        )
        between = f"between {self.most.name} and {self.least.name}"
        return f"{limit} {between}, {rate} or {size}; these carry {sent} and {carried}"


def too_small_text(extremes: Extremes, settings: Settings) -> str:
    """Return text saying that the amounts to move are below the minimums of both measures."""
    share = settings.number(MAX_SHARE)
    ends = ((messages, extremes.messages), (throughput, extremes.throughput))
    parts = " and ".join(written((most - least) * share) for written, (least, most) in ends)
    bounds = ((messages, MIN_MESSAGES), (throughput, MIN_BYTES))
    least = " and ".join(written(settings.number(name)) for written, name in bounds)
    return f"{plain(share)} of the differences, {parts}, is less than {least}"


def _assume_uniform_shedder(case: SheddingCycle, expect: Expect) -> None:
    expect.given(sheds_by(case, "UniformLoadShedder"), "UniformLoadShedder sheds")


def _most_and_least_loaded(case: SheddingCycle, expect: Expect) -> Ends:
    carried = {name: case.rates_of(broker) for name, broker in case.brokers.items()}
    amounts = {name: Amount(one.messages, one.throughput) for name, one in carried.items()}
    by_rate = sorted(amounts, key=lambda name: amounts[name].messages)
    by_size = sorted(amounts, key=lambda name: amounts[name].size)
    least, *_, most = by_rate
    alike = (least, most) == (by_size[0], by_size[-1])
    expect.given(alike, "messages and bytes rank the same brokers highest and lowest")
    high, low = amounts[most], amounts[least]
    alone = high.messages > amounts[by_rate[-2]].messages and high.size > amounts[by_size[-2]].size
    expect.given(alone, "one broker is the most loaded")
    usage = {name: usage_of(broker) for name, broker in case.brokers.items()}
    others = [percent for name, percent in usage.items() if name not in (least, most)]
    by_usage = usage[least] < min([*others, usage[most]]) and usage[most] > max([*others, ZERO])
    expect.given(by_usage, "usage ranks the same brokers highest and lowest")
    return Ends(case.brokers[most], case.brokers[least], high, low)


def _total_amount(case: SheddingCycle, bundles: Iterable[str]) -> Amount:
    rates = list(map(case.rates, bundles))
    return Amount(total(one.messages for one in rates), total(one.throughput for one in rates))


def _clearly_exceeds(most: Fraction, bound: Fraction) -> bool | None:
    """True if an amount exceeds a bound; None if rounding could decide it."""
    if abs(most - bound) <= SHARE * max(most, bound):
        return None
    return most > bound


def _triggers_shedding(case: SheddingCycle) -> bool | None:
    """True if the differences exceed the thresholds; None if rounding could decide.

    The least loaded broker's rates count as at least `MIN_COMPARED`. A threshold that is exceeded
    with this minimum is also exceeded without it.
    """
    extremes = Extremes.of(case)
    least, most = max(extremes.messages[0], MIN_COMPARED), extremes.messages[1]
    threshold = case.settings.number(RATE_THRESHOLD)
    percent = case.readings["uniform-difference"] == "percent"
    rate = _clearly_exceeds(most, least * (100 + threshold) / 100 if percent else least + threshold)
    least, most = max(extremes.throughput[0], MIN_COMPARED), extremes.throughput[1]
    multiple = case.settings.number(THROUGHPUT_THRESHOLD)
    multiple += case.readings["uniform-multiplier"] == "difference"
    both = (rate, _clearly_exceeds(most, least * multiple))
    triggers = TRIGGERS[case.readings["uniform-trigger"]]
    possible = triggers(differs is not False for differs in both)
    return possible if possible == triggers(map(bool, both)) else None


def _movable_room(case: SheddingCycle, ends: Ends) -> Amount:
    """Return the most traffic that can be unloaded so that all brokers certainly come closer to
    each other.

    It is at most half the gap to the least loaded broker, which may get all of the traffic, and at
    most the difference between the most loaded broker and the mean of all brokers.
    """
    carried = [case.rates_of(broker) for broker in case.brokers.values()]
    means = total(one.messages for one in carried), total(one.throughput for one in carried)
    return Amount(
        *(
            min(gap / 2, high - mean / len(carried))
            for gap, high, mean in zip(ends.gap, ends.high, means, strict=True)
        )
    )


def _fits(case: SheddingCycle, bundle: str, room: Amount) -> bool:
    """True if a bundle has messages and bytes, and each is within `room`."""
    rates = case.rates(bundle)
    return 0 < rates.messages <= room.messages and 0 < rates.throughput <= room.size


def _must_unload(
    case: SheddingCycle, ends: Ends, fits: Fits, answer: Unloading, expect: Expect
) -> None:
    """Demand that the most loaded broker unloads if the differences exceed the thresholds, and if
    it has two bundles or more, of which one surely may move and `fits`.
    """
    several = len(ends.most.bundles) >= FEWEST_BUNDLES
    fitting = several and any(map(fits, surely_movable(case, ends.most)))
    if _triggers_shedding(case) and expect.reached(fitting):
        allowed = f"{ends.most.name}, the most loaded, unloads"
        expect.that(bool(answer.of(ends.most)), allowed, answer)


@SHED.check("UNIFORM-01", draws=cycle_trials(uniform))
def the_most_loaded_broker_unloads(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """If the differences exceed the thresholds, the most loaded broker sheds."""
    _assume_uniform_shedder(case, expect)
    ends = _most_and_least_loaded(case, expect)
    _must_unload(case, ends, partial(_fits, case, room=_movable_room(case, ends)), answer, expect)


@SHED.check("UNIFORM-02", draws=cycle_trials(uniform))
def nothing_goes_within_the_thresholds(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """If the differences are within the thresholds, nothing is unloaded."""
    _assume_uniform_shedder(case, expect)
    extremes = Extremes.of(case)
    compared = min(*extremes.messages, *extremes.throughput) >= MIN_COMPARED
    expect.given(compared, "every broker has a load to compare")
    alone = not any(may_shed_for_overload(case, broker) for broker in case.brokers.values())
    expect.given(alone, "no broker is overloaded")
    if expect.reached(_triggers_shedding(case) is False):
        expect.nothing(answer, partial(_within_thresholds_text, extremes))


def _within_thresholds_text(extremes: Extremes) -> str:
    """Return text saying that the differences are within their thresholds."""
    ends = ((messages, extremes.messages), (throughput, extremes.throughput))
    apart = " and ".join(f"{shown(low)} to {shown(high)}" for shown, (low, high) in ends)
    return f"the differences, {apart}, are within the thresholds"


@SHED.check("UNIFORM-03", draws=cycle_trials(uniform))
def nothing_goes_from_the_least_loaded(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """The least loaded broker keeps its bundles, because losing load would widen the gap."""
    _assume_uniform_shedder(case, expect)
    ends = _most_and_least_loaded(case, expect)
    expect.given(not may_shed_for_overload(case, ends.least), "the least loaded is not overloaded")
    if expect.reached(ends.gap.messages > 0 and bool(case.movable(ends.least))):
        expect.nothing(answer.of(ends.least), f"{ends.least.name} is the least loaded")


@SHED.check("UNIFORM-04", draws=cycle_trials(uniform))
def the_two_do_not_change_places(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """The most loaded broker sheds less than its gap to the least loaded, in messages or bytes."""
    _assume_uniform_shedder(case, expect)
    ends = _most_and_least_loaded(case, expect)
    expect.given(not may_shed_for_overload(case, ends.most), "the most loaded is not overloaded")
    whole = _total_amount(case, ends.most.bundles)
    known = all(map(case.measured, ends.most.bundles))
    fits = all(one <= two * (1 + SHARE) for one, two in zip(whole, ends.high, strict=True))
    expect.given(known and fits, "the broker reports no less traffic than its bundles")
    gone = _total_amount(case, answer.owned_and_shed(ends.most))
    if expect.reached(min(gone) > 0):
        less = any(one < two * (1 + SHARE) for one, two in zip(gone, ends.gap, strict=True))
        allowed = partial(ends.limit_text, "less than the difference", ends.gap, gone)
        expect.that(less, allowed, answer)


def _limited(trial: Trial, random: Random) -> Trial:
    """Return a trial with settings that limit how much UniformLoadShedder moves."""
    case = trial.questions[0].case
    limits = {
        MAX_SHARE: random.choice((0.2, 0.1, 0.5)),
        MIN_MESSAGES: random.choice((0, 1000, 10_000)),
        MIN_BYTES: random.choice((0, 1_048_576, 1_000_000_000)),
        MAX_UNLOADED_BUNDLES: random.choice((-1, -1, 0, 1, 2)),
    }
    return Trial.of(SHED.id, {**case, "settings": {**case["settings"], **limits}})


limited = st.builds(_limited, cycle_trials(uniform), randoms)


def _assume_limits(case: SheddingCycle, expect: Expect) -> None:
    _assume_uniform_shedder(case, expect)
    expect.given(MAX_SHARE in case.settings.defaults, "the documents limit how much is moved")
    alone = not any(may_shed_for_overload(case, broker) for broker in case.brokers.values())
    expect.given(alone, "no broker is overloaded")


@SHED.check("UNIFORM-05", draws=limited)
def no_more_than_the_share_moves(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """The most loaded broker sheds at most a configured share of the gap, in messages or bytes."""
    _assume_limits(case, expect)
    ends = _most_and_least_loaded(case, expect)
    gone = _total_amount(case, answer.owned_and_shed(ends.most))
    if expect.reached(min(gone) > 0):
        share = case.settings.number(MAX_SHARE)
        most = Amount(ends.gap.messages * share, ends.gap.size * share)
        fits = any(one <= two * (1 + SHARE) for one, two in zip(gone, most, strict=True))
        limit = f"at most {plain(share)} of the difference"
        allowed = partial(ends.limit_text, limit, most, gone)
        expect.that(fits, allowed, answer)


@SHED.check("UNIFORM-06", draws=limited)
def small_differences_are_left(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """Nothing is unloaded if the amounts to move are below their minimums in both measures."""
    _assume_limits(case, expect)
    extremes, share = Extremes.of(case), case.settings.number(MAX_SHARE)
    ends = ((extremes.messages, MIN_MESSAGES), (extremes.throughput, MIN_BYTES))
    small = all(
        (most - least) * share < case.settings.number(name) * (1 - SHARE)
        for (least, most), name in ends
    )
    if expect.reached(small):
        expect.nothing(answer, partial(too_small_text, extremes, case.settings))


@SHED.check("UNIFORM-07", draws=limited)
def no_more_bundles_than_the_limit(case: SheddingCycle, answer: Unloading, expect: Expect) -> None:
    """At most the configured number of bundles is unloaded in a cycle."""
    _assume_limits(case, expect)
    most = case.settings.number(MAX_UNLOADED_BUNDLES)
    if expect.reached(most >= 0 and bool(answer.pairs)):
        expect.that(len(answer.pairs) <= most, f"at most {most} bundles", answer)


def _certainly_moves(case: SheddingCycle, bundle: str, ends: Ends, room: Amount) -> bool:
    """True if every limit lets a bundle move, however amounts are rounded to whole numbers.

    In both measures, the bundle carries more than the minimum, and at most the configured share of
    the gap and at most `room`.
    """
    rates, share = case.rates(bundle), case.settings.number(MAX_SHARE)
    amounts = (
        (rates.messages, min(ends.gap.messages * share, room.messages), MIN_MESSAGES),
        (rates.throughput, min(ends.gap.size * share, room.size), MIN_BYTES),
    )
    return all(
        floor(carried) > max(case.settings.number(least), ZERO)
        and ceil(carried) <= floor(most * (1 - SHARE))
        for carried, most, least in amounts
    )


exceeded = st.sampled_from(((1, 1), (1, 1), (1, 1), (1, -1), (-1, 1)))
"""Signs for the differences in messages and in bytes: 1 if over the threshold, -1 if under it."""

excesses = st.sampled_from((0.02, 0.1, 0.2, 0.2, 0.6))
"""Distance of a difference from its threshold, as a fraction of the threshold."""

rate_thresholds = st.sampled_from((50, 50, 20, 80))
shares = st.sampled_from((None, 0.2, 0.1, 0.5, 0.75))


@composite
def _over_thresholds(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Draw differences above their thresholds, with a bundle that every limit lets move.

    Most are so close to the thresholds that they would be below if they were a percentage of the
    highest rate, or if the lowest throughput were subtracted. In some cases, the least loaded
    broker is idle.
    """
    size, factor, signs = draw(loads.sizes(fewest)), draw(multipliers), draw(exceeded)
    rate, share = draw(rate_thresholds), draw(shares)
    more, larger = (1 + sign * draw(excesses) for sign in signs)
    random = draw(randoms)
    low = Carried(random.randrange(100_000, 10**6), random.randrange(50, 200) * loads.MEGABYTE)
    high = Carried(low.messages * (1 + rate / 100 * more), low.size * (1 + (factor - 1) * larger))
    least = random.choice((*[low] * 5, Carried(0, 0)))
    carried = [least, *(carried_between(random, low, high) for _ in range(size.brokers - 2)), high]
    part = min(share or LEAST_DEFAULT, 0.5) * random.choice((0.3, 0.6, 0.9, 0.98))
    one = Carried(*((most - less) * part for most, less in zip(high, least, strict=True)))
    settings = {
        **{RATE_THRESHOLD: rate, THROUGHPUT_THRESHOLD: factor},
        **({} if share is None else {MAX_SHARE: share}),
        **random.choice(({}, *({MIN_MESSAGES: int(one.messages * x)} for x in (0, 0.95)))),
        **random.choice(({}, *({MIN_BYTES: int(one.size * x)} for x in (0, 0.95)))),
        **random.choice(({}, *({MAX_UNLOADED_BUNDLES: most} for most in (-1, 1, 2)))),
    }
    counts = loads.bundles_per_broker(random, *size)
    given = {
        place: divided(random, *of) for place, of in enumerate(zip(carried, counts, strict=True))
    }
    rest = Carried(high.messages - one.messages, high.size - one.size)
    others = divided(random, rest, max(1, counts[-1]))
    bundles = (*others.bundles, loads.by_direction(*one, random.choice(SHARES)))
    given[size.brokers - 1] = Traffic(given[size.brokers - 1].whole, bundles, others.stuck)
    levels = ranked_levels(random, carried)
    sketch = Sketch(random, STRATEGY, levels, counts, settings=settings, given=given)
    return with_ignored_inputs(sketch)


@SHED.check("UNIFORM-08", draws=cycle_trials(_over_thresholds))
def the_most_loaded_broker_unloads_within_the_limits(
    case: SheddingCycle, answer: Unloading, expect: Expect
) -> None:
    """If the differences exceed the thresholds and the limits leave a bundle to move, one moves."""
    _assume_limits(case, expect)
    thresholds = min(map(case.settings.number, (RATE_THRESHOLD, THROUGHPUT_THRESHOLD)))
    expect.given(thresholds > 0, "no threshold is 0, which may disable it")
    number = case.settings.number(MAX_UNLOADED_BUNDLES)
    expect.given(number == -1 or number >= 1, "the limit on bundles permits an unload")
    ends = _most_and_least_loaded(case, expect)
    fits = partial(_certainly_moves, case, ends=ends, room=_movable_room(case, ends))
    _must_unload(case, ends, fits, answer, expect)
