"""Since when a table is another one than it was."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from pulsar_conformance.audit.input.sources import time_of
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


class TableDifference(NamedTuple):
    """Since when anything is another one, and since when anything that makes a difference is."""

    any: datetime
    telling: datetime


def difference(new: DataFrame, old: DataFrame, passing: Sequence[str]) -> TableDifference:
    """Of two tables with the same columns, those that are `passing` making no difference.

    A row is of its `cycle` or of its time `at`, whichever is there and earlier.
    """
    both = _told(new, passing, 1).unionByName(_told(old, passing, -1))
    other = both.groupBy("time", "kept", "row").agg(F.sum("more").alias("more"))
    other = other.where("more != 0").groupBy("time", "kept").agg(F.sum("more").alias("more"))
    telling = F.when(F.col("more") != 0, F.col("time"))
    (row,) = other.agg(_first(F.col("time"), "any"), _first(telling, "telling")).collect()
    return TableDifference(time_of(row["any"]), time_of(row["telling"]))


def _told(rows: DataFrame, passing: Sequence[str], more: int) -> DataFrame:
    times = [F.col(name) for name in ("cycle", "at") if name in rows.columns]
    time = F.least(*times) if len(times) > 1 else times[0]
    kept = (name for name in rows.columns if name not in passing)
    return rows.select(
        time.alias("time"),
        F.to_json(F.struct(*kept)).alias("kept"),
        F.to_json(F.struct(*rows.columns)).alias("row"),
        F.lit(more).alias("more"),
    )


def _first(time: Column, name: str) -> Column:
    return F.unix_micros(F.min(time)).alias(name)
