"""Finds questions that two implementations decide differently, and the causes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from math import isclose
from typing import Any, Literal, NamedTuple

from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.legality import matches
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.engine.attribute import attribute_faults
from pulsar_conformance.conformance.engine.evaluate import Fault
from pulsar_conformance.conformance.engine.judge import AppliedRule, JudgedImplementation
from pulsar_conformance.conformance.engine.reduce import reduce
from pulsar_conformance.reference import MissingSetting, Model
from pulsar_conformance.reference.released.configuration import (
    Version,
    default_of,
    is_known,
    version_of,
)
from pulsar_conformance.reference.released.managers import classes
from pulsar_conformance.reference.released.release import ReleasedWays

CHOOSE = "manager.choose"

CANDIDATES_FIELD: Mapping[str, str] = {"place.select": "candidates", "place.broker": "brokers"}
"""Field of a case with the brokers among which an operation may choose at random."""


class Difference(NamedTuple):
    """A question that two implementations decide differently, with both answers."""

    trial: Trial
    answers: tuple[Json, Json]


class Pair(NamedTuple):
    """Two implementations, each judged under its own readings."""

    first: JudgedImplementation
    second: JudgedImplementation

    def differences(self, trials: Sequence[Trial]) -> list[Difference]:
        """Return the questions that the two decide differently. Errors: `AdapterError`."""
        asked = zip(*(subject.implementation.answers(trials) for subject in self), strict=True)
        return [
            Difference(trial, (first, second))
            for trial, ([first], [second]) in zip(trials, asked, strict=True)
            if decides_differently(trial.operation, first, second)
        ]

    def smallest(self, differences: Sequence[Difference]) -> Difference:
        """Reduce and return the first difference that violates a rule, or else the first of all."""
        for difference in differences:
            for index in range(len(self)):
                for rule in self.breaches(difference, index):
                    return self._reduce_difference(difference, partial(self._breaks, rule, index))
        return self._reduce_difference(differences[0], lambda _difference: True)

    def breaches(self, difference: Difference, place: int) -> Iterator[specs.Rule]:
        """Yield the rules that side `place` violates, unless they presuppose a violated rule."""
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

    def _reduce_difference(
        self, difference: Difference, alike: Callable[[Difference], bool]
    ) -> Difference:
        """Return a smaller difference of the same kind; the original if it does not recur."""

        def failing(candidates: Sequence[Trial]) -> list[bool]:
            legal = list(filter(self.first.evaluator.legal, candidates))
            kept = {id(one.trial) for one in self.differences(legal) if alike(one)}
            return [id(one) in kept for one in candidates]

        again = self.differences([reduce(difference.trial, failing)])
        return again[0] if again else difference


def decides_differently(operation: str, first: Json, second: Json) -> bool:
    """True if two answers are different decisions; `unsupported` is not a decision."""
    if "unsupported" in first or "unsupported" in second:
        return False
    if "refused" in first and "refused" in second:
        return False
    return not (matches(operation, first, second) or _equal_in_floats(first, second))


def _equal_in_floats(first: Any, second: Any) -> bool:
    """True if two answers are equal when numbers are compared in single precision."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(
            _equal_in_floats(one, second[name]) for name, one in first.items()
        )
    if isinstance(first, float) or isinstance(second, float):
        numbers = isinstance(first, int | float) and isinstance(second, int | float)
        return numbers and isclose(first, second, rel_tol=SINGLE_PRECISION)
    return bool(first == second)


SINGLE_PRECISION = 2**-23
"""Relative distance between neighboring 32-bit floats; releases calculate with such floats."""


Answers = tuple[Json, Json]
"""Answers of the older and the newer release."""


class Factor(NamedTuple):
    """A way, a reading or a setting, with its values in two releases' profiles; or a class that
    only the newer release has.
    """

    kind: Literal["way", "reading", "setting", "class"]
    name: str
    older: Any
    newer: Any
    """Value in the newer release; None if a setting has no default there. For a class, its name
    with the package.
    """


def all_factors(older: str, newer: str) -> tuple[Factor, ...]:
    """Return all ways, readings and defaults of two releases' profiles, whether equal or not."""
    every = specs.load()
    ways = every.ways_of(older), every.ways_of(newer)
    readings = every.default_readings(older), every.default_readings(newer)
    defaults = every.defaults(older), every.defaults(newer)
    return (
        *(Factor("way", one, ways[0][one], ways[1][one]) for one in every.ways),
        *(Factor("reading", one, readings[0][one], readings[1][one]) for one in every.readings),
        *(
            Factor("setting", one, defaults[0].get(one), defaults[1].get(one))
            for one in dict.fromkeys((*defaults[0], *defaults[1]))
        ),
    )


def version_of_profile(profile: str) -> Version:
    """Return the version of a released profile; an empty version for other profiles."""
    release = ReleasedWays.of(profile)
    return release.version if release else ()


def factor_concerns(factor: Factor, version: Version) -> bool:
    """False if a factor is a way that concerns only releases after this version."""
    since = specs.load().ways[factor.name].since if factor.kind == "way" else ""
    return not since or version_of(since) <= version


