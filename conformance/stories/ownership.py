"""OWN: the owners of topics from first use to crash, and where bundles go."""

from __future__ import annotations

from pulsar_conformance.conformance.common.check import Expect
from pulsar_conformance.conformance.stories import draw_plots as plots
from pulsar_conformance.conformance.stories import draw_stories as draws
from pulsar_conformance.conformance.stories import quantities as courses
from pulsar_conformance.conformance.stories.draw_stories import SHEDDING
from pulsar_conformance.conformance.stories.operations import (
    REPLAY,
    WHOLE,
    Move,
    Scene,
    Scenes,
    Story,
)
from pulsar_conformance.conformance.stories.quantities import cover_the_namespace
from pulsar_conformance.conformance.stories.world import CHANGES_OF_LEADERS, space_of
from pulsar_conformance.reference.numbers import Fraction
from pulsar_conformance.reference.ranges import HASHES, PARTITION, HashRange

SPLITS = (plots.grown, plots.grown_in_place, plots.split_on_a_busy_broker)
SPACES = (plots.many_partitions, plots.another_default)
CRASHES = (draws.crashes, draws.leaders, plots.destination_that_is_down)
ANY_PLOT = (draws.first_uses, draws.crashes, draws.story_with_unloads, draws.leaders)


@REPLAY.check("OWN-01", draws=draws.stories(draws.first_uses, draws.without_brokers, draws.stops))
def a_topic_that_is_used_is_assigned(_case: Story, answer: Scenes, expect: Expect) -> None:
    """A topic that is used while it has no owner is then owned by an active broker."""
    for scene in answer:
        for topic in courses.used_without_an_owner(scene):
            if expect.reached(scene.after.valid and bool(scene.after.brokers)):
                owner = scene.now.owner(topic)
                allowed = f"{scene}: one of {', '.join(scene.after.brokers)} owns {topic}"
                expect.that(owner in scene.after.brokers, allowed, owner or "nobody")


@REPLAY.check("OWN-02", draws=draws.stories(*ANY_PLOT, *SPACES))
def topics_of_a_bundle_go_together(_case: Story, answer: Scenes, expect: Expect) -> None:
    """A namespace has no more owners than bundles; all topics of a single bundle have one owner."""
    for scene, assigned in courses.with_assigned_bundles(answer):
        for space in {one.namespace for one in scene.now.assigned}:
            most = answer.count_if_unsplit(space, scene)
            if most is not None:
                found = len(assigned[space])
                expect.that(found <= most, f"{scene}: {space} has {most} bundles", found)
        for space in scene.after.spaces:
            topics = courses.topics_of(scene.after, space)
            most = answer.most_bundles(space, scene)
            if most is None or len(topics) < 2:
                continue
            held = courses.owners_of(scene.now.owners, scene.after, space)
            expect.reached(most < len(topics) and most < len(scene.after.brokers))
            owners = f"{scene}: {', '.join(map(str, held)) or 'nobody'}"
            expect.that(len(held) <= most, f"at most {most} owners in {space}", owners)
            if answer.has_one_bundle(space, scene) and held:
                each = {scene.now.owner(topic) for topic in topics}
                expect.reached(scene.kind == "topic")
                expect.that(len(each) == 1, f"{scene}: one owner of all of {space}", each)


@REPLAY.check("OWN-03", draws=draws.stories(*ANY_PLOT, *SPLITS, *SPACES))
def assignment_is_of_whole_bundles(_case: Story, answer: Scenes, expect: Expect) -> None:
    """A topic changes its owner only together with its bundle, and to the same broker."""
    for scene, left in courses.with_former_owners(answer):
        for space in scene.after.spaces:
            if answer.has_one_bundle(space, scene):
                _goes_with_its_bundle(space, scene, expect)
            elif left or scene.now.owners is not scene.previous.owners:
                _goes_with_some_bundle(space, scene, left.get(space, set()), expect)


