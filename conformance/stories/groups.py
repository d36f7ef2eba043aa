"""ANTI: changes of groups and domains while brokers own namespaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pulsar_conformance.conformance.common.check import POINTS, Expect
from pulsar_conformance.conformance.placement.quantities import either
from pulsar_conformance.conformance.placement.view import GroupSpread
from pulsar_conformance.conformance.stories import draw_plots as plots
from pulsar_conformance.conformance.stories import draw_stories as draws
from pulsar_conformance.conformance.stories import quantities as courses
from pulsar_conformance.conformance.stories.draw_stories import StoryDraft
from pulsar_conformance.conformance.stories.operations import REPLAY, Scene, Scenes, Story
from pulsar_conformance.conformance.stories.world import CHANGES_OF_LEADERS, Moment, space_of
from pulsar_conformance.reference.numbers import exact
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.story.timers import REPORT_INTERVAL

Domains = Mapping[str, tuple[str, ...]]
"""The brokers that are registered in each failure domain."""


@dataclass(frozen=True)
class FirstUse:
    """The first use of a namespace that is in a group, and the broker that gets the namespace."""

    scene: Scene
    spread: GroupSpread
    broker: str
    former_groups: Mapping[str, str]
    """The former group of each namespace whose group was changed."""
    former_domains: Mapping[str, tuple[str, ...]] | None
    """The domains before the last change, or None if they never changed."""


def _certain_first_uses(course: Scenes) -> Iterator[FirstUse]:
    """Yield each first use of a namespace whose groups, domains and owners are certain."""
    groups: dict[str, str] = {}
    domains: Mapping[str, tuple[str, ...]] | None = None
    for scene in course:
        if scene.after.domains_unknown:
            return
        if scene.kind == "group" and scene.after.valid:
            space = scene.about["namespace"]
            groups.pop(space, None)
            if space in scene.before.groups:
                groups[space] = scene.before.groups[space]
        if scene.kind == "domain" and scene.after.valid and _changes_existing_domain(scene):
            domains = scene.before.domains
        if scene.kind == "topic" and scene.after.valid:
            spread = _spread_at_placement(course, scene, space_of(scene.about["topic"]))
            owner = scene.now.owner(scene.about["topic"])
            if spread is not None and owner in scene.after.brokers:
                yield FirstUse(scene, spread, str(owner), dict(groups), domains)


def _changes_existing_domain(scene: Scene) -> bool:
    """True if an event changes an existing domain."""
    return scene.about["name"] in scene.before.domains


def _spread_at_placement(
    course: Scenes, scene: Scene, space: str, domains: Domains | None = None
) -> GroupSpread | None:
    """Return how a group is spread when a namespace is placed; None if this is uncertain.

    `domains` replaces the current domains, unless it is None.
    """
    moment = scene.after
    homes = moment.domains if domains is None else domains
    group = moment.groups.get(space)
    alike = [one for one, other in moment.groups.items() if other == group]
    fresh = not courses.topics_of(scene.before, space)
    if group is None or not fresh or not all(course.has_one_bundle(one, scene) for one in alike):
        return None
    if not _leader_knows_assignments(course, scene):
        return None
    owned: dict[str, list[str]] = {}
    for one in dict.fromkeys(map(space_of, scene.before.topics)):
        for owner in courses.owners_of(scene.previous.owners, scene.before, one):
            owned.setdefault(owner, []).append(one)
    spread = GroupSpread(
        space, moment.groups, homes, owned, list(moment.brokers),
        course.story.readings["domain-counts"],
    )  # fmt: skip
    return None if spread.only_some_have_a_domain or not _none_overloaded(scene, moment) else spread


def _leader_knows_assignments(course: Scenes, scene: Scene) -> bool:
    """True if the leader knows all assignments: those it made, and those reported to it.

    No document says what a new leader knows of its predecessor's last assignments.
    """
    known, since = True, exact(0)
    for before in course.scenes[: scene.after.place - 1]:
        if before.kind in CHANGES_OF_LEADERS and any(before.previous.owners.values()):
            known, since = False, exact(0)
        elif before.kind == "tick":
            since += exact(before.about["minutes"])
            reported = before.after.is_known(REPORT_INTERVAL)
            known |= reported and since > before.after.settings().number(REPORT_INTERVAL)
    return known


def _none_overloaded(scene: Scene, moment: Moment) -> bool:
    """True if no broker is near or above the overload threshold, so that none is excluded."""
    if not moment.is_known(OVERLOAD_THRESHOLD):
        return False
    threshold = moment.settings().number(OVERLOAD_THRESHOLD)
    loads = (
        courses.cpu_percent(
            courses.broker_load(scene.previous.owners, scene.before, broker), capacity
        )
        for broker, capacity in scene.before.brokers.items()
    )
    return all(usage + POINTS < threshold for usage in loads)


def _among_the_best(placed: FirstUse, expect: Expect) -> None:
    spread, scene = placed.spread, placed.scene
    allowed = f"{scene}: {either(spread.best)} takes {spread.namespace} of {spread.group}"
    expect.that(placed.broker in spread.best, allowed, placed.broker)


DOMAINS = ("north", "south", "west", "east")


def first_of_a_group(draft: StoryDraft) -> None:
    """Put namespaces into a new group, and use a topic in each, one after another."""
    _brokers_in_domains(draft)
    spaces = _use_grouped_namespaces(draft, "apart", draft.random.randint(2, 6))
    _use_topics(draft, spaces)
    draft.noise()


def another_group(draft: StoryDraft) -> None:
    """Move used namespaces to another group or none, then use more namespaces of both groups."""
    _brokers_in_domains(draft)
    old = _use_grouped_namespaces(draft, "apart", draft.random.randint(2, 4))
    new = _use_grouped_namespaces(draft, "away", draft.random.randint(1, 3))
    waiting = _use_grouped_namespaces(draft, "apart", 1)
    _use_topics(draft, old)
    for space in draft.random.sample(old, draft.random.randint(1, len(old))):
        draft.add_event("group", namespace=space, group=draft.random.choice(("away", "away", None)))
    _use_topics(draft, [*new, *waiting] if draft.random.random() < 0.5 else [*waiting, *new])
    draft.noise()


def other_domains(draft: StoryDraft) -> None:
    """Change or remove domains between uses of a group's namespaces."""
    homes = _brokers_in_domains(draft)
    spaces = _use_grouped_namespaces(draft, "apart", draft.random.randint(3, 6))
    half = draft.random.randint(1, len(spaces) - 1)
    _use_topics(draft, spaces[:half])
    gone = draft.random.choice(list(homes))
    if draft.random.random() < 0.3:
        for name in homes:
            draft.add_event("domain", name=name, brokers=[])
    else:
        moved = homes.pop(gone)
        draft.add_event("domain", name=gone, brokers=[])
        heir = draft.random.choice([*homes, "far"])
        draft.add_event("domain", name=heir, brokers=[*homes.get(heir, ()), *moved])
    _use_topics(draft, spaces[half:])
    draft.noise()


