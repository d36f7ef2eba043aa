"""A changed model as the implementation that is judged, and the rules that it breaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pulsar_conformance import fixtures, specs
from pulsar_conformance.adapters import AdapterError, Connection
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.conformance.cases.legality import example_allows
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common.trial import DECLINED, Json, Trial
from pulsar_conformance.conformance.engine.attribute import attribute_faults
from pulsar_conformance.conformance.engine.evaluate import Fault
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation

NAME = "mutant"


class MutantConnection(ReferenceConnection):
    """Asks a changed model in the same way as the right one."""

    def __init__(self, model: Any, profile: str, readings: Mapping[str, str]) -> None:
        super().__init__(NAME, profile, readings)
        self._model = model


class Altered(Implementation):
    """A changed model as an implementation: it declares every reading that it follows."""

    def __init__(self, connection: Connection, profile: str) -> None:
        self._own = connection
        super().__init__(NAME, profile, {})

    def _open_connection(self) -> Connection:
        return self._own


class Bench:
    """A changed model that is judged under one profile and one set of readings."""

    def __init__(self, model: Any, profile: str, readings: Mapping[str, str]) -> None:
        usual = specs.load().default_readings(profile)
        followed = {**usual, **readings}
        chosen = {name: value for name, value in followed.items() if value != usual[name]}
        self._model = model(profile, chosen or None)
        connection = MutantConnection(self._model, profile, followed)
        self.profile = profile
        self.subject = JudgedImplementation.before_asking(Altered(connection, profile))
        self._rules = [
            one
            for one in specs.load().rules_of(profile)
            if one.id in checks() and self.subject.resolved.applies(one)
        ]

    def at_once(self, trial: Trial) -> list[Json]:
        """The model's answers, neither copied nor checked."""
        try:
            return [self._model.answer(*question) for question in trial.questions]
        except Exception as error:
            return [{"failed": str(error)}]

    def answers(self, trial: Trial) -> list[Json] | None:
        """Its answer, or None where that is outside the schema."""
        try:
            return self.subject.implementation.answers([trial])[0]
        except AdapterError:
            return None

    def broken(self, rule: str, trial: Trial, answers: Sequence[Json]) -> str | None:
        """The rule that answers break, where they break this one: it, or one that it builds on."""
        outcome = self.subject.evaluator.judge(rule, trial, answers)
        if not outcome.violated:
            return None
        known = specs.load().rules[rule]
        [blame] = attribute_faults(
            AppliedRule(known, self.subject), [Fault(trial, answers, outcome)]
        )
        return blame.rule or rule

    def reached(self, rule: str, trial: Trial, answers: Sequence[Json]) -> bool:
        """True if a rule applies to a trial with these answers."""
        return self.subject.evaluator.judge(rule, trial, answers).word == "allowed"

    def own_fault(self, rule: str, trial: Trial) -> bool:
        """True if the answers break a rule, and no rule that it presupposes."""
        answers = self.answers(trial)
        return answers is not None and self.broken(rule, trial, answers) == rule

    def unlike(
        self,
        example: fixtures.Example,
        trial: Trial,
        answers: Sequence[Json],
        right: Sequence[Json],
    ) -> str | None:
        """The rule that a worked example's answers break, or else the first that it names.

        An example may leave the answer to rules. Those are not reached where what has an answer
        is declined, and no run passes a rule that is never reached.
        """
        for rule in example.rules:
            if any(one.id == rule for one in self._rules):
                broken = self.broken(rule, trial, answers)
                if broken is not None:
                    return broken
        answered = all(map(_answered, right)) <= all(map(_answered, answers))
        return None if answered and example_allows(example, answers) else example.rules[0]


def _answered(answer: Json) -> bool:
    return not any(word in answer for word in DECLINED)
