"""SPLIT: what only the course of time shows of splitting."""

from __future__ import annotations

from collections.abc import Iterator

from pulsar_conformance.conformance.common.expect import Expect
from pulsar_conformance.conformance.stories import draw_busy as busy
from pulsar_conformance.conformance.stories import draw_ownership as draws
from pulsar_conformance.conformance.stories import quantities as courses
from pulsar_conformance.conformance.stories.operations import REPLAY
from pulsar_conformance.conformance.stories.view import Course, Division, Scene, Story
from pulsar_conformance.reference.candidates import AUTO_UNLOAD, MAX_BUNDLES

GROWING = draws.stories(busy.grown)


def _by_brokers(answer: Course) -> Iterator[tuple[Scene, Division]]:
    """What brokers split by themselves."""
    for scene in answer:
        for one in scene.now.split:
            if scene.kind == "tick" and one.reason == "broker":
                yield scene, one


def _unloads_parts(scene: Scene) -> bool | None:
    """Whether parts are unloaded; none where that is not certain."""
    if not scene.before.sure(AUTO_UNLOAD):
        return None
    return scene.before.settings().flag(AUTO_UNLOAD)


@REPLAY.check("SPLIT-20", draws=draws.stories(busy.grown, busy.grown_beside_another))
def parts_go_to_other_brokers(_case: Story, answer: Course, expect: Expect) -> None:
    """No part of a bundle that a broker split stays with it, where there is another."""
    for scene, one in _by_brokers(answer):
        space = one.bundle.rpartition("/")[0]
        alone = len(scene.after.brokers) < 2 or space in scene.after.groups
        if alone or scene.now.shed() or not _unloads_parts(scene):
            continue
        owner = {move.bundle: move.broker for move in scene.now.unloaded}
        for move in scene.now.assigned:
            if move.bundle in one.into and expect.reached(move.bundle in owner):
                had = owner[move.bundle]
                allowed = f"{scene}: {move.bundle} goes to another broker than {had}"
                expect.that(move.broker != had, allowed, move.broker)


@REPLAY.check("SPLIT-21", draws=GROWING)
def a_namespace_never_outgrows_its_maximum(_case: Story, answer: Course, expect: Expect) -> None:
    """However often brokers split, no namespace gets more bundles than it may."""
    for scene, one in _by_brokers(answer):
        space = one.bundle.rpartition("/")[0]
        count = answer.most_bundles(space, scene)
        if count is None or not scene.before.sure(MAX_BUNDLES):
            continue
        most = scene.before.settings().number(MAX_BUNDLES)
        expect.reached()
        expect.that(count <= most, f"{scene}: at most {most} bundles in {space}", count)


@REPLAY.check("SPLIT-22", draws=GROWING)
def parts_are_reassigned_at_once(_case: Story, answer: Course, expect: Expect) -> None:
    """By default, what a broker splits is unloaded and assigned in the same step."""
    for scene, one in _by_brokers(answer):
        if _unloads_parts(scene) and expect.reached(bool(scene.after.brokers)):
            new = {one.bundle, *one.into, *_descendants(scene, one)}
            unloaded = [move.bundle for move in scene.now.unloaded if move.bundle in new]
            assigned = [move.bundle for move in scene.now.assigned if move.bundle in new]
            allowed = f"{scene}: parts of {one.bundle} are unloaded and assigned"
            told = f"unloaded {unloaded or 'none'}, assigned {assigned or 'none'}"
            expect.that(bool(unloaded and assigned), allowed, told)


def _descendants(scene: Scene, whole: Division) -> Iterator[str]:
    """The parts of parts that were split in the same step."""
    for one in scene.now.split:
        if one.bundle in whole.into:
            yield from one.into


@REPLAY.check("SPLIT-23", draws=draws.stories(busy.grown_in_place))
def parts_stay_where_unloading_is_off(_case: Story, answer: Course, expect: Expect) -> None:
    """With their unloading switched off, parts keep the owner of the bundle."""
    for scene, one in _by_brokers(answer):
        space = one.bundle.rpartition("/")[0]
        if _unloads_parts(scene) is not False or scene.now.shed():
            continue
        expect.reached()
        parted = (move.bundle for move in scene.now.unloaded if move.reason == "split")
        expect.nothing(parted, f"{scene}: parts are not unloaded")
        for topic in courses.topics_of(scene.before, space):
            old, now = scene.then.owner(topic), scene.now.owner(topic)
            if old is not None:
                expect.that(now == old, f"{scene}: {topic} stays with {old}", now or "nobody")
