"""A cluster's story, event by event. [OWN]"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pulsar_conformance.reference.answers.shedding import STRATEGIES
from pulsar_conformance.reference.context import Answer, Case, Context
from pulsar_conformance.reference.derivation import Derivation
from pulsar_conformance.reference.shedding import PACKAGE, STRATEGY
from pulsar_conformance.reference.story import replay


def story(context: Context, case: Case) -> Derivation:
    """Answer `cluster.replay`. [OWN; SHED, SPLIT, MANAGER and ANTI where time shows them]"""
    for strategy in named_strategies(case):
        if strategy not in STRATEGIES:
            return Derivation({"unsupported": f"{strategy} is not documented"}, tuple)
    told = replay(case, context.defaults, context.readings)
    return Derivation({"steps": told.steps}, told.explain)


def named_strategies(case: Mapping[str, Any]) -> Iterator[str]:
    """The shedding strategies that a story sets, without Pulsar's own package."""
    changed = (event["setting"] for event in case["events"] if "setting" in event)
    values = [one["value"] for one in changed if one["name"] == STRATEGY]
    for value in (case["settings"].get(STRATEGY), *values):
        if isinstance(value, str):
            yield value.removeprefix(PACKAGE)


ANSWERS: Mapping[str, Answer] = {
    "cluster.replay": story,
}
