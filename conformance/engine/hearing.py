"""One rule held against one implementation.

A balancer that measures usage wrongly sheds wrongly, too. It breaks one rule, not twenty: a case on
which a presupposed rule is broken says nothing about the rules that build on it, and is handed over
to that rule, which fails on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.matching import matches
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.engine.evidence import Choices, consulted
from pulsar_conformance.conformance.engine.judge import Fault, Outcome
from pulsar_conformance.conformance.engine.presupposed.suspicions import Suspicion, beneath
from pulsar_conformance.conformance.engine.subject import Subject

OTHERWISE = Outcome("not_reached", why="the release itself decides otherwise here")


@dataclass(frozen=True)
class Blame:
    """A fault, and the presupposed rule that it counts against."""

    fault: Fault
    rule: str | None = None
    beneath: Fault | None = None


@dataclass(frozen=True)
class Hearing:
    """A rule, and the implementation that is judged by it."""

    rule: specs.Rule
    subject: Subject

    @property
    def costly(self) -> bool:
        """Whether each case of the rule takes the implementation seconds."""
        return self.subject.implementation.costly(self.rule)

    def outcome(self, trial: Trial, answers: Sequence[Json]) -> Outcome:
        """What the rule says of answers.

        By a release's profile it says nothing where that release itself decides against it, draws
        what is answered by lot, or has no answer, either.
        """
        found = self._judged(trial, answers)
        if found.violated and self.subject.released:
            right = self.subject.right(trial)
            its = None if right is None else self._judged(trial, right)
            if its is not None and its.violated and its.unanswered >= found.unanswered:
                return OTHERWISE
            if any(self._as(trial, answers, one) for one in self.subject.by_lot(trial)):
                return OTHERWISE
        return found

    def _as(self, trial: Trial, answers: Sequence[Json], right: Sequence[Json]) -> bool:
        """Whether these are the answers that the release may give."""
        three = zip(trial.questions, right, answers, strict=True)
        return all(matches(question.operation, *pair) for question, *pair in three)

    def _judged(self, trial: Trial, answers: Sequence[Json]) -> Outcome:
        return self.subject.court.judge(self.rule.id, trial, answers)

    def consulted(self, trial: Trial, answers: Sequence[Json]) -> Choices:
        """The readings, with their alternatives, on which the outcome depends."""
        return consulted(self.rule, self.subject.court, trial, answers)

    def tells_why(self, trial: Trial) -> bool:
        """Whether the rule has something to say of what the model answers, and allows it.

        Otherwise the derivation of a case says nothing of what the rule demands.
        """
        right = self.subject.right(trial)
        return right is not None and self.outcome(trial, right).word == "allowed"

    def own_faults(self, trials: Sequence[Trial]) -> list[Fault | None]:
        """For each trial, how it breaks the rule but no rule that this one builds on, if it does.

        Errors: `AdapterError`.
        """
        answered = self.subject.implementation.answers(trials)
        outcomes = [self.outcome(*one) for one in zip(trials, answered, strict=True)]
        broken = [place for place, outcome in enumerate(outcomes) if outcome.violated]
        faults = [Fault(trials[place], answered[place], outcomes[place]) for place in broken]
        found: list[Fault | None] = [None] * len(trials)
        for place, one in zip(broken, self.blamed(faults), strict=True):
            found[place] = one.fault if one.rule is None else None
        return found

    def blamed(self, faults: Sequence[Fault]) -> list[Blame]:
        """For each fault of the rule, the rule that it counts against. Errors: `AdapterError`."""
        if not self.rule.presupposes or not faults:
            return [Blame(fault) for fault in faults]
        asked = [list(beneath(self.rule, self.subject, fault)) for fault in faults]
        unanswered = [one for row in asked for one in row if one.answers is None]
        answers = self.subject.implementation.answers([one.trial for one in unanswered])
        for one, answered in zip(unanswered, answers, strict=True):
            one.answers = answered
        return [self._blame(*pair) for pair in zip(faults, asked, strict=True)]

    def _blame(self, fault: Fault, suspicions: Sequence[Suspicion]) -> Blame:
        for one in suspicions:
            answers = one.answers or []
            outcome = Hearing(one.rule, self.subject).outcome(one.trial, answers)
            # What has no answer shows no fault in the content of one.
            if outcome.violated and outcome.unanswered is fault.outcome.unanswered:
                return Blame(fault, one.rule.id, Fault(one.trial, answers, outcome))
        return Blame(fault)
