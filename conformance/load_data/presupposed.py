"""Usages of the brokers of a failing case: whoever measures them wrongly decides wrongly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.conformance.common.presupposed import DerivedQuestions
from pulsar_conformance.conformance.common.trial import Json, Question
from pulsar_conformance.conformance.load_data.operations import USAGE
from pulsar_conformance.reference import Readings

UNWEIGHTED, WEIGHTED = "USAGE-01", "USAGE-02"


def usages(
    rule: specs.Rule,
    question: Question,
    _answer: Json,
    _defaults: Mapping[str, Any],
    _readings: Readings,
) -> Iterator[Question]:
    """Yield the usage of each broker in a case, or in each of its cycles."""
    case, weighted = question.case, rule.id == WEIGHTED
    reports = [one.get("brokers", {}).values() for one in (case, *case.get("cycles", ()))]
    for broker in chain.from_iterable(reports):
        measured = {"settings": case["settings"], "weighted": weighted, "broker": broker}
        yield Question(USAGE.id, measured)


PRESUPPOSED = tuple(DerivedQuestions(usages, rule=rule) for rule in (UNWEIGHTED, WEIGHTED))
