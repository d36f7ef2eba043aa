"""Stories that the alternatives of a reading continue differently."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.drawing import aim
from pulsar_conformance.conformance.stories.draw_plots import registered_twice, unloaded_by_hand
from pulsar_conformance.conformance.stories.draw_stories import CALM, SHEDDING, StoryDraft
from pulsar_conformance.reference.candidates import AUTO_SPLIT, MAX_TOPICS


def _heavy_and_light(random: Random) -> tuple[StoryDraft, str]:
    """Return a draft with a busy and a lightly loaded broker, and the latter's namespace."""
    draft = StoryDraft(random, dict(CALM), large=False)
    draft.up()
    draft.use(draft.space(), random.choice((40, 60)))
    draft.up()
    draft.tick(2)
    return draft, draft.space()


def a_topic_is_unloaded(random: Random) -> Json:
    """A topic is unloaded; it is alone in its bundle or shares it with others."""
    draft, light = _heavy_and_light(random)
    for _ in range(random.randint(1, 3)):
        draft.use(light, 1)
    draft.say("unload", topic=random.choice(draft.topics))
    return draft.case()


def the_light_one_is_unloaded(random: Random) -> Json:
    """A bundle of a lightly loaded broker is unloaded; by load alone it would return there."""
    draft, light = _heavy_and_light(random)
    topic = draft.use(light, 1)
    draft.tick(2)
    about = random.choice(({"namespace": light}, {"bundleOf": topic}))
    draft.say("unload", **about)
    return draft.case()


def the_light_one_is_split(random: Random) -> Json:
    """A bundle of a lightly loaded broker exceeds its limit and is split."""
    draft, light = _heavy_and_light(random)
    draft.settings |= {AUTO_SPLIT: True, MAX_TOPICS: 2}
    for _ in range(2):
        draft.use(light, 1)
    draft.tick(2)
    draft.use(light, 1)
    draft.tick(1)
    return draft.case()


def _draft(random: Random, settings: Mapping[str, Any]) -> StoryDraft:
    return StoryDraft(random, dict(settings), large=False)


def shed_although_unloaded_by_hand(random: Random) -> Json:
    """A broker is overloaded, but its only heavy bundle was unloaded by an administrator."""
    draft = _draft(random, SHEDDING)
    unloaded_by_hand(draft)
    return draft.case()


def in_two_domains(random: Random) -> Json:
    """A broker is registered in a second domain."""
    draft = _draft(random, CALM)
    registered_twice(draft)
    return draft.case()


AIMED = (
    aim("unload-topic", "cluster.replay", a_topic_is_unloaded),
    aim("unload-destination", "cluster.replay", the_light_one_is_unloaded),
    aim("split-destination", "cluster.replay", the_light_one_is_split),
    aim("grace-starts", "cluster.replay", shed_although_unloaded_by_hand),
    aim("second-domain", "cluster.replay", in_two_domains),
)
