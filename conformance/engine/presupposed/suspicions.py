"""What the rules that a rule builds on are asked about a fault, and what they know already."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import Json, Question, Trial
from pulsar_conformance.conformance.engine.judge import Fault
from pulsar_conformance.conformance.engine.presupposed import moments
from pulsar_conformance.conformance.engine.subject import Subject
from pulsar_conformance.conformance.load_data.operations import USAGE
from pulsar_conformance.conformance.shedding.operations import CYCLES, SHED
from pulsar_conformance.conformance.stories.operations import REPLAY

FRAMES = ("shortTermData", "longTermData")


@dataclass
class Suspicion:
    """A trial of a presupposed rule that is already answered or still to be asked."""

    rule: specs.Rule
    trial: Trial
    answers: Sequence[Json] | None


def beneath(rule: specs.Rule, subject: Subject, fault: Fault) -> Iterator[Suspicion]:
    """Each trial of a presupposed rule that a fault of this one suggests, in their order."""
    rules, court = specs.load().rules, subject.court
    for name in rule.presupposes:
        presupposed = rules[name]
        if not subject.blamable(presupposed):
            continue
        for question, answer in zip(fault.trial.questions, fault.answers, strict=True):
            if question.operation in presupposed.operations:
                yield Suspicion(presupposed, Trial((question,)), [answer])
            elif question.operation == REPLAY.id:
                about = (presupposed, question, answer, court.defaults, court.readings)
                for moment in moments.questions(*about):
                    yield Suspicion(presupposed, Trial((moment,)), None)
            elif question.operation == CYCLES.id and SHED.id in presupposed.operations:
                for alone in moments.each_alone(question):
                    yield Suspicion(presupposed, Trial((alone,)), None)
            for derived in DERIVED.get(name, _nothing)(question):
                yield Suspicion(presupposed, Trial((derived,)), None)


def _nothing(_question: Question) -> Iterator[Question]:
    return iter(())


def _usages(question: Question, weighted: bool) -> Iterator[Question]:
    case = question.case
    reports = [one.get("brokers", {}).values() for one in (case, *case.get("cycles", ()))]
    for broker in chain.from_iterable(reports):
        measured = {"settings": case["settings"], "weighted": weighted, "broker": broker}
        yield Question(USAGE.id, measured)


def _awry(question: Question) -> Iterator[Question]:
    """The same cluster, but bundles with more bytes have fewer messages."""
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


DERIVED: Mapping[str, Callable[[Question], Iterator[Question]]] = {
    "USAGE-01": lambda question: _usages(question, weighted=False),
    "USAGE-02": lambda question: _usages(question, weighted=True),
    "SHED-07": _awry,
}
"""Questions about a case by which a rule of another operation is judged."""
