"""MANAGER, REPORT, DATA: the leader, and the data that the leader and brokers write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pulsar_conformance.conformance.common.check import POINTS, Expect, same
from pulsar_conformance.conformance.stories import draw_plots as plots
from pulsar_conformance.conformance.stories import draw_stories as draws
from pulsar_conformance.conformance.stories.operations import REPLAY, Scene, Scenes, Story
from pulsar_conformance.conformance.stories.world import CHANGES_OF_LEADERS, space_of
from pulsar_conformance.reference.averages import together
from pulsar_conformance.reference.cluster import RATE_FIELDS, Broker
from pulsar_conformance.reference.numbers import Fraction, exact, plain
from pulsar_conformance.reference.story.timers import REPORT_INTERVAL, WRITE_INTERVAL


@REPLAY.check("MANAGER-09", draws=draws.stories(draws.leaders, draws.first_uses))
def the_leader_alone_assigns(_case: Story, answer: Scenes, expect: Expect) -> None:
    """Every assignment is decided by the leader."""
    for scene in answer:
        leaders = [one for one in (scene.now.leader, scene.previous.leader) if one is not None]
        decided = scene.now.decided_by
        known = bool(scene.now.assigned) and decided is not None and bool(leaders)
        if expect.reached(known):
            allowed = f"{scene}: decided by the leader, {leaders[0]}"
            expect.that(decided in leaders, allowed, decided)


@REPLAY.check("MANAGER-10", draws=draws.stories(draws.leaders))
def another_broker_can_lead(_case: Story, answer: Scenes, expect: Expect) -> None:
    """When the leader goes down, the next leader is a broker that is up."""
    for scene in answer:
        gone = scene.kind == "broker_down" and scene.previous.leader == scene.about["broker"]
        if gone and expect.reached(scene.after.valid and bool(scene.after.brokers)):
            leader = scene.now.leader
            allowed = f"{scene}: one of {', '.join(scene.after.brokers)} leads"
            expect.that(leader is None or leader in scene.after.brokers, allowed, leader)


@REPLAY.check("MANAGER-11", draws=draws.stories(draws.leaders))
def a_change_of_leader_moves_nothing(_case: Story, answer: Scenes, expect: Expect) -> None:
    """When another broker becomes the leader, every topic keeps its owner."""
    for scene in answer:
        if scene.kind == "leader_lost" and expect.reached(bool(scene.previous.owners)):
            for topic, owner in scene.previous.owners.items():
                now = scene.now.owner(topic)
                allowed = f"{scene}: {topic} stays with {owner}"
                expect.that(now == owner, allowed, now or "nobody")
            expect.nothing((one.bundle for one in scene.now.unloaded), f"{scene}: no bundle moves")


LEEWAY = Fraction(1)
"""Minutes by which an interval may be exceeded, because brokers check the time periodically."""

PLOTS = (plots.undisturbed, plots.with_changes)


@REPLAY.check("MANAGER-08", draws=draws.stories(draws.leaders, draws.crashes))
def the_node_names_the_leader(_case: Story, answer: Scenes, expect: Expect) -> None:
    """The leader's node in the metadata store names the broker that leads."""
    for scene in answer:
        node, leader = scene.now.leader_node, scene.now.leader
        if expect.reached(node is not None and leader is not None):
            expect.that(node == leader, f"{scene}: {leader}, which leads", f"the node names {node}")


@REPLAY.check("REPORT-11", draws=draws.stories(*PLOTS))
def each_broker_reports_in_time(_case: Story, answer: Scenes, expect: Expect) -> None:
    """Every broker that is up writes its local data at least once per report interval."""
    since: dict[str, Fraction] = {}
    for scene in answer:
        clock = scene.after.clock
        if not _timing_is_known(scene, REPORT_INTERVAL, scene.now.reports):
            since = dict.fromkeys(scene.after.brokers, clock)
            continue
        begun = scene.about["broker"] if scene.kind in ("restart", "broker_up") else None
        since = {
            broker: clock if broker == begun else since.get(broker, clock)
            for broker in scene.after.brokers
        }
        most = scene.before.settings().number(REPORT_INTERVAL) + LEEWAY
        for broker, last in since.items():
            written = (scene.now.reports or {}).get(broker, {}).get("minutes", ())
            what = f"{scene}: {broker} writes its local data"
            since[broker] = _expect_in_time(
                list(map(exact, written)), last, clock, most, what, expect
            )


def _expect_in_time(
    written: Sequence[Fraction],
    last: Fraction,
    clock: Fraction,
    most: Fraction,
    what: str,
    expect: Expect,
) -> Fraction:
    """Demand at most `most` minutes between writes; return the time of the latest write."""
    for minute in (*written, clock):
        expect.reached(minute > last)
        allowed = f"{what} within {plain(most)} minutes"
        expect.that(minute - last <= most, allowed, f"nothing for {plain(minute - last)} minutes")
        last = minute if minute in written else last
    return last


def _timing_is_known(scene: Scene, setting: str, written: object) -> bool:
    """True if the interval `setting` is known and, if time passed, `written` is not None."""
    known = setting in scene.after.base.given and setting not in scene.after.changed
    return known and (written is not None or not scene.time_passes)


