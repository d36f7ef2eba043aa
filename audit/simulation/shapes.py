"""Shapes of load over time: the factor by which a bundle carries more or less in a cycle.

Chance depends only on the seed, the bundle and the cycle, never on what was decided.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from random import Random
from typing import Any

Shape = Callable[[int, int], float]
"""Factor of a bundle, by its number, in a cycle."""

DAY = 1440
"""Minutes."""


@cache
def chance_of(seed: int, purpose: str, *numbers: int) -> float:
    """Return a number from 0 up to, not including, 1, by its purpose and the numbers alone."""
    return Random(f"{seed}/{purpose}/{numbers}").random()


def _constant(_seed: int, _bundle: int, _cycle: int) -> float:
    """Always 1."""
    return 1.0


def _daily(
    seed: int, bundle: int, cycle: int, swing: float = 0.5, zones: int = 4, minutes: float = 10
) -> float:
    """A sine over the day, shifted by the time zone of the bundle; a cycle lasts `minutes`."""
    zone = int(chance_of(seed, "zone", bundle) * zones) / zones
    return 1 + swing * math.sin(2 * math.pi * (cycle * minutes / DAY + zone))


def _bursty(
    seed: int, bundle: int, cycle: int, share: float = 0.05, by: float = 4, cycles: int = 5
) -> float:
    """A multiple of the traffic in a share of all windows of so many cycles."""
    return by if chance_of(seed, "burst", bundle, cycle // cycles) < share else 1.0


def _drifting(
    seed: int, bundle: int, cycle: int, least: float = 0.2, most: float = 1.8, cycles: int = 100
) -> float:
    """A straight line from 1 to a factor between two bounds, and level after so many cycles."""
    target = least + (most - least) * chance_of(seed, "drift", bundle)
    return 1 + (target - 1) * min(cycle / cycles, 1)


def _hot(
    _seed: int, bundle: int, cycle: int, number: int = 0, by: float = 6, begin: int = 10
) -> float:
    """A multiple of the traffic of one bundle, from a cycle on."""
    return by if bundle == number and cycle >= begin else 1.0


SHAPES: Mapping[str, Callable[..., float]] = {
    "constant": _constant,
    "daily": _daily,
    "bursty": _bursty,
    "drifting": _drifting,
    "hot": _hot,
}


def load_shape(kind: str, seed: int, options: Mapping[str, Any]) -> Shape:
    """Return a shape with its seed and options. Errors: `TypeError` for an unknown option."""
    found = partial(SHAPES[kind], seed, **options)
    found(0, 0)
    return found
