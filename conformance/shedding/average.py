"""AVERAGE, PLANNED-01: AvgShedder, which balances the most and the least used broker."""

from __future__ import annotations

from functools import partial
from itertools import pairwise, takewhile
from random import Random
from typing import NamedTuple

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.check import SHARE, Expect, near
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing import composite
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.shedding.operations import CYCLES
from pulsar_conformance.conformance.shedding.quantities import (
    EXACT,
    Extremes,
    may_shed_for_overload,
    sheds_by,
    surely_movable,
)
from pulsar_conformance.conformance.shedding.uniform import too_small_text
from pulsar_conformance.conformance.shedding.view import CyclesInARow, Unloading, UnloadingInARow
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.numbers import Percent, Rate, messages, plain, total
from pulsar_conformance.reference.placement import AVERAGE_SHEDDER, PLACEMENT_STRATEGY
from pulsar_conformance.reference.ranges import HashRange
from pulsar_conformance.reference.shedding import PACKAGE
from pulsar_conformance.reference.uniform import (
    AVERAGE_HIGH,
    AVERAGE_HIGH_HITS,
    AVERAGE_LOW,
    AVERAGE_LOW_HITS,
    MAX_SHARE,
    MIN_BYTES,
    MIN_MESSAGES,
)

LEVELS = ((25, 50, 25), (15, 40, 15), (10, 60, 10))
"""Triples of low threshold, high threshold, and usage of the least used broker, in percent."""


@composite
def cycles_near_thresholds(draw: st.DrawFn) -> Trial:
    """Draw consecutive cycles in which the usages of the most and the least used broker differ by
    about one of the thresholds in `LEVELS`.
    """
    random, middle = draw(randoms), draw(st.sampled_from((0, 0, 1, 2, 8)))
    low, high, idle = random.choice(LEVELS)
    hits = random.choice((1, 2, 3, 3, 4, 8) * 4 + (12, 25))
    settings: Json = {AVERAGE_LOW: low, AVERAGE_HIGH: high, AVERAGE_LOW_HITS: hits}
    settings |= {AVERAGE_HIGH_HITS: random.choice((1, 2, 2)), MAX_SHARE: random.choice(SHARES)}
    settings |= {MIN_MESSAGES: random.choice((0, 100, 1000)), MIN_BYTES: 1_000_000}
    over, far, within = low + random.choice((1, 5)), high + random.choice((1, 5)), low - 5
    course = random.choice(
        (
            *([over] * (hits + 1), [over] * hits, [far] * 3, [far] * 2, [within] * 3),
            *([low] * (hits + 1), [low] * (hits + 2)),
            *([over] * (hits - 1) + [within] + [over] * hits, [far, within, far, far]),
        )
    )
    brokers = [f"broker-{place}" for place in random.sample(range(100), middle + 2)]
    few = random.choice((300, 500, 1000))
    many = few + random.choice((100, 500, 3000, 5000))
    rates = [few, *[random.randrange(few, many + 1) for _ in range(middle)], many]
    numbered = enumerate(zip(brokers, rates, strict=True))
    owned = {name: _bundles_of(place, rate) for place, (name, rate) in numbered}
    cycles = [_cycle_at(random, brokers, owned, idle, idle + apart) for apart in course]
    if random.random() < 0.5:
        settings[PLACEMENT_STRATEGY] = PACKAGE + AVERAGE_SHEDDER
    case = {"strategy": AVERAGE_SHEDDER, "settings": settings, "cycles": cycles}
    return Trial.of(CYCLES.id, case)


SHARES = (0.5, 0.5, 0.2, 1)


def _bundles_of(place: int, rate: int) -> dict[str, int]:
    """Return a broker's three bundles with their messages per second, which add up to `rate`."""
    lower = place << 24
    ends = (lower, lower + 0x100000, lower + 0x200000, lower + 0x300000)
    one, two = rate // 20, rate // 10
    each = zip(pairwise(ends), (one, two, rate - one - two), strict=True)
    return {f"shop/eu/{HashRange(*ends).name}": amount for ends, amount in each}