def _goes_with_some_bundle(space: str, scene: Scene, left: set[str], expect: Expect) -> None:
    """Demand that topics in a namespace of several bundles move with their bundles.

    `left` has the brokers that lost all bundles of the namespace; no topic may stay there.
    """
    to = {one.broker for one in scene.now.assigned if one.namespace == space}
    for topic in courses.topics_of(scene.after, space):
        new = scene.now.owner(topic)
        moved = topic in scene.before.topics and new != scene.previous.owner(topic)
        if new is not None and expect.reached(moved or bool(left)):
            allowed = f"{scene}: a bundle of {space} is assigned to {new}, which has {topic} now"
            has_a_bundle = new in to if moved else new not in left
            expect.that(has_a_bundle, allowed, ", ".join(sorted(to)) or "not assigned")


def _goes_with_its_bundle(space: str, scene: Scene, expect: Expect) -> None:
    bundle = f"{space}/{WHOLE}"
    assigned = [one.broker for one in scene.now.assigned if one.bundle == bundle]
    parts = [one.bundle for one in scene.now.assigned if one.namespace == space]
    expect.nothing([one for one in parts if one != bundle], f"{scene}: {bundle} is all of {space}")
    topics = courses.topics_of(scene.after, space)
    if len(assigned) == 1 and expect.reached(bool(topics)):
        owners = {scene.now.owner(topic) for topic in topics}
        allowed = f"{scene}: {assigned[0]} owns {', '.join(topics)}"
        expect.that(owners == set(assigned), allowed, owners)
    for topic in topics:
        new = scene.now.owner(topic)
        moved = topic in scene.before.topics and new not in (None, scene.previous.owner(topic))
        if expect.reached(moved):
            allowed = f"{scene}: {bundle} is assigned to {new}, which has {topic} now"
            expect.that(new in assigned, allowed, assigned or "not assigned")


@REPLAY.check("OWN-04", draws=draws.stories(*CRASHES, draws.without_brokers))
def others_take_over_from_a_crashed_broker(_case: Story, answer: Scenes, expect: Expect) -> None:
    """Other active brokers soon own the topics of a crashed broker, which itself gets no topics."""
    orphans: dict[str, Fraction] = {}
    for scene in answer:
        clock, up = scene.after.clock, scene.after.brokers
        if expect.reached(answer.unloads_to_crashed(scene)):
            _owns_nothing(scene, scene.about["to"], expect)
        if scene.kind == "restart" and scene.after.valid and len(up) > 1:
            _keeps_nothing(scene, expect)
        if scene.kind == "broker_down" and scene.after.valid:
            gone = scene.about["broker"]
            lost = [topic for topic, owner in scene.previous.owners.items() if owner == gone]
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


def _owns_nothing(scene: Scene, name: str, expect: Expect) -> None:
    """Demand that a broker that is down owns no topic."""
    owned = [topic for topic, owner in scene.now.owners.items() if owner == name]
    expect.nothing(owned, f"{scene}: {name} is down")


def _keeps_nothing(scene: Scene, expect: Expect) -> None:
    """Demand that a restarted broker owns only bundles that were assigned to it again."""
    name = scene.about["broker"]
    again = {one.namespace for one in scene.now.assigned if one.broker == name}
    for topic, owner in scene.previous.owners.items():
        if owner == name and expect.reached():
            kept = scene.now.owner(topic) == name and space_of(topic) not in again
            expect.that(not kept, f"{scene}: {topic} is assigned again", f"{name} keeps it")


@REPLAY.check("OWN-05", draws=draws.stories(draws.crashes, draws.leaders))
def others_take_over_at_once(_case: Story, answer: Scenes, expect: Expect) -> None:
    """As soon as a broker has crashed, its topics have active owners, if any broker is up."""
    for scene in answer:
        if scene.kind != "broker_down" or not scene.after.valid:
            continue
        for topic, owner in scene.previous.owners.items():
            lost = owner == scene.about["broker"]
            if expect.reached(lost and bool(scene.after.brokers)):
                allowed = f"{scene}: one of {', '.join(scene.after.brokers)} takes {topic}"
                now = scene.now.owner(topic)
                expect.that(now in scene.after.brokers, allowed, now or "nobody")


