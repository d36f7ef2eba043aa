"""Pseudo-random numbers that depend only on a seed, a purpose and the given columns."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

STEPS = 1 << 40


def random_share(seed: int, purpose: str, *of: Column) -> Column:
    """Return a pseudo-random number in [0, 1)."""
    return random_integer(seed, purpose, STEPS, *of) / F.lit(float(STEPS))


def random_integer(seed: int, purpose: str, count: int, *of: Column) -> Column:
    """Return a pseudo-random integer in [0, `count`)."""
    return F.pmod(F.xxhash64(F.lit(seed), F.lit(purpose), *of), F.lit(count))
