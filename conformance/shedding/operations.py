"""Operations on shedding: one cycle, and consecutive cycles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise

from pulsar_conformance.conformance.common.check import Violated, near, same
from pulsar_conformance.conformance.common.clusters import (
    LEFT,
    RIGHT,
    bundles_named_in,
    cluster_problems,
    example_broker,
    example_bundle_data,
    weight_problems,
)
from pulsar_conformance.conformance.common.operation import NamesUsed, Operation, Problems
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.shedding.quantities import (
    Extremes,
    UsageLevels,
    any_tie,
    has_excluded,
    is_overloaded,
    overload_need,
)
from pulsar_conformance.conformance.shedding.view import (
    CyclesInARow,
    SheddingCycle,
    Unloading,
    UnloadingInARow,
)
from pulsar_conformance.reference import Readings, Settings
from pulsar_conformance.reference.cluster import Broker, Rates
from pulsar_conformance.reference.numbers import Rate
from pulsar_conformance.reference.ranges import HashRange, namespace_of
from pulsar_conformance.reference.shedding import (
    ENABLED,
    STRATEGY,
    TRANSFER_SHEDDER,
    TRANSFER_TARGET,
)
from pulsar_conformance.reference.threshold import (
    HISTORY_SHARE,
    LOWER_BOUNDARY,
    SHEDDER_THRESHOLD,
)
from pulsar_conformance.reference.uniform import (
    AVERAGE_SETTINGS,
    RATE_THRESHOLD,
    THROUGHPUT_THRESHOLD,
)


def _legal_cycle(case: Json, settings: Settings) -> Problems:
    yield from cluster_problems(case, settings)
    strategy = SheddingCycle(case, settings, NO_READINGS).strategy
    if strategy == "ThresholdShedder":
        settings.number(SHEDDER_THRESHOLD)
        yield from weight_problems(settings)
        if any(report.get("usageHistory") for report in case["brokers"].values()):
            yield from history_share_problems(settings)
    if strategy == "AvgShedder":
        for name in AVERAGE_SETTINGS:
            settings.number(name)
        yield from weight_problems(settings)
    if strategy == TRANSFER_SHEDDER:
        yield from transfer_setting_problems(settings)
    if strategy == "UniformLoadShedder":
        settings.number(RATE_THRESHOLD)
        settings.number(THROUGHPUT_THRESHOLD)
    owned = {b for report in case["brokers"].values() for b in report.get("bundles", ())}
    yield from _part_problems(owned, case["recentlyUnloaded"])


def transfer_setting_problems(settings: Settings) -> Problems:
    """Yield the problems of TransferShedder's settings."""
    settings.number(TRANSFER_TARGET)  # raises MissingSetting if the profile has no default
    from pulsar_conformance.reference.transfer import TRANSFER_NUMBERS

    for name in (*TRANSFER_NUMBERS, HISTORY_SHARE):
        settings.number(name)
    yield from weight_problems(settings)


def history_share_problems(settings: Settings) -> Problems:
    """Yield a problem unless the setting for the weight of history is between 0 and 1."""
    if not 0 <= settings.number(HISTORY_SHARE) <= 1:
        yield f"case.settings.{HISTORY_SHARE}: the weight must be between 0 and 1"


def _part_problems(owned: set[str], recently: Mapping[str, float]) -> Problems:
    """Yield a problem for each recently unloaded bundle that is only a part of a current bundle.

    That is impossible, because bundles never merge.
    """
    parts: dict[str, list[tuple[HashRange, str]]] = defaultdict(list)
    for bundle in owned:
        parts[namespace_of(bundle)].append((HashRange.parse(bundle), bundle))
    for name in recently:
        moved = HashRange.parse(name)
        for part, bundle in parts.get(namespace_of(name), ()):
            apart = part.upper <= moved.lower or moved.upper <= part.lower
            if not (apart or moved.covers(part)):
                yield f"case.recentlyUnloaded: {name} is a part of {bundle}; bundles never merge"


def _unloading(case: SheddingCycle, answer: Json) -> Unloading:
    pairs = tuple((one["broker"], one["bundle"]) for one in answer["unload"])
    to = {one["bundle"]: one["to"] for one in answer["unload"] if "to" in one}
    return Unloading(case, pairs, to)


def _matches_cycle(allowed: Json, answer: Json) -> bool:
    """True if each broker sheds the same bundles in the same order."""
    return unloads_by_broker(allowed["unload"]) == unloads_by_broker(answer["unload"])


def unloads_by_broker(
    unload: Sequence[Mapping[str, str]],
) -> dict[str, list[tuple[str, str | None]]]:
    """Return each broker's unloads, with the destination if it is named."""
    found: dict[str, list[tuple[str, str | None]]] = {}
    for one in unload:
        found.setdefault(one["broker"], []).append((one["bundle"], one.get("to")))
    return found


