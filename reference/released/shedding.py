"""A shedding cycle of a release's modular manager (`ModularLoadManagerImpl.doLoadShedding`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.numbers import ZERO, Minutes
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.released import average_shedder, overload, threshold, uniform
from pulsar_conformance.reference.released.loads import Leader
from pulsar_conformance.reference.released.placement import BOTH, STRATEGY, why_strategies_conflict
from pulsar_conformance.reference.released.release import ReleasedWays
from pulsar_conformance.reference.released.strategy import BrokerUnloads, ClusterView, CycleMemory
from pulsar_conformance.reference.shedding import (
    ENABLED,
    EXCLUDED,
    PACKAGE,
    TRANSFER_ENABLED,
    TRANSFER_SHEDDER,
    Cycle,
    excluded_namespaces,
    selects_extensible_manager,
)

BALANCING_ENABLED = "loadBalancerEnabled"
"""An undocumented setting of releases; false switches off all load balancing."""

STRATEGIES: Mapping[str, Callable[[ClusterView], Iterator[BrokerUnloads]]] = {
    "ThresholdShedder": threshold.sheds,
    "OverloadShedder": overload.sheds,
    "UniformLoadShedder": uniform.sheds,
    "AvgShedder": average_shedder.sheds,
}
"""The function that yields the unloads of a cycle, for each strategy that the model implements."""


V3 = (3,)
"""The first version with TransferShedder."""


def select(
    cycle: Cycle,
    release: ReleasedWays,
    memory: CycleMemory | None = None,
    minute: Minutes = ZERO,
) -> Derivation:
    """Return a release's answer: the unloads of a cycle, or `unsupported` if the model lacks the
    strategy.

    `memory` is the state of the strategy after earlier cycles. `minute` is the time in minutes
    since the first cycle.
    """
    by_default = cycle.case["strategy"] is None and selects_extensible_manager(cycle.settings.given)
    if (cycle.strategy == TRANSFER_SHEDDER or by_default) and release.version >= V3:
        return _transfer_shedder_answer(cycle, release, memory or CycleMemory(), minute)
    unknown = _unknown_class(cycle, release)
    if unknown and release.ways.get("bad-shedder") == "overload":
        instead = select(_with_overload_shedder(cycle), release, memory, minute)
        place = release.place("bad-shedder")
        told = Step("no class", f"{unknown}: OverloadShedder runs instead ({place})")
        return Derivation(instead.answer, lambda: (told, *instead.steps))
    if cycle.strategy not in _offered_strategies(release):
        why = f"the model of '{release.title}' does not include {cycle.strategy}"
        return Derivation({"unsupported": why}, lambda: (Step("refused", why),))
    pair = why_strategies_conflict(cycle.settings, cycle.strategy)
    if pair is not None:
        return Derivation({"failed": pair}, lambda: (Step("failed", pair),))
    memory = memory or CycleMemory()
    if release.ways["gone-brokers"] == "forgotten":
        memory.forget_all_but(cycle.brokers)
    known = Leader(cycle.case, cycle.settings, release, memory.tables)
    known.grow_maps()
    view = ClusterView(known, cycle.recent, memory)
    found = [] if _why_off(cycle) else list(STRATEGIES[cycle.strategy](view))
    kept = [_without_excluded(known, one) for one in found]
    names = [bundle for one in kept for bundle in one.bundles]
    old = next((one for one in names if namespace_of(one).count("/") > 1), None)
    if old is not None and release.ways["old-names"] == "refused":
        why = f"{namespace_of(old)} is not tenant/namespace ({release.place('old-names')})"
        return Derivation({"failed": why}, lambda: (Step("failed", why),))
    sheds = sorted(kept, key=lambda one: list(cycle.brokers).index(one.broker))
    placing = str(cycle.settings.given.get(STRATEGY, "")).rpartition(".")[2]
    named = placing in BOTH and placing == cycle.strategy
    answer = [
        {"broker": one.broker, "bundle": bundle, **_destination_field(one, bundle, named)}
        for one in sheds
        for bundle in one.bundles
    ]
    excluded = {
        one.broker: [bundle for bundle in one.bundles if bundle not in names] for one in found
    }
    return Derivation({"unload": answer}, partial(_steps, cycle, release, sheds, excluded))


def _offered_strategies(release: ReleasedWays) -> frozenset[str]:
    """Return the shedding strategies of the release that the model implements."""
    return SHEDDERS[release.ways["shedders"]]


def _unknown_class(cycle: Cycle, release: ReleasedWays) -> str:
    """Return the full name of a strategy that Pulsar's package lacks; empty if it exists.

    Also empty for a class of another package, and for a short name in the case, which may be a
    user's strategy.
    """
    named = str(cycle.case["strategy"] or "")
    short = cycle.strategy
    if (
        (named and not named.startswith(PACKAGE))
        or "." in short
        or short in _offered_strategies(release)
    ):
        return ""
    return PACKAGE + short


def _with_overload_shedder(cycle: Cycle) -> Cycle:
    """Return the cycle with OverloadShedder as its strategy."""
    return replace(cycle, case={**cycle.case, "strategy": "OverloadShedder"})


def _destination_field(unloads: BrokerUnloads, bundle: str, named: bool) -> Mapping[str, str]:
    return {"to": unloads.planned[bundle]} if named and bundle in unloads.planned else {}


def _transfer_shedder_answer(
    cycle: Cycle, release: ReleasedWays, memory: CycleMemory, minute: Minutes
) -> Derivation:
    """Return a release's answer: the unloads of the extensible load manager's UnloadScheduler."""
    from pulsar_conformance.reference.released import transfer_shedder, transfer_steps

    state = memory.transfer = memory.transfer or transfer_shedder.TransferMemory()
    known = Leader(cycle.case, cycle.settings, release)
    decision = transfer_shedder.ReleasedTransfer(known, cycle, state, minute)
    decision.update()
    off = _why_off(cycle)
    if off:
        return Derivation(
            {"unload": []}, lambda: (Step("shedding", f"{off}: nothing is unloaded"),)
        )
    found = decision.decide()
    named = cycle.settings.flag(TRANSFER_ENABLED)
    answer = [
        {"broker": one.source, "bundle": one.bundle, **({"to": one.target} if named else {})}
        for one in sorted(found, key=lambda one: transfer_shedder.place_in_answer(known, one))
    ]
    return Derivation({"unload": answer}, partial(transfer_steps.transfer_steps, decision, found))


SHEDDERS: Mapping[str, frozenset[str]] = {
    "all": frozenset(STRATEGIES) - {"AvgShedder"},
    "all-and-average": frozenset(STRATEGIES),
    "overload": frozenset({"OverloadShedder"}),
}
"""The shedding strategies that a release has, by alternatives of the way `shedders`."""


def _why_off(cycle: Cycle) -> str:
    """Return why nothing is shed in this cycle; empty if shedding is on."""
    if not cycle.settings.flag(BALANCING_ENABLED):
        return f"{BALANCING_ENABLED} is false (LoadManagerShared.isLoadSheddingEnabled)"
    if not cycle.settings.flag(ENABLED):
        return f"{ENABLED} is not true"
    return "" if cycle.enabled else "there is no other broker"


def _without_excluded(known: Leader, unloads: BrokerUnloads) -> BrokerUnloads:
    """Remove bundles of namespaces that are excluded from shedding."""
    excluded = excluded_namespaces(known.settings.given.get(EXCLUDED, ""))
    kept = tuple(one for one in unloads.bundles if namespace_of(one) not in excluded)
    return replace(unloads, bundles=kept)


def _steps(
    cycle: Cycle,
    release: ReleasedWays,
    sheds: list[BrokerUnloads],
    excluded: Mapping[str, Sequence[str]],
) -> Iterator[Step]:
    yield Step("strategy", f"{cycle.strategy}, as in '{release.title}'")
    off = _why_off(cycle)
    if off:
        yield Step("shedding", f"{off}: nothing is unloaded")
        for name, broker in cycle.brokers.items():
            for bundle in broker.bundles:
                yield Step("stays", f"{bundle}, on {name}: {off}", detail=True)
    if release.ways["destination"] == "asked" and any(one.bundles for one in sheds):
        place = release.place("destination")
        assumed = "assumed to be another broker; otherwise the bundle stays"
        yield Step("destination", f"{assumed} ({place})")
    for one in sheds:
        yield Step(one.broker, "")
        for step in one.explain():
            yield step.within()
        for bundle in excluded.get(one.broker, ()):
            yield Step("excluded", f"{bundle} stays: {EXCLUDED} names its namespace").within()