@REPLAY.check("OWN-06", draws=draws.stories(draws.without_brokers, draws.crashes))
def a_cluster_can_grow_and_shrink(_case: Story, answer: Scenes, expect: Expect) -> None:
    """Brokers that join while topics are in use can own some of them."""
    joined: set[str] = set()
    for scene in answer:
        if scene.kind == "broker_up" and scene.after.valid and scene.before.topics:
            joined.add(scene.about["broker"])
        topic = scene.about.get("topic")
        late = bool(scene.after.brokers) and joined >= set(scene.after.brokers)
        if scene.kind == "topic" and scene.after.valid and expect.reached(late):
            owner = scene.now.owner(str(topic))
            allowed = f"{scene}: owned by {' or '.join(scene.after.brokers)}, which joined later"
            expect.that(owner in scene.after.brokers, allowed, owner or "nobody")


CHANGES_OF_BROKERS = ("broker_up", *CHANGES_OF_LEADERS)
"""Events after which brokers may move bundles without a request."""


@REPLAY.check(
    "OWN-12",
    draws=draws.stories(
        plots.overloaded, plots.above_the_average, draws.other_brokers, settings=SHEDDING
    ),
)
def load_is_shed_by_unloading(_case: Story, answer: Scenes, expect: Expect) -> None:
    """Without an administrator's unload, topics leave a running broker only when it unloads them.

    The rule is exercised by topics that move, and by topics that stay when brokers come or go.
    """
    for scene in answer:
        if scene.kind == "unload" or not scene.after.valid:
            continue
        both = {*scene.before.brokers}.intersection(scene.after.brokers)
        both.discard(scene.about.get("broker"))
        occasion = scene.kind in CHANGES_OF_BROKERS and len(scene.after.brokers) > 1
        for topic, old in scene.previous.owners.items():
            new = scene.now.owner(topic)
            moved = new not in (None, old)
            if old in both and expect.reached(moved or occasion) and moved:
                space = space_of(topic)
                unloaded = [one for one in scene.now.unloaded if one.namespace == space]
                allowed = f"{scene}: a bundle of {space} is unloaded from {old}"
                found = ", ".join(f"{one.bundle} from {one.broker}" for one in unloaded)
                expect.that(any(one.broker == old for one in unloaded), allowed, found or "none")


def _others_stay(scene: Scene, space: str, expect: Expect) -> None:
    """Demand that in other namespaces no bundle is unloaded by hand and no topic moves."""
    others = [one for one in scene.now.unloaded if one.namespace != space]
    by_hand = [one.bundle for one in others if one.reason == "admin"]
    expect.nothing(by_hand, f"{scene}: bundles of other namespaces are not unloaded")
    for topic, owner in scene.previous.owners.items():
        if space_of(topic) != space:
            now = scene.now.owner(topic)
            expect.that(now == owner, f"{scene}: {topic} stays with {owner}", now or "nobody")


def _released_and_assigned(scene: Scene, space: str, owners: list[str], expect: Expect) -> None:
    """Demand that `owners` release bundles of `space` for reassignment; other namespaces stay."""
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
        if scene.previous.owner(topic) is not None:
            allowed = f"{scene}: {topic} is owned by one of {', '.join(scene.after.brokers)}"
            expect.that(now in scene.after.brokers, allowed, now or "nobody")
    _others_stay(scene, space, expect)


@REPLAY.check("OWN-07", draws=draws.stories(draws.story_with_unloads))
def a_topic_that_is_unloaded_stays(_case: Story, answer: Scenes, expect: Expect) -> None:
    """Unloading a topic does not change its owner."""
    for scene, space in courses.unload_requests(answer, "topic"):
        if expect.reached(scene.previous.owner(scene.about["topic"]) in scene.before.brokers):
            moved = [*scene.now.unloaded, *scene.now.assigned]
            expect.nothing((one.bundle for one in moved), f"{scene}: a topic is only reopened")
            _others_stay(scene, "", expect)
            expect.that(space in scene.after.spaces, "a namespace of the story", space)


