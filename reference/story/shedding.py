"""Shedding cycles of the leader. [SHED]"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from pulsar_conformance.reference.answers.shedding import decided
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.shedding import Cycle, Unloads
from pulsar_conformance.reference.story.averages import fields
from pulsar_conformance.reference.story.destination import assign, less_loaded
from pulsar_conformance.reference.story.world import EventResult, World
from pulsar_conformance.reference.threshold import Levels


def run_shedding_cycle(world: World, result: EventResult) -> None:
    """Run one shedding cycle: unload bundles and assign them elsewhere. [SHED-09, OWN-12]

    Skipped if nothing has changed since the last cycle.
    """
    settings = world.settings
    cycle = Cycle(_case(world), settings, world.readings)
    if not cycle.enabled:
        return
    seen = (world.changes, len(cycle.recent))
    if world.last_cycle == seen:
        return
    usage = {name: member.cpu for name, member in world.brokers.items()}
    for given in decided(cycle):
        result.explanations.append(partial(_steps, given))
        for bundle in given:
            _move(world, result, bundle, less_loaded(world, given.broker, usage))
    _remember(world, cycle)
    world.last_cycle = seen


def _move(world: World, result: EventResult, bundle: str, idler: list[str]) -> None:
    """Unload a bundle to a broker with less load. [OWN-12, SHED-11]"""
    if not idler:
        result.note(bundle, "stays: no other broker has less to do")
        return
    owner = world.release(bundle)
    world.unloaded_at[bundle] = world.clock
    result.unloaded.append({"bundle": bundle, "from": owner, "reason": "shed"})
    assign(world, result, bundle, idler)


def _case(world: World) -> dict[str, Any]:
    """The leader's state as a `shed.select` case."""
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


def _remember(world: World, cycle: Cycle) -> None:
    """Store the usage history of ThresholdShedder. [THRESHOLD-07]"""
    if cycle.strategy != "ThresholdShedder":
        return
    for name, usage in Levels(cycle).usage.items():
        if world.brokers[name].history != usage:
            world.brokers[name].history = usage
            world.changed()


def _steps(given: Unloads) -> Iterator[Step]:
    if not given.bundles:
        return
    yield Step(given.broker, "gives up load")
    for step in given.explain():
        yield step.within()
