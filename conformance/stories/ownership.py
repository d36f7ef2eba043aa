"""OWN: the owners of topics from first use to crash, and where bundles go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pulsar_conformance.conformance.common.expect import POINTS, Expect
from pulsar_conformance.conformance.stories import draw_plots as plots
from pulsar_conformance.conformance.stories import draw_stories as draws
from pulsar_conformance.conformance.stories import quantities as courses
from pulsar_conformance.conformance.stories.draw_stories import SHEDDING
from pulsar_conformance.conformance.stories.operations import (
    REPLAY,
    WHOLE,
    Course,
    Move,
    Scene,
    Story,
)
from pulsar_conformance.conformance.stories.quantities import KnownAverages, Unchanged
from pulsar_conformance.conformance.stories.world import space_of
from pulsar_conformance.reference.numbers import Fraction
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.placement import AVERAGE_SHEDDER, PLACEMENT_STRATEGY
from pulsar_conformance.reference.shedding import STRATEGY

ANY_PLOT = (draws.first_uses, draws.crashes, draws.story_with_unloads, draws.leaders)


@REPLAY.check("OWN-01", draws=draws.stories(draws.first_uses, draws.without_brokers))
def a_topic_that_is_first_used_is_assigned(_case: Story, answer: Course, expect: Expect) -> None:
    """After a topic's first use, an active broker owns it."""
    for scene in answer:
        topic = scene.about.get("topic", "")
        first = scene.kind == "topic" and topic not in scene.before.topics
        if first and expect.reached(scene.after.valid and bool(scene.after.brokers)):
            owner = scene.now.owner(topic)
            allowed = f"{scene}: one of {', '.join(scene.after.brokers)} owns {topic}"
            expect.that(owner in scene.after.brokers, allowed, owner or "nobody")


@REPLAY.check("OWN-02", draws=draws.stories(*ANY_PLOT))
def topics_of_a_bundle_go_together(_case: Story, answer: Course, expect: Expect) -> None:
    """A namespace has at most as many owners as bundles; a single bundle has one owner."""
    for scene in answer:
        for space in scene.after.spaces:
            topics = courses.topics_of(scene.after, space)
            most = answer.most_bundles(space, scene)
            if most is None or len(topics) < 2:
                continue
            held = courses.owners_of(scene.now.owners, scene.after, space)
            expect.reached(most < len(topics) and most < len(scene.after.brokers))
            owners = f"{scene}: {', '.join(map(str, held)) or 'nobody'}"
            expect.that(len(held) <= most, f"at most {most} owners in {space}", owners)
            if answer.whole(space, scene) and held:
                each = {scene.now.owner(topic) for topic in topics}
                expect.reached(scene.kind == "topic")
                expect.that(len(each) == 1, f"{scene}: one owner of all of {space}", each)


@REPLAY.check("OWN-03", draws=draws.stories(*ANY_PLOT))
def assignment_is_of_whole_bundles(_case: Story, answer: Course, expect: Expect) -> None:
    """Topics change owners only with their bundle, and go to the broker to which it is assigned."""
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
def others_take_the_topics_of_a_crashed_broker(
    _case: Story, answer: Course, expect: Expect
) -> None:
    """Another active broker soon owns the topics of a crashed broker."""
    orphans: dict[str, Fraction] = {}
    for scene in answer:
        clock, up = scene.after.clock, scene.after.brokers
        if scene.kind == "broker_down" and scene.after.valid:
            gone = scene.about["broker"]
            lost = [topic for topic, owner in scene.then.owners.items() if owner == gone]
            orphans |= dict.fromkeys(lost, clock)
        for topic, since in list(orphans.items()):
            owner = scene.now.owner(topic)
            if expect.reached(owner is not None or bool(up)):
                allowed = f"{scene}: {topic} is owned by one of {', '.join(up) or 'no broker'}"
                in_time = owner is None and (not up or clock == since)
                expect.that(owner in up or in_time, allowed, owner or "nobody")
            if owner is not None:
                del orphans[topic]
            elif not up:
                orphans[topic] = clock


@REPLAY.check("OWN-05", draws=draws.stories(draws.crashes, draws.leaders))
def others_take_over_at_once(_case: Story, answer: Course, expect: Expect) -> None:
    """After a crash, every topic has an owner while any broker is up."""
    for scene in answer:
        if scene.kind != "broker_down" or not scene.after.valid:
            continue
        for topic, owner in scene.then.owners.items():
            lost = owner == scene.about["broker"]
            if expect.reached(lost and bool(scene.after.brokers)):
                allowed = f"{scene}: one of {', '.join(scene.after.brokers)} takes {topic}"
                now = scene.now.owner(topic)
                expect.that(now in scene.after.brokers, allowed, now or "nobody")


