"""SHED, SPLIT: shedding and splitting over time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from pulsar_conformance.conformance.common.check import SHARE, Expect
from pulsar_conformance.conformance.common.clusters import contains_bundle
from pulsar_conformance.conformance.shedding.quantities import can_shed, is_overloaded
from pulsar_conformance.conformance.shedding.view import SheddingCycle, is_recent
from pulsar_conformance.conformance.stories import draw_plots as plots
from pulsar_conformance.conformance.stories import draw_stories as draws
from pulsar_conformance.conformance.stories import quantities as courses
from pulsar_conformance.conformance.stories.draw_stories import SHEDDING
from pulsar_conformance.conformance.stories.operations import (
    REPLAY,
    Division,
    Move,
    Scene,
    Scenes,
    Story,
)
from pulsar_conformance.conformance.stories.quantities import LastChanges
from pulsar_conformance.conformance.stories.world import space_of
from pulsar_conformance.reference.candidates import AUTO_UNLOAD, MAX_BUNDLES
from pulsar_conformance.reference.numbers import Fraction, plain
from pulsar_conformance.reference.shedding import ENABLED, GRACE, STRATEGY
from pulsar_conformance.reference.story.timers import SHEDDING_INTERVAL

DISTURBING_EVENTS = ("broker_up", "broker_down", "broker_stop", "restart", "leader_lost", "setting")


def _settings_are_known(scene: Scene) -> bool:
    """True if the effective values of all settings are certain before a scene."""
    return all(map(scene.before.is_known, scene.before.changed))


def _moves_text(moves: list[Move]) -> str:
    return ", ".join(f"{one.bundle} of {one.broker}" for one in moves) or "nothing"


def _lasts_long_enough(scene: Scene, unchanged: LastChanges) -> bool:
    """True if all reports and a shedding cycle have come due since the last change."""
    pace = courses.intervals(scene)
    since = max(unchanged.loads, unchanged.settings)
    return pace is not None and scene.after.clock - since > sum(pace)


def _sheds_in_time(answer: Scenes, scene: Scene, unchanged: LastChanges, expect: Expect) -> None:
    """Demand that brokers that must shed have shed in time, if others can take their bundles."""
    shed, late = scene.now.shed(), _lasts_long_enough(scene, unchanged)
    if not _settings_are_known(scene) or not (late or shed):
        return
    for broker in courses.brokers_that_must_shed(courses.cycle_before(answer, scene)):
        sheds = any(one.broker == broker for one in shed)
        if expect.reached(sheds or (late and bool(_less_loaded(scene, broker)))):
            allowed = f"{scene}: {broker} has shed by minute {plain(scene.after.clock)}"
            expect.that(sheds, allowed, _moves_text(shed))


@REPLAY.check(
    "SHED-09",
    draws=draws.stories(
        plots.overloaded, plots.above_the_average, plots.overloads_every_owner, settings=SHEDDING
    ),
)
def brokers_shed_once_an_interval(_case: Story, answer: Scenes, expect: Expect) -> None:
    """An overloaded broker sheds in time, and cycles that shed are at least an interval apart."""
    shedding: list[Scene] = []
    for scene, unchanged in courses.with_last_changes(answer):
        if scene.kind in DISTURBING_EVENTS and scene.after.valid:
            shedding = []
        if not scene.time_passes:
            continue
        _sheds_in_time(answer, scene, unchanged, expect)
        shedding += [scene] if scene.now.shed() else []
        for first, second in pairwise(shedding[-2:]):
            apart = second.after.clock - first.before.clock
            interval = second.before.settings().number(SHEDDING_INTERVAL)
            expect.reached()
            allowed = f"{second}: nothing within {plain(interval)} minutes of {first}"
            expect.that(apart >= interval, allowed, _moves_text(second.now.shed()))


@REPLAY.check("SHED-10", draws=draws.stories(plots.another_strategy, settings=SHEDDING))
def a_strategy_needs_a_restart(_case: Story, answer: Scenes, expect: Expect) -> None:
    """The former strategy applies until brokers restart; then the new strategy applies."""
    for scene, unchanged in courses.with_last_changes(answer):
        changed = STRATEGY in scene.before.changed and _settings_are_known(scene)
        pace = courses.intervals(scene)
        if not scene.time_passes or not changed or pace is None:
            continue
        if scene.before.clock - unchanged.loads > pace[0]:
            now = courses.cycle_before(answer, scene)
            if courses.sheds_nothing(now):
                expect.reached(_any_broker_can_shed(now))
                why = f"{scene}: {now.strategy} is in force, which finds nothing to shed"
                expect.nothing((one.bundle for one in scene.now.shed()), why)
        if not scene.before.changed[STRATEGY].waiting:
            _sheds_in_time(answer, scene, unchanged, expect)


def _any_broker_can_shed(now: SheddingCycle) -> bool:
    """True if another strategy could shed: shedding is enabled, and some broker can shed."""
    return now.enabled and any(can_shed(now, broker) for broker in now.brokers.values())


@REPLAY.check(
    "SHED-11",
    draws=draws.stories(
        plots.overloaded_before_a_late_cycle,
        plots.above_the_average_before_a_late_cycle,
        plots.beside_a_large_bundle,
        settings=SHEDDING,
    ),
)
def shed_bundles_go_to_less_loaded_brokers(_case: Story, answer: Scenes, expect: Expect) -> None:
    """A shed bundle goes to a broker that is less loaded than its source by some measure."""
    for scene, unchanged in courses.with_last_changes(answer):
        pace = courses.intervals(scene)
        if not scene.time_passes or pace is None:
            continue
        known = scene.before.clock - unchanged.loads > pace[0]
        once = scene.after.clock - scene.before.clock <= pace[1]
        for one in scene.now.shed() if known and once else ():
            _goes_to_less(scene, one, expect)


def _goes_to_less(scene: Scene, shed: Move, expect: Expect) -> None:
    found = [one.broker for one in scene.now.assigned if one.bundle == shed.bundle]
    if shed.broker not in scene.before.brokers or len(found) != 1:
        return
    source, [to] = _load_of_broker(scene, shed.broker), found
    less = _less_loaded(scene, shed.broker)
    if expect.reached(bool(less) and to in scene.before.brokers):
        least = zip(_load_of_broker(scene, to, most=False), source, strict=True)
        more = all(one >= two * (1 + SHARE) for one, two in least)
        allowed = f"{scene}: {shed.bundle} goes to a broker that carries less than {shed.broker}"
        expect.that(to != shed.broker and not more, f"{allowed}, such as {less[0]}", to)


def _less_loaded(scene: Scene, broker: str) -> list[str]:
    """Return the brokers with less load than `broker` by every measure, new bundles included."""
    source = _load_of_broker(scene, broker)
    return [
        name
        for name in scene.before.brokers
        if name != broker
        and all(
            one < two * (1 - SHARE)
            for one, two in zip(_load_of_broker(scene, name, most=True), source, strict=True)
        )
    ]


def _load_of_broker(scene: Scene, broker: str, most: bool | None = None) -> tuple[Fraction, ...]:
    """Return a broker's messages/s, bytes/s and CPU percentage before or in a scene.

    `most` is True for the maximum in the scene, False for the minimum, None for the values before
    it.
    """
    owners = dict(scene.previous.owners)
    moved = scene.now.assigned if most else scene.now.unloaded
    spaces = {one.namespace for one in moved if one.broker == broker}
    for topic in scene.before.topics if most is not None else ():
        if space_of(topic) in spaces:
            owners[topic] = broker if most else None
    rates = courses.broker_load(owners, scene.before, broker)
    usage = courses.cpu_percent(rates, scene.before.brokers[broker])
    return rates.messages, rates.throughput, usage


@REPLAY.check("SHED-12", draws=draws.stories(plots.overloaded_again, settings=SHEDDING))
def shed_bundles_stay_for_a_while(_case: Story, answer: Scenes, expect: Expect) -> None:
    """No bundle is shed again within the grace period."""
    past: list[tuple[Move, Scene]] = []
    for scene in answer:
        expect.given(GRACE not in scene.after.changed, "the grace period does not change")
        if not scene.time_passes:
            continue
        grace = scene.after.settings().number(GRACE)
        edge = expect.readings["grace-edge"] == "blocked"
        blocked = [
            move
            for move, then in past
            if is_recent(scene.after.clock - then.before.clock, grace, edge)
        ]
        expect.reached(bool(blocked))
        for one in scene.now.shed():
            earlier = [move.bundle for move in blocked if _moved_before(move, one, expect)]
            allowed = f"{scene}: {one.bundle} stays for {plain(grace)} minutes after it was shed"
            expect.that(not earlier, allowed, f"shed again, as {', '.join(earlier)} was")
            past.append((one, scene))
            if is_recent(scene.after.clock - scene.before.clock, grace, edge):
                blocked.append(one)


def _moved_before(before: Move, now: Move, expect: Expect) -> bool:
    """True if `before` moved the bundle of `now` or, under some alternative of `grace-of`, a bundle
    that contains it.
    """
    if before.namespace != now.namespace or expect.readings["grace-of"] == "bundle":
        return before.bundle == now.bundle
    try:
        return contains_bundle(before.bundle, now.bundle)
    except ValueError:
        return False


@REPLAY.check("SHED-13", draws=draws.stories(plots.switched_off, settings=SHEDDING))
def nothing_is_shed_while_it_is_switched_off(_case: Story, answer: Scenes, expect: Expect) -> None:
    """While shedding is disabled, overloaded brokers keep their bundles."""
    for scene in answer:
        if not scene.time_passes or not scene.before.is_known(ENABLED):
            continue
        if scene.before.settings().flag(ENABLED):
            continue
        now = courses.cycle_before(answer, scene)
        expect.reached(any(is_overloaded(now, broker) for broker in now.brokers.values()))
        expect.nothing(
            (one.bundle for one in scene.now.shed()), f"{scene}: shedding is switched off"
        )


@REPLAY.check("SHED-14", draws=draws.stories(plots.unloaded_by_hand, settings=SHEDDING))
def bundles_unloaded_by_hand_stay_for_a_while(_case: Story, answer: Scenes, expect: Expect) -> None:
    """No bundle is shed within the grace period after an administrator unloaded it."""
    past: list[tuple[Move, Scene]] = []
    for scene in answer:
        expect.given(GRACE not in scene.after.changed, "the grace period does not change")
        grace = scene.after.settings().number(GRACE)
        edge = expect.readings["grace-edge"] == "blocked"
        held = [
            move
            for move, then in past
            if is_recent(scene.after.clock - then.after.clock, grace, edge)
        ]
        expect.reached(scene.time_passes and bool(held))
        for one in scene.now.shed():
            found = [move.bundle for move in held if _moved_before(move, one, expect)]
            allowed = f"{scene}: {one.bundle} stays for {plain(grace)} minutes after its unload"
            expect.that(not found, allowed, f"shed, though {', '.join(found)} was unloaded")
        past += [(one, scene) for one in scene.now.unloaded if one.reason == "admin"]


GROWING = draws.stories(plots.grown)


def _splits_by_brokers(answer: Scenes) -> Iterator[tuple[Scene, Division]]:
    """Yield each split that a broker starts by itself, with its scene."""
    for scene in answer:
        for one in scene.now.split:
            if scene.kind == "tick" and one.reason == "broker":
                yield scene, one


def _unloads_parts(scene: Scene) -> bool | None:
    """True if parts of split bundles are unloaded by the settings; None if that is uncertain."""
    if not scene.before.is_known(AUTO_UNLOAD):
        return None
    return scene.before.settings().flag(AUTO_UNLOAD)


@REPLAY.check("SPLIT-20", draws=draws.stories(plots.grown, plots.split_beside_a_busy_broker))
def parts_go_to_other_brokers(_case: Story, answer: Scenes, expect: Expect) -> None:
    """If a broker splits a bundle while other brokers are up, each part goes to another broker."""
    for scene, one in _splits_by_brokers(answer):
        space = one.bundle.rpartition("/")[0]
        alone = len(scene.after.brokers) < 2 or space in scene.after.groups
        if alone or scene.now.shed() or not _unloads_parts(scene):
            continue
        owner = {move.bundle: move.broker for move in scene.now.unloaded}
        for move in scene.now.assigned:
            if move.bundle in one.into and expect.reached(move.bundle in owner):
                had = owner[move.bundle]
                allowed = f"{scene}: {move.bundle} goes to a broker other than {had}"
                expect.that(move.broker != had, allowed, move.broker)


@REPLAY.check("SPLIT-21", draws=GROWING)
def a_namespace_never_outgrows_its_maximum(_case: Story, answer: Scenes, expect: Expect) -> None:
    """Automatic splits never take a namespace beyond its maximum number of bundles."""
    for scene, one in _splits_by_brokers(answer):
        space = one.bundle.rpartition("/")[0]
        count = answer.most_bundles(space, scene)
        if count is None or not scene.before.is_known(MAX_BUNDLES):
            continue
        most = scene.before.settings().number(MAX_BUNDLES)
        expect.reached()
        expect.that(count <= most, f"{scene}: at most {most} bundles in {space}", count)


@REPLAY.check("SPLIT-22", draws=GROWING)
def parts_are_reassigned_at_once(_case: Story, answer: Scenes, expect: Expect) -> None:
    """If the unloading of parts is enabled, parts are unloaded and assigned in the same step."""
    for scene, one in _splits_by_brokers(answer):
        if _unloads_parts(scene) and expect.reached(bool(scene.after.brokers)):
            new = {one.bundle, *one.into, *_parts_of_parts(scene, one)}
            unloaded = [move.bundle for move in scene.now.unloaded if move.bundle in new]
            assigned = [move.bundle for move in scene.now.assigned if move.bundle in new]
            allowed = f"{scene}: parts of {one.bundle} are unloaded and assigned"
            found = f"unloaded {unloaded or 'none'}, assigned {assigned or 'none'}"
            expect.that(bool(unloaded and assigned), allowed, found)


def _parts_of_parts(scene: Scene, whole: Division) -> Iterator[str]:
    """Yield the parts into which a bundle's parts are split in the same step."""
    for one in scene.now.split:
        if one.bundle in whole.into:
            yield from one.into


