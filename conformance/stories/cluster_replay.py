"""`cluster.replay`: what happens to a cluster, event by event?"""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps
from typing import Any

from pulsar_conformance.conformance.core.operation import Operation
from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.conformance.operations.cluster.legal_stories import legal_story
from pulsar_conformance.conformance.operations.examples import TOPICS, rates
from pulsar_conformance.conformance.views import Course, Story
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD


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