@REPLAY.check("OWN-06", draws=draws.stories(draws.without_brokers, draws.crashes))
def a_cluster_can_grow_and_shrink(_case: Story, answer: Course, expect: Expect) -> None:
    """Brokers that join while topics are in use can own some of them."""
    joined: set[str] = set()
    for scene in answer:
        if scene.kind == "broker_up" and scene.after.valid and scene.before.topics:
            joined.add(scene.about["broker"])
        topic = scene.about.get("topic")
        late = bool(scene.after.brokers) and joined >= set(scene.after.brokers)
        if scene.kind == "topic" and scene.after.valid and expect.reached(late):
            owner = scene.now.owner(str(topic))
            allowed = f"{scene}: {', '.join(scene.after.brokers)}, which joined later, can own it"
            expect.that(owner in scene.after.brokers, allowed, owner or "nobody")


@REPLAY.check(
    "OWN-12", draws=draws.stories(plots.overloaded, plots.above_the_average, settings=SHEDDING)
)
def load_is_shed_by_unloading(_case: Story, answer: Course, expect: Expect) -> None:
    """As time passes, a topic leaves a running broker only when its bundle is unloaded."""
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
                found = ", ".join(f"{one.bundle} from {one.broker}" for one in unloaded)
                expect.that(any(one.broker == old for one in unloaded), allowed, found or "none")


FAR_LESS = 4
"""Factor by which a broker's load must be lower, by every measure, to count as far lower."""


def _requests(answer: Course, *what: str) -> Iterator[tuple[Scene, str]]:
    """Yield the valid events that unload a topic, bundle or namespace, with the namespace."""
    for scene in answer:
        if scene.kind == "unload" and scene.after.valid:
            kind, named = next(one for one in scene.about.items() if one[0] != "to")
            if kind in what:
                yield scene, named if kind == "namespace" else space_of(named)


def _others_stay(scene: Scene, space: str, expect: Expect) -> None:
    """Demand that topics of other namespaces keep their owners, and that their bundles stay."""
    others = [one for one in scene.now.unloaded if one.namespace != space]
    by_hand = [one.bundle for one in others if one.reason == "admin"]
    expect.nothing(by_hand, f"{scene}: bundles of other namespaces are not unloaded")
    for topic, owner in scene.then.owners.items():
        if space_of(topic) != space:
            now = scene.now.owner(topic)
            expect.that(now == owner, f"{scene}: {topic} stays with {owner}", now or "nobody")


def _released_and_assigned(scene: Scene, space: str, owners: list[str], expect: Expect) -> None:
    """Demand that bundles of these owners, and no others, are unloaded and reassigned."""
    released = [one for one in scene.now.unloaded if one.namespace == space]
    unloaded = ", ".join(f"{one.bundle} from {one.broker}, {one.reason}" for one in released)
    for owner in owners:
        by_admin = any(one.broker == owner and one.reason == "admin" for one in released)
        allowed = f"{scene}: a bundle of {space} is unloaded from {owner}"
        expect.that(by_admin, allowed, unloaded or "nothing unloaded")
    assigned = [one.bundle for one in scene.now.assigned if one.namespace == space]
    reassigned = any(one.bundle in assigned for one in released)
    expect.that(
        reassigned, f"{scene}: unloaded bundles are assigned again", assigned or "not assigned"
    )
    for topic in courses.topics_of(scene.after, space):
        now = scene.now.owner(topic)
        if scene.then.owner(topic) is not None:
            allowed = f"{scene}: {topic} is owned by one of {', '.join(scene.after.brokers)}"
            expect.that(now in scene.after.brokers, allowed, now or "nobody")
    _others_stay(scene, space, expect)


@REPLAY.check("OWN-07", draws=draws.stories(draws.story_with_unloads))
def a_topic_that_is_unloaded_stays(_case: Story, answer: Course, expect: Expect) -> None:
    """Unloading a topic does not change its owner."""
    for scene, space in _requests(answer, "topic"):
        if expect.reached(scene.then.owner(scene.about["topic"]) in scene.before.brokers):
            moved = [*scene.now.unloaded, *scene.now.assigned]
            expect.nothing((one.bundle for one in moved), f"{scene}: a topic is only reopened")
            _others_stay(scene, "", expect)
            expect.that(space in scene.after.spaces, "its namespace", space)


