"""Judging one trial and its answers by one rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pulsar_conformance.conformance.cases.legality import Defaults, bad_trial
from pulsar_conformance.conformance.catalogue import OPERATIONS, checks
from pulsar_conformance.conformance.common.expect import (
    Expect,
    LeftUnanswered,
    NotReached,
    Violated,
)
from pulsar_conformance.conformance.common.trial import Exchange, Json, Question, Trial
from pulsar_conformance.reference import Readings, Settings

Word = Literal["allowed", "violated", "not_reached", "unsupported"]


@dataclass(frozen=True)
class Outcome:
    """What a rule says about a trial and its answers."""

    word: Word
    allowed: str = ""
    answered: str = ""
    why: str = ""
    unanswered: bool = False
    """Whether it was broken because a question had no answer: no content was judged."""

    @property
    def violated(self) -> bool:
        """Whether the rule was broken."""
        return self.word == "violated"


@dataclass(frozen=True)
class Fault:
    """Answers that break a rule."""

    trial: Trial
    answers: Sequence[Json]
    outcome: Outcome
    again: str = ""
    """How often it came again, if that was not each time."""


KEPT = 512
"""The number of trials to keep parsed: those that aim at readings are judged by many rules."""

ALLOWED = Outcome("allowed")
UNREACHED = Outcome("not_reached", why="nothing in the case is what the rule speaks about")
OTHERS = Outcome("not_reached", why="the rule judges other questions")


class Court:
    """Judges trials by the checks, under one profile's defaults and one set of readings."""

    def __init__(self, defaults: Defaults, readings: Readings) -> None:
        self.defaults = defaults
        self.readings = readings
        self._seen: dict[tuple[int, int], tuple[Trial, Sequence[Json], list[Exchange]]] = {}

    def under(self, readings: Readings) -> Court:
        """The same court, with other readings."""
        return Court(self.defaults, readings)

    def legal(self, trial: Trial) -> bool:
        """Whether a trial is legal, so that its answers can be judged."""
        return bad_trial(trial, self.defaults, self.readings) is None

    def judge(self, rule: str, trial: Trial, answers: Sequence[Json]) -> Outcome:
        """Judges the answers by the rule, which may not be reached by the trial."""
        check = checks()[rule]
        if not check.judges(trial):
            return OTHERS
        for answer in answers:
            if "unsupported" in answer:
                return Outcome("unsupported", why=str(answer["unsupported"]))
        expect = Expect(self.readings)
        try:
            exchanges = self._exchanges(trial, answers)
            if not check.predicate.sees_declined:
                _answered(exchanges)
            check.predicate.demand(exchanges, expect)
        except NotReached as outside:
            return Outcome("not_reached", why=str(outside))
        except LeftUnanswered as lacking:
            return Outcome("violated", lacking.allowed, lacking.answered, unanswered=True)
        except Violated as violated:
            return Outcome("violated", violated.allowed, violated.answered)
        return ALLOWED if expect.was_reached else UNREACHED

    def _exchanges(self, trial: Trial, answers: Sequence[Json]) -> list[Exchange]:
        """The exchanges that checks see; those of one trial are the same for every rule."""
        key = id(trial), id(answers)
        if key not in self._seen:
            if len(self._seen) >= KEPT:
                self._seen.pop(next(iter(self._seen)))
            pairs = zip(trial.questions, answers, strict=True)
            # What is remembered by identity is kept alive here.
            self._seen[key] = trial, answers, [self._exchange(*pair) for pair in pairs]
        return self._seen[key][2]

    def _exchange(self, question: Question, answer: Json) -> Exchange:
        operation, case = OPERATIONS[question.operation], question.case
        settings = Settings(case.get("settings", {}), self.defaults)
        view = operation.view(case, settings, self.readings)
        return Exchange(operation.id, case, answer, view, operation.read)


def _answered(exchanges: Sequence[Exchange]) -> None:
    """Demands an answer to a legal case, except where a rule is about refused requests."""
    for one in exchanges:
        lacking = lacking_in(Question(one.operation, one.case), one.answer)
        if lacking is not None:
            raise LeftUnanswered("an answer", lacking)


def lacking_in(question: Question, answer: Json) -> str | None:
    """What was said in place of an answer to a legal case, or None if it is one."""
    return OPERATIONS[question.operation].why_unanswered(answer)
