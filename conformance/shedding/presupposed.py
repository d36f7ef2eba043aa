"""Single cycles of a failing sequence, and clusters in which only the order of bundles matters."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.conformance.common.presupposed import DerivedQuestions
from pulsar_conformance.conformance.common.trial import Json, Question
from pulsar_conformance.conformance.shedding.operations import CYCLES, SHED
from pulsar_conformance.reference import Readings

FRAMES = ("shortTermData", "longTermData")


def each_cycle_alone(
    rule: specs.Rule,
    question: Question,
    _answer: Json,
    _defaults: Mapping[str, Any],
    _readings: Readings,
) -> Iterator[Question]:
    """Yield the cycles of a sequence, each as if it were the first."""
    if SHED.id not in rule.operations:
        return
    shared = {name: question.case[name] for name in ("strategy", "settings")}
    for cycle in question.case["cycles"]:
        seen = {name: value for name, value in cycle.items() if name != "minutes"}
        yield Question(SHED.id, {**shared, **seen})


def bytes_against_messages(
    _rule: specs.Rule,
    question: Question,
    _answer: Json,
    _defaults: Mapping[str, Any],
    _readings: Readings,
) -> Iterator[Question]:
    """Yield the same cluster, in which bundles with more bytes have fewer messages."""
    case = copy.deepcopy(question.case)
    frames = [data[frame] for data in case["bundles"].values() for frame in FRAMES if frame in data]
    most = max(map(_bytes, frames), default=0)
    for frame in frames:
        frame |= {"msgRateIn": 1 + (most - _bytes(frame)) / 1000, "msgRateOut": 0}
    for broker in case["brokers"].values():
        data = (case["bundles"].get(bundle, {}) for bundle in broker.get("bundles", ()))
        rates = (one.get("shortTermData", {}).get("msgRateIn", 0) for one in data)
        broker |= {"msgRateIn": sum(rates), "msgRateOut": 0}
    yield Question(question.operation, case)


def _bytes(rates: Json) -> float:
    size: float = rates.get("msgThroughputIn", 0) + rates.get("msgThroughputOut", 0)
    return size


PRESUPPOSED = (
    DerivedQuestions(each_cycle_alone, operation=CYCLES.id),
    DerivedQuestions(bytes_against_messages, rule="SHED-07"),
)