@REPLAY.check("OWN-08", draws=draws.stories(draws.story_with_unloads))
def a_topic_that_is_unloaded_is_reassigned(_case: Story, answer: Course, expect: Expect) -> None:
    """The owner of an unloaded topic releases it, and it is reassigned."""
    for scene, space in _requests(answer, "topic"):
        owner = scene.then.owner(scene.about["topic"])
        if owner is not None and expect.reached(owner in scene.before.brokers):
            _released_and_assigned(scene, space, [owner], expect)


@REPLAY.check("OWN-09", draws=draws.stories(draws.story_with_unloads))
def a_namespace_is_unloaded_as_a_whole(_case: Story, answer: Course, expect: Expect) -> None:
    """When a namespace is unloaded, all owners of its topics release them for reassignment."""
    for scene, space in _requests(answer, "namespace"):
        held = courses.owners_of(scene.then.owners, scene.after, space)
        owners = [one for one in held if one in scene.before.brokers]
        if expect.reached(bool(owners)):
            _released_and_assigned(scene, space, owners, expect)


@REPLAY.check("OWN-10", draws=draws.stories(draws.story_with_unloads))
def a_bundle_can_be_unloaded_by_hand(_case: Story, answer: Course, expect: Expect) -> None:
    """When an administrator unloads a bundle, its owner releases it, and it is reassigned."""
    for scene, space in _requests(answer, "bundleOf"):
        owner = scene.then.owner(scene.about["bundleOf"])
        moves = owner in scene.before.brokers and scene.about.get("to") != owner
        if owner is not None and expect.reached(moves):
            _released_and_assigned(scene, space, [owner], expect)


@REPLAY.check("OWN-11", draws=draws.stories(draws.story_with_unloads, draws.one_is_idle))
def what_is_unloaded_goes_to_another_broker(_case: Story, answer: Course, expect: Expect) -> None:
    """An unloaded bundle goes to another active broker, if there is one."""
    for scene, space in _requests(answer, "namespace", "bundleOf", "topic"):
        if len(scene.after.brokers) < 2 or space in scene.after.groups or "to" in scene.about:
            continue
        for one in scene.now.unloaded:
            to = _single_destination(scene, one)
            if to is not None and expect.reached():
                allowed = f"{scene}: {one.bundle} goes to a broker other than {one.broker}"
                expect.that(to != one.broker, allowed, to)


def _single_destination(scene: Scene, moved: Move) -> str | None:
    """Return the broker that a bundle was assigned to; None unless it was assigned exactly once."""
    found = [one.broker for one in scene.now.assigned if one.bundle == moved.bundle]
    return found[0] if len(found) == 1 else None


@REPLAY.check("OWN-14", draws=draws.stories(draws.one_is_idle, plots.split_beside_a_busy_broker))
def a_bundle_goes_where_the_load_is_low(_case: Story, answer: Course, expect: Expect) -> None:
    """No bundle goes to a broker with far more load than an available one."""
    averages = courses.known_averages(answer)
    for scene, unchanged in courses.with_unchanged(answer):
        assigned = scene.now.assigned
        if not _chosen_by_load(scene) or not assigned:
            continue
        worse = {
            one.broker: better
            for one in assigned
            for better in _far_better(scene, unchanged, one.broker, averages)
        }
        expect.reached(bool(_pairs(scene, unchanged, averages)))
        fine = any(one.broker not in worse for one in assigned)
        found = ", ".join(f"{one.bundle} to {one.broker}" for one in assigned)
        allowed = f"{scene}: the first assigned bundle goes to {', '.join(worse.values())}"
        expect.that(fine, f"{allowed}, which carries far less", found)


def _chosen_by_load(scene: Scene) -> bool:
    """True if only load decides the assignments of a scene."""
    grouped = any(one.namespace in scene.after.groups for one in scene.now.assigned)
    shed = any(one.reason == "shed" for one in scene.now.unloaded)
    kinds = ("topic", "unload", "broker_down", "tick")
    chosen = scene.kind in kinds and "to" not in scene.about
    return chosen and scene.after.valid and not (grouped or shed or _may_be_random(scene))


def _may_be_random(scene: Scene) -> bool:
    """True if AvgShedder may both shed and place: other bundles then go to random brokers."""
    settings = scene.after.settings()
    return PLACEMENT_STRATEGY in settings.defaults and all(
        not scene.after.is_known(one) or settings.text(one).endswith(AVERAGE_SHEDDER)
        for one in (STRATEGY, PLACEMENT_STRATEGY)
    )


def _pairs(scene: Scene, unchanged: Unchanged, averages: KnownAverages) -> list[tuple[str, str]]:
    """Return pairs of brokers, the second of which has far less load."""
    return [
        (broker, better)
        for broker in scene.after.brokers
        for better in _far_better(scene, unchanged, broker, averages)
    ]


