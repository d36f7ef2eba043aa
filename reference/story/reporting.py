"""Load reports, and the automatic split. [DATA, SPLIT]"""

from __future__ import annotations

from typing import Any

from pulsar_conformance.reference import splitting
from pulsar_conformance.reference.candidates import Growth
from pulsar_conformance.reference.context import Refused
from pulsar_conformance.reference.story.averages import Samples, fields
from pulsar_conformance.reference.story.results import EventResult
from pulsar_conformance.reference.story.splits import split_bundle
from pulsar_conformance.reference.story.world import World


def report_all(world: World) -> None:
    """Every broker writes its local data; each of its bundles gets a sample. [DATA-01]"""
    kind = world.readings["window"]
    if world.reported_changes != world.changes:
        for broker in world.brokers:
            world.report(broker)
        world.reported_changes = world.changes
    for bundle in world.owner:
        samples = world.samples.setdefault(bundle, Samples(kind))
        if samples.add(world.load_of(bundle)):
            world.changed()


def split_grown(world: World, result: EventResult) -> None:
    """Split the bundles that exceed a threshold, while the namespace has room. [SPLIT]"""
    settings = world.settings
    if world.split_checked_changes == world.changes:
        return
    growth = Growth(_reports(world), settings, world.readings)
    for bundle in growth.split:
        try:
            algorithm = splitting.algorithm_of(None, "broker", settings, world.readings)
            split_bundle(world, result, bundle, algorithm, (), "broker")
        except Refused as refused:
            result.note(bundle, f"stays whole: {refused}")
    world.split_checked_changes = world.changes


def _reports(world: World) -> dict[str, Any]:
    """The leader's state as a `bundles.split_candidates` case."""
    return {
        "leader": True,
        "brokers": {
            broker: {"bundles": owned, "lastStats": {one: _stats(world, one) for one in owned}}
            for broker in world.brokers
            for owned in (world.owned_by(broker),)
        },
        "bundles": world.data(),
        "namespaceBundles": {name: len(ranges) for name, ranges in world.namespaces.items()},
    }


def _stats(world: World, bundle: str) -> dict[str, Any]:
    """Current rates and number of topics of a bundle."""
    return {**fields(world.load_of(bundle)), "topics": len(world.topics_in.get(bundle, ()))}
