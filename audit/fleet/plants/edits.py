"""Edits that violate shedding rules: each changes a cycle's case and returns the unloads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate

from pulsar_conformance.audit.fleet.plants.moment import (
    FULL,
    SLIGHT_EXCESS,
    SLIGHT_SHARE,
    PlantedCycle,
    UnloadPairs,
)
from pulsar_conformance.audit.fleet.size import SHEDDING_ENABLED
from pulsar_conformance.reference.cluster import RESOURCES, Broker
from pulsar_conformance.reference.numbers import Fraction
from pulsar_conformance.reference.overload import MARGIN, need_of, threshold_of
from pulsar_conformance.reference.threshold import BELOW_AVERAGE, Levels

TRAFFIC_FACTOR = 1.6
"""Factor that multiplies the most loaded broker's traffic and divides the least loaded broker's."""

POINTS_BELOW_THRESHOLD = 3
"""Percentage points by which busy brokers stay below the overload threshold."""

Edit = Callable[[PlantedCycle], UnloadPairs | None]
"""A function that changes the case of a cycle and returns unloads that violate a rule.

It returns None if the violation cannot be planted in this cycle.
"""

SetUsage = Callable[[PlantedCycle, Broker, Fraction], bool]
"""A function that sets a broker's usage, in percentage points above its limit.

It returns False if that is impossible.
"""


def _set_above_average(planted: PlantedCycle, broker: Broker, points: Fraction) -> bool:
    return planted.set_relative_to_average(broker.name, Levels(planted.cycle).threshold + points)


def _set_above_threshold(planted: PlantedCycle, broker: Broker, points: Fraction) -> bool:
    planted.set_usage(broker.name, threshold_of(planted.cycle) + points, "cpu", "bandwidthOut")
    return True


SETTERS: Mapping[str, SetUsage] = {
    "ThresholdShedder": _set_above_average,
    "OverloadShedder": _set_above_threshold,
}
"""Functions that set a broker's usage relative to its limit, by strategy."""

SHED_AT_LIMIT: Mapping[str, Callable[[PlantedCycle], Fraction]] = {
    "ThresholdShedder": lambda planted: Levels(planted.cycle).threshold + BELOW_AVERAGE,
    "OverloadShedder": lambda _planted: MARGIN,
}
"""Percentage of its traffic that a broker sheds if its usage is exactly at the limit, by strategy.
"""

TRAFFIC_TO_SHED: Mapping[str, Callable[[PlantedCycle, Broker], Fraction]] = {
    "ThresholdShedder": lambda planted, broker: Levels(planted.cycle).need_of(broker),
    "OverloadShedder": lambda planted, broker: need_of(planted.cycle, broker),
}
"""Traffic that a broker above the limit sheds, by strategy."""


def set_above_limit(planted: PlantedCycle, broker: Broker, points: Fraction) -> bool:
    """Set a broker's usage to `points` percentage points above its limit; return False if that is
    impossible.
    """
    return SETTERS[planted.cycle.strategy](planted, broker, points)


def unloads_of(pairs: UnloadPairs, broker: Broker) -> list[str]:
    """Return the bundles that a broker unloads."""
    return [bundle for owner, bundle in pairs if owner == broker.name]


def replace_unloads(pairs: UnloadPairs, broker: Broker, bundles: list[str]) -> UnloadPairs:
    """Return the unloads in `pairs`, with those of `broker` replaced by `bundles`."""
    rest = [pair for pair in pairs if pair[0] != broker.name]
    return [*rest, *((broker.name, bundle) for bundle in bundles)]


def shedding_broker(planted: PlantedCycle) -> Broker | None:
    """Return a broker that sheds; if none does, raise the usage of the busiest one until it sheds.

    None if that is impossible.
    """
    pairs = planted.correct_unloads if planted.cycle.enabled else []
    if pairs:
        return planted.cycle.brokers[pairs[0][0]]
    for broker in planted.busiest_brokers()[:1]:
        if planted.cycle.strategy in SETTERS and set_above_limit(planted, broker, SLIGHT_EXCESS):
            return planted.cycle.brokers[broker.name]
    return None


def sheds_when_off(planted: PlantedCycle) -> UnloadPairs | None:
    """Shed as usual although shedding is disabled."""
    if shedding_broker(planted) is None:
        return None
    pairs = planted.correct_unloads
    planted.case["settings"] = {**planted.case["settings"], SHEDDING_ENABLED: False}
    return pairs


def sheds_foreign_bundle(planted: PlantedCycle) -> UnloadPairs | None:
    """Make a broker that sheds also unload a bundle of another broker."""
    broker = shedding_broker(planted)
    if broker is None:
        return None
    other = next((one for one in planted.busiest_brokers() if one.name != broker.name), None)
    if other is None:
        return None
    pairs = planted.correct_unloads
    left = [one for one in planted.cycle.movable(other) if one not in unloads_of(pairs, other)]
    return [*pairs, (broker.name, left[-1])] if left else None


