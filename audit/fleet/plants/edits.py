"""Edits that violate shedding rules: each changes a cycle's case and returns the unloads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate

from pulsar_conformance.audit.fleet.plants.moment import (
    FULL,
    SLIGHT_EXCESS,
    SLIGHT_SHARE,
    Pairs,
    PlantedCycle,
)
from pulsar_conformance.audit.fleet.size import SHEDDING
from pulsar_conformance.reference.cluster import RESOURCES, Broker
from pulsar_conformance.reference.numbers import Fraction
from pulsar_conformance.reference.overload import MARGIN, need_of, threshold_of
from pulsar_conformance.reference.threshold import BELOW_AVERAGE, Levels

TRAFFIC_FACTOR = 1.6
"""Factor that multiplies the highest traffic of a broker, and divides the lowest."""

POINTS_BELOW_THRESHOLD = 3
"""Percentage points by which busy brokers stay below the overload threshold."""

Edit = Callable[[PlantedCycle], Pairs | None]
"""A function that changes the case of a cycle, and returns the unloads that violate a rule. It
returns None if the violation cannot be planted in this cycle.
"""

SetUsage = Callable[[PlantedCycle, Broker, Fraction], bool]
"""A function that sets a broker's usage to a number of percentage points above the limit. It
returns False if that is impossible.
"""


def _set_above_average(moment: PlantedCycle, broker: Broker, points: Fraction) -> bool:
    return moment.raise_above_average(broker.name, Levels(moment.cycle).threshold + points)


def _set_above_threshold(moment: PlantedCycle, broker: Broker, points: Fraction) -> bool:
    moment.set_usage(broker.name, threshold_of(moment.cycle) + points, "cpu", "bandwidthOut")
    return True


SETTERS: Mapping[str, SetUsage] = {
    "ThresholdShedder": _set_above_average,
    "OverloadShedder": _set_above_threshold,
}
"""Functions that set a broker's usage relative to its limit, by strategy."""

SHED_AT_LIMIT: Mapping[str, Callable[[PlantedCycle], Fraction]] = {
    "ThresholdShedder": lambda moment: Levels(moment.cycle).threshold + BELOW_AVERAGE,
    "OverloadShedder": lambda _moment: MARGIN,
}
"""Percentage of its traffic that a broker sheds if its usage is exactly at the limit, by strategy.
"""

TRAFFIC_TO_SHED: Mapping[str, Callable[[PlantedCycle, Broker], Fraction]] = {
    "ThresholdShedder": lambda moment, broker: Levels(moment.cycle).need_of(broker),
    "OverloadShedder": lambda moment, broker: need_of(moment.cycle, broker),
}
"""Traffic that a broker above the limit sheds, by strategy."""


def set_above_limit(moment: PlantedCycle, broker: Broker, points: Fraction) -> bool:
    """Set a broker's usage to `points` percentage points above its limit; return False if that is
    impossible.
    """
    return SETTERS[moment.cycle.strategy](moment, broker, points)


def unloads_of(pairs: Pairs, broker: Broker) -> list[str]:
    """Return the bundles that a broker unloads."""
    return [bundle for owner, bundle in pairs if owner == broker.name]


def replace_unloads(pairs: Pairs, broker: Broker, bundles: list[str]) -> Pairs:
    """Return the unloads in `pairs`, but with `bundles` as the unloads of `broker`."""
    rest = [pair for pair in pairs if pair[0] != broker.name]
    return [*rest, *((broker.name, bundle) for bundle in bundles)]


def shedding_broker(moment: PlantedCycle) -> Broker | None:
    """Return a broker that sheds.

    If none does, raise the usage of the busiest broker until it sheds; return None if that is
    impossible.
    """
    pairs = moment.correct_unloads if moment.cycle.enabled else []
    if pairs:
        return moment.cycle.brokers[pairs[0][0]]
    for broker in moment.busiest()[:1]:
        if moment.cycle.strategy in SETTERS and set_above_limit(moment, broker, SLIGHT_EXCESS):
            return moment.cycle.brokers[broker.name]
    return None


