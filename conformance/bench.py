"""Cases per second of implementations, on the same cases in one run, and as ratios to the first.

`python -m pulsar_conformance.conformance.bench`. Rounds alternate between the implementations, so
that what slows the machine down slows down all of them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from io import StringIO
from itertools import cycle, islice
from statistics import median

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError, Connection, Hello, Limits, connect
from pulsar_conformance.adapters.arguments import ADAPTER, DEFAULT_PROFILE
from pulsar_conformance.adapters.bundled import runnable
from pulsar_conformance.adapters.validation import asked_operations
from pulsar_conformance.conformance import checks
from pulsar_conformance.conformance.registry import CHECKS
from pulsar_conformance.conformance.trial import Json
from pulsar_conformance.conformance.trials import drawn
from rich import box
from rich.console import Console
from rich.table import Table

assert checks.__all__, "importing the checks registers them"

WIDTH = 100
PATIENT = Limits(start=120, base=600)
"""Whoever is slow is measured, too."""
DRAWN = 10
"""Cases drawn for each rule; they are asked again until there are enough."""

Rates = Mapping[tuple[str, str], float]
"""Cases per second, by operation and adapter."""

Connections = Mapping[str, Connection]
"""By adapter."""


def cases_of(operation: str, hellos: Sequence[Hello], count: int) -> list[Json]:
    """So many cases of an operation that everybody answers who answers it at all."""
    found = [
        question.case
        for rule in specs.load().rules_of(DEFAULT_PROFILE)
        if operation in rule.operations and rule.id in CHECKS
        for trial in drawn(rule.id, DEFAULT_PROFILE, 0, DRAWN)
        for question in trial.questions
        if question.operation == operation
        and all(_offers(hello, question.case) for hello in hellos)
    ]
    return list(islice(cycle(found), count if found else 0))


def _offers(hello: Hello, case: Json) -> bool:
    strategy, algorithm = case.get("strategy"), case.get("algorithm")
    return (not strategy or hello.offers_strategy(strategy)) and (
        not algorithm or hello.offers_algorithm(algorithm)
    )


def measure(connections: Connections, count: int, rounds: int) -> Rates:
    """The median of the rounds, after one that is not counted."""
    rates: dict[tuple[str, str], float] = {}
    for operation in asked_operations():
        able = {name: c for name, c in connections.items() if operation in c.hello.operations}
        cases = cases_of(operation, [one.hello for one in able.values()], count)
        if not cases:
            continue
        seconds: dict[str, list[float]] = {adapter: [] for adapter in able}
        for place in range(rounds + 1):
            for adapter, connection in able.items():
                start = time.perf_counter()
                connection.ask(operation, cases)
                if place:
                    seconds[adapter].append(time.perf_counter() - start)
        for adapter, taken in seconds.items():
            rates[operation, adapter] = len(cases) / median(taken)
    return rates


def table(rates: Rates, names: Mapping[str, str]) -> str:
    """Operations and implementations; each after the first with its ratio to that."""
    first, *_ = names
    made = Table(box=box.SIMPLE, pad_edge=False, title="Cases per second")
    made.add_column("operation")
    for name in names.values():
        made.add_column(name, justify="right")
    for operation in dict.fromkeys(operation for operation, _ in rates):
        base = rates.get((operation, first))
        made.add_row(operation, *(_cell(rates.get((operation, one)), base) for one in names))
    out = StringIO()
    Console(file=out, width=WIDTH, color_system=None).print(made)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _cell(rate: float | None, base: float | None) -> str:
    if rate is None:
        return "-"
    ratio = f"  x {rate / base:.2f}" if base else ""
    return f"{rate:,.0f}{ratio}"


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the table; 2 where an implementation cannot be used."""
    args = _arguments(argv)
    adapters, left_out = (args.adapter, []) if args.adapter else runnable()
    connections: dict[str, Connection] = {}
    try:
        for adapter in dict.fromkeys(adapters):
            connections[adapter] = connect(adapter, DEFAULT_PROFILE, {}, PATIENT)
        rates = measure(connections, args.cases, args.rounds)
    except AdapterError as wrong:
        print(wrong, file=sys.stderr)
        return 2
    finally:
        for one in connections.values():
            one.close()
    print(table(rates, {adapter: one.hello.name for adapter, one in connections.items()}))
    print(f"{args.cases} cases an operation, the median of {args.rounds} rounds")
    for why in left_out:
        print(f"left out: {why}")
    return 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--adapter",
        action="append",
        metavar="ADAPTER",
        help=f"{ADAPTER}; may be given again; without it, every bundled one",
    )
    parser.add_argument("--cases", type=_positive, default=2000, metavar="N")
    parser.add_argument("--rounds", type=_positive, default=3, metavar="N")
    return parser.parse_args(argv)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
