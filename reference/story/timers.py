"""Periodic tasks: reports, automatic splits, shedding, and writing bundle data."""

from __future__ import annotations

from typing import Any

from pulsar_conformance.reference import splitting
from pulsar_conformance.reference.averages import Samples, fields
from pulsar_conformance.reference.candidates import Growth
from pulsar_conformance.reference.context import Refused
from pulsar_conformance.reference.numbers import Minutes
from pulsar_conformance.reference.story.destination import run_shedding_cycle, split_bundle
from pulsar_conformance.reference.story.world import EventResult, World


def report_all(world: World) -> None:
    """Let every broker write its local data, which adds a sample to each bundle's averages.

    [DATA-01]
    """
    kind = world.readings["window"]
    if world.reported_changes != world.changes:
        for broker in world.brokers:
            world.report(broker)
        world.reported_changes = world.changes
    for bundle in world.owner:
        samples = world.samples.setdefault(bundle, Samples(kind))
        world.measured[bundle] = world.load_of(bundle)
        if samples.add(world.load_of(bundle)):
            world.changed()


def split_grown(world: World, result: EventResult) -> None:
    """Split bundles that exceed a limit, as long as their namespaces may have more bundles.

    [SPLIT]
    """
    settings = world.settings
    if world.split_checked_changes == world.changes:
        return
    growth = Growth(_split_candidates_case(world), settings, world.readings)
    for bundle in growth.split:
        try:
            algorithm = splitting.algorithm_of(None, "broker", settings, world.readings)
            split_bundle(world, result, bundle, algorithm, (), "broker")
        except Refused as refused:
            result.note(bundle, f"stays whole: {refused}")
    world.split_checked_changes = world.changes


def _split_candidates_case(world: World) -> dict[str, Any]:
    """Return the leader's state as a `bundles.split_candidates` case."""
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
    """Return a bundle's current rates and number of topics."""
    return {**fields(world.load_of(bundle)), "topics": len(world.topics_in.get(bundle, ()))}


REPORT_INTERVAL = "loadBalancerReportUpdateMaxIntervalMinutes"
SHEDDING_INTERVAL = "loadBalancerSheddingIntervalMinutes"
WRITE_INTERVAL = "loadBalancerResourceQuotaUpdateIntervalMinutes"


def pass_time(world: World, minutes: Minutes, result: EventResult) -> None:
    """Advance the clock by `minutes`, and run the periodic tasks that come due.

    Brokers report, and the leader splits, sheds and writes bundle data. Intervals count from the
    start of the story. If several end at the same time, reports come first and bundle data last.
    Bundle data are not written if no interval for them is set. [SHED-09, REPORT-11, DATA-12]
    """
    end = world.clock + minutes
    if minutes:
        result.reports = {}
        if world.settings.given.get(WRITE_INTERVAL) is not None:
            result.written = {"minutes": [], "bundles": {}}
    while minutes and world.leader is not None:
        settings = world.settings
        report = world.reported_at + settings.number(REPORT_INTERVAL)
        shed_due = world.shed_at + settings.number(SHEDDING_INTERVAL)
        write = None if result.written is None else world.wrote_at + settings.number(WRITE_INTERVAL)
        due = max(min(one for one in (report, shed_due, write) if one is not None), world.clock)
        if due > end:
            break
        world.clock = due
        if report <= due:
            world.reported_at = due
            report_all(world)
            result.reported(world)
            split_grown(world, result)
        if shed_due <= due:
            world.shed_at = due
            run_shedding_cycle(world, result)
        if write is not None and write <= due:
            world.wrote_at = due
            result.record_bundle_data(world)
    world.clock = end