def _splits_by_hand(answer: Scenes) -> Iterator[tuple[Scene, Division]]:
    """Yield each split that an administrator requests and that unloads nothing, with its scene.

    The setting for the unloading of parts applies only to splits by brokers: a requested split may
    unload the parts, and is then not yielded.
    """
    for scene in answer:
        if scene.kind == "split" and scene.after.valid and not scene.now.unloaded:
            yield from ((scene, one) for one in scene.now.split)


@REPLAY.check("SPLIT-23", draws=draws.stories(plots.grown_in_place, plots.split_by_hand))
def parts_stay_where_unloading_is_off(_case: Story, answer: Scenes, expect: Expect) -> None:
    """If the unloading of parts is disabled, the parts stay with the bundle's owner.

    The parts of an administrator's split may still be unloaded.
    """
    for scene, one in (*_splits_by_brokers(answer), *_splits_by_hand(answer)):
        space = one.bundle.rpartition("/")[0]
        if _unloads_parts(scene) is not False or scene.now.shed():
            continue
        expect.reached()
        parted = (move.bundle for move in scene.now.unloaded if move.reason == "split")
        expect.nothing(parted, f"{scene}: parts are not unloaded")
        for topic in courses.topics_of(scene.before, space):
            old, now = scene.previous.owner(topic), scene.now.owner(topic)
            if old is not None:
                expect.that(now == old, f"{scene}: {topic} stays with {old}", now or "nobody")
