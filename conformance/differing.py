"""Two implementations asked the same: where they differ, and whether one breaks a rule there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from pulsar_conformance import specs
from pulsar_conformance.conformance.failing import blamed
from pulsar_conformance.conformance.reduce import reduce
from pulsar_conformance.conformance.respondent import Respondent
from pulsar_conformance.conformance.trial import Json, Trial
from pulsar_conformance.fixtures import matches


class Difference(NamedTuple):
    """A question that two implementations decide otherwise, and the answer of each."""

    trial: Trial
    answers: tuple[Json, Json]


class Pair(NamedTuple):
    """Two implementations, each under the readings that it follows."""

    first: Respondent
    second: Respondent

    def differences(self, trials: Sequence[Trial]) -> list[Difference]:
        """The questions that the two decide otherwise. Errors: `AdapterError`."""
        asked = zip(*(respondent.answers(trials) for respondent in self), strict=True)
        return [
            Difference(trial, (first, second))
            for trial, ([first], [second]) in zip(trials, asked, strict=True)
            if decided_otherwise(trial.operation, first, second)
        ]

    def smallest(self, differences: Sequence[Difference]) -> Difference:
        """The first one by which a rule is broken, or else the first, made small."""
        for difference in differences:
            for place in range(len(self)):
                for rule in self.breaches(difference, place):
                    return self._reduced(difference, partial(self._breaks, rule, place))
        return self._reduced(differences[0], lambda _difference: True)

    def breaches(self, difference: Difference, place: int) -> Iterator[specs.Rule]:
        """The rules that one of the two breaks, but for those that only build on a broken one."""
        respondent = self[place]
        for rule in specs.load().rules_of(respondent.profile):
            asked = difference.trial.operation in rule.operations and rule.untestable is None
            judged = asked and not respondent.inapplicable(rule)
            if judged and self._breaks(rule, place, difference):
                yield rule

    def _breaks(self, rule: specs.Rule, place: int, difference: Difference) -> bool:
        respondent, trials, answers = self[place], [difference.trial], [difference.answers[place]]
        outcome = respondent.court.judge(rule.id, difference.trial, answers)
        [own] = blamed(rule, respondent, trials, [answers], [outcome])
        return own is not None

    def _reduced(self, difference: Difference, alike: Callable[[Difference], bool]) -> Difference:
        """A small difference of the same kind, or the one given where it does not come again."""

        def failing(candidates: Sequence[Trial]) -> list[bool]:
            legal = list(filter(self.first.court.legal, candidates))
            kept = {id(one.trial) for one in self.differences(legal) if alike(one)}
            return [id(one) in kept for one in candidates]

        again = self.differences([reduce(difference.trial, failing)])
        return again[0] if again else difference


def decided_otherwise(operation: str, first: Json, second: Json) -> bool:
    """Whether two answers are different decisions; what is not supported is none."""
    if "unsupported" in first or "unsupported" in second:
        return False
    if "refused" in first and "refused" in second:
        return False
    return not matches(operation, first, second)