@REPLAY.check("OWN-08", draws=draws.stories(draws.story_with_unloads))
def a_topic_that_is_unloaded_is_reassigned(_case: Story, answer: Scenes, expect: Expect) -> None:
    """The owner of an unloaded topic releases the topic, and the topic is reassigned."""
    for scene, space in courses.unload_requests(answer, "topic"):
        owner = scene.previous.owner(scene.about["topic"])
        if owner is not None and expect.reached(owner in scene.before.brokers):
            _released_and_assigned(scene, space, [owner], expect)


@REPLAY.check("OWN-09", draws=draws.stories(draws.story_with_unloads))
def a_namespace_is_unloaded_as_a_whole(_case: Story, answer: Scenes, expect: Expect) -> None:
    """When a namespace is unloaded, all owners of its topics release them for reassignment."""
    for scene, space in courses.unload_requests(answer, "namespace"):
        held = courses.owners_of(scene.previous.owners, scene.after, space)
        owners = [one for one in held if one in scene.before.brokers]
        if expect.reached(bool(owners)):
            _released_and_assigned(scene, space, owners, expect)


@REPLAY.check("OWN-10", draws=draws.stories(draws.story_with_unloads))
def a_bundle_can_be_unloaded_by_hand(_case: Story, answer: Scenes, expect: Expect) -> None:
    """If an administrator unloads a bundle, its owner releases it, and it is reassigned."""
    for scene, space in courses.unload_requests(answer, "bundleOf"):
        owner = scene.previous.owner(scene.about["bundleOf"])
        moves = owner in scene.before.brokers and scene.about.get("to") != owner
        if owner is not None and expect.reached(moves):
            _released_and_assigned(scene, space, [owner], expect)
            if answer.count_if_unsplit(space, scene) is not None:
                _no_other_bundle(scene, space, owner, expect)


def _no_other_bundle(scene: Scene, space: str, owner: str, expect: Expect) -> None:
    """Demand that at most one bundle of `space` is unloaded, and other owners keep their topics."""
    released = {one.bundle for one in scene.now.unloaded if one.namespace == space}
    found = ", ".join(sorted(released))
    expect.that(len(released) <= 1, f"{scene}: one bundle of {space} is unloaded", found)
    for topic, had in scene.previous.owners.items():
        if space_of(topic) == space and had in scene.before.brokers and had != owner:
            now = scene.now.owner(topic)
            expect.that(now == had, f"{scene}: {topic} stays with {had}", now or "nobody")


@REPLAY.check("OWN-11", draws=draws.stories(draws.story_with_unloads, draws.one_is_idle))
def unloaded_bundles_go_to_another_broker(_case: Story, answer: Scenes, expect: Expect) -> None:
    """An unloaded bundle goes to another active broker, if there is one."""
    for scene, space in courses.unload_requests(answer, "namespace", "bundleOf", "topic"):
        if len(scene.after.brokers) < 2 or space in scene.after.groups or "to" in scene.about:
            continue
        for one in scene.now.unloaded:
            to = _single_destination(scene, one)
            if to is not None and expect.reached():
                allowed = f"{scene}: {one.bundle} goes to a broker other than {one.broker}"
                expect.that(to != one.broker, allowed, to)


def _single_destination(scene: Scene, moved: Move) -> str | None:
    """Return the broker to which a bundle was assigned; None unless there is exactly one."""
    found = [one.broker for one in scene.now.assigned if one.bundle == moved.bundle]
    return found[0] if len(found) == 1 else None