def _cycle_at(
    random: Random, brokers: list[str], owned: dict[str, dict[str, int]], low: int, high: int
) -> Json:
    """Return a cycle in which the first broker is used least and the last broker is used most."""
    inner = [random.randrange(low + 1, max(high, low + 2)) for _ in brokers[2:]]
    usages = dict(zip(brokers, (low, *inner, high), strict=True))
    resource = random.choice(("cpu", "bandwidthIn"))
    reports = {
        name: {
            resource: {"usage": usages[name], "limit": 100},
            **_rate_fields(sum(owned[name].values())),
            "bundles": list(owned[name]),
        }
        for name in random.sample(brokers, len(brokers))
    }
    loads = [one for bundles in owned.values() for one in bundles.items()]
    data = {bundle: {"numSamples": 10, **_rate_fields(rate)} for bundle, rate in loads}
    bundles = {name: {"shortTermData": one, "longTermData": one} for name, one in data.items()}
    return {"minutes": 1, "brokers": reports, "bundles": bundles, "recentlyUnloaded": {}}


def _rate_fields(rate: int) -> Json:
    return {"msgRateIn": rate, "msgThroughputIn": rate * BYTES_OF_A_MESSAGE}


BYTES_OF_A_MESSAGE = 1000


class Hit(NamedTuple):
    """A cycle's unloads, the least and the most used broker, and their difference in points."""

    unloading: Unloading
    idle: Broker
    busy: Broker
    apart: Percent


def _cycles_to_first_unload(
    cycles: CyclesInARow, answer: UnloadingInARow, expect: Expect
) -> list[Hit]:
    """Return the cycles up to and including the first one that unloads anything."""
    expect.given(sheds_by(cycles.alone(0), AVERAGE_SHEDDER), f"{AVERAGE_SHEDDER} sheds")
    expect.given(AVERAGE_LOW in cycles.settings.defaults, "the documents describe AvgShedder")
    found = []
    for one in answer:
        usage = one.cycle.weighted_usage
        idle, *_, busy = sorted(usage, key=lambda name: usage[name])
        alone = all([*usage.values()].count(usage[name]) == 1 for name in (idle, busy))
        expect.given(alone, "only one broker has the highest usage, and only one the lowest")
        brokers = one.cycle.brokers
        overloaded = any(may_shed_for_overload(one.cycle, each) for each in brokers.values())
        expect.given(not overloaded, "no broker is overloaded")
        found.append(Hit(one, brokers[idle], brokers[busy], usage[busy] - usage[idle]))
        if one.pairs:
            break
    return found


def _exceeds(hit: Hit, name: str) -> bool | None:
    """True if the difference in usage exceeds the setting `name`; None if rounding could decide."""
    most = hit.unloading.cycle.settings.number(name)
    exact = hit.apart in EXACT and most in EXACT
    return None if near(hit.apart, most) and not exact else hit.apart > most


def _certain_hits(hits: list[Hit], name: str) -> int:
    """Return the number of cycles in a row, up to the last, that certainly exceed a threshold.

    A cycle counts only if its most and least used brokers are those of the last cycle.
    """
    found = 0
    for one in reversed(hits):
        same_pair = (one.idle.name, one.busy.name) == (hits[-1].idle.name, hits[-1].busy.name)
        if not same_pair or _exceeds(one, name) is not True:
            break
        found += 1
    return found


def _possible_hits(hits: list[Hit], name: str) -> int:
    """Return the number of cycles in a row, up to the last, that possibly exceed a threshold.

    The most and the least used broker need not be the same in all of these cycles.
    """
    over = (_exceeds(one, name) is not False for one in reversed(hits))
    return len(list(takewhile(bool, over)))


