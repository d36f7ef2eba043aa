"""Evaluate: judge one trial and its answers by one rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

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
from pulsar_conformance.reference.context import WithoutAnswer

if TYPE_CHECKING:
    from pulsar_conformance.reference.released.release import ReleasedWays

Judgment = Literal["allowed", "violated", "not_reached", "unsupported"]


@dataclass(frozen=True)
class Outcome:
    """A rule's judgment of a trial and its answers."""

    word: Judgment
    allowed: str = ""
    """The answer that the rule allows, for a violation."""
    answered: str = ""
    """The given answer, for a violation."""
    why: str = ""
    """The reason why the rule does not apply or the question is unsupported."""
    unanswered: bool = False
    """True for a violation by a missing answer, so that no content was judged."""

    @property
    def violated(self) -> bool:
        """True if the rule was violated."""
        return self.word == "violated"


@dataclass(frozen=True)
class Fault:
    """Answers that violate a rule."""

    trial: Trial
    answers: Sequence[Json]
    outcome: Outcome
    recurrence: str = ""
    """How often the fault recurred, such as "2 of 3 times"; empty if it did so every time."""


MAX_PARSED_TRIALS = 512
"""Maximum number of parsed trials to keep, because many rules judge the same trial."""

ALLOWED = Outcome("allowed")
UNREACHED = Outcome("not_reached", why="nothing in the case concerns the rule")
OTHER_QUESTIONS = Outcome("not_reached", why="the rule judges other questions")


class RuleEvaluator:
    """Judges answered trials by rules, under one profile's defaults and one set of readings.

    Under a release's profile, cases with settings that the release refuses are not judged: its
    decision is unknown, and it does not have to follow the documents.
    """

    def __init__(
        self, defaults: Defaults, readings: Readings, release: ReleasedWays | None = None
    ) -> None:
        self.defaults = defaults
        self.readings = readings
        self.release = release
        self._parsed: dict[tuple[int, int], tuple[Trial, Sequence[Json], list[Exchange]]] = {}

    def under(self, readings: Readings) -> RuleEvaluator:
        """Return a copy of the evaluator that judges under other readings."""
        return RuleEvaluator(self.defaults, readings, self.release)

    def legal(self, trial: Trial) -> bool:
        """True if a trial is valid, so that its answers can be judged."""
        return bad_trial(trial, self.defaults, self.readings) is None

    def judge(self, rule: str, trial: Trial, answers: Sequence[Json]) -> Outcome:
        """Judge the answers to a trial by a rule; `not_reached` if the rule does not apply."""
        check = checks()[rule]
        if not check.judges(trial):
            return OTHER_QUESTIONS
        for answer in answers:
            if "unsupported" in answer:
                return Outcome("unsupported", why=str(answer["unsupported"]))
        refused = None if self.release is None else refused_setting(trial, self.release)
        if refused is not None:
            return Outcome("not_reached", why=refused)
        expect = Expect(self.readings)
        try:
            exchanges = self._exchanges(trial, answers)
            if not check.predicate.sees_declined:
                _demand_answers(exchanges)
            check.predicate.demand(exchanges, expect)
        except NotReached as outside:
            return Outcome("not_reached", why=str(outside))
        except LeftUnanswered as missing:
            return Outcome("violated", missing.allowed, missing.answered, unanswered=True)
        except Violated as violated:
            return Outcome("violated", violated.allowed, violated.answered)
        return ALLOWED if expect.was_reached else UNREACHED

    def _exchanges(self, trial: Trial, answers: Sequence[Json]) -> list[Exchange]:
        """Return questions and answers in the types that checks see, parsed once for all rules."""
        key = id(trial), id(answers)
        if key not in self._parsed:
            if len(self._parsed) >= MAX_PARSED_TRIALS:
                self._parsed.pop(next(iter(self._parsed)))
            pairs = zip(trial.questions, answers, strict=True)
            # Each entry keeps its trial and answers alive, so that their ids cannot be reused.
            self._parsed[key] = trial, answers, [self._exchange(*pair) for pair in pairs]
        return self._parsed[key][2]

    def _exchange(self, question: Question, answer: Json) -> Exchange:
        operation = OPERATIONS[question.operation]
        return Exchange(operation.id, question.case, answer, self.view(question), operation.read)

    def view(self, question: Question) -> Any:
        """Return a question's case in the type that checks of its operation see."""
        settings = Settings(question.case.get("settings", {}), self.defaults)
        return OPERATIONS[question.operation].view(question.case, settings, self.readings)


def refused_setting(trial: Trial, release: ReleasedWays) -> str | None:
    """Return why a release refuses a setting of a trial's cases, or None."""
    for question in trial.questions:
        try:
            release.settings(question.case.get("settings", {}), {})
        except WithoutAnswer as error:
            return f"'{release.title}' refuses it: {error}"
    return None


def _demand_answers(exchanges: Sequence[Exchange]) -> None:
    """Raise `LeftUnanswered` for the first question that has no answer.

    A refusal is an answer where a rule covers refused requests.
    """
    for one in exchanges:
        reason = why_unanswered(Question(one.operation, one.case), one.answer)
        if reason is not None:
            raise LeftUnanswered("an answer", reason)


def why_unanswered(question: Question, answer: Json) -> str | None:
    """Return the refusal or error that was given instead of an answer, or None if there is one."""
    return OPERATIONS[question.operation].why_unanswered(answer)
