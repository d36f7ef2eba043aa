"""`report.read`: what does a load report say, and which load manager wrote it?"""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose
from typing import Any

from pulsar_conformance.conformance.core.likeness import SHARE
from pulsar_conformance.conformance.core.operation import Naming, Operation
from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.conformance.views import Reported, Said
from pulsar_conformance.specs import schema


def _matches(allowed: Json, answer: Json) -> bool:
    """Fields of the protocol that an example does not name have to be empty in the answer."""
    wanted, found = allowed["broker"], answer["broker"]
    known = schema("shapes")["$defs"]["broker"]["properties"]
    return allowed["manager"] == answer["manager"] and all(
        _same(wanted[name], found.get(name)) if name in wanted else _nothing(found.get(name))
        for name in known
    )


def _same(allowed: Any, answered: Any) -> bool:
    if isinstance(allowed, dict) and isinstance(answered, dict):
        return all(_same(value, answered.get(name)) for name, value in allowed.items())
    if isinstance(allowed, list) and isinstance(answered, list):
        return set(allowed) == set(answered)
    if isinstance(allowed, int | float) and isinstance(answered, int | float):
        return isclose(allowed, answered, rel_tol=SHARE)
    return answered is None and not allowed


def _nothing(answered: Any) -> bool:
    return not (answered.get("usage", answered) if isinstance(answered, dict) else answered)


def _named(case: Json, answer: Json) -> list[Naming]:
    broker = answer["broker"]
    return [Naming((*broker.get("bundles", ()), *broker.get("lastStats", ())), _texts(case))]


def _texts(value: Any) -> Iterator[str]:
    """Every text in a report, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        yield from filter(lambda one: isinstance(one, str), value)
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


READ = Operation(
    id="report.read",
    view=lambda case, _settings, _readings: Reported(case["report"]),
    read=lambda _case, answer: Said(
        answer.get("manager"), answer.get("broker", {}), answer.get("refused")
    ),
    matches=_matches,
    examples=(
        {"report": {"cpu": {"usage": 50.0, "limit": 100.0}, "bundles": []}},
        {"report": {"systemResourceUsage": {"cpu": {"usage": 50.0, "limit": 100.0}}}},
    ),
    refusable=True,
    names=frozenset({"bundles"}),
    named=_named,
)
