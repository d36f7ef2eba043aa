"""Answers about stories, found by replaying the events of a cluster one by one. [OWN]"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulsar_conformance.reference.answers.shedding import strategies_of
from pulsar_conformance.reference.context import Answer, Case, Context, Readings, Refused, Value
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.numbers import plain
from pulsar_conformance.reference.shedding import STRATEGY, short_name
from pulsar_conformance.reference.story.events import EVENTS
from pulsar_conformance.reference.story.world import EventResult, Explanation, Ignored, World

UNPLAYED = frozenset({"AvgShedder"})
"""Strategies for which the model answers questions about cycles, but not about stories."""


@dataclass(frozen=True)
class Replay:
    """The outcome of each event of a story, with an explanation."""

    events: Sequence[Mapping[str, Any]]
    steps: list[dict[str, Any]]
    explanations: list[list[Explanation]]

    def explain(self) -> Iterator[Step]:
        """Yield the derivation steps of each event and its outcome."""
        each = enumerate(zip(self.events, self.steps, self.explanations, strict=True), start=1)
        for number, (event, step, told) in each:
            [(kind, about)] = event.items()
            heading = f"{number} {kind} {_event_fields_text(about)}".rstrip()
            why = next((f"{key}: {step[key]}" for key in ("ignored", "refused") if key in step), "")
            yield Step(heading, why)
            for tell in told:
                yield from (one.within() for one in tell())


def replay(case: Mapping[str, Any], defaults: Mapping[str, Value], readings: Readings) -> Replay:
    """Return one outcome for each event; ignored and refused events change nothing. [OWN]"""
    world = World(defaults, readings, dict(case["settings"]))
    steps: list[dict[str, Any]] = []
    explanations: list[list[Explanation]] = []
    owners: dict[str, str | None] = {}
    for event in case["events"]:
        [(kind, about)] = event.items()
        result = EventResult()
        try:
            EVENTS[kind](world, about, result)
        except Ignored as ignored:
            steps.append({"ignored": str(ignored)})
        except Refused as refused:
            steps.append({"refused": str(refused)})
        else:
            found = world.owners()
            owners = owners if found == owners else found
            steps.append(result.step(world, owners))
        explanations.append(result.explanations)
    return Replay(case["events"], steps, explanations)


def _event_fields_text(about: Mapping[str, Any]) -> str:
    """Format an event's fields: its minutes, or the name of its subject and any destination."""
    if "minutes" in about:
        return f"{plain(about['minutes'])} min"
    named = [value for name, value in about.items() if name != "to" and isinstance(value, str)]
    return " to ".join([*named[:1], *([about["to"]] if "to" in about else [])])


def story(context: Context, case: Case) -> Derivation:
    """Answer `cluster.replay`. [OWN; SHED, SPLIT, MANAGER and ANTI for rules about time]"""
    known = set(strategies_of(context.defaults)) - UNPLAYED
    for strategy in named_strategies(case):
        if strategy not in known:
            return Derivation({"unsupported": f"{strategy} is not documented"}, tuple)
    told = replay(case, context.defaults, context.readings)
    return Derivation({"steps": told.steps}, told.explain)


def named_strategies(case: Mapping[str, Any]) -> Iterator[str]:
    """Yield the shedding strategies that a story sets, without their packages."""
    changed = (event["setting"] for event in case["events"] if "setting" in event)
    values = [one["value"] for one in changed if one["name"] == STRATEGY]
    for value in (case["settings"].get(STRATEGY), *values):
        if isinstance(value, str):
            yield short_name(value)


ANSWERS: Mapping[str, Answer] = {
    "cluster.replay": story,
}
