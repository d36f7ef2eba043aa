"""Quantities of stories: times of changes, and the load of brokers that own topics in an answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pulsar_conformance.conformance.common.check import POINTS
from pulsar_conformance.conformance.shedding.quantities import UsageLevels, can_shed, is_overloaded
from pulsar_conformance.conformance.shedding.view import SheddingCycle
from pulsar_conformance.conformance.stories.operations import WHOLE, Scene, Scenes
from pulsar_conformance.conformance.stories.world import Moment, space_of
from pulsar_conformance.reference.averages import together
from pulsar_conformance.reference.cluster import NEVER_MEASURED_MESSAGES, RATE_FIELDS, Rates
from pulsar_conformance.reference.numbers import ZERO, Fraction
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.placement import AVERAGE_SHEDDER, PLACEMENT_STRATEGY
from pulsar_conformance.reference.ranges import FULL_UPPER, HashRange
from pulsar_conformance.reference.shedding import STRATEGY
from pulsar_conformance.reference.story.timers import REPORT_INTERVAL, SHEDDING_INTERVAL
from pulsar_conformance.reference.threshold import HISTORY_SHARE, LOWER_BOUNDARY

Owners = Mapping[str, str | None]


@dataclass
class LastChanges:
    """Times, in minutes, of a cluster's last change of each kind before a scene."""

    loads: Fraction = ZERO
    """Time of the last change of brokers, topics, rates or owners."""
    settings: Fraction = ZERO
    """Time of the last change of settings or leader."""
    broker: dict[str, Fraction] = field(default_factory=dict)
    """Time of the last change of each broker's load."""
    decreased: dict[str, Fraction] = field(default_factory=dict)
    """Time of the last decrease of each broker's load, by loss of a topic or by less traffic."""
    assigned: dict[str, Fraction] = field(default_factory=dict)
    """Time of each broker's last assigned bundle, whose load is assumed until it is reported."""


def with_last_changes(course: Scenes) -> Iterator[tuple[Scene, LastChanges]]:
    """Yield each scene with the times of the last changes before it."""
    unchanged = LastChanges()
    for scene in course:
        yield scene, unchanged
        _record_changes(scene, unchanged)


def with_assigned_bundles(course: Scenes) -> Iterator[tuple[Scene, Mapping[str, set[str]]]]:
    """Yield each scene with the bundles of each namespace that have been assigned so far."""
    assigned: dict[str, set[str]] = {}
    for scene in course:
        for one in scene.now.assigned:
            assigned.setdefault(one.namespace, set()).add(one.bundle)
        yield scene, assigned


def with_former_owners(course: Scenes) -> Iterator[tuple[Scene, Mapping[str, set[str]]]]:
    """Yield each scene with the brokers that lose their last bundle of a namespace, by namespace.

    The parts of a split bundle stay with its broker until they are assigned.
    """
    holders: dict[str, dict[str, str]] = {}
    for scene in course:
        assigned = {one.namespace for one in scene.now.assigned}
        before = {space: {*holders.get(space, {}).values()} for space in assigned}
        for one in scene.now.split:
            own = holders.setdefault(one.bundle.rpartition("/")[0], {})
            owner = own.pop(one.bundle, None)
            if owner is not None:
                own |= dict.fromkeys(one.into, owner)
        for move in scene.now.assigned:
            holders.setdefault(move.namespace, {})[move.bundle] = move.broker
        yield (
            scene,
            {space: had.difference(holders[space].values()) for space, had in before.items()},
        )


def cover_the_namespace(bundles: Iterable[str]) -> bool:
    """True if bundles of one namespace together cover its whole hash range."""
    covered = 0
    for one in sorted(map(HashRange.parse, bundles)):
        if one.lower > covered:
            return False
        covered = max(covered, one.upper)
    return covered == FULL_UPPER