def _far_better(
    scene: Scene, unchanged: Unchanged, broker: str, averages: KnownAverages
) -> list[str]:
    """Return the brokers that may get bundles and certainly have far less load than this one."""
    pace = courses.intervals(scene)
    if pace is None or not scene.after.is_known(OVERLOAD_THRESHOLD):
        return []
    known_since = scene.before.clock - pace[0]
    threshold = scene.after.settings().number(OVERLOAD_THRESHOLD)
    heavy = courses.least_load(scene, broker)
    if heavy is None or not _before(known_since, broker, unchanged.broker):
        return []
    found = []
    for other in scene.after.brokers:
        light = courses.most_load(scene, other)
        if other == broker or light is None or _came_from(scene, other):
            continue
        known = _before(known_since, other, unchanged.at_least, unchanged.assigned)
        eligible = light[2] + POINTS < threshold
        far = all(one * FAR_LESS <= two for one, two in zip(light, heavy, strict=True))
        averaged = (
            _spaces(scene, broker) <= averages.equal and _spaces(scene, other) <= averages.no_higher
        )
        if known and eligible and far and averaged:
            found.append(other)
    return found


def _before(moment: Fraction, broker: str, *since: Mapping[str, Fraction]) -> bool:
    """True if a broker's last changes, in all these respects, were before a time in minutes."""
    return all(one.get(broker, moment - 1) < moment for one in since)


def _spaces(scene: Scene, broker: str) -> set[str]:
    return {space_of(topic) for topic, owner in scene.then.owners.items() if owner == broker}


def _came_from(scene: Scene, broker: str) -> bool:
    """True if a bundle was unloaded from a broker in a scene, so that it need not return there."""
    return any(one.broker == broker for one in scene.now.unloaded)


@REPLAY.check("OWN-15", draws=draws.stories(draws.unused_bundles, draws.first_uses))
def unused_bundles_have_no_owner(_case: Story, answer: Course, expect: Expect) -> None:
    """No more bundles of a namespace are assigned than topics of it are in use."""
    assigned: dict[str, set[str]] = {}
    for scene in answer:
        for one in scene.now.assigned:
            found = assigned.setdefault(one.namespace, set())
            found.add(one.bundle)
            initial = scene.after.spaces.get(one.namespace) or 0
            topics = courses.topics_of(scene.after, one.namespace)
            whole = answer.most_bundles(one.namespace, scene) == initial
            if expect.reached(whole and initial > len(topics)):
                allowed = f"{scene}: at most {len(topics)} bundles of {one.namespace} have owners"
                expect.that(len(found) <= len(topics), allowed, len(found))


@REPLAY.check("OWN-16", draws=draws.stories(draws.chosen_destinations))
def a_destination_that_is_named_takes_it(_case: Story, answer: Course, expect: Expect) -> None:
    """A bundle unloaded to a named broker is assigned to that broker."""
    for scene, space in _requests(answer, "bundleOf"):
        topic, to = scene.about["bundleOf"], scene.about.get("to")
        owner = scene.then.owner(topic)
        moves = to != owner and owner in scene.before.brokers and space not in scene.after.groups
        if to is not None and expect.reached(moves):
            now = scene.now.owner(topic)
            expect.that(now == to, f"{scene}: {to} owns {topic}", now or "nobody")


@REPLAY.check("OWN-17", draws=draws.stories(draws.stops))
def a_broker_that_stops_releases_its_bundles(_case: Story, answer: Course, expect: Expect) -> None:
    """A broker that shuts down unloads exactly the bundles that it owns, once each."""
    for scene in answer:
        name = scene.about.get("broker")
        owned = [space_of(topic) for topic, one in scene.then.owners.items() if one == name]
        if scene.kind != "broker_stop" or not expect.reached(scene.after.valid and bool(owned)):
            continue
        left = [one for one in scene.now.unloaded if (one.broker, one.reason) == (name, "stop")]
        bundles = [one.bundle for one in left]
        missing = sorted({*owned} - {one.namespace for one in left})
        expect.nothing(missing, f"{scene}: {name} unloads bundles of all namespaces that it owns")
        expect.that(len({*bundles}) == len(bundles), f"{scene}: each bundle once", bundles)
        for space in scene.after.spaces:
            most, found = owned.count(space), [one for one in left if one.namespace == space]
            if answer.most_bundles(space, scene) == scene.after.spaces[space]:
                allowed = f"{scene}: at most {most} bundles of {space} are unloaded"
                expect.that(len(found) <= most, allowed, len(found))
        kept = [topic for topic, owner in scene.now.owners.items() if owner == name]
        expect.nothing(kept, f"{scene}: {name} is down")
