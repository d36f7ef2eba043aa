"""Changes since the last audit: the changed files of a history, and a table's first changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from pulsar_conformance.adapters.spark.configuring import collect_small
from pulsar_conformance.audit.input.by_cluster import (
    MAX_CHANGED_CLUSTERS,
    RebuildTimes,
    rebuild_times_of_pairs,
    time_from_micros,
)
from pulsar_conformance.audit.input.files import InputFile, InputFiles
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

MAX_SEPARATE_FILES = 20_000
"""Number of changed files above which an audit reads the whole history."""

RECORD_DELAY = timedelta(minutes=1)
"""Maximum time by which a record may be later than the events that it describes."""


class ChangedFiles(NamedTuple):
    """Names of changed files.

    `files` are new or changed. `touched` are changed or removed; the rows read earlier from them
    are dropped.
    """

    files: tuple[str, ...]
    touched: tuple[str, ...]


def changed_files(files: InputFiles, before: Iterable[InputFile]) -> ChangedFiles | None:
    """Return the files that were added, changed or removed since the last audit read the history.

    None if there are more than `MAX_SEPARATE_FILES` of them.
    """
    known, now = set(before), set(files.kinds)
    new = {one.file for one in now - known}
    names = {one.file for one in known}
    gone = names - {one.file for one in now}
    if len(new) + len(gone) > MAX_SEPARATE_FILES:
        return None
    return ChangedFiles(tuple(sorted(new)), tuple(sorted(gone | (new & names))))


def split_by_files(rows: DataFrame, names: Sequence[str]) -> tuple[DataFrame, DataFrame]:
    """Return the rows from the files with these names, and the rows from all other files."""
    if len(names) <= MAX_FILTERED_NAMES:
        named = F.col("file").isin(*names)
        return rows.where(named), rows.where(~named)
    files = rows.sparkSession.createDataFrame([(name,) for name in names], "file string")
    files = F.broadcast(files)
    return rows.join(files, "file", "left_semi"), rows.join(files, "file", "left_anti")


MAX_FILTERED_NAMES = 200
"""Maximum number of file names in a filter expression; a join is used for more."""


def changed_records(before: DataFrame, now: DataFrame) -> DataFrame:
    """Return the `cluster` and `at` of each record that was added, removed or altered.

    `before` has the records of some files as the last audit read them, and `now` has the records
    of the same files as they are now.
    """
    keys = ("file", "line", "at", "cluster")
    line = F.xxhash64("line").alias("line")
    each = before.select("file", line, "at", "cluster", F.lit(-1).alias("more"))
    each = each.unionByName(now.select("file", line, "at", "cluster", F.lit(1).alias("more")))
    return each.groupBy(*keys).agg(F.sum("more").alias("more")).where("more != 0")


def earliest_time(rows: DataFrame, time: str) -> datetime:
    """Return the earliest time in a column, or `NEVER` if there are no rows."""
    (row,) = collect_small(rows.agg(F.unix_micros(F.min(time)).alias("first")))
    return time_from_micros(row["first"])


class TableDifference(NamedTuple):
    """Times of the first changes in each cluster.

    `any` counts changes in any column, and `relevant` only changes in relevant columns.
    """

    any: RebuildTimes
    relevant: RebuildTimes


def compare_tables(new: DataFrame, old: DataFrame, ignored: Sequence[str]) -> TableDifference:
    """Return the times of the first differences between two tables with the same columns.

    Changes in the columns `ignored` are not relevant. A row's time is its `cycle` or `at`, or the
    earlier of the two.
    """
    both = _row_texts(new, ignored, 1).unionByName(_row_texts(old, ignored, -1))
    other = both.groupBy("cluster", "time", "kept", "row").agg(F.sum("more").alias("more"))
    other = other.where("more != 0").groupBy("cluster", "time", "kept")
    other = other.agg(F.sum("more").alias("more"))
    relevant = F.when(F.col("more") != 0, F.col("time"))
    first = other.groupBy("cluster").agg(
        _earliest_micros(F.col("time"), "any"), _earliest_micros(relevant, "relevant")
    )
    found = first.orderBy("any").limit(MAX_CHANGED_CLUSTERS + 1).collect()
    any_, relevant_ = (
        rebuild_times_of_pairs([(row["cluster"], row[name]) for row in found])
        for name in ("any", "relevant")
    )
    return TableDifference(any_, any_ if len(found) > MAX_CHANGED_CLUSTERS else relevant_)


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


def _earliest_micros(time: Column, name: str) -> Column:
    return F.unix_micros(F.min(time)).alias(name)