@REPLAY.check("REPORT-12", draws=draws.stories(*PLOTS))
def totals_match_the_bundles(_case: Story, answer: Scenes, expect: Expect) -> None:
    """The load data that a broker writes have the total traffic of its topics."""
    for scene in answer:
        if scene.now.moved or not scene.time_passes:
            continue
        for broker, report in (scene.now.reports or {}).items():
            if report["minutes"] and expect.reached(broker in scene.after.brokers):
                _check_totals(scene, broker, report["last"], expect)


def _check_totals(scene: Scene, broker: str, report: Mapping[str, Any], expect: Expect) -> None:
    topics = [topic for topic, owner in scene.now.owners.items() if owner == broker]
    carried = together(scene.after.topics[topic] for topic in topics)
    for name, rate in zip(RATE_FIELDS, carried.each(), strict=True):
        reported = exact(report.get(name, 0))
        allowed = f"{scene}: {broker} reports {name} {plain(rate)}, over all its topics"
        expect.that(same(reported, rate), allowed, plain(reported))
    usage = 100 * carried.throughput / scene.after.brokers[broker]
    found = Broker.read(broker, report).percent["cpu"]
    close = abs(found - usage) <= POINTS or same(found, usage)
    expect.that(close, f"{scene}: {broker} reports its CPU at {plain(usage)} %", plain(found))
    for name, count in (("numTopics", len(topics)), ("numBundles", len(report.get("bundles", ())))):
        reported = report.get(name, 0)
        expect.that(reported == count, f"{scene}: {broker} reports {name} {count}", reported)
    known = {one.rpartition("/")[0] for one in report.get("bundles", ())}
    missing = sorted({space_of(topic) for topic in topics} - known)
    expect.nothing(
        missing, f"{scene}: {broker} serves these namespaces, but reports none of their bundles"
    )


@dataclass
class BundleDataWrite:
    """The leader's last write of bundle data, and the reports since then."""

    minute: Fraction
    counts: Mapping[str, Any] = field(default_factory=dict)
    reports: dict[str, list[Fraction]] = field(default_factory=dict)
    """Times, in minutes, of each broker's reports since the write."""


@REPLAY.check("DATA-12", draws=draws.stories(*PLOTS))
def the_leader_writes_in_time(_case: Story, answer: Scenes, expect: Expect) -> None:
    """The leader writes bundle data at least once per write interval."""
    last: Fraction | None = None
    for scene in answer:
        clock = scene.after.clock
        leads = scene.now.leader is not None and scene.now.leader == scene.previous.leader
        if not leads or scene.kind in CHANGES_OF_LEADERS:
            last = None
        if last is None or not _timing_is_known(scene, WRITE_INTERVAL, scene.now.written):
            last = clock
            continue
        most = scene.before.settings().number(WRITE_INTERVAL) + LEEWAY
        written = [exact(one) for one in (scene.now.written or {}).get("minutes", ())]
        last = _expect_in_time(
            written, last, clock, most, f"{scene}: the leader writes data", expect
        )


@REPLAY.check("DATA-11", draws=draws.stories(*PLOTS))
def each_report_is_a_sample(_case: Story, answer: Scenes, expect: Expect) -> None:
    """Between two writes, a bundle gains at least one sample for each report of its owner."""
    for scene, holders, first, second in _pairs_of_writes(answer):
        for bundle, before in first.counts.items():
            owner, after = holders.get(bundle), second.counts.get(bundle)
            between = [
                one
                for one in first.reports.get(owner or "", ())
                if first.minute < one < second.minute
            ]
            if expect.reached(owner is not None and bool(between)):
                least = min(before["numSamples"] + len(between), before["maxSamples"])
                counted = f"{after['numSamples']}" if after else "none"
                allowed = f"{scene}: {bundle} has {least} samples or more"
                enough = after is not None and after["numSamples"] >= least
                expect.that(enough, allowed, f"{counted}, {before['numSamples']} before")


def _pairs_of_writes(
    answer: Scenes,
) -> Iterator[tuple[Scene, Mapping[str, str], BundleDataWrite, BundleDataWrite]]:
    """Yield each write of bundle data with the previous write, unless a bundle moved in between."""
    holders: dict[str, str] = {}
    last: BundleDataWrite | None = None
    for scene in answer:
        settled = scene.kind in ("tick", "topic") and not scene.now.moved
        if not settled:
            last = None
            holders = _held_after(scene, holders)
        for broker, report in (scene.now.reports or {}).items():
            if last is not None:
                last.reports.setdefault(broker, []).extend(map(exact, report["minutes"]))
        written = scene.now.written
        if settled and written is not None and written["minutes"]:
            now = BundleDataWrite(exact(written["minutes"][-1]), written["bundles"])
            if last is not None:
                yield scene, holders, last, now
            now.reports = {
                broker: [exact(one) for one in report["minutes"]]
                for broker, report in (scene.now.reports or {}).items()
            }
            last = now


def _held_after(scene: Scene, holders: Mapping[str, str]) -> dict[str, str]:
    gone = {one.bundle for one in scene.now.unloaded}
    gone |= {one.bundle for one in scene.now.split}
    held = {
        bundle: broker
        for bundle, broker in holders.items()
        if bundle not in gone and broker in scene.after.brokers
    }
    return held | {one.bundle: one.broker for one in scene.now.assigned}