def outage_of_a_domain(draft: StoryDraft) -> None:
    """Take down all brokers of a domain while other brokers own namespaces of the same group."""
    homes = _brokers_in_domains(draft)
    _use_topics(draft, _use_grouped_namespaces(draft, "apart", draft.random.randint(2, 6)))
    for broker in homes[draft.random.choice(list(homes))]:
        draft.add_event("broker_down", broker=broker)
    draft.noise()


def _brokers_in_domains(draft: StoryDraft) -> dict[str, list[str]]:
    """Add brokers, register two to four domains, and return the brokers of each domain."""
    draft.start_brokers(draft.random.randint(5, 7) if draft.large else draft.random.randint(2, 4))
    draft.add_unrelated_namespaces()
    count = draft.random.randint(2, min(4, len(draft.brokers)))
    homes = {name: draft.brokers[index::count] for index, name in enumerate(DOMAINS[:count])}
    for name, brokers in homes.items():
        draft.add_event("domain", name=name, brokers=brokers)
    return homes


def _use_grouped_namespaces(draft: StoryDraft, group: str, count: int) -> list[str]:
    spaces = [draft.space() for _ in range(count)]
    for space in spaces:
        draft.add_event("group", namespace=space, group=group)
    return spaces


def _use_topics(draft: StoryDraft, spaces: Sequence[str]) -> None:
    for space in spaces:
        draft.use(space, draft.random.choice((0, 1)))
        if draft.random.random() < 0.2:
            draft.tick()
        if draft.random.random() < 0.1:
            draft.add_event("leader_lost")


@REPLAY.check("ANTI-11", draws=draws.stories(first_of_a_group))
def a_new_group_is_kept_apart(_case: Story, answer: Scenes, expect: Expect) -> None:
    """A group's second and later namespaces go to brokers with the fewest of its namespaces."""
    for placed in _certain_first_uses(answer):
        if placed.former_groups or placed.former_domains is not None:
            return
        if expect.reached(len(placed.spread.best) < len(placed.spread.candidates)):
            _among_the_best(placed, expect)