def _amount_to_move(hit: Hit) -> Rate:
    """Return the messages per second to move from the most to the least used broker."""
    cycle = hit.unloading.cycle
    rates = (cycle.rates_of(broker).messages for broker in (hit.busy, hit.idle))
    most, least = rates
    return (most - least) * cycle.settings.number(MAX_SHARE)


def _can_move_enough(hit: Hit) -> bool:
    """True if the amount to move exceeds its minimum and a bundle is small enough to be moved."""
    cycle = hit.unloading.cycle
    need, least = _amount_to_move(hit), cycle.settings.number(MIN_MESSAGES)
    movable = (cycle.rates(bundle).messages for bundle in surely_movable(cycle, hit.busy))
    fits = any(0 < one < need * (1 - SHARE) or one == need for one in movable)
    return need > least * (1 + SHARE) and fits


HITS = ((AVERAGE_LOW, AVERAGE_LOW_HITS), (AVERAGE_HIGH, AVERAGE_HIGH_HITS))
"""Pairs of settings: a threshold, and the number of cycles in a row that must exceed it."""


def _exceeds_often_enough(hits: list[Hit]) -> bool:
    """True if either threshold was possibly exceeded in enough cycles in a row."""
    number = hits[0].unloading.cycle.settings.number
    found = ((_possible_hits(hits, one), number(times)) for one, times in HITS)
    return any(count > 0 and count >= wanted for count, wanted in found)


def _must_unload(hits: list[Hit], threshold: str, times: str, expect: Expect) -> None:
    """Demand an unload once enough cycles in a row have exceeded a threshold.

    Counting may have started again at 0 after enough cycles in which nothing could be moved.
    """
    begun = 0
    for index in range(1, len(hits) + 1):
        hit, wanted = hits[index - 1], hits[0].unloading.cycle.settings.number(times)
        found = _certain_hits(hits[begun:index], threshold)
        begun = index if _exceeds_often_enough(hits[begun:index]) else begun
        due = found > 0 and found >= wanted
        if due and expect.reached(_can_move_enough(hit)):
            count = plain(hit.unloading.cycle.settings.number(threshold))
            allowed = (
                f"{hit.busy.name} unloads: {plain(wanted)} cycles in a row over {count} points"
            )
            expect.that(bool(hit.unloading.of(hit.busy)), allowed, hit.unloading)


@CYCLES.check("AVERAGE-01", draws=cycles_near_thresholds())
def enough_hits_over_the_low_threshold_unload(
    cycles: CyclesInARow, answer: UnloadingInARow, expect: Expect
) -> None:
    """The most used broker unloads after enough consecutive cycles above the low threshold."""
    _must_unload(
        _cycles_to_first_unload(cycles, answer, expect), AVERAGE_LOW, AVERAGE_LOW_HITS, expect
    )


@CYCLES.check("AVERAGE-02", draws=cycles_near_thresholds())
def enough_hits_over_the_high_threshold_unload(
    cycles: CyclesInARow, answer: UnloadingInARow, expect: Expect
) -> None:
    """The most used broker unloads after enough consecutive cycles above the high threshold."""
    _must_unload(
        _cycles_to_first_unload(cycles, answer, expect), AVERAGE_HIGH, AVERAGE_HIGH_HITS, expect
    )


@CYCLES.check("AVERAGE-03", draws=cycles_near_thresholds())
def too_few_hits_unload_nothing(
    cycles: CyclesInARow, answer: UnloadingInARow, expect: Expect
) -> None:
    """Nothing is unloaded before a threshold has been exceeded in enough consecutive cycles."""
    hits = _cycles_to_first_unload(cycles, answer, expect)
    for index in range(1, len(hits) + 1):
        few = all(
            _possible_hits(hits[:index], one) < cycles.settings.number(times) for one, times in HITS
        )
        if expect.reached(few and _exceeds(hits[index - 1], AVERAGE_LOW) is True):
            expect.nothing(
                hits[index - 1].unloading, "too few cycles in a row exceeded the threshold"
            )