@REPLAY.check("OWN-14", draws=draws.stories(draws.one_is_idle, plots.split_beside_a_busy_broker))
def a_bundle_goes_where_the_load_is_low(_case: Story, answer: Scenes, expect: Expect) -> None:
    """Not all bundles assigned in a step go to brokers with far more load than another broker."""
    averages = courses.known_averages(answer)
    for scene, unchanged in courses.with_last_changes(answer):
        assigned = scene.now.assigned
        if not courses.is_chosen_by_load(scene) or not assigned:
            continue
        worse = {
            one.broker: better
            for one in assigned
            for better in courses.less_busy(scene, unchanged, one.broker, averages)
        }
        expect.reached(
            any(courses.less_busy(scene, unchanged, one, averages) for one in scene.after.brokers)
        )
        fine = any(one.broker not in worse for one in assigned)
        found = ", ".join(f"{one.bundle} to {one.broker}" for one in assigned)
        allowed = f"{scene}: the first assigned bundle goes to {', '.join(worse.values())}"
        expect.that(fine, f"{allowed}, which carries far less", found)


@REPLAY.check("OWN-15", draws=draws.stories(draws.unused_bundles, draws.first_uses, *SPACES))
def unused_bundles_have_no_owner(_case: Story, answer: Scenes, expect: Expect) -> None:
    """The number of a namespace's bundles with owners never exceeds its number of topics in use."""
    for scene, assigned in courses.with_assigned_bundles(answer):
        used = {space_of(scene.about["topic"])} if scene.kind == "topic" else set()
        for space in used.union(one.namespace for one in scene.now.assigned):
            initial = answer.count_if_unsplit(space, scene) or 0
            topics = courses.topics_of(scene.after, space)
            if expect.reached(initial > len(topics)):
                found = assigned.get(space, set())
                count = initial if cover_the_namespace(found) else len(found)
                allowed = f"{scene}: at most {len(topics)} bundles of {space} have owners"
                expect.that(count <= len(topics), allowed, count)
                _partitions_differ(scene, space, found, expect)


MANY_PARTITIONS = 16
"""Minimum number of partitions to check; all 16 are in one of 16 bundles once in 16^15 times."""


def _partitions_differ(scene: Scene, space: str, assigned: set[str], expect: Expect) -> None:
    """Demand that many partitions of a topic, each hashed by its own name, use several bundles."""
    topics = courses.topics_of(scene.after, space)
    one_topic = len({PARTITION.sub("", topic) for topic in topics}) == 1
    many = len(topics) >= MANY_PARTITIONS and None not in map(scene.now.owner, topics)
    if one_topic and many and len(assigned) == 1:
        [bundle] = assigned
        wide = HashRange.parse(bundle).width * MANY_PARTITIONS > HASHES
        allowed = f"{scene}: {len(topics)} partitions in several bundles of {space}"
        expect.that(wide, allowed, f"all in {bundle}")


@REPLAY.check("OWN-16", draws=draws.stories(draws.chosen_destinations))
def a_named_destination_gets_the_bundle(_case: Story, answer: Scenes, expect: Expect) -> None:
    """A bundle unloaded to a named broker is assigned to that broker."""
    for scene, space in courses.unload_requests(answer, "bundleOf"):
        topic, to = scene.about["bundleOf"], scene.about.get("to")
        owner = scene.previous.owner(topic)
        moves = to != owner and owner in scene.before.brokers and space not in scene.after.groups
        if to is not None and expect.reached(moves):
            now = scene.now.owner(topic)
            expect.that(now == to, f"{scene}: {to} owns {topic}", now or "nobody")


@REPLAY.check("OWN-17", draws=draws.stories(draws.stops, plots.stop_with_many_bundles))
def a_broker_that_stops_releases_its_bundles(_case: Story, answer: Scenes, expect: Expect) -> None:
    """A broker that shuts down unloads exactly the bundles that it owns, each once."""
    for scene in answer:
        name = str(scene.about.get("broker"))
        owned = [space_of(topic) for topic, one in scene.previous.owners.items() if one == name]
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
        _owns_nothing(scene, name, expect)
