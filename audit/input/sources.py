"""Which files of a history are new: what lies there now, held against what was read before."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from pulsar_conformance.adapters.spark.configuring import few_rows
from pulsar_conformance.audit.input.files import InputFiles, Session, listed
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

SOURCE = "file string, length bigint, modified double, fingerprint string"
"""A file that was read, and the fingerprint of all that were read with it."""

MANY = 1_000
"""Files that are new, from which on a history is read anew as a whole."""

AROUND = timedelta(minutes=1)
"""What is recorded at one time says something of what was done so shortly before."""

NEVER = datetime(9999, 1, 1, tzinfo=UTC)
"""Since when a history is another one that is as it was."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Fresh(NamedTuple):
    """The files that are read anew, and those of which nothing counts that was read before: what
    was in them, or they themselves, are there no more."""

    files: tuple[str, ...]
    touched: tuple[str, ...]


def sources(spark: Session, path: str, found: InputFiles) -> DataFrame:
    """What lies at a path now, as `SOURCE`, of the kinds of files that were found there."""
    modified = F.col("modificationTime").cast("double").alias("modified")
    fingerprint = F.lit(found.fingerprint).alias("fingerprint")
    there = listed(spark, path).where(F.col("kind").isin(*found.files))
    return there.select("file", "length", modified, fingerprint)


def fresh(there: DataFrame, read: DataFrame) -> Fresh | None:
    """What has changed since the files were read, both as `SOURCE`; None if it is a lot."""
    new = there.join(read, ["file", "length", "modified"], "left_anti")
    before = read.select("file", F.lit(True).alias("before"))
    new = new.join(before, "file", "left").select("file", F.lit(True).alias("there"), "before")
    gone = read.join(there, "file", "left_anti").select("file", F.lit(False), F.lit(True))
    rows = new.union(gone).limit(MANY + 1).collect()
    if len(rows) > MANY:
        return None
    return Fresh(
        tuple(row["file"] for row in rows if row["there"]),
        tuple(row["file"] for row in rows if row["before"]),
    )


def differs_since(read: DataFrame, said: DataFrame) -> datetime:
    """Since when what files say now is not what they said before; both have rows of those alone.

    `NEVER` where nothing that has a time is different.
    """
    line = F.xxhash64("line").alias("line")
    each = read.select("file", line, "at", F.lit(-1).alias("more"))
    each = each.unionByName(said.select("file", line, "at", F.lit(1).alias("more")))
    other = each.groupBy("file", "line", "at").agg(F.sum("more").alias("more")).where("more != 0")
    return first_of(other, "at")


def first_of(rows: DataFrame, time: str) -> datetime:
    """The earliest time in a column; `NEVER` without any."""
    (row,) = few_rows(rows.agg(F.unix_micros(F.min(time)).alias("first")))
    return time_of(row["first"])


def time_of(micros: int | None) -> datetime:
    """The time of so many microseconds since 1970; `NEVER` of none."""
    return NEVER if micros is None else EPOCH + timedelta(microseconds=micros)
