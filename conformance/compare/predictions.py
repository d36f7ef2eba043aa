"""Measures how many of an implementation's decisions the model predicts, and why it misses some."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle
from pathlib import Path

from pulsar_conformance import fixtures, specs
from pulsar_conformance.adapters.ask import questions_in_value
from pulsar_conformance.adapters.protocol import JSON
from pulsar_conformance.adapters.questions import BadLine, json_values
from pulsar_conformance.conformance.common.trial import Json, Question, Trial
from pulsar_conformance.conformance.compare.differences import (
    CANDIDATES_FIELD,
    Difference,
    decides_differently,
)
from pulsar_conformance.conformance.engine.attribute import attribute_faults
from pulsar_conformance.conformance.engine.evaluate import Fault
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.conformance.shedding.operations import SHED, unloads_by_broker
from pulsar_conformance.reference import MissingSetting, Model
from pulsar_conformance.specs.errors import UserError, why_unreadable

OPEN_DIFFERENCE = "no rule is broken: random choice, rounding, or an open question of the documents"
"""Explanation of two answers that differ although both are allowed."""

UNLOADED = "no rule is broken: {} {}"
"""Explanation of differing unloads; the placeholders are the strategy and the difference."""


@dataclass(frozen=True)
class Share:
    """The result for the cases of an operation.

    `asked` is the number of cases that were answered, `missed` the number of cases that the model
    decides differently, by cause. `examples` has the cases in `missed`, in the order in which they
    were asked.
    """

    operation: str
    asked: int
    missed: Mapping[str, int]
    examples: Sequence[Trial] = ()

    @property
    def predicted(self) -> int:
        """Number of cases in which the model and the implementation decide alike."""
        return self.asked - sum(self.missed.values())

    @classmethod
    def of_all(cls, shares: Sequence[Share], operation: str = "all") -> Share:
        """Return the sum of several results."""
        missed = sum((Counter(one.missed) for one in shares), Counter[str]())
        examples = [trial for one in shares for trial in one.examples]
        return cls(operation, sum(one.asked for one in shares), missed, examples)

    def lines(self) -> Iterator[str]:
        """Yield the predicted share, then the causes of missed cases, most cases first."""
        percent = 100 * self.predicted / self.asked if self.asked else 100
        digits = 2 if self.missed else 1
        yield f"{self.operation}: {self.predicted} of {self.asked} ({percent:.{digits}f} %)"
        for cause, count in sorted(self.missed.items(), key=lambda one: (-one[1], one[0])):
            yield f"  {count:>4}  {cause}"


class Predictor:
    """Predicts decisions with the model, under the profile and readings of an implementation."""

    def __init__(self, subject: JudgedImplementation) -> None:
        self.subject = subject
        self._model = Model(subject.resolved.profile, subject.evaluator.readings.choices)

    def share(self, operation: str, trials: Sequence[Trial], *, as_given: bool = False) -> Share:
        """Return the share of single questions that the model predicts. Errors: `AdapterError`.

        Undocumented settings have the release's defaults. Unless `as_given`, every second question
        instead has values that switch these settings off.
        """
        asked, missed = 0, Counter[str]()
        examples: list[Trial] = []
        trials = _with_hidden_settings(self.subject.resolved.profile, trials, as_given)
        answers = self.subject.implementation.answers(trials)
        for trial, [answer] in zip(trials, answers, strict=True):
            if "unsupported" in answer:
                continue
            asked += 1
            case = trial.questions[0].case
            predicted = self._possible_answers(operation, case)
            if not any(_is_same_decision(operation, one, answer) for one in predicted):
                missed[self._cause(Difference(trial, (predicted[0], answer)))] += 1
                examples.append(trial)
        return Share(operation, asked, missed, examples)

    def _possible_answers(self, operation: str, case: Json) -> list[Json]:
        """Return the model's possible answers: several if it chooses at random."""
        turns = len(case[CANDIDATES_FIELD[operation]]) if operation in CANDIDATES_FIELD else 1
        return [self._model.answer(operation, case) for _ in range(max(turns, 1))]

    def _cause(self, difference: Difference) -> str:
        """Return the rule or reading that is the cause of a difference, or else a general cause."""
        trial, [_, answer] = difference
        if "failed" in answer:
            return f"failed: {answer['failed']}"
        if "unsupported" in difference.answers[0]:
            return str(difference.answers[0]["unsupported"])
        if self._is_tie(difference):
            strategy = _strategy_of(trial.questions[0].case)
            return UNLOADED.format(strategy, "unloads bundles with the same traffic instead")
        for rule in self._rules:
            if trial.operation not in rule.operations or self.subject.inapplicable(rule):
                continue
            outcome = self.subject.evaluator.judge(rule.id, trial, [answer])
            if outcome.violated:
                applied = AppliedRule(rule, self.subject)
                [blame] = attribute_faults(applied, [Fault(trial, [answer], outcome)])
                return self._describe_rule(blame.rule or rule.id)
        for name, value, model in self._models_of_alternatives:
            try:
                predicted = model.answer(trial.operation, trial.questions[0].case)
            except MissingSetting:
                continue
            if _is_same_decision(trial.operation, predicted, answer):
                return f"as under {name}={value}"
        return describe_open_difference(trial.questions[0].case, *difference.answers)

    def _is_tie(self, difference: Difference) -> bool:
        """True if both answers unload equal traffic from each broker, bundle by bundle.

        No document says which of two bundles with equal traffic goes first.
        """
        trial, answers = difference
        if trial.operation != SHED.id or not all("unload" in answer for answer in answers):
            return False
        traffic = self.subject.evaluator.view(trial.questions[0]).traffic
        ours, theirs = (
            {
                broker: [traffic(bundle) for bundle, _ in unloads]
                for broker, unloads in unloads_by_broker(answer["unload"]).items()
            }
            for answer in answers
        )
        return ours == theirs

    def _describe_rule(self, rule: str) -> str:
        return f"{rule}: {self._reasons.get(rule) or specs.load().rules[rule].title}"

    @property
    def _reasons(self) -> Mapping[str, str]:
        """The reason for each rule that the release is known to violate."""
        return specs.load().profile(self.subject.resolved.profile).without

    @cached_property
    def _rules(self) -> Sequence[specs.Rule]:
        """The profile's documented rules, including those that the release is known to violate."""
        lineage = specs.load().lineage(self.subject.resolved.profile)
        every = {rule.id: rule for one in lineage for rule in specs.load().rules_of(one.id)}
        return [
            one for one in every.values() if one.untestable is None and not _is_about_answers(one)
        ]

    @cached_property
    def _models_of_alternatives(self) -> Sequence[tuple[str, str, Model]]:
        """Each alternative that is not in force, with its reading and a model that follows it."""
        chosen = self.subject.evaluator.readings
        return [
            (
                name,
                value,
                Model(self.subject.resolved.profile, chosen.with_value(name, value).choices),
            )
            for name, reading in specs.load().readings.items()
            for value in reading.values
            if value != chosen[name]
        ]


