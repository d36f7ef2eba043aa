"""Legal stories: every sequence of events, with the settings that may matter in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pulsar_conformance.conformance.core.operation import Problems
from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.conformance.operations.balancing.shed_select import history_share
from pulsar_conformance.conformance.operations.clusters import weights
from pulsar_conformance.reference import Settings, candidates, overload, splitting, uniform
from pulsar_conformance.reference.answers.stories import named_strategies
from pulsar_conformance.reference.numbers import exact
from pulsar_conformance.reference.shedding import ENABLED, GRACE, PACKAGE, STRATEGY
from pulsar_conformance.reference.story.due import LOOKS, REPORTS, WRITES
from pulsar_conformance.reference.story.events import DEFAULT_BUNDLES
from pulsar_conformance.reference.story.settings import senseless
from pulsar_conformance.reference.threshold import SHEDDER_THRESHOLD

A_DAY = 24 * 60
"""Minutes that a story lasts at most: a model that shows every cycle needs an end."""

LIMITS = (
    candidates.MAX_TOPICS,
    candidates.MAX_SESSIONS,
    candidates.MAX_MESSAGES,
    candidates.MAX_MEGABYTES,
    candidates.MAX_BUNDLES,
)


def legal_story(case: Json, settings: Settings) -> Problems:
    """What is wrong with a story."""
    events = [(kind, about) for event in case["events"] for kind, about in event.items()]
    for name in (LOOKS, REPORTS, WRITES, DEFAULT_BUNDLES):
        wrong = senseless(name, settings.given[name]) if name in settings.given else None
        if wrong:
            yield f"case.settings.{name}: {wrong}"
    if any(kind == "namespace" and about.get("bundles") is None for kind, about in events):
        settings.number(DEFAULT_BUNDLES)
    if any(kind == "topic" for kind, _about in events):
        settings.number(overload.OVERLOAD_THRESHOLD)
    if any(kind == "split" and about.get("algorithm") is None for kind, about in events):
        _algorithm(settings)
    minutes = sum(exact(about["minutes"]) for kind, about in events if kind == "tick")
    if minutes > A_DAY:
        yield f"case.events: they last {float(minutes)} minutes, and may last {A_DAY} at most"
    if minutes:
        yield from _passing(case, settings)


def _passing(case: Json, settings: Settings) -> Problems:
    """Checks what may fall due, and the settings that this needs."""
    settings.number(LOOKS)
    settings.number(REPORTS)
    if _ever(case, settings, candidates.AUTO_SPLIT):
        for name in LIMITS:
            settings.number(name)
        _algorithm(settings)
    if not _ever(case, settings, ENABLED):
        return
    settings.number(GRACE)
    strategies = {settings.text(STRATEGY).removeprefix(PACKAGE), *named_strategies(case)}
    if "ThresholdShedder" in strategies:
        settings.number(SHEDDER_THRESHOLD)
        yield from weights(settings)
        yield from history_share(settings)
    if "UniformLoadShedder" in strategies:
        settings.number(uniform.RATE_THRESHOLD)
        settings.number(uniform.THROUGHPUT_THRESHOLD)


def _algorithm(settings: Settings) -> None:
    """Checks that the setting that selects the algorithm has a value."""
    for name in splitting.SELECTING_SETTING.values():
        settings.text(name)


def _ever(case: Json, settings: Settings, switch: str) -> bool:
    """Whether a switch is on at some time."""
    changed: Iterator[Mapping[str, Any]] = (
        event["setting"] for event in case["events"] if "setting" in event
    )
    switched_on = any(one["name"] == switch and one["value"] is True for one in changed)
    return settings.flag(switch) or switched_on
