"""A cycle of TransferShedder during a story. [TRANSFER]"""

from __future__ import annotations

from functools import partial
from typing import Any

from pulsar_conformance.reference.answers.shedding import unloads_of_cycle
from pulsar_conformance.reference.averages import fields
from pulsar_conformance.reference.cluster import Rates
from pulsar_conformance.reference.in_turn import keep_transfers, older_record
from pulsar_conformance.reference.shedding import Cycle
from pulsar_conformance.reference.story import destination
from pulsar_conformance.reference.story.world import EventResult, World
from pulsar_conformance.reference.threshold import Levels
from pulsar_conformance.reference.transfer import MINUTE


def run_transfers(world: World, result: EventResult, now: Cycle) -> None:
    """Run one cycle: move bundles to the brokers that the strategy names. [TRANSFER-06 … 11]"""
    passed = world.clock - world.transfers_at
    earlier = [older_record(one, passed) for one in world.transfers]
    case = {**now.case, **_reported_loads(world, now), "earlier": earlier}
    cycle = Cycle(case, now.settings, now.readings)
    usage = {name: member.cpu for name, member in world.brokers.items()}
    moved: list[str] = []
    for given in unloads_of_cycle(cycle):
        result.explanations.append(partial(destination.shedding_steps, given))
        for bundle in given:
            named = [given.to[bundle]] if bundle in given.to else None
            idler = named or destination.less_loaded(world, given.broker, usage)
            destination.move(world, result, bundle, idler)
            moved.append(bundle)
    world.transfers = keep_transfers(earlier, cycle, tuple(moved))
    world.transfers_at = world.clock
    for name, level in Levels(cycle).usage.items():
        world.brokers[name].history = level


def _reported_loads(world: World, now: Cycle) -> dict[str, Any]:
    """Return the load data of brokers and bundles, as of the last reports. [TRANSFER-12, -17]"""
    age = (world.clock - world.reported_at) * MINUTE
    brokers = {name: {**report, "age": age} for name, report in now.case["brokers"].items()}
    bundles = {name: _sample(rates) for name, rates in world.measured.items()}
    policies = {"groups": world.groups, "domains": world.domains} if world.groups else {}
    return {"brokers": brokers, "bundles": bundles, **policies}


def _sample(rates: Rates) -> dict[str, Any]:
    one = {**fields(rates), "numSamples": 1}
    return {"shortTermData": one, "longTermData": one}