def used_without_an_owner(scene: Scene) -> list[str]:
    """Return the topics without an owner that are used in a scene.

    A topic is used by a `topic` event, or by its traffic while time passes.
    """
    if scene.kind == "topic":
        used = [scene.about["topic"]]
    elif scene.time_passes:
        used = [one for one, rates in scene.before.topics.items() if any(rates.each())]
    else:
        used = []
    return [topic for topic in used if scene.previous.owner(topic) is None]


def unload_requests(answer: Scenes, *what: str) -> Iterator[tuple[Scene, str]]:
    """Yield each scene with a valid request to unload a kind in `what`, and the namespace."""
    for scene in answer:
        if scene.kind == "unload" and scene.after.valid:
            kind, named = next(one for one in scene.about.items() if one[0] != "to")
            if kind in what:
                yield scene, named if kind == "namespace" else space_of(named)


def _record_changes(scene: Scene, unchanged: LastChanges) -> None:
    clock = scene.after.clock
    if scene.kind != "tick" and scene.after.valid:
        if scene.kind in ("setting", "leader_lost"):
            unchanged.settings = clock
        else:
            unchanged.loads = clock
    if scene.kind in ("broker_up", "broker_down", "broker_stop", "restart"):
        unchanged.settings = clock
        unchanged.broker[scene.about["broker"]] = unchanged.decreased[scene.about["broker"]] = clock
    for move in (*scene.now.unloaded, *scene.now.assigned):
        unchanged.loads = unchanged.broker[move.broker] = clock
    for move in scene.now.assigned:
        unchanged.assigned[move.broker] = clock
    if scene.now.split:
        unchanged.loads = clock
    if scene.now.owners is scene.previous.owners and scene.kind != "topic":
        return
    for topic in scene.after.topics:
        old, new = scene.previous.owner(topic), scene.now.owner(topic)
        changed = scene.before.topics.get(topic) != scene.after.topics[topic]
        if old == new and not changed:
            continue
        unchanged.loads = clock
        for broker in (old, new):
            if broker is not None:
                unchanged.broker[broker] = clock
        if old is not None:
            unchanged.decreased[old] = clock


def broker_load(owners: Owners, moment: Moment, broker: str, but: Iterable[str] = ()) -> Rates:
    """Return a broker's load at a moment, without the topics of the namespaces in `but`."""
    left_out = set(but)
    return together(
        moment.topics[topic]
        for topic, owner in owners.items()
        if owner == broker and topic in moment.topics and space_of(topic) not in left_out
    )


def cpu_percent(rates: Rates, capacity: Fraction) -> Fraction:
    """Return a broker's CPU usage in percent, given its load."""
    return 100 * rates.throughput / capacity


def topics_of(moment: Moment, namespace: str) -> list[str]:
    """Return the topics of a namespace that are in use at a moment."""
    return [topic for topic in moment.topics if space_of(topic) == namespace]


def owners_of(owners: Owners, moment: Moment, namespace: str) -> list[str]:
    """Return the distinct owners of a namespace's topics."""
    found = (owners.get(topic) for topic in topics_of(moment, namespace))
    return list(dict.fromkeys(owner for owner in found if owner is not None))


@dataclass(frozen=True)
class KnownAverages:
    """Namespaces for which current traffic equals, or bounds, the long-term average rates."""

    equal: frozenset[str]
    """Namespaces whose average equals the current traffic, because all topics started together."""
    no_higher: frozenset[str]
    """Namespaces whose average is at most the current traffic, because no topic's rates changed."""


def known_averages(course: Scenes) -> KnownAverages:
    """Return the namespaces whose averages are known from a story's events."""
    known: dict[str, Fraction] = {}
    rates: dict[str, Rates] = {}
    later: set[str] = set()
    other: set[str] = set()
    for scene in course:
        if scene.kind != "topic" or not scene.after.valid:
            continue
        topic = scene.about["topic"]
        space, now = space_of(topic), scene.after.topics[topic]
        if rates.setdefault(topic, now) != now:
            other.add(space)
        if known.setdefault(space, scene.after.clock) != scene.after.clock:
            later.add(space)
    no_more = frozenset(known) - other
    return KnownAverages(no_more - later, no_more)


