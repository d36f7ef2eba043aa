"""Stories as questions: what happens to a cluster, event by event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from json import dumps
from typing import Any

from pulsar_conformance.conformance.common.clusters import weights
from pulsar_conformance.conformance.common.examples import TOPICS, rates
from pulsar_conformance.conformance.common.operation import Operation, Problems
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.shedding.operations import history_share
from pulsar_conformance.conformance.stories.view import Course, Story
from pulsar_conformance.reference import (
    Settings,
    candidates,
    overload,
    splitting,
    uniform,
)
from pulsar_conformance.reference.answers.stories import named_strategies
from pulsar_conformance.reference.numbers import exact
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.shedding import ENABLED, GRACE, PACKAGE, STRATEGY
from pulsar_conformance.reference.story.events import DEFAULT_BUNDLES
from pulsar_conformance.reference.story.settings import why_invalid
from pulsar_conformance.reference.story.timers import (
    REPORT_INTERVAL,
    SHEDDING_INTERVAL,
    WRITE_INTERVAL,
)
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
    for name in (SHEDDING_INTERVAL, REPORT_INTERVAL, WRITE_INTERVAL, DEFAULT_BUNDLES):
        wrong = why_invalid(name, settings.given[name]) if name in settings.given else None
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
    settings.number(SHEDDING_INTERVAL)
    settings.number(REPORT_INTERVAL)
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


def _matches(allowed: Json, answer: Json) -> bool:
    """Compares step by step; the moves of a step are unordered, and reasons are not compared."""
    steps = allowed["steps"], answer["steps"]
    return len(steps[0]) == len(steps[1]) and all(map(_same_step, *steps))


def _same_step(allowed: Json, answer: Json) -> bool:
    """Compares the leader and the deciding broker only if both steps name them."""
    said = [name for name in ("leader", "decidedBy") if name in allowed and name in answer]
    declined = ({"ignored", "refused"} & set(one) for one in (allowed, answer))
    moved = all(
        _sorted(allowed.get(name, ())) == _sorted(answer.get(name, ()))
        for name in ("assigned", "unloaded", "split")
    )
    owners = allowed.get("owners", answer.get("owners")) == answer.get("owners")
    same = all(allowed[name] == answer[name] for name in said)
    return same and owners and moved and next(declined) == next(declined)


def _sorted(moved: Sequence[Any]) -> list[str]:
    return sorted(dumps(one, sort_keys=True) for one in moved)


def _example(events: int) -> Json:
    told: list[Json] = [
        {"broker_up": {"broker": "broker-1", "capacity": 100_000_000}},
        {"namespace": {"name": "t/ns", "bundles": 1}},
        {"topic": {"topic": TOPICS[0], **rates(1)}},
        {"broker_up": {"broker": "broker-2", "capacity": 100_000_000}},
        {"broker_down": {"broker": "broker-1"}},
    ]
    return {"settings": {OVERLOAD_THRESHOLD: 85}, "events": told[:events]}


REPLAY = Operation(
    id="cluster.replay",
    view=Story,
    read=Course.read,
    matches=_matches,
    examples=(_example(4), _example(5)),
    legal=legal_story,
    names=frozenset({"brokers"}),
    in_rows=True,
)
