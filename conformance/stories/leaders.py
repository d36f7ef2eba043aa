"""MANAGER: the leader, who alone assigns, and who can change."""

from __future__ import annotations

from pulsar_conformance.conformance.common.expect import Expect
from pulsar_conformance.conformance.stories import draw_ownership as draws
from pulsar_conformance.conformance.stories.operations import REPLAY
from pulsar_conformance.conformance.stories.view import Course, Story


@REPLAY.check("MANAGER-09", draws=draws.stories(draws.leaders, draws.first_uses))
def the_leader_alone_assigns(_case: Story, answer: Course, expect: Expect) -> None:
    """Whatever is assigned, known before or not, the leader decided it."""
    for scene in answer:
        leaders = [one for one in (scene.now.leader, scene.then.leader) if one is not None]
        decided = scene.now.decided_by
        told = bool(scene.now.assigned) and decided is not None and bool(leaders)
        if expect.reached(told):
            allowed = f"{scene}: decided by the leader, {leaders[0]}"
            expect.that(decided in leaders, allowed, decided)


@REPLAY.check("MANAGER-10", draws=draws.stories(draws.leaders))
def another_broker_can_lead(_case: Story, answer: Course, expect: Expect) -> None:
    """Where the leader goes down, another active broker leads."""
    for scene in answer:
        gone = scene.kind == "broker_down" and scene.then.leader == scene.about["broker"]
        if gone and expect.reached(scene.after.sense and bool(scene.after.brokers)):
            leader = scene.now.leader
            allowed = f"{scene}: one of {', '.join(scene.after.brokers)} leads"
            expect.that(leader is None or leader in scene.after.brokers, allowed, leader)


@REPLAY.check("MANAGER-11", draws=draws.stories(draws.leaders))
def a_change_of_leader_moves_nothing(_case: Story, answer: Course, expect: Expect) -> None:
    """When the leader loses the lead, every topic stays with its owner."""
    for scene in answer:
        if scene.kind == "leader_lost" and expect.reached(bool(scene.then.owners)):
            for topic, owner in scene.then.owners.items():
                now = scene.now.owner(topic)
                allowed = f"{scene}: {topic} stays with {owner}"
                expect.that(now == owner, allowed, now or "nobody")
            expect.nothing((one.bundle for one in scene.now.unloaded), f"{scene}: none moves")