def _named_cycle(case: Json, answer: Json) -> list[NamesUsed]:
    unload = answer["unload"]
    return [
        NamesUsed(_brokers_in(unload), case["brokers"]),
        NamesUsed([one["bundle"] for one in unload], bundles_named_in(case)),
    ]


def _brokers_in(unload: Sequence[Mapping[str, str]]) -> list[str]:
    return [one[place] for one in unload for place in ("broker", "to") if place in one]


def _same_cycle(_case: Json, answer: Json) -> object:
    return _sorted_unloads(answer["unload"])


def _sorted_unloads(unload: Sequence[Mapping[str, str]]) -> list[tuple[str, str, str]]:
    return sorted((one["broker"], one["bundle"], one.get("to", "")) for one in unload)


def _example_cycle(cpu: float) -> Json:
    return {
        "strategy": "OverloadShedder",
        "settings": {},
        "brokers": {
            "broker-1": example_broker(cpu, 4, [LEFT, RIGHT]),
            "broker-2": example_broker(10.0, 0, []),
        },
        "bundles": example_bundle_data(),
        "recentlyUnloaded": {},
    }


def _is_determined(case: SheddingCycle, _readings: Readings) -> bool:
    """True if shedding is off, or if the decision is certain and no broker has bundles that tie.

    False if a broker has a bundle of an excluded namespace.
    """
    if not case.settings.flag(ENABLED):
        return True
    decides, brokers = STRATEGIES.get(case.strategy), case.brokers.values()
    if decides is None or len(brokers) < 2 or any(has_excluded(case, one) for one in brokers):
        return False
    apart = all(_all_differ(map(case.rates, case.movable(broker))) for broker in brokers)
    everywhere = case.readings["overload-scope"] == "all"
    return apart and decides(case) and (not everywhere or _overload_is_certain(case))


def _all_differ(rates: Iterable[Rates]) -> bool:
    """True if no two rates are equal in messages or bytes."""
    known = list(rates)
    return not (any_tie(r.messages for r in known) or any_tie(r.throughput for r in known))


def _never_exactly_enough(case: SheddingCycle, broker: Broker, need: Rate) -> bool:
    """True if a broker's busiest bundles never add up to exactly the traffic that it must shed."""
    carried = accumulate(map(case.traffic, case.movable(broker)))
    return not any(same(amount, need) for amount in carried)


def _overload_is_certain(case: SheddingCycle) -> bool:
    """True if it is certain which brokers are overloaded and how much they shed."""
    return all(
        is_overloaded(case, broker) is not None
        and _never_exactly_enough(case, broker, overload_need(case, broker))
        for broker in case.brokers.values()
    )


def _threshold_is_certain(case: SheddingCycle) -> bool:
    """True if it is certain which brokers are above the limit and how much they shed."""
    levels = UsageLevels(case)
    over = [(broker, levels.over(broker)) for broker in case.brokers.values()]
    certain = all(above is not None for _, above in over)
    clear = all(
        _never_exactly_enough(case, broker, levels.need_of(broker))
        for broker, above in over
        if above
    )
    return (
        certain and clear and (not case.settings.flag(LOWER_BOUNDARY) or _idle_is_certain(levels))
    )


def _idle_is_certain(levels: UsageLevels) -> bool:
    """True if it is certain which brokers are idle, and no two brokers have equal usage."""
    certain = all(levels.idle(usage) is not None for usage in levels.usage.values())
    pairs = pairwise(sorted(levels.usage.values()))
    return certain and not any(near(low, high) for low, high in pairs)


def _uniform_is_certain(case: SheddingCycle) -> bool:
    """True if all brokers differ in traffic, no gap is near a threshold, and rates are integers.

    The documents do not say which bundles balance the load. The sum of integer rates does not
    depend on their order.
    """
    brokers, spread = case.brokers.values(), Extremes.of(case)
    bundles = [case.rates(bundle) for broker in brokers for bundle in broker.bundles]
    own = list(map(case.rates_of, brokers))
    numbers = (n for one in (*bundles, *own) for n in (one.messages, one.throughput))
    least, most = spread.messages
    threshold = case.settings.number(RATE_THRESHOLD)
    bounds = [(most, least + threshold), (most, least * (100 + threshold) / 100)]
    least, most = spread.throughput
    multiple = case.settings.number(THROUGHPUT_THRESHOLD)
    bounds += [(most, least * multiple), (most, least * (multiple + 1))]
    doubtful = any(same(amount, bound) for amount, bound in bounds)
    return _all_differ(own) and not doubtful and all(number.denominator == 1 for number in numbers)


