"""Whose fault it is: a failing case is laid at the door of what the rule builds on.

A balancer that measures usage wrongly sheds wrongly, too. It breaks one rule, not twenty: a case
on which a presupposed rule is broken says nothing about the rules that build on it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence

from pulsar_conformance import specs
from pulsar_conformance.conformance import beneath
from pulsar_conformance.conformance.respondent import Respondent
from pulsar_conformance.conformance.trial import Json, Question, Trial

FRAMES = ("shortTermData", "longTermData")


def broken_beneath(
    rule: specs.Rule, respondent: Respondent, tried: Sequence[tuple[Trial, list[Json]]]
) -> list[str | None]:
    """For each trial and its answers, a presupposed rule that is broken on it, or none."""
    found: list[str | None] = [None] * len(tried)
    if not rule.presupposes:
        return found
    asked = [list(_beneath(rule, respondent, trial, answers)) for trial, answers in tried]
    unanswered = [one for row in asked for one in row if one.answers is None]
    for one, answers in zip(
        unanswered, respondent.answers([one.trial for one in unanswered]), strict=True
    ):
        one.answers = answers
    for place, row in enumerate(asked):
        broken = (one.rule for one in row if one.broken(respondent))
        found[place] = next(broken, None)
    return found


class _Question:
    """A trial of a presupposed rule, answered already or still to be asked."""

    def __init__(self, rule: str, trial: Trial, answers: list[Json] | None) -> None:
        self.rule = rule
        self.trial = trial
        self.answers = answers

    def broken(self, respondent: Respondent) -> bool:
        """Whether the answers break the presupposed rule."""
        answers = self.answers or []
        return respondent.court.judge(self.rule, self.trial, answers).violated


def _beneath(
    rule: specs.Rule, respondent: Respondent, trial: Trial, answers: Sequence[Json]
) -> Iterator[_Question]:
    rules = specs.load().rules
    for presupposed in rule.presupposes:
        if respondent.inapplicable(rules[presupposed]) is not None:
            continue
        for question, answer in zip(trial.questions, answers, strict=True):
            if question.operation in rules[presupposed].operations:
                yield _Question(presupposed, Trial((question,)), [answer])
            elif question.operation == "cluster.replay":
                court = respondent.court
                about = (rules[presupposed], question, answer, court.defaults, court.readings)
                for moment in beneath.questions(*about):
                    yield _Question(presupposed, Trial((moment,)), None)
            for derived in DERIVED.get(presupposed, _nothing)(question):
                yield _Question(presupposed, Trial((derived,)), None)


def _nothing(_question: Question) -> Iterator[Question]:
    return iter(())


def _usages(question: Question, weighted: bool) -> Iterator[Question]:
    case = question.case
    for broker in case.get("brokers", {}).values():
        measured = {"settings": case["settings"], "weighted": weighted, "broker": broker}
        yield Question("usage.max", measured)


def _awry(question: Question) -> Iterator[Question]:
    """The same cluster, the bundles with more bytes having fewer messages."""
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