def sheds_a_bundle_twice(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload the last of the unloaded bundles twice."""
    pairs = planted.correct_unloads if shedding_broker(planted) else []
    return [*pairs, pairs[-1]] if pairs else None


def sheds_within_grace_period(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload a recently unloaded bundle, and others until the broker has shed enough traffic."""
    cycle = planted.cycle
    for broker in planted.busiest_brokers():
        moved = [bundle for bundle in broker.bundles if cycle.blocked(bundle)]
        if moved and set_above_limit(planted, broker, SLIGHT_EXCESS):
            to_shed = TRAFFIC_TO_SHED[cycle.strategy](planted, planted.cycle.brokers[broker.name])
            taken = _first_with_traffic(
                planted, [moved[0], *planted.cycle.movable(broker)], to_shed
            )
            return replace_unloads(planted.correct_unloads, broker, taken)
    return None


def _first_with_traffic(planted: PlantedCycle, bundles: list[str], least: Fraction) -> list[str]:
    """Return the first `bundles`, as many as it takes to carry at least `least` traffic.

    If all bundles together carry less, return all.
    """
    together = accumulate(map(planted.cycle.traffic, bundles))
    count = next((place for place, sum_ in enumerate(together, 1) if sum_ >= least), len(bundles))
    return bundles[:count]


def sheds_lighter_first(planted: PlantedCycle) -> UnloadPairs | None:
    """Keep the heaviest bundle of a broker that must shed; unload its lighter bundles instead."""
    broker = shedding_broker(planted)
    if broker is None or planted.cycle.strategy not in TRAFFIC_TO_SHED:
        return None
    to_shed = TRAFFIC_TO_SHED[planted.cycle.strategy](planted, broker)
    lighter = planted.cycle.movable(broker)[1:]
    return replace_unloads(
        planted.correct_unloads, broker, _first_with_traffic(planted, lighter, to_shed)
    )


def sheds_nothing_just_above_limit(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload nothing from a broker whose usage is just above the limit."""
    for broker in planted.busiest_brokers()[:1]:
        if set_above_limit(planted, broker, SLIGHT_EXCESS):
            return replace_unloads(planted.correct_unloads, broker, [])
    return None


def sheds_just_below_limit(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload the heaviest bundle of a broker whose usage is just below the limit."""
    for broker in planted.busiest_brokers()[:1]:
        if set_above_limit(planted, broker, -SLIGHT_EXCESS):
            return replace_unloads(
                planted.correct_unloads, broker, planted.cycle.movable(broker)[:1]
            )
    return None


def _raised_brokers(planted: PlantedCycle, share: Fraction) -> Iterator[tuple[Broker, list[str]]]:
    """Raise the usage of one broker at a time; yield the broker with its heaviest movable bundles.

    At the raised usage, the broker must shed `share` times their traffic.
    """
    for broker in planted.busiest_brokers():
        cycle = planted.cycle
        bundles, traffic = cycle.movable(broker), cycle.traffic_of(broker)
        carried = accumulate(map(cycle.traffic, bundles))
        for count, together in enumerate(carried, 1):
            points = 100 * share * together / traffic - SHED_AT_LIMIT[cycle.strategy](planted)
            if (
                points > SLIGHT_EXCESS
                and count < len(bundles)
                and set_above_limit(planted, broker, points)
            ):
                used = Levels(planted.cycle).present[broker.name]
                if used <= FULL:
                    yield broker, bundles[:count]


def sheds_too_little(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload one bundle too few: slightly less traffic than the broker must shed."""
    for broker, bundles in _raised_brokers(planted, 1 + SLIGHT_SHARE):
        return replace_unloads(planted.correct_unloads, broker, bundles)
    return None


def sheds_one_bundle_too_many(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload one bundle too many, although the others already carry slightly more than required."""
    for broker, bundles in _raised_brokers(planted, 1 - SLIGHT_SHARE):
        more = planted.cycle.movable(broker)[: len(bundles) + 1]
        return replace_unloads(planted.correct_unloads, broker, more)
    return None


def ignores_idle_broker(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload nothing from a broker that is above the limit only because another broker is idle."""
    *_, idle = planted.case["brokers"]
    planted.set_usage(idle, 0, *RESOURCES)
    return sheds_nothing_just_above_limit(planted)


def ignores_weights(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload nothing from a broker that is above the limit only because usage is weighted.

    The other brokers use most of their memory, which has a low weight.
    """
    for broker in planted.busiest_brokers()[:1]:
        for name, said in planted.case["brokers"].items():
            if name != broker.name:
                said["memory"] = {**said["memory"], "usage": 0.95 * said["memory"]["limit"]}
        if set_above_limit(planted, broker, SLIGHT_EXCESS):
            return replace_unloads(planted.correct_unloads, broker, [])
    return None


def sheds_from_the_idlest(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload a bundle from the least used broker among those with two or more movable bundles."""
    idlest = planted.busiest_brokers()[-1]
    return replace_unloads(planted.correct_unloads, idlest, planted.cycle.movable(idlest)[:1])


def sheds_for_idle_broker(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload a bundle from the busiest broker because another broker is nearly idle, although no
    broker is above the limit.
    """
    _make_one_idle(planted)
    broker = planted.busiest_brokers()[0]
    return [(broker.name, planted.cycle.movable(broker)[0])]


def ignores_idle_broker_at_boundary(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload nothing although one broker is below the lower boundary."""
    _make_one_idle(planted)
    return [] if planted.correct_unloads else None


def _make_one_idle(planted: PlantedCycle) -> None:
    """Lower the usage of the least used broker to just below the average minus the threshold."""
    levels = Levels(planted.cycle)
    idle = min(levels.usage, key=lambda name: levels.usage[name])
    planted.set_relative_to_average(idle, -levels.threshold - 2 * SLIGHT_EXCESS)


def sheds_at_equal_usage(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload a bundle although all brokers have equal usage."""
    for name in planted.case["brokers"]:
        planted.set_usage(name, 50, *RESOURCES)
    broker = planted.busiest_brokers()[0]
    return [(broker.name, planted.cycle.movable(broker)[0])]


def ignores_single_resource(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload nothing from a broker with a single resource above the overload threshold."""
    broker = planted.busiest_brokers()[0]
    planted.set_usage(broker.name, threshold_of(planted.cycle) + SLIGHT_EXCESS)
    return replace_unloads(planted.correct_unloads, broker, [])


def sheds_two_bundles(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload the two heaviest bundles of an overloaded broker."""
    return _unload_from_overloaded(planted, slice(2))


def sheds_the_second_heaviest(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload the second heaviest bundle of an overloaded broker."""
    return _unload_from_overloaded(planted, slice(1, 2))


def _unload_from_overloaded(planted: PlantedCycle, bundles: slice) -> UnloadPairs | None:
    """Overload the busiest broker, and unload some of its movable bundles.

    `bundles` selects them from the movable bundles, heaviest first.
    """
    for broker in planted.busiest_brokers()[:1]:
        set_above_limit(planted, broker, SLIGHT_EXCESS)
        return replace_unloads(
            planted.correct_unloads, broker, planted.cycle.movable(broker)[bundles]
        )
    return None


def ignores_overload(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload nothing from a broker that is just overloaded, while the others are almost as busy."""
    busiest, *_ = planted.busiest_brokers()
    threshold = threshold_of(planted.cycle)
    for name in planted.case["brokers"]:
        planted.set_usage(name, threshold - POINTS_BELOW_THRESHOLD)
    planted.set_usage(busiest.name, threshold + SLIGHT_EXCESS)
    return replace_unloads(planted.correct_unloads, busiest, [])


def sheds_its_only_bundle(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload the only bundle of an overloaded broker."""
    for broker in planted.cycle.brokers.values():
        if len(broker.bundles) == 1 and planted.cycle.movable(broker):
            set_above_limit(planted, broker, SLIGHT_EXCESS)
            return replace_unloads(planted.correct_unloads, broker, list(broker.bundles))
    return None


def _most_and_least_loaded(planted: PlantedCycle) -> tuple[Broker, Broker]:
    """Return the broker with the most traffic and the broker with the least."""
    cycle = planted.cycle
    by_traffic = sorted(cycle.brokers.values(), key=cycle.traffic_of)
    return by_traffic[-1], by_traffic[0]


def _widen_difference(planted: PlantedCycle) -> bool:
    """Raise the most loaded broker's traffic, lower the least loaded broker's.

    Return True if the implementation then sheds.
    """
    most, least = _most_and_least_loaded(planted)
    planted.scale_traffic(most.name, TRAFFIC_FACTOR)
    planted.scale_traffic(least.name, 1 / TRAFFIC_FACTOR)
    return bool(planted.correct_unloads)


def ignores_load_difference(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload nothing although the brokers' traffic differs by more than the thresholds."""
    return [] if _widen_difference(planted) else None


def sheds_within_thresholds(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload a bundle of the most loaded broker although the difference is too small."""
    if planted.correct_unloads:
        return None
    most, _ = _most_and_least_loaded(planted)
    return [(most.name, planted.cycle.movable(most)[0])]


def sheds_from_least_loaded(planted: PlantedCycle) -> UnloadPairs | None:
    """Unload a bundle not only from the most loaded broker but also from the least loaded one."""
    if not _widen_difference(planted):
        return None
    _, least = _most_and_least_loaded(planted)
    movable = planted.cycle.movable(least)
    return [*planted.correct_unloads, (least.name, movable[0])] if movable else None
