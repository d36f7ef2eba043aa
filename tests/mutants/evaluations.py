"""Trials that mutants are asked, with the unchanged model's answers and executed functions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import FrameType
from typing import Any

from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common.trial import Json, Question, Trial, canonical
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.reference import Model, Readings

from mutants.making import MODEL

PROFILES = (
    "documented-3.0",
    "unwritten-3.0",
    "documented-2.10",
    "documented-2.4",
    "documented-4.0",
    "documented-4.2",
    "documented-5.0",
)
"""The profiles that the model follows; a trial is asked under the first in which it is legal."""

EXAMPLES = 100
"""Number of cases drawn for a rule, as in a usual run."""

SEED = 0

LIKELIEST = 12
"""Number of rules whose cases are asked under all readings before other rules come in turn."""

Place = tuple[str, int]
"""A file below `reference/`, and the first line of a function."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One trial under one profile and one set of readings, with the right model's answers."""

    origin: str
    """The worked example from which the trial comes, or the rule for which it was drawn."""
    example: fixtures.Example | None
    rules: tuple[str, ...]
    """The rules that judge the trial."""
    trial: Trial
    profile: str
    readings: tuple[tuple[str, str], ...]
    answers: Sequence[Json]
    entered: frozenset[Place]
    """The functions that the right model enters."""
    consulted: frozenset[str]
    """The readings that the right model looks up."""
    size: int
    """Number of characters of the trial as JSON, which estimates the time to ask it."""


def worked() -> list[Evaluation]:
    """Return the worked examples under their own readings, and again with one reading changed.

    Only readings that the model looks up are changed. Examples that show only the model's answer
    come last.
    """
    found: list[Evaluation] = []
    for example in sorted(fixtures.examples(), key=lambda one: one.shows_model_answer):
        trial = Trial(tuple(Question(*question) for question in example.questions))
        profile = _profile_of(example, trial)
        if profile is None:
            continue
        usual = {**specs.load().default_readings(profile), **example.readings}
        first = _evaluated(example.id, example, example.rules, trial, profile, usual)
        found.append(first)
        for name in sorted(first.consulted - example.readings.keys()):
            for value in specs.load().readings[name].values:
                if value != usual[name]:
                    taken = {**usual, name: value}
                    about = (example.id, example, example.rules, trial, profile, taken)
                    found.append(_evaluated(*about))
    return found


def _profile_of(example: fixtures.Example, trial: Trial) -> str | None:
    """Return the first profile that has a rule of the example and in which the trial is legal."""
    known = specs.load()
    return next(
        (
            one
            for one in PROFILES
            if any(one in known.rules[rule].profiles for rule in example.rules)
            and trial_flaw(trial, known.defaults(one)) is None
        ),
        None,
    )


def reading_sets(rule: specs.Rule, profile: str) -> list[dict[str, str]]:
    """Return sets of readings under which a rule applies, so that each alternative is in some set.

    The first set has the default alternative of each reading, the second has each reading's next
    alternative, and so on.
    """
    usual, known = specs.load().default_readings(profile), specs.load().readings
    others = {
        name: [usual[name], *(one for one in known[name].values if one != usual[name])]
        for name in usual
    }
    longest = max(map(len, others.values()))
    taken = [
        {
            **{name: values[min(index, len(values) - 1)] for name, values in others.items()},
            **rule.reading,
        }
        for index in range(longest)
    ]
    return [one for place, one in enumerate(taken) if one not in taken[:place]]


def drawn_for(rule: str, index: int = 0) -> Iterator[Evaluation]:
    """Yield the cases drawn for a rule, under one of its `reading_sets`, by its index."""
    profile = _drawn_under(rule)
    if profile is None:
        return
    readings = reading_sets(specs.load().rules[rule], profile)[index]
    defaults, under = specs.load().defaults(profile), Readings.of(profile, readings)
    for trial in draw_trials(rule, profile, SEED, EXAMPLES):
        if trial_flaw(trial, defaults, under) is None:
            yield _evaluated(rule, None, (rule,), trial, profile, readings, traced=False)


