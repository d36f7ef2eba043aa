"""Finds decisions that change between two releases, with the smallest case of each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, product
from typing import Any, NamedTuple

from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.catalogue import OPERATIONS
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.compare.differences import (
    Answers,
    Causes,
    Difference,
    Factor,
    Pair,
    decides_differently,
    times_to_ask,
)
from pulsar_conformance.conformance.compare.predictions import branches_of, with_hidden_settings
from pulsar_conformance.conformance.engine.draw import distinct_questions
from pulsar_conformance.conformance.engine.judge import JudgedImplementation
from pulsar_conformance.conformance.engine.reduce import reduce, with_candidate_limit

DEFAULTS = "settings.defaults"
"""The operation that lists default settings; its answers are compared setting by setting."""

SPLITS = "bundles.split_candidates"

TWICE = 2
MAX_FORESEEN, MAX_ASKED = 3000, 600
"""Maximum numbers of smaller cases to try: on the models, and on the releases, which are asked only
if the models do not find the smallest case.
"""

Progress = Callable[[str], None]
"""Function that is called with messages about progress."""


class Cause(NamedTuple):
    """The cause of a changed decision."""

    factors: tuple[Factor, ...]
    """The changed ways, readings and defaults that explain the decision, or a class that only the
    newer release has; empty if nothing explains it.
    """
    rules: tuple[str, ...]
    """If no factor explains the decision, the rules that only one release breaks on the case."""


@dataclass(frozen=True)
class Change:
    """One kind of change, with the smallest case that shows it.

    Attributes:
        cases: number of cases with this change.
        broken: for each release, the rules that only this release violates on the smallest case.
    """

    cause: Cause
    cases: int
    trial: Trial
    answers: Answers
    broken: tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Changes:
    """Changes in one operation.

    Attributes: asked: number of cases that both releases were asked. apart: number of differences
    explained by ties, random choice or rounding. together: number of differences that have several
    causes, each of which also occurs alone.
    """

    operation: str
    asked: int
    apart: int
    together: int
    found: tuple[Change, ...]


@dataclass(frozen=True)
class PairChanges:
    """The result of comparing two releases.

    Attributes:
        files: the file with the smallest case of each change, in order.
        settings: settings that were added, removed, or got another default.
        others: changes of ways and readings that no drawn case shows.
    """

    versions: tuple[str, str]
    operations: tuple[Changes, ...]
    files: tuple[str, ...]
    settings: tuple[Factor, ...]
    others: tuple[Factor, ...]


class Comparison:
    """Compares two releases, the older one first, each under its own profile."""

    def __init__(self, pair: Pair, progress: Progress) -> None:
        self._pair = pair
        self._progress = progress
        self.profiles = tuple(one.resolved.profile for one in pair)
        self._causes = Causes(*self.profiles)

    @property
    def operations(self) -> list[str]:
        """Return the operations that both releases answer, except the one that lists defaults."""
        first, second = (one.implementation.hello.operations for one in self._pair)
        return [one for one in first if one in second and one != DEFAULTS]

    def changes(self, operation: str, seed: int, examples: int) -> Changes:
        """Classify changes in the answers to drawn questions. Errors: `AdapterError`."""
        self._progress(f"{operation}: drawing cases")
        trials = self._draw_questions(operation, seed, examples)
        self._progress(f"{operation}: asking both {len(trials)} cases")
        kinds: dict[Cause, list[Difference]] = {}
        apart = 0
        for one in self._certain_differences([one.trial for one in self._pair.differences(trials)]):
            cause = self._cause(one)
            if cause is None:
                apart += 1
            else:
                kinds.setdefault(cause, []).append(one)
        several = _combined_causes(kinds)
        together = sum(len(kinds.pop(cause)) for cause in several)
        found = tuple(self._describe_change(cause, some) for cause, some in kinds.items())
        return Changes(operation, len(trials), apart, together, found)

    def settings(self) -> list[Factor]:
        """Return the settings with different defaults. Errors: `AdapterError`."""
        asked = [DEFAULTS in one.implementation.hello.operations for one in self._pair]
        if all(asked):
            trial = Trial((Question(DEFAULTS, {}),))
            defaults = [one.implementation.answers([trial])[0][0]["settings"] for one in self._pair]
        else:
            defaults = [specs.load().defaults(one) for one in self.profiles]
        hidden = [specs.load().profile(one).hidden for one in self.profiles]
        older, newer = ({**a, **b} for a, b in zip(defaults, hidden, strict=True))
        return [
            Factor("setting", name, older.get(name), newer.get(name))
            for name in dict.fromkeys((*older, *newer))
            if older.get(name) != newer.get(name)
        ]

    def _draw_questions(self, operation: str, seed: int, examples: int) -> list[Trial]:
        """Return valid questions drawn for both releases' rules and for branches of the source."""
        based = dict.fromkeys(specs.load().profile(one).based_on or one for one in self.profiles)
        found = {
            trial.fingerprint: trial
            for base in based
            for trial in distinct_questions(operation, base, seed, examples)
        }
        drawn = self._with_hidden_settings([one for one in found.values() if self._is_legal(one)])
        branches = (one for name in self.profiles for one in branches_of(name).get(operation, ()))
        others = {one.fingerprint: one for one in branches if self._is_legal(one)}
        return list({**others, **{one.fingerprint: one for one in drawn}}.values())

    def _is_legal(self, trial: Trial) -> bool:
        if not statistics_are_owned(trial):
            return False
        every = specs.load()
        return all(trial_flaw(trial, every.defaults(one)) is None for one in self.profiles)

    def _with_hidden_settings(self, trials: Sequence[Trial]) -> list[Trial]:
        """Add hidden settings, with values that have no effect, to every second shedding trial."""
        hidden = [specs.load().profile(one).hidden for one in self.profiles]
        neutral = {
            name: value
            for name, value in specs.load().neutral.items()
            if all(name in one for one in hidden)
        }
        return [
            Trial(
                tuple(
                    with_hidden_settings(one, set_so) if "strategy" in one.case else one
                    for one in trial.questions
                )
            )
            for trial, set_so in zip(trials, cycle((neutral, {})), strict=False)
        ]

    def _certain_differences(self, trials: Sequence[Trial]) -> list[Difference]:
        """Return the questions on which the two releases always decide differently.

        Of releases that choose at random, the sets of possible choices must be disjoint.
        """
        rows = [Trial(one.questions * times_to_ask(one, TWICE)) for one in trials]
        asked = [one.implementation.answers(rows) for one in self._pair]
        return [
            Difference(trial, (older[0], newer[0]))
            for trial, older, newer in zip(trials, *asked, strict=True)
            if all(decides_differently(trial.operation, *two) for two in product(older, newer))
        ]

    def _cause(self, difference: Difference) -> Cause | None:
        """Return the cause of a difference; None if ties, random choice or rounding explain it."""
        explained = self._causes.explaining_factors(*difference)
        if explained is None:
            return None
        if explained:
            return Cause(explained, ())
        broken = self._rules_broken_by_one_release(difference)
        if any(broken):
            return Cause((), tuple(dict.fromkeys((*broken[0], *broken[1]))))
        return Cause((), ()) if all(_is_determined(one, difference) for one in self._pair) else None

    def _describe_change(self, cause: Cause, alike: Sequence[Difference]) -> Change:
        self._progress(
            f"{alike[0].trial.operation}: looking for the smallest case of {cause_name(cause)}"
        )
        small = self._smallest_difference(alike[0], cause)
        older, newer = self._rules_broken_by_one_release(small)
        if any(one.kind in ("setting", "class") and one.older is None for one in cause.factors):
            older, newer = (), ()  # Rules about something that the older release does not have.
        elif cause.factors:
            # An implementation that fails breaks every rule of the operation, so that no rule
            # is the cause.
            older, newer = (
                () if "failed" in answer else rules
                for rules, answer in zip((older, newer), small.answers, strict=True)
            )
        return Change(cause, len(alike), *small, (older, newer))

    def _smallest_difference(self, difference: Difference, cause: Cause) -> Difference:
        """Return the smallest difference with the same cause.

        If the models predict the cause, smaller cases are first tried on the models, which are a
        thousand times faster than the releases. Their result is used if the releases confirm it.
        """

        def foreseen(candidates: Sequence[Trial]) -> list[bool]:
            known = self._causes.predicts_difference
            return [self._is_legal(one) and known(one, cause.factors) for one in candidates]

        def asked(candidates: Sequence[Trial]) -> list[bool]:
            legal = [one for one in candidates if self._is_legal(one)]
            kept = {
                id(one.trial)
                for one in self._certain_differences(legal)
                if self._cause(one) == cause
            }
            return [id(one) in kept for one in candidates]

        ways = [(asked, MAX_ASKED)]
        if cause.factors and self._causes.predicts_difference(difference.trial, cause.factors):
            ways.insert(0, (foreseen, MAX_FORESEEN))
        for failing, most in ways:
            small = reduce(difference.trial, with_candidate_limit(failing, most))
            for one in self._certain_differences([small]):
                if self._cause(one) == cause:
                    return one
        return difference

    def _rules_broken_by_one_release(
        self, difference: Difference
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return, for each release, the documented rules that only this release violates.

        A rule that presupposes another of these rules is left out.
        """
        each = [
            set(_violated_rules(*two, difference.trial)) for two in self._with_answers(difference)
        ]
        older, newer = (_without_dependent_rules(each[place] - each[1 - place]) for place in (0, 1))
        return older, newer

    def _with_answers(self, difference: Difference) -> Iterator[tuple[JudgedImplementation, Any]]:
        return zip(self._pair, difference.answers, strict=True)


def statistics_are_owned(trial: Trial) -> bool:
    """False for a split case in which a broker reports statistics of bundles that it does not own.

    Rules ignore such bundles, but releases split them.
    """
    if trial.operation != SPLITS:
        return True
    reports = trial.questions[0].case["brokers"].values()
    return all({*one.get("bundles", ())} >= {*one.get("lastStats", ())} for one in reports)


def cause_name(cause: Cause) -> str:
    """Format the names of a cause's factors or rules."""
    names = [one.name for one in cause.factors] or cause.rules
    return ", ".join(names) or "a change that no rule covers"


def _combined_causes(kinds: Mapping[Cause, Sequence[Difference]]) -> list[Cause]:
    """Return the causes with several factors, each of which also occurs as a cause on its own."""
    alone = {cause.factors[0] for cause in kinds if len(cause.factors) == 1}
    return [one for one in kinds if len(one.factors) > 1 and alone.issuperset(one.factors)]


def _violated_rules(subject: JudgedImplementation, answer: Any, trial: Trial) -> Iterator[str]:
    for profile in specs.load().lineage(subject.resolved.profile):
        for rule in specs.load().rules_of(profile.id):
            stated = rule.provenance == "documented" and rule.untestable is None
            asked = stated and trial.operation in rule.operations
            if not asked or rule.area == "ANSWER" or subject.inapplicable(rule):
                continue
            if subject.evaluator.judge(rule.id, trial, [answer]).violated:
                yield rule.id


def _without_dependent_rules(rules: set[str]) -> tuple[str, ...]:
    known = specs.load().rules
    return tuple(one for one in known if one in rules and not rules & {*known[one].presupposes})


def _is_determined(subject: JudgedImplementation, difference: Difference) -> bool:
    """True if the documents allow only one answer: no ties, no value near a threshold."""
    [question] = difference.trial.questions
    evaluator = subject.evaluator
    operation = OPERATIONS[question.operation]
    return operation.determined(evaluator.view(question), evaluator.readings)
