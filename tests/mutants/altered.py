"""Right and altered answers to a trial, by which changes of a judge are noticed.

Answers are altered in two ways. An edit changes one or two places of the model's answer: it adds
a bundle, names another broker, or moves a number by a little more or less than a tolerance. A
mistaken answer is the model's answer to a case with one change, as if an implementation had misread
the case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

from pulsar_conformance.adapters.validation import (
    InvalidAnswer,
    case_schema_error,
    check_answers,
)
from pulsar_conformance.conformance.common.trial import (
    DECLINED,
    Json,
    Question,
    Trial,
    copied,
)

from mutants.judged import Bench

SHARES = (2, 0.5, 1.01, 1 + 2e-5, 1 - 2e-5, 1 + 5e-6, -1)
"""Factors of altered numbers; those near 1 are just outside and inside of the tolerated share."""

STEPS = (1, -1, 0.002, -0.002, 0.0005, -0.0005)
"""Differences of altered numbers; small ones are outside and inside of the tolerated points."""

MOST_ADDED = 3
"""Maximum number of bundles that an edit adds to those to unload."""

OWN_SETTING = 0.5
"""Probability of editing a setting that the rule names, if the answer has one."""

A_NUMBER = 0.7
"""Probability of changing a number of a case, and not another value."""

ANOTHER_DEFAULT = 0.4
"""Probability of changing the default of a setting of the rule that a case does not set."""

A_BROKER = 0.7
"""Probability of using a broker's name where a name is exchanged."""


Path = tuple[str | int, ...]
"""The keys and indices that lead to a value inside another."""


@dataclass(frozen=True)
class Altering:
    """Alters the model's answers to a trial."""

    bench: Bench
    trial: Trial
    settings: frozenset[str]
    """The settings that the rule names."""
    random: Random

    @cached_property
    def right(self) -> Sequence[Json]:
        """The model's answers."""
        return self.bench.unchecked_answers(self.trial)

    @cached_property
    def _names(self) -> Sequence[str]:
        return sorted({one for question in self.trial.questions for one in _names(question.case)})

    @cached_property
    def _brokers(self) -> Sequence[str]:
        return sorted({one for question in self.trial.questions for one in _brokers(question.case)})

    @cached_property
    def _owned(self) -> Sequence[dict[str, str]]:
        return [*_owned(self.trial)]

    @cached_property
    def _answered_places(self) -> Sequence[Path]:
        """The places in the answers that may be changed."""
        return [one for one in _paths([*self.right]) if len(one) > 1]

    @cached_property
    def _own_places(self) -> Sequence[Path]:
        return [one for one in self._answered_places if one[-1] in self.settings]

    @cached_property
    def _case_places(self) -> tuple[Sequence[Path], Sequence[Path]]:
        """The places of numbers in the cases, and those of other values."""
        cases = [one.case for one in self.trial.questions]
        every = [one for one in _paths(cases) if len(one) > 1]
        numbers = [one for one in every if _is_number(_at(cases, one))]
        return numbers, [one for one in every if not _is_number(_at(cases, one))]

    @cached_property
    def _untold(self) -> Sequence[str]:
        """The rule's settings that have a default and are not set by the last case."""
        given = self.trial.questions[-1].case.get("settings")
        known = self.settings & {*self.bench.subject.evaluator.defaults}
        return [] if given is None else sorted(known - {*given})

    def _default(self, usual: Any) -> Any:
        """Return another value for a setting."""
        if isinstance(usual, bool) or not isinstance(usual, int | float):
            return self._changed(usual, [])
        return self.random.choice([usual + 5, usual - 5, usual - 10, usual * 2, usual + 1])

    def edited(self, count: int) -> Iterator[Sequence[Json]]:
        """Yield answers with one or two random changes each, if the schema allows them."""
        for _ in range(count if self._answered_places else 0):
            changed = copied([*self.right])
            for _ in range(self.random.choice((1, 1, 2))):
                self._edit(changed)
            if changed != self.right and self._valid(changed):
                yield changed

    def misread(self, count: int) -> Iterator[Trial]:
        """Yield copies of the trial with one change that their schema, at least, allows."""
        numbers, others = self._case_places
        for _ in range(count if numbers or others else 0):
            questions = [Question(name, copied(case)) for name, case in self.trial.questions]
            cases = [one.case for one in questions]
            if self._untold and self.random.random() < ANOTHER_DEFAULT:
                name = self.random.choice(self._untold)
                usual = self.bench.subject.evaluator.defaults[name]
                cases[-1]["settings"][name] = self._default(usual)
            elif numbers and (not others or self.random.random() < A_NUMBER):
                path = self.random.choice(numbers)
                like = self.random.choice([one for one in numbers if one[-1] == path[-1]])
                value = _at(cases, path)
                choice = value + 1, value - 1, value * 2, value / 2, 0, -value, _at(cases, like)
                _at(cases, path[:-1])[path[-1]] = self.random.choice(choice)
            else:
                path = self.random.choice(others)
                value = self._changed(_at(cases, path), [])
                _at(cases, path[:-1])[path[-1]] = copied(value)
            if all(case_schema_error(*one) is None for one in questions):
                yield Trial(tuple(questions))

    def mistaken(self, misread: Iterable[Trial]) -> Iterator[Sequence[Json]]:
        """Yield the model's different answers to those of the changed trials that are legal."""
        for one in misread:
            if self.bench.subject.evaluator.legal(one):
                answers = self.bench.unchecked_answers(one)
                given = len(answers) == len(self.right)
                if given and answers != self.right and not any(map(_declined, answers)):
                    yield answers

    def rearranged(self) -> Iterator[Sequence[Json]]:
        """Yield answers whose last one has its lists in another order, or with repetitions."""
        for change in (_reversed, _repeated):
            last = change(self.right[-1])
            if last != self.right[-1]:
                yield [*self.right[:-1], last]

    def declined(self) -> Sequence[Json]:
        """Return answers of which the first declines its question."""
        return [{self.random.choice(DECLINED): "no reason"}, *self.right[1:]]

    def _valid(self, answers: Sequence[Json]) -> bool:
        try:
            for question, answer in zip(self.trial.questions, answers, strict=True):
                check_answers(question.operation, [answer])
        except InvalidAnswer:
            return False
        return True

    def _edit(self, answers: list[Json]) -> None:
        """Change one place in place, unless an earlier change has removed it."""
        own = self._own_places and self.random.random() < OWN_SETTING
        path = self.random.choice(self._own_places if own else self._answered_places)
        try:
            holder, key = _at(answers, path[:-1]), path[-1]
            owned = self._owned if key == "unload" else []
            holder[key] = copied(self._changed(holder[key], owned))
        except (LookupError, TypeError):
            return

    def _name(self) -> str:
        brokers = self._brokers and self.random.random() < A_BROKER
        return self.random.choice((self._brokers if brokers else self._names) or ["x"])

    def _changed(self, value: Any, owned: Sequence[dict[str, str]]) -> Any:
        """Return a value with one change, such as an item less, or another name of the case."""
        random = self.random
        match value:
            case bool():
                return not value
            case int() | float():
                how = random.choice((*(value + step for step in STEPS), 0))
                return random.choice((how, value * random.choice(SHARES)))
            case str() | None:
                return random.choice((self._name(), self._name(), None))
            case list():
                return self._changed_list(value, owned)
            case dict() if value:
                name = random.choice([*value])
                rest = {key: one for key, one in value.items() if key != name}
                return random.choice(
                    (rest, {**value, self._name(): value[name]}, _exchanged(value))
                )
            case dict():
                return {self._name(): {}}
        return value

    def _changed_list(self, value: list[Any], owned: Sequence[dict[str, str]]) -> list[Any]:
        random = self.random
        more = [one for one in owned if one not in value]
        if more and (not value or random.random() < 0.5):
            same = [one for one in more if one["broker"] == more[0]["broker"]]
            pool = random.choice((more, same))
            added = random.sample(pool, random.randint(1, min(MOST_ADDED, len(pool))))
            return random.choice(([*value, *added], [*value[:-1], *added], added))
        if not value:
            return [self._name()]
        at = random.randrange(len(value))
        kept = [*value[:at], *value[at + 1 :]]
        named = isinstance(value[0], str)
        longer = [*value, self._name() if named else value[at]]
        mixed = random.sample(value, len(value))
        some = random.sample(value, random.randint(1, len(value)))
        return random.choice([kept, [], longer, value[::-1], [value[at]], mixed, some])


