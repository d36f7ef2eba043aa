"""Violations of shedding rules; each edits a cycle's case and unloads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate

from pulsar_conformance.audit.fleet.plants.moment import FULL, HARDLY, JUST, Pairs, PlantedCycle
from pulsar_conformance.audit.fleet.size import SHEDDING
from pulsar_conformance.reference.cluster import RESOURCES, Broker
from pulsar_conformance.reference.numbers import Fraction
from pulsar_conformance.reference.overload import MARGIN, need_of, threshold_of
from pulsar_conformance.reference.threshold import BELOW_AVERAGE, Levels

APART = 1.6
"""Factor by which traffic is raised on the most loaded broker and lowered on the least loaded."""

LESS = 3
"""Points by which busy brokers stay below the overload threshold."""

Edit = Callable[[PlantedCycle], Pairs | None]
"""Changes the case, and returns the unloads; None if the cycle is unsuitable."""

Edge = Callable[[PlantedCycle, Broker, Fraction], bool]
"""Raises a broker this many points above the limit at which it sheds."""


def _over_average(moment: PlantedCycle, broker: Broker, points: Fraction) -> bool:
    return moment.raise_above_average(broker.name, Levels(moment.cycle).threshold + points)


def _over_threshold(moment: PlantedCycle, broker: Broker, points: Fraction) -> bool:
    moment.set_usage(broker.name, threshold_of(moment.cycle) + points, "cpu", "bandwidthOut")
    return True


EDGE: Mapping[str, Edge] = {
    "ThresholdShedder": _over_average,
    "OverloadShedder": _over_threshold,
}

SPARE: Mapping[str, Callable[[PlantedCycle], Fraction]] = {
    "ThresholdShedder": lambda moment: Levels(moment.cycle).threshold + BELOW_AVERAGE,
    "OverloadShedder": lambda _moment: MARGIN,
}
"""Percentage of its traffic that a broker sheds when it is exactly at the limit."""

NEED: Mapping[str, Callable[[PlantedCycle, Broker], Fraction]] = {
    "ThresholdShedder": lambda moment, broker: Levels(moment.cycle).need_of(broker),
    "OverloadShedder": lambda moment, broker: need_of(moment.cycle, broker),
}


def edge(moment: PlantedCycle, broker: Broker, points: Fraction) -> bool:
    """Move a broker to `points` above the strategy's limit; return True if that is possible."""
    return EDGE[moment.cycle.strategy](moment, broker, points)


def bundles_of(pairs: Pairs, broker: Broker) -> list[str]:
    """Return a broker's bundles."""
    return [bundle for owner, bundle in pairs if owner == broker.name]


def with_unloads_replaced(pairs: Pairs, broker: Broker, bundles: list[str]) -> Pairs:
    """Return the unloads with those of one broker replaced."""
    rest = [pair for pair in pairs if pair[0] != broker.name]
    return [*rest, *((broker.name, bundle) for bundle in bundles)]


def shedding(moment: PlantedCycle) -> Broker | None:
    """Return a broker that sheds; if none does, raise the busiest one above the limit."""
    pairs = moment.honest if moment.cycle.enabled else []
    if pairs:
        return moment.cycle.brokers[pairs[0][0]]
    for broker in moment.busiest()[:1]:
        if moment.cycle.strategy in EDGE and edge(moment, broker, JUST):
            return moment.cycle.brokers[broker.name]
    return None


def sheds_when_off(moment: PlantedCycle) -> Pairs | None:
    """Shed although shedding is disabled."""
    if shedding(moment) is None:
        return None
    pairs = moment.honest
    moment.case["settings"] = {**moment.case["settings"], SHEDDING: False}
    return pairs


def not_its_own(moment: PlantedCycle) -> Pairs | None:
    """Also unload a bundle that another broker owns."""
    broker = shedding(moment)
    if broker is None:
        return None
    other = next((one for one in moment.busiest() if one.name != broker.name), None)
    if other is None:
        return None
    pairs = moment.honest
    left = [one for one in moment.cycle.movable(other) if one not in bundles_of(pairs, other)]
    return [*pairs, (broker.name, left[-1])] if left else None


def sheds_twice(moment: PlantedCycle) -> Pairs | None:
    """Unload the last bundle twice."""
    pairs = moment.honest if shedding(moment) else []
    return [*pairs, pairs[-1]] if pairs else None


