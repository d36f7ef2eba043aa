"""Pseudo-random numbers that depend only on a seed, a purpose and the given columns."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

STEPS = 1 << 40


def random_share(seed: int, purpose: str, *of: Column) -> Column:
    """Return a column of pseudo-random numbers in [0, 1), which depend on the columns `of`."""
    return random_integer(seed, purpose, STEPS, *of) / F.lit(float(STEPS))


def random_integer(seed: int, purpose: str, count: int, *of: Column) -> Column:
    """Return a column of pseudo-random integers in [0, `count`).

    Rows with equal values in the columns `of` get equal integers.
    """
    return F.pmod(F.xxhash64(F.lit(seed), F.lit(purpose), *of), F.lit(count))
