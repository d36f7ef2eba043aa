"""Comparing two implementations on the same questions, and the rules broken on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.matching import matches
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.engine.attribute import attribute_faults
from pulsar_conformance.conformance.engine.evaluate import Fault
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.conformance.engine.reduce import reduce


class Difference(NamedTuple):
    """A question that two implementations decide differently, and the answer of each."""

    trial: Trial
    answers: tuple[Json, Json]


class Pair(NamedTuple):
    """Two implementations, each under the readings that it follows."""

    first: JudgedImplementation
    second: JudgedImplementation

    def differences(self, trials: Sequence[Trial]) -> list[Difference]:
        """The questions that the two decide differently. Errors: `AdapterError`."""
        asked = zip(*(subject.implementation.answers(trials) for subject in self), strict=True)
        return [
            Difference(trial, (first, second))
            for trial, ([first], [second]) in zip(trials, asked, strict=True)
            if decided_otherwise(trial.operation, first, second)
        ]

    def smallest(self, differences: Sequence[Difference]) -> Difference:
        """The first difference that breaks a rule, or else the first, reduced."""
        for difference in differences:
            for place in range(len(self)):
                for rule in self.breaches(difference, place):
                    return self._reduced(difference, partial(self._breaks, rule, place))
        return self._reduced(differences[0], lambda _difference: True)

    def breaches(self, difference: Difference, place: int) -> Iterator[specs.Rule]:
        """The rules that one of the two breaks, without those that only build on a broken one."""
        subject = self[place]
        for rule in specs.load().rules_of(subject.resolved.profile):
            asked = difference.trial.operation in rule.operations and rule.untestable is None
            judged = asked and not subject.inapplicable(rule)
            if judged and self._breaks(rule, place, difference):
                yield rule

    def _breaks(self, rule: specs.Rule, place: int, difference: Difference) -> bool:
        subject, trial, answers = self[place], difference.trial, [difference.answers[place]]
        outcome = subject.evaluator.judge(rule.id, trial, answers)
        if not outcome.violated:
            return False
        [blame] = attribute_faults(AppliedRule(rule, subject), [Fault(trial, answers, outcome)])
        return blame.rule is None

    def _reduced(self, difference: Difference, alike: Callable[[Difference], bool]) -> Difference:
        """A small difference of the same kind, or the original if it does not recur."""

        def failing(candidates: Sequence[Trial]) -> list[bool]:
            legal = list(filter(self.first.evaluator.legal, candidates))
            kept = {id(one.trial) for one in self.differences(legal) if alike(one)}
            return [id(one) in kept for one in candidates]

        again = self.differences([reduce(difference.trial, failing)])
        return again[0] if again else difference


def decided_otherwise(operation: str, first: Json, second: Json) -> bool:
    """True if two answers are different decisions; an unsupported answer is not a decision."""
    if "unsupported" in first or "unsupported" in second:
        return False
    if "refused" in first and "refused" in second:
        return False
    return not matches(operation, first, second)
