"""What falls due while time passes: reports, automatic splitting, shedding."""

from __future__ import annotations

from pulsar_conformance.reference.numbers import Minutes
from pulsar_conformance.reference.story.happened import Happened
from pulsar_conformance.reference.story.reporting import report_all, split_grown
from pulsar_conformance.reference.story.shedding import look
from pulsar_conformance.reference.story.world import World

REPORTS = "loadBalancerReportUpdateMaxIntervalMinutes"
LOOKS = "loadBalancerSheddingIntervalMinutes"


def passes(world: World, minutes: Minutes, happened: Happened) -> None:
    """Time passes: brokers report, and the leader looks at the load, each at its interval.

    Both are counted from the beginning of the story; where they coincide, reports come first.
    [SHED-09]
    """
    end = world.clock + minutes
    while minutes and world.leader is not None:
        settings = world.settings
        report = world.reported_at + settings.number(REPORTS)
        look_at = world.looked_at + settings.number(LOOKS)
        due = max(min(report, look_at), world.clock)
        if due > end:
            break
        world.clock = due
        if report <= due:
            world.reported_at = due
            report_all(world)
            split_grown(world, happened)
        if look_at <= due:
            world.looked_at = due
            look(world, happened)
    world.clock = end