def sheds_when_off(moment: PlantedCycle) -> Pairs | None:
    """Shed as usual although shedding is disabled."""
    if shedding_broker(moment) is None:
        return None
    pairs = moment.correct_unloads
    moment.case["settings"] = {**moment.case["settings"], SHEDDING: False}
    return pairs


def sheds_foreign_bundle(moment: PlantedCycle) -> Pairs | None:
    """Make a broker that sheds also unload a bundle of another broker."""
    broker = shedding_broker(moment)
    if broker is None:
        return None
    other = next((one for one in moment.busiest() if one.name != broker.name), None)
    if other is None:
        return None
    pairs = moment.correct_unloads
    left = [one for one in moment.cycle.movable(other) if one not in unloads_of(pairs, other)]
    return [*pairs, (broker.name, left[-1])] if left else None


def sheds_a_bundle_twice(moment: PlantedCycle) -> Pairs | None:
    """Unload the last of the unloaded bundles twice."""
    pairs = moment.correct_unloads if shedding_broker(moment) else []
    return [*pairs, pairs[-1]] if pairs else None


def sheds_within_grace_period(moment: PlantedCycle) -> Pairs | None:
    """Unload a recently unloaded bundle, and others until the broker has shed enough traffic."""
    cycle = moment.cycle
    for broker in moment.busiest():
        moved = [bundle for bundle in broker.bundles if cycle.blocked(bundle)]
        if moved and set_above_limit(moment, broker, SLIGHT_EXCESS):
            to_shed = TRAFFIC_TO_SHED[cycle.strategy](moment, moment.cycle.brokers[broker.name])
            taken = _first_with_traffic(moment, [moved[0], *moment.cycle.movable(broker)], to_shed)
            return replace_unloads(moment.correct_unloads, broker, taken)
    return None


def _first_with_traffic(moment: PlantedCycle, bundles: list[str], least: Fraction) -> list[str]:
    """Return the shortest beginning of `bundles` that carries at least `least` traffic in total.

    If all bundles together carry less, return all.
    """
    together = accumulate(map(moment.cycle.traffic, bundles))
    count = next((place for place, sum_ in enumerate(together, 1) if sum_ >= least), len(bundles))
    return bundles[:count]


def sheds_lighter_first(moment: PlantedCycle) -> Pairs | None:
    """Keep the heaviest bundle of a broker that must shed, and unload its lighter bundles
    instead.
    """
    broker = shedding_broker(moment)
    if broker is None or moment.cycle.strategy not in TRAFFIC_TO_SHED:
        return None
    to_shed = TRAFFIC_TO_SHED[moment.cycle.strategy](moment, broker)
    lighter = moment.cycle.movable(broker)[1:]
    return replace_unloads(
        moment.correct_unloads, broker, _first_with_traffic(moment, lighter, to_shed)
    )


def sheds_nothing_just_above_limit(moment: PlantedCycle) -> Pairs | None:
    """Unload nothing from a broker whose usage is just above the limit."""
    for broker in moment.busiest()[:1]:
        if set_above_limit(moment, broker, SLIGHT_EXCESS):
            return replace_unloads(moment.correct_unloads, broker, [])
    return None


def sheds_just_below_limit(moment: PlantedCycle) -> Pairs | None:
    """Unload the heaviest bundle of a broker whose usage is just below the limit."""
    for broker in moment.busiest()[:1]:
        if set_above_limit(moment, broker, -SLIGHT_EXCESS):
            return replace_unloads(moment.correct_unloads, broker, moment.cycle.movable(broker)[:1])
    return None