def too_soon(moment: PlantedCycle) -> Pairs | None:
    """Unload a bundle that was unloaded recently, then as many as necessary."""
    cycle = moment.cycle
    for broker in moment.busiest():
        moved = [bundle for bundle in broker.bundles if cycle.blocked(bundle)]
        if moved and edge(moment, broker, JUST):
            need = NEED[cycle.strategy](moment, moment.cycle.brokers[broker.name])
            taken = _until(moment, [moved[0], *moment.cycle.movable(broker)], need)
            return with_unloads_replaced(moment.honest, broker, taken)
    return None


def _until(moment: PlantedCycle, bundles: list[str], need: Fraction) -> list[str]:
    """Return the fewest first bundles whose total traffic reaches the need."""
    together = accumulate(map(moment.cycle.traffic, bundles))
    count = next((place for place, sum_ in enumerate(together, 1) if sum_ >= need), len(bundles))
    return bundles[:count]


def lighter_first(moment: PlantedCycle) -> Pairs | None:
    """Keep the heaviest bundle, and unload lighter ones instead."""
    broker = shedding(moment)
    if broker is None or moment.cycle.strategy not in NEED:
        return None
    need = NEED[moment.cycle.strategy](moment, broker)
    lighter = moment.cycle.movable(broker)[1:]
    return with_unloads_replaced(moment.honest, broker, _until(moment, lighter, need))


def sheds_nothing_just_above(moment: PlantedCycle) -> Pairs | None:
    """Unload nothing from a broker just above the limit."""
    for broker in moment.busiest()[:1]:
        if edge(moment, broker, JUST):
            return with_unloads_replaced(moment.honest, broker, [])
    return None


def sheds_just_below(moment: PlantedCycle) -> Pairs | None:
    """Unload the heaviest bundle of a broker just below the limit."""
    for broker in moment.busiest()[:1]:
        if edge(moment, broker, -JUST):
            return with_unloads_replaced(moment.honest, broker, moment.cycle.movable(broker)[:1])
    return None


def _with_need(moment: PlantedCycle, share: Fraction) -> Iterator[tuple[Broker, list[str]]]:
    """Yield each suitable broker with its first bundles.

    The broker's usage is raised until these bundles carry 1/`share` of its need.
    """
    for broker in moment.busiest():
        cycle = moment.cycle
        bundles, traffic = cycle.movable(broker), cycle.traffic_of(broker)
        carried = accumulate(map(cycle.traffic, bundles))
        for count, together in enumerate(carried, 1):
            points = 100 * share * together / traffic - SPARE[cycle.strategy](moment)
            if points > JUST and count < len(bundles) and edge(moment, broker, points):
                used = Levels(moment.cycle).present[broker.name]
                if used <= FULL:
                    yield broker, bundles[:count]


def too_little(moment: PlantedCycle) -> Pairs | None:
    """Keep the last bundle, so that slightly too little is shed."""
    for broker, bundles in _with_need(moment, 1 + HARDLY):
        return with_unloads_replaced(moment.honest, broker, bundles)
    return None


def sheds_one_too_many(moment: PlantedCycle) -> Pairs | None:
    """Unload one bundle more, although the planned ones are just enough."""
    for broker, bundles in _with_need(moment, 1 - HARDLY):
        more = moment.cycle.movable(broker)[: len(bundles) + 1]
        return with_unloads_replaced(moment.honest, broker, more)
    return None


def not_for_the_idle(moment: PlantedCycle) -> Pairs | None:
    """Unload nothing from a broker that exceeds the limit only because another is idle."""
    *_, idle = moment.case["brokers"]
    moment.set_usage(idle, 0, *RESOURCES)
    return sheds_nothing_just_above(moment)


def not_by_weight(moment: PlantedCycle) -> Pairs | None:
    """Unload nothing from a broker that exceeds the limit only by weighted usage.

    The other brokers use most of their memory, which has a low weight.
    """
    for broker in moment.busiest()[:1]:
        for name, said in moment.case["brokers"].items():
            if name != broker.name:
                said["memory"] = {**said["memory"], "usage": 0.95 * said["memory"]["limit"]}
        if edge(moment, broker, JUST):
            return with_unloads_replaced(moment.honest, broker, [])
    return None


def sheds_the_idlest(moment: PlantedCycle) -> Pairs | None:
    """Unload a bundle from the least used broker that can unload one, whatever its history."""
    idlest = moment.busiest()[-1]
    return with_unloads_replaced(moment.honest, idlest, moment.cycle.movable(idlest)[:1])


