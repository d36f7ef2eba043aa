"""Questions about single moments of a story; they test rules that rules about stories presuppose.

A balancer that never sheds, for example, violates a rule about a single moment and therefore fails
in every story. Its answers to these questions show which rule it violates, so that its failures in
stories do not count against the rules about stories. The module also has stories whose answers
distinguish the alternatives of readings (`AIMED`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.conformance.bundles.operations import SPLIT_CANDIDATES
from pulsar_conformance.conformance.cases.legality import case_flaw
from pulsar_conformance.conformance.common.check import DerivedQuestions, Violated
from pulsar_conformance.conformance.common.trial import Json, Question, canonical
from pulsar_conformance.conformance.drawing import aim
from pulsar_conformance.conformance.load_data.operations import USAGE
from pulsar_conformance.conformance.placement.operations import PLACE
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.conformance.stories import quantities as courses
from pulsar_conformance.conformance.stories.draw_plots import registered_twice, unloaded_by_hand
from pulsar_conformance.conformance.stories.draw_stories import (
    CALM_SETTINGS,
    SHEDDING,
    StoryDraft,
)
from pulsar_conformance.conformance.stories.operations import REPLAY, Scene, Scenes
from pulsar_conformance.reference import MissingSetting, Readings, Settings
from pulsar_conformance.reference.candidates import AUTO_SPLIT, MAX_TOPICS
from pulsar_conformance.reference.numbers import Fraction, jsonable
from pulsar_conformance.reference.ranges import namespace_of

MAX_QUESTIONS = 5
"""Maximum number of questions derived from a story; the latest are kept."""


def moment_questions(
    rule: specs.Rule,
    question: Question,
    answer: Json,
    defaults: Mapping[str, Any],
    readings: Readings,
) -> list[Question]:
    """Return questions about the latest moments of a story, for the operations of a rule."""
    makers = [MAKERS[operation] for operation in rule.operations if operation in MAKERS]
    settings = Settings(question.case["settings"], defaults)
    try:
        course = REPLAY.read(REPLAY.view(question.case, settings, readings), answer)
    except (Violated, KeyError):
        return []
    found: dict[str, Question] = {}
    for scene in course:
        for make in makers:
            for one in _questions_made(make, course, scene):
                if case_flaw(one.operation, one.case, defaults) is None:
                    found[canonical(one.case)] = one
    return list(found.values())[-MAX_QUESTIONS:]


def _questions_made(make: QuestionMaker, course: Scenes, scene: Scene) -> Iterator[Question]:
    try:
        yield from make(course, scene)
    except MissingSetting:
        return


QuestionMaker = Callable[[Scenes, Scene], Iterator[Question]]


def _shedding_questions(course: Scenes, scene: Scene) -> Iterator[Question]:
    """Yield a question that asks which bundles the cluster sheds at the start of a scene."""
    if scene.time_passes and all(map(scene.before.is_known, scene.before.changed)):
        case = courses.cycle_before(course, scene).case
        given = dict(scene.before.settings().given)
        yield Question(SHED.id, _with_json_numbers({**case, "settings": given}))


def _usage_questions(course: Scenes, scene: Scene) -> Iterator[Question]:
    """Yield questions about each broker's weighted and plain usage at the start of a scene."""
    for _, case in _shedding_questions(course, scene):
        for broker in case["brokers"].values():
            for weighted in (False, True):
                about = {"settings": case["settings"], "weighted": weighted, "broker": broker}
                yield Question(USAGE.id, about)


def _split_questions(course: Scenes, scene: Scene) -> Iterator[Question]:
    """Yield a question that asks which bundles with known names are split as a scene starts."""
    for _, case in _shedding_questions(course, scene):
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


def _placement_questions(course: Scenes, scene: Scene) -> Iterator[Question]:
    """Yield a question for each bundle assigned in a scene: on which broker it is placed."""
    case = courses.cycle_before(course, scene).case
    up = [broker for broker in scene.after.brokers if broker in scene.before.brokers]
    data = {
        bundle: {"longTermData": one["shortTermData"]} for bundle, one in case["bundles"].items()
    }
    for bundle in dict.fromkeys(one.bundle for one in scene.now.assigned):
        brokers = {
            name: {
                **case["brokers"][name],
                "bundles": _bundles_without(case["brokers"][name], bundle),
            }
            for name in up
        }
        about = {"bundle": bundle, "candidates": up, "brokers": brokers, "bundles": data}
        given = dict(scene.before.settings().given)
        yield Question(
            PLACE.id, _with_json_numbers({"settings": given, **about, "preallocated": {}})
        )


