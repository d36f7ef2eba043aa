"""Which rule a failing case counts against.

A balancer that measures usage wrongly sheds wrongly, too. It breaks one rule, not twenty: a case on
which a presupposed rule is broken says nothing about the rules that build on it, and is handed over
to that rule, which fails on it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from pulsar_conformance import specs
from pulsar_conformance.conformance.core.trial import Json, Question, Trial
from pulsar_conformance.conformance.engine import moments
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import Court, Outcome
from pulsar_conformance.conformance.engine.readings import Followed, before_asking
from pulsar_conformance.conformance.operations.cluster.cluster_replay import REPLAY
from pulsar_conformance.conformance.operations.load_data.usage_max import USAGE

FRAMES = ("shortTermData", "longTermData")


@dataclass(frozen=True)
class Subject:
    """An implementation, and the readings by which it is judged."""

    implementation: Implementation
    followed: Followed
    court: Court
    rules: frozenset[str] | None = None
    """The rules by which it is judged, and against which a fault may count; empty means all."""

    @classmethod
    def of(
        cls,
        implementation: Implementation,
        followed: Followed,
        rules: frozenset[str] | None = None,
    ) -> Subject:
        """A subject that is judged by these readings."""
        return cls(implementation, followed, followed.court, rules)

    @classmethod
    def unasked(cls, implementation: Implementation) -> Subject:
        """A subject judged by the readings that are pinned, declared, or the profile's defaults."""
        return cls.of(implementation, before_asking(implementation))

    def blamable(self, rule: specs.Rule) -> bool:
        """Whether a violation may count against a rule: it can be reported as broken, or the
        release is known to break it.
        """
        known = specs.load().profile(self.followed.profile).without
        chosen = self.rules is None or rule.id in self.rules or rule.id in known
        return chosen and self.inapplicable(rule) is None

    def inapplicable(self, rule: specs.Rule) -> str | None:
        """Why the rule does not apply to the implementation, or an empty text."""
        return self.implementation.unoffered(rule) or self.followed.why_not(rule)


@dataclass(frozen=True)
class Fault:
    """Answers that break a rule."""

    trial: Trial
    answers: Sequence[Json]
    outcome: Outcome


@dataclass(frozen=True)
class Blame:
    """A fault, and the presupposed rule that it counts against."""

    fault: Fault
    rule: str | None = None
    beneath: Fault | None = None


def dependents_first(rules: Sequence[specs.Rule]) -> list[specs.Rule]:
    """The rules in an order in which each comes after those that build on it."""
    known = {rule.id: rule for rule in rules}
    builders: dict[str, list[str]] = {rule.id: [] for rule in rules}
    for rule in rules:
        for presupposed in rule.presupposes:
            if presupposed in known:
                builders[presupposed].append(rule.id)
    return [known[name] for name in TopologicalSorter(builders).static_order()]


def violations(rule: specs.Rule, subject: Subject, trials: Sequence[Trial]) -> list[Outcome | None]:
    """For each trial, how it breaks the rule but no rule that this one builds on; None otherwise.

    Errors: `AdapterError`.
    """
    faults = own_faults(rule, subject, trials)
    return [None if fault is None else fault.outcome for fault in faults]


def own_faults(rule: specs.Rule, subject: Subject, trials: Sequence[Trial]) -> list[Fault | None]:
    """Like `violations`, with the answers. Errors: `AdapterError`."""
    answered = subject.implementation.answers(trials)
    outcomes = [
        subject.court.judge(rule.id, trial, answers)
        for trial, answers in zip(trials, answered, strict=True)
    ]
    broken = [place for place, outcome in enumerate(outcomes) if outcome.violated]
    faults = [Fault(trials[place], answered[place], outcomes[place]) for place in broken]
    blames = blamed(rule, subject, faults)
    found: list[Fault | None] = [None] * len(trials)
    for place, one in zip(broken, blames, strict=True):
        found[place] = one.fault if one.rule is None else None
    return found


def blamed(rule: specs.Rule, subject: Subject, faults: Sequence[Fault]) -> list[Blame]:
    """For each fault of a rule, the rule that it counts against. Errors: `AdapterError`."""
    if not rule.presupposes or not faults:
        return [Blame(fault) for fault in faults]
    asked = [list(_beneath(rule, subject, fault)) for fault in faults]
    unanswered = [one for row in asked for one in row if one.answers is None]
    answers = subject.implementation.answers([one.trial for one in unanswered])
    for one, answered in zip(unanswered, answers, strict=True):
        one.answers = answered
    return [_blame(subject, fault, row) for fault, row in zip(faults, asked, strict=True)]


@dataclass
class _Suspicion:
    """A trial of a presupposed rule that is already answered or still to be asked."""

    rule: str
    trial: Trial
    answers: Sequence[Json] | None


def _blame(subject: Subject, fault: Fault, suspicions: Sequence[_Suspicion]) -> Blame:
    for one in suspicions:
        answers = one.answers or []
        outcome = subject.court.judge(one.rule, one.trial, answers)
        # What has no answer shows no fault in the content of one.
        if outcome.violated and outcome.unanswered is fault.outcome.unanswered:
            return Blame(fault, one.rule, Fault(one.trial, answers, outcome))
    return Blame(fault)


def _beneath(rule: specs.Rule, subject: Subject, fault: Fault) -> Iterator[_Suspicion]:
    rules, court = specs.load().rules, subject.court
    for name in rule.presupposes:
        presupposed = rules[name]
        if not subject.blamable(presupposed):
            continue
        for question, answer in zip(fault.trial.questions, fault.answers, strict=True):
            if question.operation in presupposed.operations:
                yield _Suspicion(name, Trial((question,)), [answer])
            elif question.operation == REPLAY.id:
                about = (presupposed, question, answer, court.defaults, court.readings)
                for moment in moments.questions(*about):
                    yield _Suspicion(name, Trial((moment,)), None)
            for derived in DERIVED.get(name, _nothing)(question):
                yield _Suspicion(name, Trial((derived,)), None)


def _nothing(_question: Question) -> Iterator[Question]:
    return iter(())


def _usages(question: Question, weighted: bool) -> Iterator[Question]:
    case = question.case
    for broker in case.get("brokers", {}).values():
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
