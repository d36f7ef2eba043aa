"""`pulsar-conformance diff ADAPTER ADAPTER`: the smallest cases that the two decide differently."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from pulsar_conformance import specs
from pulsar_conformance.adapters.arguments import (
    ADAPTER_HELP,
    add_drawing_options,
    add_judging_options,
    limits_within,
)
from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.compare.differences import Difference, Pair
from pulsar_conformance.conformance.engine.draw import distinct_questions
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import JudgedImplementation
from pulsar_conformance.conformance.engine.plan import BadPlan, chosen_readings
from pulsar_conformance.conformance.engine.readings import resolve_readings
from pulsar_conformance.conformance.engine.report import model_derivation
from pulsar_conformance.specs.errors import print_note
from pulsar_conformance.specs.text import counted

MAX_RULES_LISTED = 3
"""Maximum number of broken rules to list."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add two adapters, and options that select questions."""
    parser.add_argument("adapters", nargs=2, metavar="ADAPTER", help=ADAPTER_HELP)
    add_drawing_options(parser)
    add_judging_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the number of differences and the smallest cases; return 1 if there are differences."""
    asked: list[Implementation] = []
    try:
        specs.load().profile(args.profile)
        readings, limits = (
            chosen_readings(args.reading, args.profile),
            limits_within(args.time_limit),
        )
        for adapter in args.adapters:
            asked.append(Implementation(adapter, args.profile, readings, limits))
        pair = Pair(
            *(JudgedImplementation.of(one, resolve_readings(one, args.seed)) for one in asked)
        )
        operations = _operations(pair, args.operation)
        for note in dict.fromkeys(note for one in asked for note in one.notes()):
            print_note(note)
        _print_readings(pair)
        found = [_print_differences(pair, operation, args) for operation in operations]
    finally:
        for implementation in asked:
            implementation.close()
    return int(any(found))


def _operations(pair: Pair, wanted: Sequence[str] | None) -> list[str]:
    """Return the requested operations, or all that both implementations offer."""
    first, second = (one.implementation.hello.operations for one in pair)
    both = [one for one in first if one in second]
    for operation in wanted or ():
        if operation not in both:
            shared = ", ".join(both)
            raise BadPlan(
                f"{operation}: only operations that both implementations offer can be compared; "
                f"choose from {shared}"
            )
    return [one for one in both if wanted is None or one in wanted]


def _print_readings(pair: Pair) -> None:
    """Print the readings on which the two differ; differences due to a reading are not mistakes."""
    first, second = (one.evaluator.readings.choices for one in pair)
    for name in specs.load().readings:
        if first[name] != second[name]:
            print(f"reading {name}: the first follows {first[name]}, the second {second[name]}")


def _print_differences(pair: Pair, operation: str, args: argparse.Namespace) -> bool:
    trials = distinct_questions(operation, args.profile, args.seed, args.examples)
    found = pair.differences(trials)
    print(
        f"{operation}: {counted(len(trials), 'case')}, {len(found) or 'none'} decided differently"
    )
    if found:
        _print(pair, pair.smallest(found))
    return bool(found)


def _print(pair: Pair, difference: Difference) -> None:
    """Print the case, the model's answer, both answers, and the rules that they violate."""
    trial = difference.trial
    file = saved.save(trial, Path(), {"profile": pair.first.resolved.profile})
    print(f"  smallest case  {file}  ({trial.size})")
    for line in model_derivation(pair.first, trial):
        print(f"    {line}")
    both = True
    for index, subject in enumerate(pair):
        answer = json.dumps(difference.answers[index], ensure_ascii=False)
        broken = list(pair.breaches(difference, index))
        both = both and not broken
        print(f"  {subject.implementation.name}: {answer}")
        for rule in broken[:MAX_RULES_LISTED]:
            print(f"    breaks {rule.id}: {rule.title}")
        if len(broken) > MAX_RULES_LISTED:
            print(f"    breaks {counted(len(broken) - MAX_RULES_LISTED, 'more rule')}")
    if both:
        print("  both answers are allowed: the documents leave this open, or rounding decides")