def _bundles_without(broker: Mapping[str, Any], bundle: str) -> list[str]:
    return [one for one in broker["bundles"] if one != bundle]


def _rates(data: Json) -> Json:
    return {name: value for name, value in data.items() if name.startswith("msg")}


def _with_json_numbers(value: Any) -> Any:
    """Return a value in which fractions, at any depth, are replaced by JSON numbers."""
    if isinstance(value, Mapping):
        return {name: _with_json_numbers(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_json_numbers(item) for item in value]
    return jsonable(value) if isinstance(value, Fraction) else value


MAKERS: Mapping[str, QuestionMaker] = {
    SHED.id: _shedding_questions,
    USAGE.id: _usage_questions,
    SPLIT_CANDIDATES.id: _split_questions,
    PLACE.id: _placement_questions,
}
"""For each operation, the function that yields questions about a moment."""

PRESUPPOSED = (DerivedQuestions(moment_questions, operation=REPLAY.id),)


def _draft_with_busy_and_idle(random: Random) -> tuple[StoryDraft, str]:
    """Return a draft with a busy and a lightly loaded broker, and an empty namespace.

    Topics of the namespace go to the lightly loaded broker if load decides.
    """
    draft = StoryDraft(random, dict(CALM_SETTINGS), large=False)
    draft.start_brokers()
    draft.use(draft.space(), random.choice((40, 60)))
    draft.start_brokers()
    draft.tick(2)
    return draft, draft.space()


def topic_unloaded(random: Random) -> Json:
    """Return a story in which a topic is unloaded; other topics may be in the same bundle."""
    draft, light = _draft_with_busy_and_idle(random)
    for _ in range(random.randint(1, 3)):
        draft.use(light, 1)
    draft.add_event("unload", topic=random.choice(draft.topics))
    return draft.case()


def light_bundle_unloaded(random: Random) -> Json:
    """Return a story in which a bundle is unloaded from a lightly loaded broker.

    If only load decided, the bundle would return to that broker.
    """
    draft, light = _draft_with_busy_and_idle(random)
    topic = draft.use(light, 1)
    draft.tick(2)
    about = random.choice(({"namespace": light}, {"bundleOf": topic}))
    draft.add_event("unload", **about)
    return draft.case()


def light_bundle_split(random: Random) -> Json:
    """Return a story in which a bundle on a lightly loaded broker exceeds a limit and is split."""
    draft, light = _draft_with_busy_and_idle(random)
    draft.settings |= {AUTO_SPLIT: True, MAX_TOPICS: 2}
    for _ in range(2):
        draft.use(light, 1)
    draft.tick(2)
    draft.use(light, 1)
    draft.tick(1)
    return draft.case()


def _draft_with_settings(random: Random, settings: Mapping[str, Any]) -> StoryDraft:
    return StoryDraft(random, dict(settings), large=False)


def shed_although_unloaded_by_hand(random: Random) -> Json:
    """Return a story of an overloaded broker whose only heavy bundle was just unloaded by hand."""
    draft = _draft_with_settings(random, SHEDDING)
    unloaded_by_hand(draft)
    return draft.case()


def in_two_domains(random: Random) -> Json:
    """Return a story in which a broker is registered in a second failure domain."""
    draft = _draft_with_settings(random, CALM_SETTINGS)
    registered_twice(draft)
    return draft.case()


AIMED = (
    aim("unload-topic", "cluster.replay", topic_unloaded),
    aim("unload-destination", "cluster.replay", light_bundle_unloaded),
    aim("split-destination", "cluster.replay", light_bundle_split),
    aim("grace-starts", "cluster.replay", shed_although_unloaded_by_hand),
    aim("second-domain", "cluster.replay", in_two_domains),
)
