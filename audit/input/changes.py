"""Changes of a history since the last audit: changed files, and the first change in a table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from pulsar_conformance.adapters.spark.configuring import collect_small
from pulsar_conformance.audit.input.files import InputFiles, Session, file_rows
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

SOURCE = "file string, length bigint, modified double, fingerprint string"
"""Columns about a file that was read, with the fingerprint of all files read at that time."""

MANY = 1_000
"""Number of changed files above which the whole history is read again."""

AROUND = timedelta(minutes=1)
"""A late record can describe events up to this long before its own timestamp."""

NEVER = datetime(9999, 1, 1, tzinfo=UTC)
"""Time of the first change of something unchanged."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ChangedFiles(NamedTuple):
    """Files to read, and files whose old rows are dropped since they changed or are gone."""

    files: tuple[str, ...]
    touched: tuple[str, ...]


def current_sources(spark: Session, path: str, found: InputFiles) -> DataFrame:
    """Return the current files of a path, as `SOURCE`."""
    modified = F.col("modificationTime").cast("double").alias("modified")
    fingerprint = F.lit(found.fingerprint).alias("fingerprint")
    there = file_rows(spark, path).where(F.col("kind").isin(*found.files))
    return there.select("file", "length", modified, fingerprint)


def changed_files(there: DataFrame, read: DataFrame) -> ChangedFiles | None:
    """Return the files that changed since they were read; None if there are more than `MANY`."""
    new = there.join(read, ["file", "length", "modified"], "left_anti")
    before = read.select("file", F.lit(True).alias("before"))
    new = new.join(before, "file", "left").select("file", F.lit(True).alias("there"), "before")
    gone = read.join(there, "file", "left_anti").select("file", F.lit(False), F.lit(True))
    rows = new.union(gone).limit(MANY + 1).collect()
    if len(rows) > MANY:
        return None
    return ChangedFiles(
        tuple(row["file"] for row in rows if row["there"]),
        tuple(row["file"] for row in rows if row["before"]),
    )


def differs_since(read: DataFrame, said: DataFrame) -> datetime:
    """Return the first time at which rows of changed files differ, or `NEVER`."""
    line = F.xxhash64("line").alias("line")
    each = read.select("file", line, "at", F.lit(-1).alias("more"))
    each = each.unionByName(said.select("file", line, "at", F.lit(1).alias("more")))
    other = each.groupBy("file", "line", "at").agg(F.sum("more").alias("more")).where("more != 0")
    return first_of(other, "at")


def first_of(rows: DataFrame, time: str) -> datetime:
    """Return the earliest time in a column, or `NEVER` if it is empty."""
    (row,) = collect_small(rows.agg(F.unix_micros(F.min(time)).alias("first")))
    return time_from_micros(row["first"])


def time_from_micros(micros: int | None) -> datetime:
    """Return the time from microseconds since 1970, or `NEVER` for None."""
    return NEVER if micros is None else EPOCH + timedelta(microseconds=micros)


class TableDifference(NamedTuple):
    """Time of the first change in any column, and of the first in a column that counts."""

    any: datetime
    relevant: datetime


def difference(new: DataFrame, old: DataFrame, ignored: Sequence[str]) -> TableDifference:
    """Compare two tables with the same columns, some of which are `ignored`.

    The time of a row is its `cycle` or `at`, whichever is present and earlier.
    """
    both = _row_texts(new, ignored, 1).unionByName(_row_texts(old, ignored, -1))
    other = both.groupBy("time", "kept", "row").agg(F.sum("more").alias("more"))
    other = other.where("more != 0").groupBy("time", "kept").agg(F.sum("more").alias("more"))
    relevant = F.when(F.col("more") != 0, F.col("time"))
    (row,) = other.agg(_first(F.col("time"), "any"), _first(relevant, "relevant")).collect()
    return TableDifference(time_from_micros(row["any"]), time_from_micros(row["relevant"]))


def _row_texts(rows: DataFrame, ignored: Sequence[str], more: int) -> DataFrame:
    times = [F.col(name) for name in ("cycle", "at") if name in rows.columns]
    time = F.least(*times) if len(times) > 1 else times[0]
    kept = (name for name in rows.columns if name not in ignored)
    return rows.select(
        time.alias("time"),
        F.to_json(F.struct(*kept)).alias("kept"),
        F.to_json(F.struct(*rows.columns)).alias("row"),
        F.lit(more).alias("more"),
    )


def _first(time: Column, name: str) -> Column:
    return F.unix_micros(F.min(time)).alias(name)