@CYCLES.check("AVERAGE-04", draws=cycles_near_thresholds())
def nothing_goes_within_the_low_threshold(
    cycles: CyclesInARow, answer: UnloadingInARow, expect: Expect
) -> None:
    """A cycle in which usage does not exceed the low threshold unloads nothing."""
    lower = cycles.settings.number(AVERAGE_LOW) <= cycles.settings.number(AVERAGE_HIGH)
    expect.given(lower, "the low threshold is the lower one")
    for hit in _cycles_to_first_unload(cycles, answer, expect):
        if expect.reached(_exceeds(hit, AVERAGE_LOW) is False):
            expect.nothing(hit.unloading, f"{plain(hit.apart)} points are within the threshold")


@CYCLES.check("AVERAGE-05", draws=cycles_near_thresholds())
def no_more_than_the_share_goes(
    cycles: CyclesInARow, answer: UnloadingInARow, expect: Expect
) -> None:
    """The unloaded bundles carry at most the configured share of the difference in messages/s."""
    for hit in _cycles_to_first_unload(cycles, answer, expect):
        cycle, need = hit.unloading.cycle, _amount_to_move(hit)
        gone = total(cycle.rates(one).messages for one in hit.unloading.owned_and_shed(hit.busy))
        if expect.reached(gone > 0 and need > cycle.settings.number(MIN_MESSAGES) * (1 + SHARE)):
            expect.that(gone <= need * (1 + SHARE), f"at most {messages(need)}", messages(gone))


@CYCLES.check("AVERAGE-06", draws=cycles_near_thresholds())
def small_differences_stay(cycles: CyclesInARow, answer: UnloadingInARow, expect: Expect) -> None:
    """Nothing is unloaded if the amounts to move are below their minimums in both measures."""
    share = cycles.settings.number(MAX_SHARE)
    for hit in _cycles_to_first_unload(cycles, answer, expect):
        extremes = Extremes.of(hit.unloading.cycle)
        least = (cycles.settings.number(MIN_MESSAGES), cycles.settings.number(MIN_BYTES))
        ends = (extremes.messages, extremes.throughput)
        small = all(
            (most - low) * share < bound * (1 - SHARE)
            for (low, most), bound in zip(ends, least, strict=True)
        )
        if expect.reached(small):
            expect.nothing(hit.unloading, partial(too_small_text, extremes, cycles.settings))


@CYCLES.check("AVERAGE-07", draws=cycles_near_thresholds())
def the_least_used_broker_keeps_all(
    cycles: CyclesInARow, answer: UnloadingInARow, expect: Expect
) -> None:
    """The least used broker unloads nothing."""
    for hit in _cycles_to_first_unload(cycles, answer, expect):
        if expect.reached(bool(hit.idle.bundles) and bool(hit.unloading.pairs)):
            expect.nothing(hit.unloading.of(hit.idle), f"{hit.idle.name} is used the least")


@CYCLES.check("PLANNED-01", draws=cycles_near_thresholds())
def the_least_used_broker_is_the_destination(
    cycles: CyclesInARow, answer: UnloadingInARow, expect: Expect
) -> None:
    """If AvgShedder also places bundles, the destination of an unload is the least used broker."""
    known = PLACEMENT_STRATEGY in cycles.settings.defaults
    placing = cycles.settings.text(PLACEMENT_STRATEGY) if known else ""
    expect.given(placing.rpartition(".")[2] == AVERAGE_SHEDDER, f"{AVERAGE_SHEDDER} places")
    for hit in _cycles_to_first_unload(cycles, answer, expect):
        for bundle in hit.unloading.owned_and_shed(hit.busy):
            expect.reached()
            to = hit.unloading.to.get(bundle)
            allowed = f"{bundle} planned for {hit.idle.name}, the least used"
            expect.that(to == hit.idle.name, allowed, f"planned for {to or 'nobody'}")
