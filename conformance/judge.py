"""One trial, its answers and one rule: is this allowed?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from pulsar_conformance.conformance.expect import Expect, NotReached, Violated
from pulsar_conformance.conformance.legal import bad_trial
from pulsar_conformance.conformance.registry import CHECKS, Check
from pulsar_conformance.conformance.trial import Json, Trial
from pulsar_conformance.conformance.views import ANSWERS, view
from pulsar_conformance.reference import Readings, Settings

REFUSABLE = frozenset({"bundles.split", "report.read", "usage.nic"})
"""Operations that may be turned down; elsewhere a legal case has an answer."""

Word = Literal["allowed", "violated", "not_reached", "unsupported"]


@dataclass(frozen=True)
class Outcome:
    """What a rule says about a trial and its answers."""

    word: Word
    allowed: str = ""
    answered: str = ""
    why: str = ""

    @property
    def violated(self) -> bool:
        """Whether the rule was broken."""
        return self.word == "violated"


ALLOWED = Outcome("allowed")


class Asked(NamedTuple):
    """One question of a trial as its check sees it."""

    case: Any
    answer: Any


class Exchange(NamedTuple):
    """One question of a trial, and its answer, as a check of any operation sees them."""

    operation: str
    case: Json
    answer: Json
    view: Any
    """The case as the checks of its operation see it."""


class Court:
    """Judges trials by the checks, under one profile's defaults and one set of readings."""

    def __init__(self, defaults: Mapping[str, Any], readings: Readings) -> None:
        self.defaults = defaults
        self.readings = readings
        self._seen: tuple[Trial, list[Any]] | None = None

    def under(self, readings: Readings) -> Court:
        """The same court with other readings."""
        return Court(self.defaults, readings)

    def legal(self, trial: Trial) -> bool:
        """Whether a trial has answers that could be judged."""
        return bad_trial(trial, self.defaults, self.readings) is None

    def judge(self, rule: str, trial: Trial, answers: Sequence[Json]) -> Outcome:
        """Whether the rule allows these answers; trials that it does not speak about pass by."""
        check = CHECKS[rule]
        if not check.judges(trial):
            return Outcome("not_reached", why="the rule judges other questions")
        for answer in answers:
            if "unsupported" in answer:
                return Outcome("unsupported", why=str(answer["unsupported"]))
        try:
            self._refusals(check, trial, answers)
            expect = Expect(self.readings)
            self._call(check, trial, answers, expect)
        except NotReached as outside:
            return Outcome("not_reached", why=str(outside))
        except Violated as violated:
            return Outcome("violated", violated.allowed, violated.answered)
        if not expect.was_reached:
            return Outcome("not_reached", why="nothing in the case is what the rule speaks about")
        return ALLOWED

    def _call(self, check: Check, trial: Trial, answers: Sequence[Json], expect: Expect) -> None:
        if check.exchanges:
            check.function(self._exchanges(trial, answers), expect)
            return
        asked = [
            Asked(case, ANSWERS[question.operation](case, answer))
            for question, answer, case in zip(
                trial.questions, answers, self._views(trial), strict=True
            )
        ]
        if check.together:
            check.function(asked, expect)
        else:
            check.function(*asked[0], expect)

    def _views(self, trial: Trial) -> list[Any]:
        """The cases as checks see them; those of one trial are the same for every rule."""
        if self._seen is None or self._seen[0] is not trial:
            self._seen = trial, [self._view(*question) for question in trial.questions]
        return self._seen[1]

    def _exchanges(self, trial: Trial, answers: Sequence[Json]) -> list[Exchange]:
        return [
            Exchange(*question, answer, case)
            for question, answer, case in zip(
                trial.questions, answers, self._views(trial), strict=True
            )
        ]

    def _view(self, operation: str, case: Json) -> Any:
        settings = Settings(case.get("settings", {}), self.defaults)
        return view(operation, case, settings, self.readings)

    @staticmethod
    def _refusals(check: Check, trial: Trial, answers: Sequence[Json]) -> None:
        for question, answer in zip(trial.questions, answers, strict=True):
            if "failed" in answer:
                raise Violated("an answer", f"failed: {answer['failed']}")
            if "refused" in answer and not check.refusals:
                if question.operation not in REFUSABLE:
                    raise Violated("an answer", f"refused: {answer['refused']}")
                raise NotReached("the request was refused")
