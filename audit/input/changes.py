"""Changes of a history since the last audit: files, and the first change in a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from pulsar_conformance.adapters.spark.configuring import collect_small
from pulsar_conformance.audit.input.by_cluster import (
    MOST,
    Renewal,
    renewal_of_pairs,
    time_from_micros,
)
from pulsar_conformance.audit.input.files import InputFile, InputFiles
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

MANY = 20_000
"""Number of changed files above which the whole history is read again."""

AROUND = timedelta(minutes=1)
"""A late record can describe events up to this long before its own timestamp."""


class ChangedFiles(NamedTuple):
    """Files to read, and files whose old rows are dropped because they changed or are gone."""

    files: tuple[str, ...]
    touched: tuple[str, ...]


def changed_files(there: InputFiles, before: Iterable[InputFile]) -> ChangedFiles | None:
    """Return the files that changed since they were read; None if there are more than `MANY`."""
    known, now = set(before), set(there.kinds)
    new = {one.file for one in now - known}
    names = {one.file for one in known}
    gone = names - {one.file for one in now}
    if len(new) + len(gone) > MANY:
        return None
    return ChangedFiles(tuple(sorted(new)), tuple(sorted(gone | (new & names))))


def by_files(rows: DataFrame, names: Sequence[str]) -> tuple[DataFrame, DataFrame]:
    """Return the rows of these files, and those of all others."""
    if len(names) <= FEW:
        named = F.col("file").isin(*names)
        return rows.where(named), rows.where(~named)
    files = rows.sparkSession.createDataFrame([(name,) for name in names], "file string")
    files = F.broadcast(files)
    return rows.join(files, "file", "left_semi"), rows.join(files, "file", "left_anti")


FEW = 200
"""Number of files that are compared by an expression."""


def differing(read: DataFrame, said: DataFrame) -> DataFrame:
    """Return `cluster` and `at` of rows that differ in changed files."""
    keys = ("file", "line", "at", "cluster")
    line = F.xxhash64("line").alias("line")
    each = read.select("file", line, "at", "cluster", F.lit(-1).alias("more"))
    each = each.unionByName(said.select("file", line, "at", "cluster", F.lit(1).alias("more")))
    return each.groupBy(*keys).agg(F.sum("more").alias("more")).where("more != 0")


def first_of(rows: DataFrame, time: str) -> datetime:
    """Return the earliest time in a column, or `NEVER` if it is empty."""
    (row,) = collect_small(rows.agg(F.unix_micros(F.min(time)).alias("first")))
    return time_from_micros(row["first"])


class TableDifference(NamedTuple):
    """The first change in any column, and the first in a column that is not ignored."""

    any: Renewal
    relevant: Renewal


def difference(new: DataFrame, old: DataFrame, ignored: Sequence[str]) -> TableDifference:
    """Compare two tables with the same columns, some of them `ignored`.

    The time of a row is its `cycle` or `at`, whichever is present and earlier.
    """
    both = _row_texts(new, ignored, 1).unionByName(_row_texts(old, ignored, -1))
    other = both.groupBy("cluster", "time", "kept", "row").agg(F.sum("more").alias("more"))
    other = other.where("more != 0").groupBy("cluster", "time", "kept")
    other = other.agg(F.sum("more").alias("more"))
    relevant = F.when(F.col("more") != 0, F.col("time"))
    first = other.groupBy("cluster").agg(_first(F.col("time"), "any"), _first(relevant, "relevant"))
    found = first.orderBy("any").limit(MOST + 1).collect()
    any_, relevant_ = (
        renewal_of_pairs([(row["cluster"], row[name]) for row in found])
        for name in ("any", "relevant")
    )
    return TableDifference(any_, any_ if len(found) > MOST else relevant_)


def _row_texts(rows: DataFrame, ignored: Sequence[str], more: int) -> DataFrame:
    times = [F.col(name) for name in ("cycle", "at") if name in rows.columns]
    time = F.least(*times) if len(times) > 1 else times[0]
    kept = (name for name in rows.columns if name not in ignored)
    return rows.select(
        "cluster",
        time.alias("time"),
        F.to_json(F.struct(*kept)).alias("kept"),
        F.to_json(F.struct(*rows.columns)).alias("row"),
        F.lit(more).alias("more"),
    )


def _first(time: Column, name: str) -> Column:
    return F.unix_micros(F.min(time)).alias(name)
