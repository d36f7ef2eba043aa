"""`usage.max`: how many percent does a broker use, and of which resource?"""

from __future__ import annotations

from math import isclose

from pulsar_conformance.conformance.core.likeness import POINTS
from pulsar_conformance.conformance.core.operation import Operation, Problems
from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.conformance.facts.settled import usage_settled
from pulsar_conformance.conformance.operations.clusters import report_of, weights
from pulsar_conformance.conformance.operations.examples import broker
from pulsar_conformance.conformance.views import Measured, Plain
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.numbers import exact


def _legal(case: Json, settings: Settings) -> Problems:
    yield from report_of("broker", case["broker"])
    if case["weighted"]:
        yield from weights(settings)


def _matches(allowed: Json, answer: Json) -> bool:
    """Of a broker that uses nothing, any resource or none may be named."""
    close = isclose(allowed["percent"], answer["percent"], rel_tol=0, abs_tol=POINTS)
    return close and (allowed["percent"] == 0 or bool(allowed["resource"] == answer["resource"]))


USAGE = Operation(
    id="usage.max",
    view=lambda case, settings, _readings: Plain(case, settings),
    read=lambda _case, answer: Measured(exact(answer["percent"]), answer["resource"]),
    matches=_matches,
    examples=tuple(
        {"settings": {}, "weighted": False, "broker": broker(cpu, 1, [])} for cpu in (95.0, 50.0)
    ),
    legal=_legal,
    settled=usage_settled,
)