def drawn_in_turn(
    examples: Iterable[Evaluation], file: str, entered: int | None
) -> Iterator[Evaluation]:
    """Yield the drawn cases that may show a change in a function, the likeliest first.

    The likeliest rules come first, under each of their `reading_sets`. Then come the others: cases
    under default readings first, then cases under each further set. Rules with an example that
    enters the function come first, by the size of the example, then other rules about the same
    operations. For a change outside of functions, rules about any operation come then, since other
    modules may use a constant.
    """
    there = sorted(
        (
            one
            for one in examples
            if any(file == other and entered in (None, line) for other, line in one.entered)
        ),
        key=lambda one: one.size,
    )
    operations = {question.operation for one in there for question in one.trial.questions}
    known = specs.load().rules
    anywhere = entered is None or not there
    every = [one.id for one in known.values() if anywhere or operations & {*one.operations}]
    rules = list(dict.fromkeys((*(rule for one in there for rule in one.rules), *every)))
    for rule in rules[:LIKELIEST]:
        for index in range(_reading_set_count(rule)):
            yield from drawn_for(rule, index)
    left, index = rules[LIKELIEST:], 0
    while left:
        for rule in left:
            yield from drawn_for(rule, index)
        index += 1
        left = [rule for rule in left if index < _reading_set_count(rule)]


def profile_of(rule: str) -> str:
    """Return the profile under which a rule is judged: of documents, or else of a release."""
    contained = specs.load().rules[rule].profiles
    return next((one for one in PROFILES if one in contained), contained[-1])


def draw_all() -> None:
    """Draw the cases of every rule, so that no child process has to draw them again."""
    for rule in specs.load().rules:
        profile = _drawn_under(rule)
        if profile is not None:
            draw_trials(rule, profile, SEED, EXAMPLES)


def _drawn_under(rule: str) -> str | None:
    """Return the profile under which cases are drawn for a rule, or None if none are drawn."""
    found = (one for one in PROFILES if one in specs.load().rules[rule].profiles)
    return next(found, None) if rule in checks() else None


def _reading_set_count(rule: str) -> int:
    profile = _drawn_under(rule)
    return len(reading_sets(specs.load().rules[rule], profile)) if profile else 0


def _evaluated(
    origin: str,
    example: fixtures.Example | None,
    rules: Iterable[str],
    trial: Trial,
    profile: str,
    readings: Mapping[str, str],
    traced: bool = True,
) -> Evaluation:
    entered: set[Place] = set()
    consulted: set[str] = set()
    sys.setprofile(_tracer(entered, consulted) if traced else None)
    try:
        model = Model(profile, readings)
        answers = [_answer(model, *question) for question in trial.questions]
    finally:
        sys.setprofile(None)
    chosen = tuple(sorted(readings.items()))
    return Evaluation(
        origin, example, tuple(rules), trial, profile, chosen, answers,
        frozenset(entered), frozenset(consulted), _size(trial),
    )  # fmt: skip


def _size(trial: Trial) -> int:
    return sum(len(canonical(question.case)) for question in trial.questions)


def _answer(model: Model, operation: str, case: Json) -> Json:
    try:
        return model.answer(operation, case)
    except Exception as error:
        return {"failed": str(error)}


@cache
def _below(file: str) -> str:
    """Return a file's path below `reference/`; empty for other files."""
    return file.removeprefix(f"{MODEL}/") if file.startswith(f"{MODEL}/") else ""


def _tracer(entered: set[Place], consulted: set[str]) -> Callable[[FrameType, str, Any], None]:
    """Return a trace function that records the model's entered functions and looked-up readings."""

    def called(frame: FrameType, event: str, _given: Any) -> None:
        if event != "call":
            return
        file = _below(frame.f_code.co_filename)
        if file:
            entered.add((file, frame.f_code.co_firstlineno))
            if file == "context.py" and frame.f_code.co_name == "__getitem__":
                consulted.add(frame.f_locals["name"])

    return called


def in_order(
    evaluations: Iterable[Evaluation], file: str, entered: int | None
) -> Iterator[Evaluation]:
    """Yield the trials that may show a change in a function of a file, the smallest first.

    For a change outside of functions, these are all trials, first those that use its module.
    """
    if entered is not None:
        there = [one for one in evaluations if (file, entered) in one.entered]
        yield from sorted(there, key=lambda one: one.size)
        return

    def rank(one: Evaluation) -> tuple[bool, int]:
        return all(place != file for place, _ in one.entered), one.size

    yield from sorted(evaluations, key=rank)
