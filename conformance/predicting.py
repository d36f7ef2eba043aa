"""How many decisions of an implementation the model predicts, and why it misses the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pulsar_conformance import specs
from pulsar_conformance.conformance.blame import broken_beneath
from pulsar_conformance.conformance.differing import Difference, decided_otherwise
from pulsar_conformance.conformance.respondent import Respondent
from pulsar_conformance.conformance.trial import Json, Trial
from pulsar_conformance.reference import MissingSetting, Model

DRAWN = frozenset({"place.select"})
"""Operations whose answer may be drawn among equal candidates."""

OPEN = "no rule is broken: chance decides, or rounding, or what the documents leave open"
"""Why two differ that are both right."""

UNLOADED = "no rule is broken: {} {}"
"""The same of what is unloaded: by which strategy, and how it differs from the model."""


@dataclass(frozen=True)
class Share:
    """What came of an operation's cases.

    Attributes:
        asked: the cases that have an answer.
        missed: cause to cases that the model decides otherwise.
    """

    operation: str
    asked: int
    missed: Mapping[str, int]

    @property
    def predicted(self) -> int:
        """The cases that the model decides alike."""
        return self.asked - sum(self.missed.values())

    def lines(self) -> Iterator[str]:
        """The share, and each cause with its cases, the commonest first."""
        percent = 100 * self.predicted / self.asked if self.asked else 100
        yield f"{self.operation}: {self.predicted} of {self.asked} ({percent:.1f} %)"
        for cause, count in sorted(self.missed.items(), key=lambda one: (-one[1], one[0])):
            yield f"  {count:>4}  {cause}"


class Predictor:
    """The model under the profile and the readings of an implementation."""

    def __init__(self, respondent: Respondent) -> None:
        self.respondent = respondent
        self._model = Model(respondent.profile, respondent.readings.choices)

    def share(self, operation: str, trials: Sequence[Trial]) -> Share:
        """What the model predicts of these questions, each alone. Errors: `AdapterError`."""
        asked, missed = 0, Counter[str]()
        for trial, [answer] in zip(trials, self.respondent.answers(trials), strict=True):
            if "unsupported" in answer:
                continue
            asked += 1
            case = trial.questions[0].case
            told = self._told_in_turn(operation, case)
            if not any(_alike(operation, one, answer) for one in told):
                missed[self._cause(Difference(trial, (told[0], answer)))] += 1
        return Share(operation, asked, missed)

    def _told_in_turn(self, operation: str, case: Json) -> list[Json]:
        """What the model answers; where it leaves something to chance, each in its turn."""
        turns = len(case["candidates"]) if operation in DRAWN else 1
        return [self._model.answer(operation, case) for _ in range(max(turns, 1))]

    def _cause(self, difference: Difference) -> str:
        """The rule that is broken, the reading that is followed here, or neither."""
        trial, [_, answer] = difference
        if "failed" in answer:
            return f"failed: {answer['failed']}"
        for rule in self._rules:
            if trial.operation not in rule.operations or self.respondent.inapplicable(rule):
                continue
            if self.respondent.court.judge(rule.id, trial, [answer]).violated:
                [beneath] = broken_beneath(rule, self.respondent, [(trial, [answer])])
                return self._told(beneath or rule.id)
        for name, value, model in self._otherwise:
            try:
                told = model.answer(trial.operation, trial.questions[0].case)
            except MissingSetting:
                continue
            if _alike(trial.operation, told, answer):
                return f"as under {name}={value}"
        return left_open(trial.questions[0].case, *difference.answers)

    def _told(self, rule: str) -> str:
        return f"{rule}: {self._reasons.get(rule) or specs.load().rules[rule].title}"

    @property
    def _reasons(self) -> Mapping[str, str]:
        """The rules that the release is known to be without, each with why."""
        return specs.load().profile(self.respondent.profile).without

    @cached_property
    def _rules(self) -> Sequence[specs.Rule]:
        """The documented rules of the profile, with those that it is without."""
        lineage = specs.load().lineage(self.respondent.profile)
        every = {rule.id: rule for one in lineage for rule in specs.load().rules_of(one.id)}
        return [one for one in every.values() if one.untestable is None and not _alone(one)]

    @cached_property
    def _otherwise(self) -> Sequence[tuple[str, str, Model]]:
        """The model with one reading taken the other way, for each."""
        chosen = self.respondent.readings
        return [
            (name, value, Model(self.respondent.profile, chosen.but(name, value).choices))
            for name, reading in specs.load().readings.items()
            for value in reading.values
            if value != chosen[name]
        ]


def _alike(operation: str, told: Json, answer: Json) -> bool:
    """Whether two answers are one decision: where both name those left to choose from, these."""
    if "candidates" in told and "candidates" in answer:
        return set(told["candidates"]) == set(answer["candidates"])
    return not decided_otherwise(operation, told, answer)


def left_open(case: Json, told: Json, answer: Json) -> str:
    """In what way an answer is another one than the model's, where no rule tells them apart."""
    if "unload" not in told or "unload" not in answer:
        return OPEN
    strategy = (case.get("strategy") or "the default strategy").rpartition(".")[2]
    ours, theirs = ({(one["broker"], one["bundle"]) for one in a["unload"]} for a in (told, answer))
    if ours == theirs:
        return UNLOADED.format(strategy, "unloads the same in another order")
    if {broker for broker, _ in ours} == {broker for broker, _ in theirs}:
        return UNLOADED.format(strategy, "takes other bundles of the same brokers")
    if not theirs:
        return UNLOADED.format(strategy, "unloads nothing")
    return UNLOADED.format(strategy, "unloads from other brokers")


def _alone(rule: specs.Rule) -> bool:
    """Whether a rule speaks of answers in general, and tells no cause."""
    return rule.area == "ANSWER"
