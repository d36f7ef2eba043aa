"""Assigning, unloading and splitting bundles during a story. [OWN, SHED, SPLIT]"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from pulsar_conformance.reference import splitting
from pulsar_conformance.reference.answers.shedding import unloads_of_cycle
from pulsar_conformance.reference.anti_affinity import Spread
from pulsar_conformance.reference.averages import fields
from pulsar_conformance.reference.candidates import AUTO_UNLOAD
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import Percent, messages, plain
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.placement import (
    Candidate,
    Placement,
    long_term_messages,
    rate_of,
)
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.shedding import TRANSFER_SHEDDER, Cycle, Unloads
from pulsar_conformance.reference.story.world import EventResult, World
from pulsar_conformance.reference.threshold import Levels
from pulsar_conformance.reference.usage import Usage

TO_ANOTHER_BROKER: Mapping[str, bool] = {"any": False, "other": True}
"""True if a bundle must go to another broker, for each alternative of two readings:
`unload-destination` and `split-destination`.
"""


def assign(
    world: World, result: EventResult, bundle: str, preferred: Sequence[str] | None = None
) -> None:
    """Assign a bundle to the broker that the leader chooses; nothing happens without brokers.

    If `preferred` is not empty, the leader chooses among these brokers. [OWN-01]
    """
    brokers = preferred or list(world.brokers)
    if not brokers:
        return
    placed = _placement_of(world, bundle, _brokers_that_spread_group(world, bundle, brokers))
    broker = placed.chosen(lambda: world.changes)
    assert broker is not None, "there is a candidate"
    world.own(bundle, broker)
    result.assigned.append({"bundle": bundle, "to": broker})
    result.decided_by = world.leader
    result.explanations.append(partial(_steps, bundle, placed, broker))


def eligible_brokers(world: World, broker: str, reading: str) -> list[str]:
    """Return the brokers to which a bundle may move from its owner. [OWN-11, SPLIT-20]"""
    stays_away = TO_ANOTHER_BROKER[world.readings[reading]]
    return [name for name in world.brokers if not (stays_away and name == broker)]


def less_loaded(world: World, broker: str, usage: Mapping[str, Percent]) -> list[str]:
    """Return brokers less loaded than `broker` was before the cycle, both before the cycle and now.

    `usage` is the load of each broker before the cycle. [SHED-11]
    """
    return [
        name
        for name, member in world.brokers.items()
        if max(usage[name], member.cpu) < usage[broker]
    ]


def _brokers_that_spread_group(world: World, bundle: str, brokers: Sequence[str]) -> Sequence[str]:
    """Return the brokers to which a bundle may go so that its anti-affinity group stays spread.

    [ANTI-11]
    """
    namespace = namespace_of(bundle)
    if namespace not in world.groups:
        return brokers
    owned: dict[str, list[str]] = {}
    for other, broker in world.owner.items():
        owned.setdefault(broker, []).append(namespace_of(other))
    return Spread(
        namespace, world.groups, world.domains, owned, brokers, world.readings["domain-counts"]
    ).best


def _placement_of(world: World, bundle: str, brokers: Sequence[str]) -> Placement:
    """Return the placement of a bundle, with the candidates and their load. [PLACE]"""
    data = world.data()
    candidates = [
        Candidate(name, Usage(world.brokers[name].cpu, "cpu"), rate_of(world.owned_by(name), data))
        for name in brokers
    ]
    threshold = world.settings.number(OVERLOAD_THRESHOLD)
    rate = long_term_messages(data.get(bundle))
    return Placement(candidates, threshold, rate, world.readings)


def _steps(bundle: str, placed: Placement, broker: str) -> Iterator[Step]:
    yield Step(bundle, f"assigned to {broker}")
    if len(placed.candidates) == 1:
        return
    for candidate in placed.candidates:
        load = f"{plain(candidate.usage.percent)} % of cpu, {messages(candidate.rate)} long-term"
        score = placed.score(candidate) if candidate in placed.considered else None
        rank = "left out" if score is None else f"score {plain(score, 4)}"
        yield Step(candidate.name, f"{load}: {rank}").within()


def split_bundle(
    world: World,
    result: EventResult,
    bundle: str,
    algorithm: str,
    positions: Sequence[str],
    by: str,
) -> bool:
    """Split a bundle, and unload its parts if the settings say so; return True if it was split.

    Errors: `Refused` if a rule about splits refuses the request. [SPLIT-20 … 23]
    """
    topics = list(world.topics_in.get(bundle, ()))
    request = splitting.Split.of(bundle, topics, positions)
    parts = splitting.parts(request, algorithm, world.readings)
    if len(parts) < 2:
        return False
    names = world.cut(bundle, parts)
    result.split.append({"bundle": bundle, "into": names, "reason": by})
    result.note(bundle, f"split into {len(names)}, by {algorithm}")
    if world.settings.flag(AUTO_UNLOAD):
        owned = [name for name in names if name in world.owner]
        released = [(name, world.release(name)) for name in owned]
        for name, owner in released:
            result.unloaded.append({"bundle": name, "from": owner, "reason": "split"})
        for name, owner in released:
            assign(world, result, name, eligible_brokers(world, owner, "split-destination"))
    return True


def run_shedding_cycle(world: World, result: EventResult) -> None:
    """Run one shedding cycle: unload bundles and assign them to other brokers. [SHED-09, OWN-12]

    If nothing has changed since the last cycle, the cycle is skipped, except under TransferShedder,
    which counts cycles.
    """
    settings = world.settings
    cycle = Cycle(_shedding_case(world), settings, world.readings)
    if not cycle.enabled:
        return
    if cycle.strategy == TRANSFER_SHEDDER:
        from pulsar_conformance.reference.story.transfers import run_transfers

        run_transfers(world, result, cycle)
        return
    seen = (world.changes, len(cycle.recent))
    if world.last_cycle == seen:
        return
    usage = {name: member.cpu for name, member in world.brokers.items()}
    for given in unloads_of_cycle(cycle):
        result.explanations.append(partial(shedding_steps, given))
        for bundle in given:
            move(world, result, bundle, less_loaded(world, given.broker, usage))
    _store_smoothed_usage(world, cycle)
    world.last_cycle = seen


def move(world: World, result: EventResult, bundle: str, less_loaded_brokers: list[str]) -> None:
    """Move a bundle to a less loaded broker. [OWN-12, SHED-11]"""
    if not less_loaded_brokers:
        result.note(bundle, "stays: no other broker is less loaded")
        return
    owner = world.release(bundle)
    world.unloaded_at[bundle] = world.clock
    result.unloaded.append({"bundle": bundle, "from": owner, "reason": "shed"})
    assign(world, result, bundle, less_loaded_brokers)


def _shedding_case(world: World) -> dict[str, Any]:
    """Return the leader's state as a `shed.select` case."""
    brokers = {
        name: {
            "cpu": {"usage": member.reported.throughput, "limit": member.capacity},
            **fields(member.reported),
            "bundles": world.owned_by(name),
            "usageHistory": [] if member.history is None else [member.history],
        }
        for name, member in world.brokers.items()
    }
    ago = {bundle: world.clock - moment for bundle, moment in world.unloaded_at.items()}
    return {
        "strategy": None,
        "brokers": brokers,
        "bundles": world.data(),
        "recentlyUnloaded": ago,
    }


def _store_smoothed_usage(world: World, cycle: Cycle) -> None:
    """Store each broker's smoothed usage for ThresholdShedder's next cycle. [THRESHOLD-07]"""
    if cycle.strategy != "ThresholdShedder":
        return
    for name, usage in Levels(cycle).usage.items():
        if world.brokers[name].history != usage:
            world.brokers[name].history = usage
            world.changed()


def shedding_steps(given: Unloads) -> Iterator[Step]:
    """Yield the derivation of a broker's unloads; no steps if it unloads nothing."""
    if not given.bundles:
        return
    yield Step(given.broker, "sheds load")
    for step in given.explain():
        yield step.within()
