"""Pseudo-random numbers that depend only on a seed, a purpose and the given columns."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

STEPS = 1 << 40


def random_share(seed: int, purpose: str, *of: Column) -> Column:
    """Return pseudo-random numbers in [0, 1), as a column that depends on the columns `of`."""
    return random_integer(seed, purpose, STEPS, *of) / F.lit(float(STEPS))


def random_integer(seed: int, purpose: str, count: int, *of: Column) -> Column:
    """Return pseudo-random integers in [0, `count`), as a column that depends on the columns `of`.

    Rows with equal values in these columns get equal integers.
    """
    return F.pmod(F.xxhash64(F.lit(seed), F.lit(purpose), *of), F.lit(count))
