"""Asks a mutant one question after another until a rule catches it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from mutants.children import CpuLimit, OutOfTime
from mutants.evaluations import Evaluation, drawn_in_turn, in_order
from mutants.judged import Bench
from mutants.loading import another_model
from mutants.making import Mutant, changed

PATIENCE = 10.0
"""Maximum seconds of CPU for one trial. The right model takes less than a second."""

MOST_SECONDS = 60.0
"""Maximum CPU seconds for a mutant's drawn cases; a mutant that is not caught then survives."""

NO_START = "does not start"
UNREACHED = "reaches no case"
"""Why a mutant is caught if no case reaches a rule any more: a run does not pass such a rule."""


@dataclass(frozen=True)
class Catch:
    """The fate of a mutant: caught by a rule, or surviving."""

    caught: bool
    rule: str = ""
    """The rule that the mutant breaks; empty if it survives, or does not even start."""
    by: str = ""
    """The worked example that caught the mutant, `drawn`, or another reason for the catch."""
    seconds: float = 0.0
    """Seconds of CPU from the mutant's start to its first wrong answer, or to the last question."""


def catch_by_examples(mutant: Mutant, evaluations: Sequence[Evaluation]) -> Catch:
    """Ask a mutant the trials that may reveal its change, by `in_order`, and return its fate."""
    started = time.process_time()
    asked = in_order(evaluations, mutant.file, mutant.entered)
    return _caught(mutant, started, asked, evaluations)


def catch_by_draws(mutant: Mutant, examples: Sequence[Evaluation]) -> Catch:
    """Ask a mutant drawn cases, the likeliest rules by `examples` first, and return its fate."""
    started = time.process_time()
    whole: list[Evaluation] = []

    def asked() -> Iterator[Evaluation]:
        for one in drawn_in_turn(examples, mutant.file, mutant.entered):
            if time.process_time() - started > MOST_SECONDS:
                return
            whole.append(one)
            yield one

    return _caught(mutant, started, asked(), whole)


def _caught(
    mutant: Mutant, started: float, asked: Iterable[Evaluation], whole: Sequence[Evaluation]
) -> Catch:
    """Load a mutant, and return its fate by `first_wrong`; its seconds count from `started`."""
    try:
        with CpuLimit(PATIENCE):
            modules = another_model({mutant.file: changed(mutant)})
    except (Exception, OutOfTime):
        return Catch(True, by=NO_START, seconds=time.process_time() - started)
    rule, by = first_wrong(modules[""].Model, asked, whole)
    return Catch(bool(by), rule, by, time.process_time() - started)


def first_wrong(
    model: Callable[[str, Mapping[str, str]], Any],
    asked: Iterable[Evaluation],
    whole: Sequence[Evaluation] = (),
) -> tuple[str, str]:
    """Return the first rule that a model breaks, and how it shows; empty strings if there is none.

    A model is also wrong if none of the cases drawn for a rule, in `whole`, reaches the rule any
    more.
    """
    otherwise: dict[Evaluation, Sequence[Any]] = {}

    @cache
    def bench(profile: str, readings: tuple[tuple[str, str], ...]) -> Bench:
        return Bench(model, profile, dict(readings))

    for one in asked:
        by = one.origin if one.example is not None else "drawn"
        try:
            with CpuLimit(PATIENCE):
                try:
                    judges = bench(one.profile, one.readings)
                except Exception:
                    return one.rules[0], NO_START
                if judges.unchecked_answers(one.trial) == one.answers:
                    continue
                answers = judges.answers(one.trial)
                rule = _wrong(one, judges, answers)
        except OutOfTime:
            return one.rules[0], "no end"
        if rule is not None:
            return rule, by
        if one.example is None:
            otherwise[one] = answers or ()
    unreached = _unreached(otherwise, whole, bench)
    return (unreached, UNREACHED) if unreached else ("", "")


def _unreached(
    otherwise: Mapping[Evaluation, Sequence[Any]],
    whole: Sequence[Evaluation],
    bench: Callable[[str, tuple[tuple[str, str], ...]], Bench],
) -> str | None:
    """Return a rule that no case reaches any more, although the right model's answers reach it."""
    for rule in dict.fromkeys(one.rules[0] for one in otherwise):
        cases = [one for one in whole if one.rules[0] == rule]

        def reached(one: Evaluation, answers: Sequence[Any]) -> bool:
            return bench(one.profile, one.readings).reached(one.rules[0], one.trial, answers)

        if any(reached(one, otherwise.get(one, one.answers)) for one in cases):
            continue
        if any(reached(one, one.answers) for one in cases if one in otherwise):
            return rule
    return None


def _wrong(one: Evaluation, judges: Bench, answers: Sequence[Any] | None) -> str | None:
    if answers is None or any("failed" in answer for answer in answers):
        return one.rules[0]
    if one.example is not None:
        return judges.unlike(one.example, one.trial, answers, one.answers)
    return judges.broken(one.rules[0], one.trial, answers)
