"""OWN: who owns what, from first use to crash."""

from __future__ import annotations

from pulsar_conformance.conformance.common.expect import Expect
from pulsar_conformance.conformance.stories import draw_busy as busy
from pulsar_conformance.conformance.stories import draw_ownership as draws
from pulsar_conformance.conformance.stories import quantities as courses
from pulsar_conformance.conformance.stories.draw_tales import SHEDDING
from pulsar_conformance.conformance.stories.operations import REPLAY
from pulsar_conformance.conformance.stories.view import WHOLE, Course, Scene, Story
from pulsar_conformance.conformance.stories.world import space_of
from pulsar_conformance.reference.numbers import Fraction

ANY_PLOT = (draws.first_uses, draws.crashes, draws.unloads, draws.leaders)


@REPLAY.check("OWN-01", draws=draws.stories(draws.first_uses, draws.without_brokers))
def a_topic_that_is_first_used_is_assigned(_case: Story, answer: Course, expect: Expect) -> None:
    """Once a topic is used, an active broker owns it."""
    for scene in answer:
        topic = scene.about.get("topic", "")
        first = scene.kind == "topic" and topic not in scene.before.topics
        if first and expect.reached(scene.after.sense and bool(scene.after.brokers)):
            owner = scene.now.owner(topic)
            allowed = f"{scene}: one of {', '.join(scene.after.brokers)} owns {topic}"
            expect.that(owner in scene.after.brokers, allowed, owner or "nobody")


@REPLAY.check("OWN-02", draws=draws.stories(*ANY_PLOT))
def topics_of_a_bundle_go_together(_case: Story, answer: Course, expect: Expect) -> None:
    """A namespace has no more owners than bundles; the topics of a single bundle have one."""
    for scene in answer:
        for space in scene.after.spaces:
            topics = courses.topics_of(scene.after, space)
            most = answer.most_bundles(space, scene)
            if most is None or len(topics) < 2:
                continue
            held = courses.owners_of(scene.now.owners, scene.after, space)
            expect.reached(most < len(topics) and most < len(scene.after.brokers))
            told = f"{scene}: {', '.join(map(str, held)) or 'nobody'}"
            expect.that(len(held) <= most, f"at most {most} owners in {space}", told)
            if answer.whole(space, scene) and held:
                owners = {scene.now.owner(topic) for topic in topics}
                expect.reached(scene.kind == "topic")
                expect.that(len(owners) == 1, f"{scene}: one owner of all of {space}", owners)


@REPLAY.check("OWN-03", draws=draws.stories(*ANY_PLOT))
def assignment_is_of_whole_bundles(_case: Story, answer: Course, expect: Expect) -> None:
    """Topics change hands with their bundle, and go where it is assigned."""
    for scene in answer:
        for space in scene.after.spaces:
            if answer.whole(space, scene):
                _goes_with_its_bundle(space, scene, expect)


def _goes_with_its_bundle(space: str, scene: Scene, expect: Expect) -> None:
    bundle = f"{space}/{WHOLE}"
    assigned = [one.broker for one in scene.now.assigned if one.bundle == bundle]
    topics = courses.topics_of(scene.after, space)
    if len(assigned) == 1 and expect.reached(bool(topics)):
        owners = {scene.now.owner(topic) for topic in topics}
        allowed = f"{scene}: {assigned[0]} owns {', '.join(topics)}"
        expect.that(owners == set(assigned), allowed, owners)
    for topic in topics:
        new = scene.now.owner(topic)
        moved = topic in scene.before.topics and new not in (None, scene.then.owner(topic))
        if expect.reached(moved):
            allowed = f"{scene}: {bundle} is assigned to {new}, which has {topic} now"
            expect.that(new in assigned, allowed, assigned or "not assigned")


@REPLAY.check("OWN-04", draws=draws.stories(draws.crashes, draws.leaders, draws.without_brokers))
def others_take_what_a_crashed_broker_had(_case: Story, answer: Course, expect: Expect) -> None:
    """What a crashed broker owned it owns no more, and another active broker soon does."""
    orphans: dict[str, Fraction] = {}
    for scene in answer:
        clock, up = scene.after.clock, scene.after.brokers
        if scene.kind == "broker_down" and scene.after.sense:
            gone = scene.about["broker"]
            lost = [topic for topic, owner in scene.then.owners.items() if owner == gone]
            orphans |= dict.fromkeys(lost, clock)
        for topic, since in list(orphans.items()):
            owner = scene.now.owner(topic)
            if expect.reached(owner is not None or bool(up)):
                allowed = f"{scene}: {topic} is with one of {', '.join(up) or 'nobody'}"
                in_time = owner is None and (not up or clock == since)
                expect.that(owner in up or in_time, allowed, owner or "nobody")
            if owner is not None:
                del orphans[topic]
            elif not up:
                orphans[topic] = clock


@REPLAY.check("OWN-05", draws=draws.stories(draws.crashes, draws.leaders))
def others_take_over_at_once(_case: Story, answer: Course, expect: Expect) -> None:
    """While one broker is up, nothing is without an owner after a crash."""
    for scene in answer:
        if scene.kind != "broker_down" or not scene.after.sense:
            continue
        for topic, owner in scene.then.owners.items():
            lost = owner == scene.about["broker"]
            if expect.reached(lost and bool(scene.after.brokers)):
                allowed = f"{scene}: one of {', '.join(scene.after.brokers)} takes {topic}"
                now = scene.now.owner(topic)
                expect.that(now in scene.after.brokers, allowed, now or "nobody")


@REPLAY.check("OWN-06", draws=draws.stories(draws.without_brokers, draws.crashes))
def a_cluster_can_grow_and_shrink(_case: Story, answer: Course, expect: Expect) -> None:
    """Brokers that join while topics are in use can own some; those that left own none."""
    joined: set[str] = set()
    for scene in answer:
        if scene.kind == "broker_up" and scene.after.sense and scene.before.topics:
            joined.add(scene.about["broker"])
        topic = scene.about.get("topic")
        late = bool(scene.after.brokers) and joined >= set(scene.after.brokers)
        if scene.kind == "topic" and scene.after.sense and expect.reached(late):
            owner = scene.now.owner(str(topic))
            allowed = f"{scene}: {', '.join(scene.after.brokers)}, which joined later, can own it"
            expect.that(owner in scene.after.brokers, allowed, owner or "nobody")


@REPLAY.check(
    "OWN-12", draws=draws.stories(busy.overloaded, busy.above_the_average, settings=SHEDDING)
)
def load_is_shed_by_unloading(_case: Story, answer: Course, expect: Expect) -> None:
    """Where a topic leaves a running broker as time passes, a bundle of it was unloaded."""
    for scene in answer:
        if scene.kind != "tick":
            continue
        for topic, old in scene.then.owners.items():
            new = scene.now.owner(topic)
            moved = old in scene.after.brokers and new not in (None, old)
            if expect.reached(moved):
                space = space_of(topic)
                unloaded = [one for one in scene.now.unloaded if one.namespace == space]
                allowed = f"{scene}: a bundle of {space} is unloaded from {old}"
                told = ", ".join(f"{one.bundle} from {one.broker}" for one in unloaded)
                expect.that(any(one.broker == old for one in unloaded), allowed, told or "none")
