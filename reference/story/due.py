"""What falls due while time passes: reports, automatic splitting, shedding."""

from __future__ import annotations

from pulsar_conformance.reference.numbers import Minutes
from pulsar_conformance.reference.story.happened import Happened
from pulsar_conformance.reference.story.reporting import report_all, split_grown
from pulsar_conformance.reference.story.shedding import look
from pulsar_conformance.reference.story.world import World

REPORTS = "loadBalancerReportUpdateMaxIntervalMinutes"
LOOKS = "loadBalancerSheddingIntervalMinutes"
WRITES = "loadBalancerResourceQuotaUpdateIntervalMinutes"


def passes(world: World, minutes: Minutes, happened: Happened) -> None:
    """Time passes: brokers report, the leader looks at the load and writes data, at intervals.

    All are counted from the beginning of the story. Where they coincide, reports come first, and
    writing last. Where no interval of writing is set, nothing is said of it.
    [SHED-09, REPORT-11, DATA-12]
    """
    end = world.clock + minutes
    if minutes:
        happened.reports = {}
        if world.settings.given.get(WRITES) is not None:
            happened.written = {"minutes": [], "bundles": {}}
    while minutes and world.leader is not None:
        settings = world.settings
        report = world.reported_at + settings.number(REPORTS)
        look_at = world.looked_at + settings.number(LOOKS)
        write = None if happened.written is None else world.wrote_at + settings.number(WRITES)
        due = max(min(one for one in (report, look_at, write) if one is not None), world.clock)
        if due > end:
            break
        world.clock = due
        if report <= due:
            world.reported_at = due
            report_all(world)
            happened.reported(world)
            split_grown(world, happened)
        if look_at <= due:
            world.looked_at = due
            look(world, happened)
        if write is not None and write <= due:
            world.wrote_at = due
            happened.wrote(world)
    world.clock = end