class Causes:
    """The models of two releases, and the factors that explain differing answers.

    A way is not a factor if it is about something that the older release lacks.
    """

    def __init__(self, older: str, newer: str) -> None:
        self.models = Model(older), Model(newer)
        self._versions = version_of_profile(older), version_of_profile(newer)
        found = [one for one in all_factors(older, newer) if one.older != one.newer]
        self._factors = tuple(one for one in found if factor_concerns(one, self._versions[0]))
        self._absent = tuple(one for one in found if one not in self._factors)
        self._turned = cache(self._model_with)

    def explaining_factors(self, trial: Trial, answers: Answers) -> tuple[Factor, ...] | None:
        """Return the smallest set of factors found that causes the differing answers.

        Empty if there is no such set, or if the models do not predict both answers. None if the
        answers differ only in the order of bundles with equal traffic.
        """
        older, newer = answers
        first, second = self.models
        unread = (
            *self._settings_only_newer_reads(trial, newer),
            *self._classes_only_newer_has(trial),
        )
        foreseen = _predicts(first, trial, older) and _predicts(second, trial, newer)
        if not foreseen or _predicts(first, trial, newer):
            return unread
        if _predicts(self._turned(()), trial, newer):
            return unread or None
        for one in self._factors:
            if _predicts(self._turned((one,)), trial, newer):
                return (one,)
        some = self._factors
        for one in self._factors:
            fewer = tuple(other for other in some if other != one)
            if _predicts(self._turned(fewer), trial, newer):
                some = fewer
        return some if _predicts(self._turned(some), trial, newer) else unread

    def _settings_only_newer_reads(self, trial: Trial, answer: Json) -> Iterator[Factor]:
        """Yield the settings that only the newer release has and that affect its answer."""
        older, newer = self._versions
        for name in trial.questions[0].case.get("settings", {}):
            if is_known(name, newer) and not is_known(name, older):
                without = _without(trial, name)
                if _predicts(self.models[1], without, answer):
                    trial = without
                else:
                    yield Factor("setting", name, None, default_of(name, newer))

    def _classes_only_newer_has(self, trial: Trial) -> Iterator[Factor]:
        """Yield the class that a case about the load manager names if only the newer release has
        it.
        """
        operation, case = trial.questions[0]
        if operation != CHOOSE:
            return
        name = case["conf"] if case["dynamic"] is None else case["dynamic"]
        older, newer = map(classes, self._versions)
        if name in newer and name not in older:
            yield Factor("class", name.rpartition(".")[2], None, name)

    def predicts_difference(self, trial: Trial, factors: tuple[Factor, ...]) -> bool:
        """True if the models predict differing answers when only these `factors` differ."""
        try:
            older, newer = (one.answer(*trial.questions[0]) for one in self.models)
        except MissingSetting:
            return False
        if not decides_differently(trial.operation, older, newer):
            return False
        # Both releases may choose at random among the same equal brokers.
        if _predicts(self.models[0], trial, newer) or _predicts(self.models[1], trial, older):
            return False
        return _predicts(self._turned(factors), trial, newer)

    def _model_with(self, factors: tuple[Factor, ...]) -> Model:
        """Return the model of the older release, changed by some factors of the newer release."""
        ways, readings, settings = (
            {one.name: one.newer for one in (*self._absent, *factors) if one.kind == kind}
            for kind in ("way", "reading", "setting")
        )
        return self.models[0].with_changes(ways, readings, settings, self.models[1])


def _without(trial: Trial, setting: str) -> Trial:
    """Return a trial of one question without one of the question's settings."""
    operation, case = trial.questions[0]
    left = {name: value for name, value in case["settings"].items() if name != setting}
    return Trial.of(operation, {**case, "settings": left})


def _predicts(model: Model, trial: Trial, answer: Json) -> bool:
    """True if a model gives this answer, or can give it by random choice."""
    operation, case = trial.questions[0]
    try:
        for _ in range(times_to_ask(trial)):
            predicted = model.answer(operation, case)
            if "unsupported" in predicted:
                return False
            if not decides_differently(
                operation, in_broker_order(predicted), in_broker_order(answer)
            ):
                return True
    except MissingSetting:
        return False
    return False


def in_broker_order(answer: Json) -> Json:
    """Return an answer with unloads sorted by broker, since releases list them in hash table order.

    Bundles to split keep their order, because the answer does not name their brokers.
    """
    if "cycles" in answer:
        return {**answer, "cycles": [in_broker_order(one) for one in answer["cycles"]]}
    going = answer.get("unload")
    if not isinstance(going, list) or not all(isinstance(one, dict) for one in going):
        return answer
    return {**answer, "unload": sorted(going, key=lambda one: (one["broker"], one["bundle"]))}


def times_to_ask(trial: Trial, least: int = 1) -> int:
    """Return the number of times to ask a question so that every random choice can occur."""
    operation, case = trial.questions[0]
    drawn = len(case[CANDIDATES_FIELD[operation]]) if operation in CANDIDATES_FIELD else 0
    return max(least, drawn)
