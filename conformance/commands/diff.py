"""`pulsar-conformance diff ADAPTER ADAPTER`: the smallest cases that two decide otherwise."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance import checks, saved
from pulsar_conformance.conformance.failing import derivation
from pulsar_conformance.conformance.options import DEFAULT_PROFILE
from pulsar_conformance.conformance.plan import BadPlan, chosen_readings
from pulsar_conformance.conformance.reduce import reduce
from pulsar_conformance.conformance.respondent import Respondent
from pulsar_conformance.conformance.trial import Json, Trial
from pulsar_conformance.conformance.trials import drawn
from pulsar_conformance.fixtures import matches

assert checks.__all__, "importing the checks registers them"

UNUSABLE = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Two adapters, and what to ask them."""
    parser.add_argument("adapters", nargs=2, metavar="ADAPTER", help="as --adapter of run has it")
    parser.add_argument(
        "--operation", action="append", help="only this operation; may be given again"
    )
    parser.add_argument(
        "--profile",
        default=DEFAULT_PROFILE,
        help=f"which documents both follow ({DEFAULT_PROFILE})",
    )
    parser.add_argument(
        "--reading", action="append", default=[], metavar="NAME=VALUE", help="asked of both"
    )
    parser.add_argument(
        "--examples", type=int, default=30, metavar="N", help="cases drawn for each rule (30)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="draw other cases (0)")


def run(args: argparse.Namespace) -> int:
    """Prints each operation's count of differences, and the smallest; 1 where there are any."""
    pair: list[Respondent] = []
    try:
        specs.load().profile(args.profile)
        readings = chosen_readings(args.reading)
        for adapter in args.adapters:
            pair.append(Respondent(adapter, args.profile, readings))
        operations = _operations(pair, args.operation)
        found = [_differs(pair, operation, args) for operation in operations]
    except (AdapterError, BadPlan, specs.UnknownName) as wrong:
        print(f"pulsar-conformance: {wrong}", file=sys.stderr)
        return UNUSABLE
    finally:
        for respondent in pair:
            respondent.close()
    return int(any(found))


def _operations(pair: Sequence[Respondent], wanted: Sequence[str] | None) -> list[str]:
    """The operations that both offer, or those of them that are wanted."""
    first, second = pair
    both = [one for one in first.hello.operations if one in second.hello.operations]
    for operation in wanted or ():
        if operation not in both:
            raise BadPlan(f"{operation} is not offered by both; there are {', '.join(both)}")
    return [one for one in both if wanted is None or one in wanted]


def _differs(pair: Sequence[Respondent], operation: str, args: argparse.Namespace) -> bool:
    trials = list(_trials(operation, args))
    differing = [
        trial for trial, differs in zip(trials, _differing(pair, trials), strict=True) if differs
    ]
    print(f"{operation}: {len(differing)} of {len(trials)} cases are decided otherwise")
    if not differing:
        return False

    def failing(candidates: Sequence[Trial]) -> list[bool]:
        legal = list(filter(pair[0].court.legal, candidates))
        differing = dict(zip(map(id, legal), _differing(pair, legal), strict=True))
        return [differing.get(id(one), False) for one in candidates]

    smallest = reduce(differing[0], failing)
    file = saved.save(smallest, Path())
    print(f"  smallest case  {file}  ({smallest.size})")
    for line in derivation(pair[0], smallest):
        print(f"    {line}")
    for respondent in pair:
        [[answer]] = respondent.answers([smallest])
        print(f"  {respondent.name}: {json.dumps(answer, ensure_ascii=False)}")
    return True


def _trials(operation: str, args: argparse.Namespace) -> Iterator[Trial]:
    """Every question of an operation that the rules of the profile draw, each by itself."""
    for rule in specs.load().rules_of(args.profile):
        if operation in rule.operations and rule.untestable is None:
            for trial in drawn(rule.id, args.profile, args.seed, args.examples):
                for question in trial.questions:
                    if question.operation == operation:
                        yield Trial((question,))


def _differing(pair: Sequence[Respondent], trials: Sequence[Trial]) -> list[bool]:
    answers = zip(*(respondent.answers(trials) for respondent in pair), strict=True)
    return [
        _decided_otherwise(trial.operation, first, second)
        for trial, ([first], [second]) in zip(trials, answers, strict=True)
    ]


def _decided_otherwise(operation: str, first: Json, second: Json) -> bool:
    if "unsupported" in first or "unsupported" in second:
        return False
    if "refused" in first and "refused" in second:
        return False
    return not matches(operation, first, second)
