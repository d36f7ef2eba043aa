"""Drawing values with Hypothesis; a draw asks nothing, so no answer changes what is drawn."""

from __future__ import annotations

import hashlib
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pulsar_conformance.conformance.drawing import backend
from pulsar_conformance.conformance.drawing.backend import RandomSource

T = TypeVar("T")

TOGETHER = 10
"""Values of an endless strategy that one example holds.

An example costs Hypothesis 160 µs besides what it draws.
"""

FIRST = 2
"""Examples that tell whether a strategy is endless: the smallest one, and one of our backend."""

FEWEST_AGAIN = 20
"""So many values, all of which were known, show that there are hardly others."""


def draw(strategy: SearchStrategy[T], count: int, seeded_by: str) -> list[T]:
    """Up to `count` different values; the same strategy and seed text give the same values.

    The smallest value comes first. A strategy with fewer different values gives each of them once.
    """
    found: list[T] = []
    source = RandomSource(_seed(seeded_by))
    _draw_into(found, strategy.map(_alone), FIRST, source)
    again = 0
    while len(found) < count:
        before, again = len(found), again + 1
        wanted = count - before if again == 1 else 2 * (count - before) + FEWEST_AGAIN
        source.seed = _seed(f"{seeded_by}/{again}")
        if source.endless:
            several = st.lists(strategy, min_size=TOGETHER, max_size=TOGETHER)
            # The smallest example holds one and the same value.
            ended = _draw_into(found, several, 1 + -(-wanted // TOGETHER), source)
        else:
            ended = _draw_into(found, strategy.map(_alone), count, source)
        if ended or len(found) == before:
            break
    return found[:count]


def _alone(value: T) -> list[T]:
    return [value]


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def _draw_into(
    found: list[T], strategy: SearchStrategy[list[T]], count: int, source: RandomSource
) -> bool:
    """Adds the new values of `count` examples; returns whether there are no more."""
    drawn = 0

    @settings(
        backend=backend.NAME,
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(values: list[T]) -> None:
        nonlocal drawn
        drawn += 1
        for value in values:
            if value not in found:
                found.append(value)

    token = backend.SOURCE.set(source)
    try:
        collect()
    finally:
        backend.SOURCE.reset(token)
    return drawn < count
