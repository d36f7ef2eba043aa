"""Facts about stories: loads that follow from the answered owners, and since when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pulsar_conformance.conformance.shedding.quantities import UsageLevels, can_shed, overloaded
from pulsar_conformance.conformance.shedding.view import SheddingCycle
from pulsar_conformance.conformance.stories.operations import WHOLE, Course, Scene
from pulsar_conformance.conformance.stories.world import Moment, space_of
from pulsar_conformance.reference.averages import together
from pulsar_conformance.reference.cluster import RATE_FIELDS, Rates
from pulsar_conformance.reference.numbers import ZERO, Fraction
from pulsar_conformance.reference.story.timers import REPORT_INTERVAL, SHEDDING_INTERVAL
from pulsar_conformance.reference.threshold import HISTORY_SHARE, LOWER_BOUNDARY

Owners = Mapping[str, str | None]


@dataclass
class Watch:
    """How long each part of the world has been unchanged when a scene begins, by story time."""

    loads: Fraction = ZERO
    """Brokers, topics, rates and owners."""
    rules: Fraction = ZERO
    """Settings and leader."""
    of: dict[str, Fraction] = field(default_factory=dict)
    """What one broker carries."""
    less: dict[str, Fraction] = field(default_factory=dict)
    """No topic has left a broker, and none of its own has carried less, since."""
    given: dict[str, Fraction] = field(default_factory=dict)
    """No bundle has been assigned to a broker since; an empty one counts until it is reported."""


def watched(course: Course) -> Iterator[tuple[Scene, Watch]]:
    """Each scene, and how long the world has been unchanged when it begins."""
    watch = Watch()
    for scene in course:
        yield scene, watch
        _note(scene, watch)


def _note(scene: Scene, watch: Watch) -> None:
    clock = scene.after.clock
    if scene.kind != "tick" and scene.after.sense:
        if scene.kind in ("setting", "leader_lost"):
            watch.rules = clock
        else:
            watch.loads = clock
    if scene.kind in ("broker_up", "broker_down", "restart"):
        watch.rules = clock
        watch.of[scene.about["broker"]] = watch.less[scene.about["broker"]] = clock
    for move in (*scene.now.unloaded, *scene.now.assigned):
        watch.loads = watch.of[move.broker] = clock
    for move in scene.now.assigned:
        watch.given[move.broker] = clock
    if scene.now.split:
        watch.loads = clock
    if scene.now.owners is scene.then.owners and scene.kind != "topic":
        return
    for topic in scene.after.topics:
        old, new = scene.then.owner(topic), scene.now.owner(topic)
        changed = scene.before.topics.get(topic) != scene.after.topics[topic]
        if old == new and not changed:
            continue
        watch.loads = clock
        for broker in (old, new):
            if broker is not None:
                watch.of[broker] = clock
        if old is not None:
            watch.less[old] = clock


def load(owners: Owners, moment: Moment, broker: str, but: Iterable[str] = ()) -> Rates:
    """The load of a broker at a moment, without the topics of some namespaces."""
    left_out = set(but)
    return together(
        moment.topics[topic]
        for topic, owner in owners.items()
        if owner == broker and topic in moment.topics and space_of(topic) not in left_out
    )


def cpu(rates: Rates, capacity: Fraction) -> Fraction:
    """The percentage of its CPU that a load costs a broker."""
    return 100 * rates.throughput / capacity


def topics_of(moment: Moment, namespace: str) -> list[str]:
    """The topics in use of a namespace."""
    return [topic for topic in moment.topics if space_of(topic) == namespace]


def owners_of(owners: Owners, moment: Moment, namespace: str) -> list[str]:
    """The brokers that own topics of a namespace, each once."""
    found = (owners.get(topic) for topic in topics_of(moment, namespace))
    return list(dict.fromkeys(owner for owner in found if owner is not None))


@dataclass(frozen=True)
class Steady:
    """The namespaces whose averages are partly known."""

    same: frozenset[str]
    """All topics were used at one time, and never changed: the average is what they carry now."""
    no_more: frozenset[str]
    """No topic ever changed: the average is what they carry now, or less."""


def steady(course: Course) -> Steady:
    """What the events of a story show about averages over any time."""
    known: dict[str, Fraction] = {}
    rates: dict[str, Rates] = {}
    later: set[str] = set()
    other: set[str] = set()
    for scene in course:
        if scene.kind != "topic" or not scene.after.sense:
            continue
        topic = scene.about["topic"]
        space, now = space_of(topic), scene.after.topics[topic]
        if rates.setdefault(topic, now) != now:
            other.add(space)
        if known.setdefault(space, scene.after.clock) != scene.after.clock:
            later.add(space)
    no_more = frozenset(known) - other
    return Steady(no_more - later, no_more)


def intervals(scene: Scene) -> tuple[Fraction, Fraction] | None:
    """The intervals of reports and of shedding, if both are known and never changed."""
    settings = scene.after.settings()
    known = {*settings.given, *settings.defaults}
    if {REPORT_INTERVAL, SHEDDING_INTERVAL} & set(scene.after.changed) or not {
        REPORT_INTERVAL,
        SHEDDING_INTERVAL,
    } <= known:
        return None
    return settings.number(REPORT_INTERVAL), settings.number(SHEDDING_INTERVAL)


def cycle(course: Course, scene: Scene) -> SheddingCycle:
    """The cluster at the start of a scene, with the bundles that are known by name.

    A bundle that was unloaded before, for whatever reason, may have to stay where it is.
    """
    moment, owners = scene.before, scene.then.owners
    bundles: dict[str, dict[str, object]] = {}
    owned: dict[str, list[str]] = {broker: [] for broker in moment.brokers}
    for space in moment.spaces:
        topics = topics_of(moment, space)
        held = owners_of(owners, moment, space)
        if topics and len(held) == 1 and held[0] in owned and course.whole(space, scene):
            name = f"{space}/{WHOLE}"
            owned[held[0]].append(name)
            rates = _fields(together(moment.topics[topic] for topic in topics))
            bundles[name] = {"shortTermData": {**rates, "numSamples": 1}}
    brokers = {}
    for broker, capacity in moment.brokers.items():
        carried = load(owners, moment, broker)
        usage = {"usage": carried.throughput, "limit": capacity}
        brokers[broker] = {"cpu": usage, **_fields(carried), "bundles": owned[broker]}
    moved = [one.bundle for past in course.scenes[: moment.place] for one in past.now.unloaded]
    case = {
        "strategy": None,
        "brokers": brokers,
        "bundles": bundles,
        "recentlyUnloaded": dict.fromkeys(moved, 0),
    }
    return SheddingCycle(case, moment.settings(), course.story.readings)


def _fields(rates: Rates) -> dict[str, Fraction]:
    return dict(zip(RATE_FIELDS, rates.each(), strict=True))


def has_to_shed(now: SheddingCycle) -> list[str]:
    """The brokers that certainly give up something, and have a broker to give it to."""
    if not now.enabled:
        return []
    if now.strategy == "OverloadShedder":
        able = [one for one in now.brokers.values() if can_shed(now, one)]
        idle = any(overloaded(now, one) is False for one in now.brokers.values())
        return [one.name for one in able if idle and overloaded(now, one)]
    if now.strategy == "ThresholdShedder" and not now.settings.number(HISTORY_SHARE):
        levels = UsageLevels(now)
        able = [one for one in now.brokers.values() if can_shed(now, one)]
        return [one.name for one in able if levels.over(one)]
    return []


def sheds_nothing(now: SheddingCycle) -> bool:
    """Whether it is certain that no broker gives up anything."""
    if not now.enabled:
        return True
    quiet = all(overloaded(now, one) is False for one in now.brokers.values())
    if now.strategy == "OverloadShedder":
        return quiet
    if now.strategy != "ThresholdShedder" or now.settings.number(HISTORY_SHARE):
        return False
    everywhere = now.readings["overload-scope"] == "all"
    levels = UsageLevels(now)
    even = all(levels.over(one) is False for one in now.brokers.values())
    return even and (quiet or not everywhere) and not now.settings.flag(LOWER_BOUNDARY)
