"""Load over time: a factor for each bundle's traffic in each cycle.

Randomness depends only on the seed, the bundle and the cycle, never on decisions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, Protocol


class LoadShape(Protocol):
    """Factors for the traffic of bundles, by the number of the bundle and of the cycle."""

    def factor(self, bundle: int, cycle: int) -> float:
        """Return the factor for a bundle in a cycle."""

    def step(self, cycle: int) -> int:
        """Return a number that differs between two cycles if any bundle's factor differs."""


DAY = 1440
"""Minutes in a day."""

HOT_FROM = 10
"""Default cycle in which the traffic of a hot bundle grows."""


@cache
def seeded_random(seed: int, purpose: str, *numbers: int) -> float:
    """Return a random number in [0, 1) that depends only on the purpose and the numbers."""
    return Random(f"{seed}/{purpose}/{numbers}").random()


@dataclass(frozen=True)
class _Daily:
    """A sine wave over the day, shifted by a random time zone. A cycle lasts `minutes`."""

    seed: int
    swing: float = 0.5
    zones: int = 4
    minutes: float = 10

    def factor(self, bundle: int, cycle: int) -> float:
        zone = int(seeded_random(self.seed, "zone", bundle) * self.zones) / self.zones
        return 1 + self.swing * math.sin(2 * math.pi * (cycle * self.minutes / DAY + zone))

    def step(self, cycle: int) -> int:
        return cycle


@dataclass(frozen=True)
class _Bursty:
    """A factor that is constant for `cycles` cycles: `by` with the probability `share`, otherwise
    1.
    """

    seed: int
    share: float = 0.05
    by: float = 4
    cycles: int = 5

    def factor(self, bundle: int, cycle: int) -> float:
        chance = seeded_random(self.seed, "burst", bundle, self.step(cycle))
        return self.by if chance < self.share else 1.0

    def step(self, cycle: int) -> int:
        return cycle // self.cycles


@dataclass(frozen=True)
class _Drifting:
    """A factor that moves linearly from 1 to a random target, then stays there."""

    seed: int
    least: float = 0.2
    most: float = 1.8
    cycles: int = 100

    def factor(self, bundle: int, cycle: int) -> float:
        target = self.least + (self.most - self.least) * seeded_random(self.seed, "drift", bundle)
        return 1 + (target - 1) * min(cycle / self.cycles, 1)

    def step(self, cycle: int) -> int:
        return min(cycle, math.ceil(self.cycles))


@dataclass(frozen=True)
class _Hot:
    """A factor that, for one bundle from cycle `begin` on, is `by`, and otherwise 1."""

    seed: int
    number: int = 0
    by: float = 6
    begin: int = HOT_FROM

    def factor(self, bundle: int, cycle: int) -> float:
        return self.by if bundle == self.number and self.step(cycle) else 1.0

    def step(self, cycle: int) -> int:
        return int(cycle >= self.begin)


SHAPES: Mapping[str, Callable[..., LoadShape]] = {
    "daily": _Daily,
    "bursty": _Bursty,
    "drifting": _Drifting,
    "hot": _Hot,
}


def load_shape(kind: str, seed: int, options: Mapping[str, Any]) -> LoadShape:
    """Return the load shape of this kind, with this seed and these options.

    Errors: `TypeError` for an unknown option.
    """
    found = SHAPES[kind](seed, **options)
    found.factor(0, 0)
    return found
