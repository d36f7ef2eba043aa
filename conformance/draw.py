"""Hypothesis draws; nothing is asked meanwhile, so no answer can change what is drawn."""

from __future__ import annotations

import hashlib
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

T = TypeVar("T")


def draw(strategy: SearchStrategy[T], count: int, seeded_by: str) -> list[T]:
    """Up to `count` values, the same for the same strategy and seed text.

    A strategy with fewer different values gives each of them once.
    """
    drawn: list[T] = []
    number = int.from_bytes(hashlib.sha256(seeded_by.encode()).digest()[:8])

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: T) -> None:
        drawn.append(value)

    collect()
    return drawn