STRATEGIES: Mapping[str, Callable[[SheddingCycle], bool]] = {
    "OverloadShedder": _overload_is_certain,
    "ThresholdShedder": _threshold_is_certain,
    "UniformLoadShedder": _uniform_is_certain,
}
"""For each documented strategy, a function that is true if the decision about a case is certain."""


SHED = Operation(
    id="shed.select",
    view=SheddingCycle,
    read=_unloading,
    matches=_matches_cycle,
    examples=(_example_cycle(95.0), _example_cycle(50.0)),
    legal=_legal_cycle,
    removable=frozenset({"brokers", "bundles", "recentlyUnloaded"}),
    names=_named_cycle,
    regardless_of_order=_same_cycle,
    determined=_is_determined,
    stands_for={STRATEGY: "strategy"},
)


def _legal_cycles(case: Json, settings: Settings) -> Problems:
    first, *later = case["cycles"]
    for index, cycle in enumerate(case["cycles"]):
        where = f"case.cycles[{index}]"
        alone = {**cycle, "strategy": case["strategy"]}
        for problem in SHED.legal(alone, settings):
            yield problem.replace("case", where, 1) if problem.startswith("case.") else problem
        for name, report in cycle["brokers"].items():
            if "usageHistory" in report:
                yield f"{where}.brokers.{name}: leave out usageHistory; earlier cycles give it"
        if cycle["brokers"].keys() != first["brokers"].keys():
            yield f"{where}.brokers: every cycle must have the same brokers"
    if later and CyclesInARow(case, settings, NO_READINGS).alone(0).strategy == "ThresholdShedder":
        yield from history_share_problems(settings)


NO_READINGS = Readings({})
"""Readings to use for a strategy whose decisions depend on no reading."""


def _unloads_of_cycles(cycles: CyclesInARow, answer: Json) -> UnloadingInARow:
    """Return each cycle's unloads; earlier answers determine the state of later cycles.

    Errors: `Violated`.
    """
    found: list[Unloading] = []
    answered = answer["cycles"]
    if len(answered) != len(cycles):
        raise Violated(f"{len(cycles)} cycles, as asked", f"{len(answered)} cycles")
    for one in answered:
        cycle = cycles.after([[bundle for _, bundle in earlier.pairs] for earlier in found])
        found.append(_unloading(cycle, one))
    return UnloadingInARow(tuple(found))


def _matches_cycles(allowed: Json, answer: Json) -> bool:
    """True if each broker sheds the same bundles in every cycle, in the same order."""
    same = len(allowed["cycles"]) == len(answer["cycles"])
    return same and all(map(SHED.matches, allowed["cycles"], answer["cycles"]))


def _named_cycles(case: Json, answer: Json) -> list[NamesUsed]:
    unload = [one for cycle in answer["cycles"] for one in cycle["unload"]]
    cycles = case["cycles"]
    return [
        NamesUsed(_brokers_in(unload), [name for one in cycles for name in one["brokers"]]),
        NamesUsed(
            [one["bundle"] for one in unload], {b for one in cycles for b in bundles_named_in(one)}
        ),
    ]


def _same_cycles(_case: Json, answer: Json) -> object:
    return [_sorted_unloads(one["unload"]) for one in answer["cycles"]]


def _row_is_determined(cycles: CyclesInARow, readings: Readings) -> bool:
    """True if every cycle has a single allowed answer, whatever the answers to earlier cycles were.

    False for several cycles under a strategy that smooths usage, because the documents leave the
    formula open.
    """
    alone = [cycles.alone(index) for index in range(len(cycles))]
    mixed = len(alone) > 1 and alone[0].strategy == "ThresholdShedder"
    return not mixed and all(_is_determined(one, readings) for one in alone)


def _example_cycles(*cpus: float) -> Json:
    return {
        "strategy": "OverloadShedder",
        "settings": {},
        "cycles": [
            {
                "minutes": 5.0 if index else 0.0,
                "brokers": {
                    "broker-1": example_broker(cpu, 4, [LEFT, RIGHT]),
                    "broker-2": example_broker(10.0, 0, []),
                },
                "bundles": example_bundle_data(),
                "recentlyUnloaded": {},
            }
            for index, cpu in enumerate(cpus)
        ],
    }


CYCLES = Operation(
    id="shed.cycles",
    view=CyclesInARow,
    read=_unloads_of_cycles,
    matches=_matches_cycles,
    examples=(_example_cycles(95.0, 95.0), _example_cycles(50.0, 95.0)),
    legal=_legal_cycles,
    removable=frozenset({"brokers", "bundles", "recentlyUnloaded"}),
    names=_named_cycles,
    regardless_of_order=_same_cycles,
    determined=_row_is_determined,
    sequential=True,
    stands_for={STRATEGY: "strategy"},
)
