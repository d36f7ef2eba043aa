"""ANTI: groups and domains that change while brokers own namespaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pulsar_conformance.conformance.checks import courses
from pulsar_conformance.conformance.checks.spreading import told
from pulsar_conformance.conformance.draws import apart
from pulsar_conformance.conformance.draws import stories as draws
from pulsar_conformance.conformance.expect import POINTS, Expect
from pulsar_conformance.conformance.registry import check
from pulsar_conformance.conformance.views import Course, Moment, Scene, Story
from pulsar_conformance.conformance.views.world import space_of
from pulsar_conformance.reference.anti_affinity import Spread
from pulsar_conformance.reference.placement import THRESHOLD


@dataclass(frozen=True)
class Placed:
    """A namespace of a group that is used for the first time, and the broker that takes it."""

    scene: Scene
    spread: Spread
    broker: str
    former_groups: Mapping[str, str]
    """The groups of namespaces that were in another one before the last change."""
    former_domains: Mapping[str, tuple[str, ...]] | None
    """The domains before the last change, if there was any."""


def _placed(course: Course) -> Iterator[Placed]:
    """First uses in which it is certain what the group, the domains and the owners are."""
    groups: dict[str, str] = {}
    domains: Mapping[str, tuple[str, ...]] | None = None
    for scene in course:
        if scene.after.torn:
            return
        if scene.kind == "group" and scene.after.sense:
            space = scene.about["namespace"]
            groups.pop(space, None)
            if space in scene.before.groups:
                groups[space] = scene.before.groups[space]
        if scene.kind == "domain" and scene.after.sense and _changes(scene):
            domains = scene.before.domains
        if scene.kind == "topic" and scene.after.sense:
            spread = _spread(course, scene, space_of(scene.about["topic"]))
            owner = scene.now.owner(scene.about["topic"])
            if spread is not None and owner in scene.after.brokers:
                yield Placed(scene, spread, str(owner), dict(groups), domains)


def _changes(scene: Scene) -> bool:
    """Whether a domain that was there is changed, or one made of brokers that had another."""
    return scene.about["name"] in scene.before.domains


def _spread(course: Course, scene: Scene, space: str) -> Spread | None:
    """The world in which a namespace is placed; none where not all of it is certain."""
    moment = scene.after
    group = moment.groups.get(space)
    alike = [one for one, other in moment.groups.items() if other == group]
    fresh = not courses.topics_of(scene.before, space)
    if group is None or not fresh or not all(course.whole(one, scene) for one in alike):
        return None
    owned: dict[str, list[str]] = {}
    for one in dict.fromkeys(map(space_of, scene.before.topics)):
        for owner in courses.owners_of(scene.then.owners, scene.before, one):
            owned.setdefault(owner, []).append(one)
    spread = Spread(space, moment.groups, moment.domains, owned, list(moment.brokers))
    mixed = None in spread.in_domain and len(spread.in_domain) > 1
    return None if mixed or not _idle(scene, moment) else spread


def _idle(scene: Scene, moment: Moment) -> bool:
    """Whether no broker is near the overload threshold, so that load leaves none out."""
    if not moment.sure(THRESHOLD):
        return False
    threshold = moment.settings().number(THRESHOLD)
    loads = (
        courses.cpu(courses.load(scene.then.owners, scene.before, broker), capacity)
        for broker, capacity in scene.before.brokers.items()
    )
    return all(usage + POINTS < threshold for usage in loads)


def _among_the_best(placed: Placed, expect: Expect) -> None:
    spread, scene = placed.spread, placed.scene
    allowed = f"{scene}: {told(spread.best)} takes {spread.namespace} of {spread.group}"
    expect.that(placed.broker in spread.best, allowed, placed.broker)


@check("ANTI-11", draws=draws.stories(apart.first_of_a_group))
def a_new_group_is_kept_apart(_case: Story, answer: Course, expect: Expect) -> None:
    """Namespaces of a group go where the fewest of it are, from the second one on."""
    for placed in _placed(answer):
        if placed.former_groups or placed.former_domains is not None:
            return
        if expect.reached(len(placed.spread.best) < len(placed.spread.candidates)):
            _among_the_best(placed, expect)


@check("ANTI-12", draws=draws.stories(apart.another_group))
def a_new_group_replaces_the_old(_case: Story, answer: Course, expect: Expect) -> None:
    """No namespace is placed as if another one still were in the group that it has left."""
    for placed in _placed(answer):
        groups = {**placed.spread.groups, **placed.former_groups}
        groups[placed.spread.namespace] = str(placed.spread.group)
        _not_as_if(placed, replace(placed.spread, groups=groups), expect)


@check("ANTI-13", draws=draws.stories(apart.other_domains))
def domains_count_as_they_are_now(_case: Story, answer: Course, expect: Expect) -> None:
    """No namespace is placed as if domains still were as they were before the last change."""
    for placed in _placed(answer):
        if placed.former_domains is not None:
            _not_as_if(placed, replace(placed.spread, domains=placed.former_domains), expect)


def _not_as_if(placed: Placed, former: Spread, expect: Expect) -> None:
    """Demands no broker that only the world as it was would allow."""
    wrong = set(former.best) - set(placed.spread.best)
    if expect.reached(bool(wrong)) and placed.broker in wrong:
        _among_the_best(placed, expect)


@check("ANTI-14", draws=draws.stories(apart.an_outage))
def an_outage_leaves_other_domains_alone(_case: Story, answer: Course, expect: Expect) -> None:
    """What brokers of other domains own stays with them when a broker goes down."""
    for scene in answer:
        if scene.kind != "broker_down" or not scene.after.sense or scene.after.torn:
            continue
        homes = {
            broker: name for name, brokers in scene.before.domains.items() for broker in brokers
        }
        down = homes.get(scene.about["broker"])
        for topic, owner in scene.then.owners.items():
            home = homes.get(str(owner))
            elsewhere = owner in scene.after.brokers and None not in (down, home) and home != down
            if expect.reached(elsewhere and space_of(topic) in scene.before.groups):
                now = scene.now.owner(topic)
                allowed = f"{scene}: {topic} stays with {owner} of {home}"
                expect.that(now == owner, allowed, now or "nobody")
