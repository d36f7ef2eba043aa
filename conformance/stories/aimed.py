"""Stories that tell readings apart."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.drawing.aims import aim
from pulsar_conformance.conformance.stories.draw_plots import registered_twice, unloaded_by_hand
from pulsar_conformance.conformance.stories.draw_tales import CALM, SHEDDING, Tale
from pulsar_conformance.reference.candidates import AUTO_SPLIT, MAX_TOPICS


def _heavy_and_light(random: Random) -> tuple[Tale, str]:
    """A busy broker, one with little load, and the namespace that the latter owns."""
    tale = Tale(random, dict(CALM), large=False)
    tale.up()
    tale.use(tale.space(), random.choice((40, 60)))
    tale.up()
    tale.tick(2)
    return tale, tale.space()


def a_topic_is_unloaded(random: Random) -> Json:
    """An unloaded topic that is alone in its bundle, or shares it with others."""
    tale, light = _heavy_and_light(random)
    for _ in range(random.randint(1, 3)):
        tale.use(light, 1)
    tale.say("unload", topic=random.choice(tale.topics))
    return tale.case()


def the_light_one_is_unloaded(random: Random) -> Json:
    """An unloaded bundle of a broker with little load, to which load alone would return it."""
    tale, light = _heavy_and_light(random)
    topic = tale.use(light, 1)
    tale.tick(2)
    about = random.choice(({"namespace": light}, {"bundleOf": topic}))
    tale.say("unload", **about)
    return tale.case()


def the_light_one_is_split(random: Random) -> Json:
    """A bundle that exceeds its limit, on a broker with little load."""
    tale, light = _heavy_and_light(random)
    tale.settings |= {AUTO_SPLIT: True, MAX_TOPICS: 2}
    for _ in range(2):
        tale.use(light, 1)
    tale.tick(2)
    tale.use(light, 1)
    tale.tick(1)
    return tale.case()


def _told(random: Random, settings: Mapping[str, Any]) -> Tale:
    return Tale(random, dict(settings), large=False)


def shed_although_unloaded_by_hand(random: Random) -> Json:
    """An overloaded broker whose one heavy bundle was unloaded by hand."""
    tale = _told(random, SHEDDING)
    unloaded_by_hand(tale)
    return tale.case()


def in_two_domains(random: Random) -> Json:
    """A broker is registered a second time."""
    tale = _told(random, CALM)
    registered_twice(tale)
    return tale.case()


AIMED = (
    aim("unload-topic", "cluster.replay", a_topic_is_unloaded),
    aim("unload-destination", "cluster.replay", the_light_one_is_unloaded),
    aim("split-destination", "cluster.replay", the_light_one_is_split),
    aim("grace-starts", "cluster.replay", shed_although_unloaded_by_hand),
    aim("second-domain", "cluster.replay", in_two_domains),
)
