"""Periodic work: reports, automatic splitting, shedding, writing of bundle data."""

from __future__ import annotations

from pulsar_conformance.reference.numbers import Minutes
from pulsar_conformance.reference.story.reporting import report_all, split_grown
from pulsar_conformance.reference.story.results import EventResult
from pulsar_conformance.reference.story.shedding import run_shedding_cycle
from pulsar_conformance.reference.story.world import World

REPORT_INTERVAL = "loadBalancerReportUpdateMaxIntervalMinutes"
SHEDDING_INTERVAL = "loadBalancerSheddingIntervalMinutes"
WRITE_INTERVAL = "loadBalancerResourceQuotaUpdateIntervalMinutes"


def pass_time(world: World, minutes: Minutes, result: EventResult) -> None:
    """Advance time: brokers report, the leader sheds and writes data at their intervals.

    Intervals start at the beginning of the story. If they coincide, reports come first and writing
    last. Without an interval of writing the answer does not mention it.
    [SHED-09, REPORT-11, DATA-12]
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
            result.wrote(world)
    world.clock = end