@REPLAY.check("ANTI-12", draws=draws.stories(another_group))
def a_new_group_replaces_the_old(_case: Story, answer: Scenes, expect: Expect) -> None:
    """When a namespace is placed, no other namespace counts in a group that it has left."""
    for placed in _certain_first_uses(answer):
        groups = {**placed.spread.groups, **placed.former_groups}
        groups[placed.spread.namespace] = str(placed.spread.group)
        _not_as_if(placed, replace(placed.spread, groups=groups), expect)


@REPLAY.check("ANTI-13", draws=draws.stories(other_domains))
def former_domains_do_not_count(_case: Story, answer: Scenes, expect: Expect) -> None:
    """When a namespace is placed, only the current domains count, not former ones."""
    for placed in _certain_first_uses(answer):
        if placed.former_domains is not None:
            _not_as_if(placed, replace(placed.spread, domains=placed.former_domains), expect)


def _not_as_if(placed: FirstUse, former: GroupSpread, expect: Expect) -> None:
    """Reject a choice that is among the best only with the former groups or domains."""
    wrong = set(former.best) - set(placed.spread.best)
    if expect.reached(bool(wrong)) and placed.broker in wrong:
        _among_the_best(placed, expect)


@REPLAY.check("ANTI-14", draws=draws.stories(outage_of_a_domain))
def an_outage_leaves_other_domains_alone(_case: Story, answer: Scenes, expect: Expect) -> None:
    """When a broker goes down, brokers of other domains keep their grouped namespaces' bundles."""
    for scene in answer:
        if scene.kind != "broker_down" or not scene.after.valid or scene.after.domains_unknown:
            continue
        homes = {
            broker: name for name, brokers in scene.before.domains.items() for broker in brokers
        }
        down = homes.get(scene.about["broker"])
        for topic, owner in scene.previous.owners.items():
            home = homes.get(str(owner))
            elsewhere = owner in scene.after.brokers and None not in (down, home) and home != down
            if expect.reached(elsewhere and space_of(topic) in scene.before.groups):
                now = scene.now.owner(topic)
                allowed = f"{scene}: {topic} stays with {owner} of {home}"
                expect.that(now == owner, allowed, now or "nobody")


def _second_registrations(course: Scenes) -> Iterator[tuple[Scene, list[str]]]:
    """Yield events that register brokers of one domain in another domain, with these brokers."""
    for scene in course:
        if scene.before.domains_unknown:
            return
        if scene.kind == "domain":
            rest = [b for name, b in scene.before.domains.items() if name != scene.about["name"]]
            twice = [one for one in scene.about["brokers"] if any(one in b for b in rest)]
            if twice:
                yield scene, twice


@REPLAY.check("ANTI-15", draws=draws.stories(plots.registered_twice))
def a_second_domain_is_refused(_case: Story, answer: Scenes, expect: Expect) -> None:
    """A broker that is in a domain cannot be registered in another domain."""
    for scene, twice in _second_registrations(answer):
        expect.reached()
        allowed = f"{scene}: refused, as {twice[0]} is in another domain"
        expect.that(scene.now.declined is not None, allowed, "accepted")


@REPLAY.check("ANTI-16", draws=draws.stories(plots.registered_twice))
def a_second_domain_takes_the_broker(_case: Story, answer: Scenes, expect: Expect) -> None:
    """A broker that is registered in a second domain counts there, and no longer in the first."""
    for scene, twice in _second_registrations(answer):
        expect.reached()
        allowed = f"{scene}: {twice[0]} moves to {scene.about['name']}"
        expect.that(scene.now.declined is None, allowed, scene.now.declined)
        left = {
            name: tuple(one for one in brokers if one not in twice)
            for name, brokers in scene.before.domains.items()
        }
        domains = {**left, scene.about["name"]: tuple(scene.about["brokers"])}
        for placed in _placed_until_changed(answer, scene.after.place, domains):
            _among_the_best(placed, expect)


def _placed_until_changed(course: Scenes, place: int, domains: Domains) -> Iterator[FirstUse]:
    """Yield the certain first uses after a scene, up to the next event about domains."""
    for scene in course.scenes[place:]:
        if scene.kind == "domain":
            return
        if scene.kind == "topic" and scene.after.valid:
            spread = _spread_at_placement(course, scene, space_of(scene.about["topic"]), domains)
            owner = scene.now.owner(scene.about["topic"])
            if spread is not None and owner in scene.after.brokers:
                yield FirstUse(scene, spread, str(owner), {}, domains)
