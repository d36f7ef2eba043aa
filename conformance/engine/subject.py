"""Who is judged: an implementation, and the readings by which it is judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.engine.evidence import Choices
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import Court
from pulsar_conformance.conformance.engine.readings import Followed, before_asking
from pulsar_conformance.reference import MissingSetting, Model

MOST_TURNS = 64
"""So many different answers at most are looked for where a release draws by lot."""


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

    def choosing(self, choices: Choices) -> Subject:
        """The same, judged by these alternatives of open readings."""
        return Subject.of(self.implementation, self.followed.choosing(choices), self.rules)

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

    @property
    def released(self) -> bool:
        """Whether it is judged by what a release does."""
        return specs.load().profile(self.followed.profile).released

    @property
    def model(self) -> Model:
        """The model under the same profile and readings, its hidden settings as they are there."""
        readings = self.court.readings.choices
        return Model(self.followed.profile, readings, self.implementation.neutral)

    def right(self, trial: Trial) -> list[Json] | None:
        """What the model answers to a trial, if it has an answer to it."""
        model = self.model
        if not trial.operations <= set(model.operations):
            return None
        try:
            return [model.answer(operation, case) for operation, case in trial.questions]
        except MissingSetting:
            return None

    def by_lot(self, trial: Trial) -> Iterator[list[Json]]:
        """What the model may answer to a trial in which it leaves something to chance."""
        model = self.model
        seen: list[list[Json]] = []
        if not trial.operations <= set(model.operations):
            return
        for _ in range(MOST_TURNS):
            try:
                now = [model.answer(operation, case) for operation, case in trial.questions]
            except MissingSetting:
                return
            if now in seen:
                return
            seen.append(now)
            yield now
