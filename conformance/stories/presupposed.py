"""Questions about single moments of a story, for rules about one moment.

A balancer that sheds nothing breaks a rule about a single moment, and so fails in every story. Its
answers to these questions reveal that, so that the fault is not counted against a rule about time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.conformance.bundles.operations import SPLIT_CANDIDATES
from pulsar_conformance.conformance.cases.legality import bad_case
from pulsar_conformance.conformance.common.check import DerivedQuestions
from pulsar_conformance.conformance.common.expect import Violated
from pulsar_conformance.conformance.common.trial import Json, Question, canonical
from pulsar_conformance.conformance.load_data.operations import USAGE
from pulsar_conformance.conformance.placement.operations import PLACE
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.conformance.stories import quantities as courses
from pulsar_conformance.conformance.stories.operations import REPLAY, Course, Scene
from pulsar_conformance.reference import MissingSetting, Readings, Settings
from pulsar_conformance.reference.numbers import Fraction, jsonable
from pulsar_conformance.reference.ranges import namespace_of

MOST_MOMENTS = 5
"""Maximum number of moments of a story to ask about; the latest ones are taken."""


def moment_questions(
    rule: specs.Rule,
    question: Question,
    answer: Json,
    defaults: Mapping[str, Any],
    readings: Readings,
) -> list[Question]:
    """Return questions about moments of a story, for the operations of a rule."""
    makers = [MAKERS[operation] for operation in rule.operations if operation in MAKERS]
    settings = Settings(question.case["settings"], defaults)
    try:
        course = REPLAY.read(REPLAY.view(question.case, settings, readings), answer)
    except (Violated, KeyError):
        return []
    found: dict[str, Question] = {}
    for scene in course:
        for make in makers:
            for one in _made(make, course, scene):
                if bad_case(one.operation, one.case, defaults) is None:
                    found[canonical(one.case)] = one
    return list(found.values())[-MOST_MOMENTS:]


def _made(make: Maker, course: Course, scene: Scene) -> Iterator[Question]:
    try:
        yield from make(course, scene)
    except MissingSetting:
        return


Maker = Callable[[Course, Scene], Iterator[Question]]


def _shedding(course: Course, scene: Scene) -> Iterator[Question]:
    """The cluster when time starts to pass."""
    if scene.passes and all(map(scene.before.is_known, scene.before.changed)):
        case = courses.cycle(course, scene).case
        given = dict(scene.before.settings().given)
        yield Question(SHED.id, _plain({**case, "settings": given}))


def _usage(course: Course, scene: Scene) -> Iterator[Question]:
    """Each broker by itself, with and without weights."""
    for _, case in _shedding(course, scene):
        for broker in case["brokers"].values():
            for weighted in (False, True):
                about = {"settings": case["settings"], "weighted": weighted, "broker": broker}
                yield Question(USAGE.id, about)


def _growing(course: Course, scene: Scene) -> Iterator[Question]:
    """The bundles with known names and their topics, when time starts to pass."""
    for _, case in _shedding(course, scene):
        counted = {space: course.most_bundles(space, scene) for space in scene.before.spaces}
        spaces = {space: count for space, count in counted.items() if count is not None}
        for broker in case["brokers"].values():
            broker["lastStats"] = {
                bundle: {
                    **_rates(case["bundles"][bundle]["shortTermData"]),
                    "topics": len(courses.topics_of(scene.before, namespace_of(bundle))),
                }
                for bundle in broker["bundles"]
            }
        known = {key: case[key] for key in ("settings", "brokers", "bundles")}
        more = {"leader": True, "namespaceBundles": spaces}
        yield Question(SPLIT_CANDIDATES.id, {**known, **more})


def _placing(course: Course, scene: Scene) -> Iterator[Question]:
    """Each assigned bundle, with the brokers just before the assignment."""
    case = courses.cycle(course, scene).case
    up = [broker for broker in scene.after.brokers if broker in scene.before.brokers]
    data = {
        bundle: {"longTermData": one["shortTermData"]} for bundle, one in case["bundles"].items()
    }
    for bundle in dict.fromkeys(one.bundle for one in scene.now.assigned):
        brokers = {
            name: {**case["brokers"][name], "bundles": _but(case["brokers"][name], bundle)}
            for name in up
        }
        about = {"bundle": bundle, "candidates": up, "brokers": brokers, "bundles": data}
        given = dict(scene.before.settings().given)
        yield Question(PLACE.id, _plain({"settings": given, **about, "preallocated": {}}))


def _but(broker: Mapping[str, Any], bundle: str) -> list[str]:
    return [one for one in broker["bundles"] if one != bundle]


def _rates(data: Json) -> Json:
    return {name: value for name, value in data.items() if name.startswith("msg")}


def _plain(value: Any) -> Any:
    """A value with fractions converted to numbers of JSON."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return jsonable(value) if isinstance(value, Fraction) else value


MAKERS: Mapping[str, Maker] = {
    SHED.id: _shedding,
    USAGE.id: _usage,
    SPLIT_CANDIDATES.id: _growing,
    PLACE.id: _placing,
}
"""Builders of questions about one moment, by operation."""

PRESUPPOSED = (DerivedQuestions(moment_questions, operation=REPLAY.id),)