def for_an_idle_one(moment: PlantedCycle) -> Pairs | None:
    """Unload a bundle from the busiest broker for a nearly idle one, with none above the limit."""
    _one_idle(moment)
    broker = moment.busiest()[0]
    return [(broker.name, moment.cycle.movable(broker)[0])]


def nothing_for_an_idle_one(moment: PlantedCycle) -> Pairs | None:
    """Unload nothing although one broker is far below the average."""
    _one_idle(moment)
    return [] if moment.honest else None


def _one_idle(moment: PlantedCycle) -> None:
    """Lower the least used broker to just below the average minus the threshold."""
    levels = Levels(moment.cycle)
    idle = min(levels.usage, key=lambda name: levels.usage[name])
    moment.raise_above_average(idle, -levels.threshold - 2 * JUST)


def sheds_at_equal_usage(moment: PlantedCycle) -> Pairs | None:
    """Unload a bundle although all brokers have equal usage."""
    for name in moment.case["brokers"]:
        moment.set_usage(name, 50, *RESOURCES)
    broker = moment.busiest()[0]
    return [(broker.name, moment.cycle.movable(broker)[0])]


def one_resource_over(moment: PlantedCycle) -> Pairs | None:
    """Unload nothing from a broker with one busy resource."""
    broker = moment.busiest()[0]
    moment.set_usage(broker.name, threshold_of(moment.cycle) + JUST)
    return with_unloads_replaced(moment.honest, broker, [])


def sheds_two(moment: PlantedCycle) -> Pairs | None:
    """Unload the two heaviest bundles of an overloaded broker."""
    return _of_the_overloaded(moment, slice(2))


def sheds_the_second_heaviest(moment: PlantedCycle) -> Pairs | None:
    """Unload the second heaviest bundle of an overloaded broker."""
    return _of_the_overloaded(moment, slice(1, 2))


def _of_the_overloaded(moment: PlantedCycle, which: slice) -> Pairs | None:
    for broker in moment.busiest()[:1]:
        edge(moment, broker, JUST)
        return with_unloads_replaced(moment.honest, broker, moment.cycle.movable(broker)[which])
    return None


def overloaded_under_another(moment: PlantedCycle) -> Pairs | None:
    """Unload nothing from a broker that is just overloaded, while all brokers are busy."""
    busiest, *_ = moment.busiest()
    threshold = threshold_of(moment.cycle)
    for name in moment.case["brokers"]:
        moment.set_usage(name, threshold - LESS)
    moment.set_usage(busiest.name, threshold + JUST)
    return with_unloads_replaced(moment.honest, busiest, [])


def sheds_its_only_bundle(moment: PlantedCycle) -> Pairs | None:
    """Unload the only bundle of an overloaded broker."""
    for broker in moment.cycle.brokers.values():
        if len(broker.bundles) == 1 and moment.cycle.movable(broker):
            edge(moment, broker, JUST)
            return with_unloads_replaced(moment.honest, broker, list(broker.bundles))
    return None


def _ends(moment: PlantedCycle) -> tuple[Broker, Broker]:
    """Return the brokers with the most and the least traffic."""
    cycle = moment.cycle
    by_traffic = sorted(cycle.brokers.values(), key=cycle.traffic_of)
    return by_traffic[-1], by_traffic[0]


def _sheds_when_widened(moment: PlantedCycle) -> bool:
    """Widen the gap between the most and the least loaded broker; return True if load is shed."""
    most, least = _ends(moment)
    moment.scale_traffic(most.name, APART)
    moment.scale_traffic(least.name, 1 / APART)
    return bool(moment.honest)


def nothing_to_even_out(moment: PlantedCycle) -> Pairs | None:
    """Unload nothing from the most loaded broker."""
    return [] if _sheds_when_widened(moment) else None


def from_the_most_loaded(moment: PlantedCycle) -> Pairs | None:
    """Unload a bundle from the most loaded broker although the thresholds are not exceeded."""
    if moment.honest:
        return None
    most, _ = _ends(moment)
    return [(most.name, moment.cycle.movable(most)[0])]


def from_the_least_loaded(moment: PlantedCycle) -> Pairs | None:
    """Also unload a bundle from the least loaded broker."""
    if not _sheds_when_widened(moment):
        return None
    _, least = _ends(moment)
    movable = moment.cycle.movable(least)
    return [*moment.honest, (least.name, movable[0])] if movable else None