def _raised_brokers(moment: PlantedCycle, share: Fraction) -> Iterator[tuple[Broker, list[str]]]:
    """Raise the usage of brokers in turn; yield each broker with the first bundles of its queue.

    At that usage, the traffic that the broker must shed is `share` times the traffic of these
    bundles.
    """
    for broker in moment.busiest():
        cycle = moment.cycle
        bundles, traffic = cycle.movable(broker), cycle.traffic_of(broker)
        carried = accumulate(map(cycle.traffic, bundles))
        for count, together in enumerate(carried, 1):
            points = 100 * share * together / traffic - SHED_AT_LIMIT[cycle.strategy](moment)
            if (
                points > SLIGHT_EXCESS
                and count < len(bundles)
                and set_above_limit(moment, broker, points)
            ):
                used = Levels(moment.cycle).present[broker.name]
                if used <= FULL:
                    yield broker, bundles[:count]


def sheds_too_little(moment: PlantedCycle) -> Pairs | None:
    """Unload one bundle too few: slightly less traffic than the broker must shed."""
    for broker, bundles in _raised_brokers(moment, 1 + SLIGHT_SHARE):
        return replace_unloads(moment.correct_unloads, broker, bundles)
    return None


def sheds_one_bundle_too_many(moment: PlantedCycle) -> Pairs | None:
    """Unload one bundle too many, although the others already carry slightly more than required."""
    for broker, bundles in _raised_brokers(moment, 1 - SLIGHT_SHARE):
        more = moment.cycle.movable(broker)[: len(bundles) + 1]
        return replace_unloads(moment.correct_unloads, broker, more)
    return None


def ignores_idle_broker(moment: PlantedCycle) -> Pairs | None:
    """Unload nothing from a broker that is above the limit only because another broker is idle."""
    *_, idle = moment.case["brokers"]
    moment.set_usage(idle, 0, *RESOURCES)
    return sheds_nothing_just_above_limit(moment)


def ignores_weights(moment: PlantedCycle) -> Pairs | None:
    """Unload nothing from a broker that is above the limit only by weighted usage.

    The other brokers use most of their memory, which has a low weight.
    """
    for broker in moment.busiest()[:1]:
        for name, said in moment.case["brokers"].items():
            if name != broker.name:
                said["memory"] = {**said["memory"], "usage": 0.95 * said["memory"]["limit"]}
        if set_above_limit(moment, broker, SLIGHT_EXCESS):
            return replace_unloads(moment.correct_unloads, broker, [])
    return None


def sheds_from_the_idlest(moment: PlantedCycle) -> Pairs | None:
    """Unload a bundle from the least used broker among those with two or more movable bundles."""
    idlest = moment.busiest()[-1]
    return replace_unloads(moment.correct_unloads, idlest, moment.cycle.movable(idlest)[:1])


def sheds_for_idle_broker(moment: PlantedCycle) -> Pairs | None:
    """Unload a bundle from the busiest broker because another one is nearly idle.

    No broker is above the limit.
    """
    _make_one_idle(moment)
    broker = moment.busiest()[0]
    return [(broker.name, moment.cycle.movable(broker)[0])]


def ignores_idle_broker_at_boundary(moment: PlantedCycle) -> Pairs | None:
    """Unload nothing although one broker is below the lower boundary."""
    _make_one_idle(moment)
    return [] if moment.correct_unloads else None


def _make_one_idle(moment: PlantedCycle) -> None:
    """Lower the usage of the least used broker to just below the average minus the threshold."""
    levels = Levels(moment.cycle)
    idle = min(levels.usage, key=lambda name: levels.usage[name])
    moment.raise_above_average(idle, -levels.threshold - 2 * SLIGHT_EXCESS)


def sheds_at_equal_usage(moment: PlantedCycle) -> Pairs | None:
    """Unload a bundle although all brokers have equal usage."""
    for name in moment.case["brokers"]:
        moment.set_usage(name, 50, *RESOURCES)
    broker = moment.busiest()[0]
    return [(broker.name, moment.cycle.movable(broker)[0])]