def intervals(scene: Scene) -> tuple[Fraction, Fraction] | None:
    """Return the reporting and the shedding interval in minutes; None if unknown or changed."""
    settings = scene.after.settings()
    known = {*settings.given, *settings.defaults}
    if {REPORT_INTERVAL, SHEDDING_INTERVAL} & set(scene.after.changed) or not {
        REPORT_INTERVAL,
        SHEDDING_INTERVAL,
    } <= known:
        return None
    return settings.number(REPORT_INTERVAL), settings.number(SHEDDING_INTERVAL)


def cycle_before(course: Scenes, scene: Scene) -> SheddingCycle:
    """Return the shedding cycle at the start of a scene, with the bundles whose names are known.

    Bundles that were unloaded earlier, for any reason, may not move.
    """
    moment, owners = scene.before, scene.previous.owners
    bundles: dict[str, dict[str, object]] = {}
    owned: dict[str, list[str]] = {broker: [] for broker in moment.brokers}
    for space in moment.spaces:
        topics = topics_of(moment, space)
        held = owners_of(owners, moment, space)
        if topics and len(held) == 1 and held[0] in owned and course.has_one_bundle(space, scene):
            name = f"{space}/{WHOLE}"
            owned[held[0]].append(name)
            rates = _rate_fields(together(moment.topics[topic] for topic in topics))
            bundles[name] = {"shortTermData": {**rates, "numSamples": 1}}
    brokers = {}
    for broker, capacity in moment.brokers.items():
        carried = broker_load(owners, moment, broker)
        usage = {"usage": carried.throughput, "limit": capacity}
        brokers[broker] = {"cpu": usage, **_rate_fields(carried), "bundles": owned[broker]}
    moved = [one.bundle for past in course.scenes[: moment.place] for one in past.now.unloaded]
    case = {
        "strategy": None,
        "brokers": brokers,
        "bundles": bundles,
        "recentlyUnloaded": dict.fromkeys(moved, 0),
    }
    return SheddingCycle(case, moment.settings(), course.story.readings)


def _rate_fields(rates: Rates) -> dict[str, Fraction]:
    return dict(zip(RATE_FIELDS, rates.each(), strict=True))


def brokers_that_must_shed(now: SheddingCycle) -> list[str]:
    """Return the brokers that certainly must shed and have another broker to shed bundles to."""
    if not now.enabled:
        return []
    if now.strategy == "OverloadShedder":
        able = [one for one in now.brokers.values() if can_shed(now, one)]
        idle = any(is_overloaded(now, one) is False for one in now.brokers.values())
        return [one.name for one in able if idle and is_overloaded(now, one)]
    if now.strategy == "ThresholdShedder" and not now.settings.number(HISTORY_SHARE):
        levels = UsageLevels(now)
        able = [one for one in now.brokers.values() if can_shed(now, one)]
        return [one.name for one in able if levels.over(one)]
    return []


def sheds_nothing(now: SheddingCycle) -> bool:
    """True if it is certain that no broker sheds."""
    if not now.enabled:
        return True
    quiet = all(is_overloaded(now, one) is False for one in now.brokers.values())
    if now.strategy == "OverloadShedder":
        return quiet
    if now.strategy != "ThresholdShedder" or now.settings.number(HISTORY_SHARE):
        return False
    everywhere = now.readings["overload-scope"] == "all"
    levels = UsageLevels(now)
    even = all(levels.over(one) is False for one in now.brokers.values())
    return even and (quiet or not everywhere) and not now.settings.flag(LOWER_BOUNDARY)


