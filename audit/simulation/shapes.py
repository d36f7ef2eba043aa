"""Load over time: a factor by which each bundle's traffic is multiplied in each cycle.

Random factors depend only on the seed, the bundle and the cycle, never on decisions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from random import Random
from typing import Any

Shape = Callable[[int, int], float]
"""A function that returns the factor, given the numbers of the bundle and of the cycle."""

DAY = 1440
"""Minutes in a day."""

HOT_FROM = 10
"""Default cycle in which the traffic of a hot bundle grows."""


@cache
def chance_of(seed: int, purpose: str, *numbers: int) -> float:
    """Return a random number in [0, 1) that depends only on the seed, the purpose and the
    numbers.
    """
    return Random(f"{seed}/{purpose}/{numbers}").random()


def _constant(_seed: int, _bundle: int, _cycle: int) -> float:
    """Return the factor 1."""
    return 1.0


def _daily(
    seed: int, bundle: int, cycle: int, swing: float = 0.5, zones: int = 4, minutes: float = 10
) -> float:
    """Return a factor that follows a sine over the day, shifted by the bundle's time zone.

    A cycle lasts `minutes`.
    """
    zone = int(chance_of(seed, "zone", bundle) * zones) / zones
    return 1 + swing * math.sin(2 * math.pi * (cycle * minutes / DAY + zone))


def _bursty(
    seed: int, bundle: int, cycle: int, share: float = 0.05, by: float = 4, cycles: int = 5
) -> float:
    """Return `by` during a burst, otherwise 1.

    Each window of `cycles` cycles is a burst of the bundle with the probability `share`.
    """
    return by if chance_of(seed, "burst", bundle, cycle // cycles) < share else 1.0


def _drifting(
    seed: int, bundle: int, cycle: int, least: float = 0.2, most: float = 1.8, cycles: int = 100
) -> float:
    """Return a factor that moves linearly from 1 to a random target, then stays there."""
    target = least + (most - least) * chance_of(seed, "drift", bundle)
    return 1 + (target - 1) * min(cycle / cycles, 1)


def _hot(
    _seed: int, bundle: int, cycle: int, number: int = 0, by: float = 6, begin: int = HOT_FROM
) -> float:
    """Return `by` for the bundle `number` from the cycle `begin` on; otherwise 1."""
    return by if bundle == number and cycle >= begin else 1.0


SHAPES: Mapping[str, Callable[..., float]] = {
    "constant": _constant,
    "daily": _daily,
    "bursty": _bursty,
    "drifting": _drifting,
    "hot": _hot,
}


def load_shape(kind: str, seed: int, options: Mapping[str, Any]) -> Shape:
    """Return the load function of a kind, with this seed and these options.

    Errors: `TypeError` for an unknown option.
    """
    found = partial(SHAPES[kind], seed, **options)
    found(0, 0)
    return found