def ignores_single_resource(moment: PlantedCycle) -> Pairs | None:
    """Unload nothing from a broker with a single resource above the overload threshold."""
    broker = moment.busiest()[0]
    moment.set_usage(broker.name, threshold_of(moment.cycle) + SLIGHT_EXCESS)
    return replace_unloads(moment.correct_unloads, broker, [])


def sheds_two_bundles(moment: PlantedCycle) -> Pairs | None:
    """Unload the two heaviest bundles of an overloaded broker."""
    return _unload_from_overloaded(moment, slice(2))


def sheds_the_second_heaviest(moment: PlantedCycle) -> Pairs | None:
    """Unload the second heaviest bundle of an overloaded broker."""
    return _unload_from_overloaded(moment, slice(1, 2))


def _unload_from_overloaded(moment: PlantedCycle, bundles: slice) -> Pairs | None:
    """Overload the busiest broker, and unload some of its movable bundles.

    The movable bundles are sorted by traffic, the heaviest first; `bundles` selects those to
    unload.
    """
    for broker in moment.busiest()[:1]:
        set_above_limit(moment, broker, SLIGHT_EXCESS)
        return replace_unloads(
            moment.correct_unloads, broker, moment.cycle.movable(broker)[bundles]
        )
    return None


def ignores_overload(moment: PlantedCycle) -> Pairs | None:
    """Unload nothing from a broker that is just overloaded, while the others are almost as busy."""
    busiest, *_ = moment.busiest()
    threshold = threshold_of(moment.cycle)
    for name in moment.case["brokers"]:
        moment.set_usage(name, threshold - POINTS_BELOW_THRESHOLD)
    moment.set_usage(busiest.name, threshold + SLIGHT_EXCESS)
    return replace_unloads(moment.correct_unloads, busiest, [])


def sheds_its_only_bundle(moment: PlantedCycle) -> Pairs | None:
    """Unload the only bundle of an overloaded broker."""
    for broker in moment.cycle.brokers.values():
        if len(broker.bundles) == 1 and moment.cycle.movable(broker):
            set_above_limit(moment, broker, SLIGHT_EXCESS)
            return replace_unloads(moment.correct_unloads, broker, list(broker.bundles))
    return None


def _most_and_least_loaded(moment: PlantedCycle) -> tuple[Broker, Broker]:
    """Return the broker with the most traffic and the broker with the least."""
    cycle = moment.cycle
    by_traffic = sorted(cycle.brokers.values(), key=cycle.traffic_of)
    return by_traffic[-1], by_traffic[0]


def _widen_difference(moment: PlantedCycle) -> bool:
    """Raise the traffic of the most loaded broker, and lower that of the least loaded broker.

    Return True if the implementation then sheds.
    """
    most, least = _most_and_least_loaded(moment)
    moment.scale_traffic(most.name, TRAFFIC_FACTOR)
    moment.scale_traffic(least.name, 1 / TRAFFIC_FACTOR)
    return bool(moment.correct_unloads)


def ignores_load_difference(moment: PlantedCycle) -> Pairs | None:
    """Unload nothing although the brokers' traffic differs by more than the thresholds."""
    return [] if _widen_difference(moment) else None


def sheds_within_thresholds(moment: PlantedCycle) -> Pairs | None:
    """Unload a bundle from the most loaded broker although the difference is within the
    thresholds.
    """
    if moment.correct_unloads:
        return None
    most, _ = _most_and_least_loaded(moment)
    return [(most.name, moment.cycle.movable(most)[0])]


def sheds_from_least_loaded(moment: PlantedCycle) -> Pairs | None:
    """Unload a bundle not only from the most loaded broker but also from the least loaded one."""
    if not _widen_difference(moment):
        return None
    _, least = _most_and_least_loaded(moment)
    movable = moment.cycle.movable(least)
    return [*moment.correct_unloads, (least.name, movable[0])] if movable else None