def _exchanged(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object whose first and last entries have exchanged their values."""
    first, last = next(iter(value)), [*value][-1]
    return {**value, first: value[last], last: value[first]}


def _declined(answer: Json) -> bool:
    return any(word in answer for word in DECLINED)


def _reversed(value: Any) -> Any:
    """Return a value with all lists in reverse order."""
    if isinstance(value, dict):
        return {key: _reversed(one) for key, one in value.items()}
    return [_reversed(one) for one in value[::-1]] if isinstance(value, list) else value


def _repeated(value: Any) -> Any:
    """Return a value with the first entry of all lists repeated at their ends."""
    if isinstance(value, dict):
        return {key: _repeated(one) for key, one in value.items()}
    return [*map(_repeated, value), *value[:1]] if isinstance(value, list) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _names(value: Any) -> Iterator[str]:
    """Yield the strings of a case, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from _names(one)
    elif isinstance(value, list):
        for one in value:
            yield from _names(one)


def _brokers(value: Any) -> Iterator[str]:
    """Yield the names of brokers in a case."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key in ("brokers", "candidates"):
                yield from (name for name in one if isinstance(name, str))
            yield from _brokers(one)
    elif isinstance(value, list):
        for one in value:
            yield from _brokers(one)


def _owned(trial: Trial) -> Iterator[dict[str, str]]:
    """Yield each bundle of a question about shedding as an unload from its broker."""
    for question in trial.questions:
        brokers = question.case.get("brokers", {})
        for name, report in brokers.items() if isinstance(brokers, dict) else []:
            bundles = report.get("bundles", ()) if isinstance(report, dict) else ()
            for bundle in bundles:
                to = next((one for one in brokers if one != name), name)
                goes = {"to": to} if question.case.get("strategy") == "TransferShedder" else {}
                yield {"broker": name, "bundle": bundle, **goes}


def _paths(value: Any, before: Path = ()) -> Iterator[Path]:
    """Yield the place of each value inside `value`, outer ones first."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in pairs:
        path = (*before, key)
        yield path
        if isinstance(one, dict | list):
            yield from _paths(one, path)


def _at(value: Any, path: Path) -> Any:
    """Return the value at a place. Errors: `LookupError`, `TypeError`."""
    for key in path:
        value = value[key]
    return value