def _is_same_decision(operation: str, predicted: Json, answer: Json) -> bool:
    """True if two answers are the same decision; False if the model cannot answer.

    If both answers list eligible brokers, only these lists are compared.
    """
    if "unsupported" in predicted:
        return False
    if "candidates" in predicted and "candidates" in answer:
        return set(predicted["candidates"]) == set(answer["candidates"])
    return not decides_differently(operation, predicted, answer)


def _with_hidden_settings(profile: str, trials: Sequence[Trial], as_given: bool) -> list[Trial]:
    """Add a release's undocumented settings to questions.

    Unless `as_given`, every second question gets values that switch these settings off, so that
    they do not prevent certain decisions.
    """
    of_release = specs.load().profile(profile).hidden
    if not of_release:
        return list(trials)
    undone = {} if as_given else specs.load().neutral
    neutral = {name: undone.get(name, value) for name, value in of_release.items()}
    given = cycle((neutral, of_release))
    return [
        Trial(tuple(with_hidden_settings(one, set_so) for one in trial.questions))
        for trial, set_so in zip(trials, given, strict=False)
    ]


def with_hidden_settings(question: Question, hidden: Mapping[str, float]) -> Question:
    """Add hidden settings to a question that has settings, without overriding any."""
    operation, case = question
    if "settings" not in case:
        return question
    return Question(operation, {**case, "settings": {**hidden, **case["settings"]}})


def describe_open_difference(case: Json, predicted: Json, answer: Json) -> str:
    """Describe a difference from the model's answer if no rule covers the difference."""
    if "strategy" not in case or "unload" not in predicted or "unload" not in answer:
        return OPEN_DIFFERENCE
    strategy = _strategy_of(case)
    ours, theirs = (
        {(one["broker"], one["bundle"]) for one in a["unload"]} for a in (predicted, answer)
    )
    if ours == theirs:
        return UNLOADED.format(strategy, "unloads the same bundles in another order")
    if {broker for broker, _ in ours} == {broker for broker, _ in theirs}:
        return UNLOADED.format(strategy, "unloads other bundles of the same brokers")
    if not theirs:
        return UNLOADED.format(strategy, "unloads nothing")
    return UNLOADED.format(strategy, "unloads from other brokers")


def _strategy_of(case: Json) -> str:
    """Return the name of a case's strategy, without its package."""
    return str(case["strategy"] or "the default strategy").rpartition(".")[2]


def _is_about_answers(rule: specs.Rule) -> bool:
    """True if a rule is about answers in general, and therefore never the cause of a difference."""
    return rule.area == "ANSWER"


BRANCHES = Path(fixtures.__file__).parent / "branches"
"""Folder with a file of questions for each released profile."""

ByOperation = Mapping[str, Sequence[Trial]]
"""Single questions by operation."""


def branches_of(profile: str) -> ByOperation:
    """Return questions that reach branches of a release's source; empty if the profile has no file
    of such questions.
    """
    file = BRANCHES / f"{profile}.jsonl.gz"
    if not file.exists():
        return {}
    with gzip.open(file) as lines:
        return _by_operation(lines, str(file))


def read_questions(file: Path) -> ByOperation:
    """Read questions from a file, one per line, in the format of `ask`. Errors: `UserError`."""
    try:
        with file.open("rb") as lines:
            return _by_operation(lines, str(file))
    except OSError as error:
        raise UserError(f"{file}: {why_unreadable(error, file)}") from None


def write_questions(trials: Iterable[Trial], file: Path) -> None:
    """Write questions to a file that `read_questions` reads. Errors: `UserError`."""
    lines = [json.dumps(one, ensure_ascii=False) for trial in trials for one in trial.as_json()]
    try:
        file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}") from None


def _by_operation(lines: Iterable[bytes], file: str) -> ByOperation:
    found: dict[str, list[Trial]] = {}
    for operation, case in _parse_questions(lines, file):
        found.setdefault(operation, []).append(Trial((Question(operation, case),)))
    return found


def _parse_questions(lines: Iterable[bytes], file: str) -> Iterator[tuple[str, JSON]]:
    for value in json_values(lines):
        for part in [value] if isinstance(value, BadLine) else questions_in_value(*value):
            if isinstance(part, BadLine):
                raise BadLine(part.number, part.problem, file)
            yield part
