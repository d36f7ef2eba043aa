"""Cases per second of implementations, on the same cases in one run.

The implementations take turns in each round, so that all of them suffer if the machine is slow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice
from statistics import median

from pulsar_conformance import specs
from pulsar_conformance.adapters import Connection, Hello
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.adapters.protocol import OPERATIONS
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.specs.text import counted

DRAWN = 10
"""Number of cases drawn for each rule; they are repeated if more cases are needed."""

WARM = 50
"""Number of cases that are asked before the measurement."""
ENOUGH = 20
"""Seconds after which an implementation takes part in no further round of an operation."""

Rates = Mapping[tuple[str, str], float]
"""Cases per second, by operation and adapter."""

Connections = Mapping[str, Connection]
"""The connection to each implementation, by adapter."""

Tell = Callable[[str], None]
"""Function that prints which measurement is running."""


def cases_of(operation: str, hellos: Sequence[Hello], count: int) -> list[Json]:
    """Return `count` cases of an operation that every implementation offering it can answer."""
    found = [
        question.case
        for rule in specs.load().rules_of(DEFAULT_PROFILE)
        if operation in rule.operations and rule.id in checks()
        for trial in draw_trials(rule.id, DEFAULT_PROFILE, 0, DRAWN)
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


def measure(connections: Connections, count: int, rounds: int, tell: Tell) -> Rates:
    """Return the median rate over the rounds, for each operation and implementation."""
    rates: dict[tuple[str, str], float] = {}
    for operation in OPERATIONS:
        able = {name: c for name, c in connections.items() if operation in c.hello.operations}
        cases = cases_of(operation, [one.hello for one in able.values()], count)
        if cases:
            asked = counted(len(able), "implementation")
            tell(f"{operation}: {counted(len(cases), 'case')}, {asked}")
            for adapter, seconds in _taken(able, operation, cases, rounds).items():
                rates[operation, adapter] = len(cases) / median(seconds)
    return rates


def _taken(
    able: Connections, operation: str, cases: list[Json], rounds: int
) -> Mapping[str, list[float]]:
    """Return the seconds of each round, by adapter; slow implementations skip later rounds."""
    for connection in able.values():
        connection.ask(operation, cases[:WARM])
    seconds: dict[str, list[float]] = {adapter: [] for adapter in able}
    for _ in range(rounds):
        for adapter, connection in able.items():
            if sum(seconds[adapter]) <= ENOUGH:
                start = time.perf_counter()
                connection.ask(operation, cases)
                seconds[adapter].append(time.perf_counter() - start)
    return seconds