def least_load(scene: Scene, broker: str) -> tuple[Fraction, ...] | None:
    """Return the minimum of a broker's messages/s, bytes/s and CPU percentage in a scene.

    Namespaces with a bundle that is unloaded in the scene do not count. None if the broker was not
    up before the scene, or if a minimum is 0.
    """
    if broker not in scene.before.brokers:
        return None
    released = {one.namespace for one in scene.now.unloaded}
    rates = broker_load(scene.previous.owners, scene.before, broker, but=released)
    usage = cpu_percent(rates, scene.before.brokers[broker])
    least = (rates.messages, rates.throughput, usage)
    return least if all(least) else None


def most_load(scene: Scene, broker: str) -> tuple[Fraction, ...] | None:
    """Return the maximum of a broker's messages/s, bytes/s and CPU percentage in a scene.

    For each of the broker's topics, the messages and bytes include the load that is assumed for an
    unmeasured bundle. None if the broker was not up before the scene.
    """
    if broker not in scene.before.brokers:
        return None
    rates = broker_load(scene.previous.owners, scene.before, broker)
    bundles = sum(owner == broker for owner in scene.previous.owners.values())
    usage = cpu_percent(rates, scene.before.brokers[broker])
    assumed = 2 * NEVER_MEASURED_MESSAGES * bundles
    return rates.messages + assumed, rates.throughput + 1024 * assumed, usage


FAR_LESS = 4
"""Factor by which a load must be lower in every measure to count as far less."""


def is_chosen_by_load(scene: Scene) -> bool:
    """True if only load decides where the bundles of a scene are assigned."""
    grouped = any(one.namespace in scene.after.groups for one in scene.now.assigned)
    shed = any(one.reason == "shed" for one in scene.now.unloaded)
    kinds = ("topic", "unload", "broker_down", "tick")
    chosen = scene.kind in kinds and "to" not in scene.about
    return chosen and scene.after.valid and not (grouped or shed or _may_be_random(scene))


def _may_be_random(scene: Scene) -> bool:
    """True if AvgShedder may both shed and place: it places bundles without a plan at random."""
    settings = scene.after.settings()
    return PLACEMENT_STRATEGY in settings.defaults and all(
        not scene.after.is_known(one) or settings.text(one).endswith(AVERAGE_SHEDDER)
        for one in (STRATEGY, PLACEMENT_STRATEGY)
    )


def less_busy(
    scene: Scene, unchanged: LastChanges, broker: str, averages: KnownAverages
) -> list[str]:
    """Return the brokers that may get bundles and certainly have far less load than `broker`."""
    pace = intervals(scene)
    if pace is None or not scene.after.is_known(OVERLOAD_THRESHOLD):
        return []
    known_since = scene.before.clock - pace[0]
    threshold = scene.after.settings().number(OVERLOAD_THRESHOLD)
    heavy = least_load(scene, broker)
    if heavy is None or not _all_before(known_since, broker, unchanged.broker):
        return []
    found = []
    for other in scene.after.brokers:
        light = most_load(scene, other)
        if other == broker or light is None or _was_unloaded_from(scene, other):
            continue
        known = _all_before(known_since, other, unchanged.decreased, unchanged.assigned)
        eligible = light[2] + POINTS < threshold
        far = all(one * FAR_LESS <= two for one, two in zip(light, heavy, strict=True))
        averaged = (
            _spaces_owned(scene, broker) <= averages.equal
            and _spaces_owned(scene, other) <= averages.no_higher
        )
        if known and eligible and far and averaged:
            found.append(other)
    return found


def _all_before(moment: Fraction, broker: str, *since: Mapping[str, Fraction]) -> bool:
    """True if each of a broker's times in the maps `since` is before the minute `moment`."""
    return all(one.get(broker, moment - 1) < moment for one in since)


def _spaces_owned(scene: Scene, broker: str) -> set[str]:
    return {space_of(topic) for topic, owner in scene.previous.owners.items() if owner == broker}


def _was_unloaded_from(scene: Scene, broker: str) -> bool:
    """True if a bundle was unloaded from a broker in a scene; the bundle need not return to it."""
    return any(one.broker == broker for one in scene.now.unloaded)
