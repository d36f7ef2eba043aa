"""Judges a changed model as an implementation, and names the rules that it breaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
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
    """Connection that asks a changed model in the same way as the unchanged model."""

    def __init__(self, model: Any, profile: str, readings: Mapping[str, str]) -> None:
        super().__init__(NAME, profile, readings)
        self._model = model


class Altered(Implementation):
    """A changed model as an implementation that declares every reading that it follows."""

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
        self._new_model = partial(model, profile, chosen or None)
        connection = MutantConnection(self._new_model(), profile, followed)
        self.profile = profile
        self.subject = JudgedImplementation.before_asking(Altered(connection, profile))
        self._rules = [
            one
            for one in specs.load().rules_of(profile)
            if one.id in checks() and self.subject.resolved.applies(one)
        ]

    def unchecked_answers(self, trial: Trial) -> list[Json]:
        """Return the answers of a new model, which nothing was asked before, without copying or
        checking them.
        """
        try:
            model = self._new_model()
            return [model.answer(*question) for question in trial.questions]
        except Exception as error:
            return [{"failed": str(error)}]

    def answers(self, trial: Trial) -> list[Json] | None:
        """Return the model's answers, or None if the schema does not allow one of them."""
        try:
            return self.subject.implementation.answers([trial])[0]
        except AdapterError:
            return None

    def broken(self, rule: str, trial: Trial, answers: Sequence[Json]) -> str | None:
        """Return the rule that answers break, or None if they keep `rule`.

        This is `rule`, or a rule that `rule` presupposes.
        """
        outcome = self.subject.evaluator.judge(rule, trial, answers)
        if not outcome.violated:
            return None
        known = specs.load().rules[rule]
        [blame] = attribute_faults(
            AppliedRule(known, self.subject), [Fault(trial, answers, outcome)]
        )
        return blame.rule or rule

    def reached(self, rule: str, trial: Trial, answers: Sequence[Json]) -> bool:
        """True if a rule applies to a trial, and allows these answers."""
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
        """Return the rule that answers to a worked example break; None if the answers are allowed.

        This is the example's first rule if the answers break no rule, but are not the allowed ones.
        Nor may answers decline a question that has an answer, since no rule would be reached.
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
