"""The table `records`: a row per line, with its content and whether it is used."""

from __future__ import annotations

from pulsar_conformance.audit.input.parsing import FIELDS, REQUIRED, parse_time, parsed_records
from pulsar_conformance.audit.input.reasons import (
    CLUSTER,
    EARLIEST,
    LATEST,
    REASONS,
    STRAY,
    reason,
)
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

REPORTED_BY = ("load_report", "load_data", "leader")
"""Kinds with at most one record for each broker and time."""

SAME = ("cluster", "day", "part", "kind", "at", "who", "bundle", "name", "alone")
"""Columns that identify a record; the first three also distribute the work."""

HOURS = 3
"""Hours of a cluster in one task: fewer hours would make many small files."""

PARTS = 64
"""Number of partitions for records without a timestamp."""

READABLE = ("truncated-line", "not-json")
"""Reasons for lines whose kind, cluster and time can often be read nevertheless."""

FIELD = r'"{}"\s*:\s*"([^"\\]+)"'
"""Pattern of a text field of a damaged line."""

FEW = 0.01
"""Maximum share of its cluster's records that a stray day has."""


def records(lines: DataFrame, shards: int = 1) -> DataFrame:
    """Return the table `records` from lines with `file`, `line` and `damage`."""
    return deduplicate(parse_each(lines), shards)


def parse_each(lines: DataFrame) -> DataFrame:
    """Parse each line by itself into the columns of `records`, except `used`.

    Cluster, day and time are null if they are not credible.
    """
    rows = _with_hints(parsed_records(lines).withColumn("reason", reason()))
    usable = F.col("reason").isNull()
    said = F.struct(*FIELDS).alias("said")
    at = F.when(~has_no_time(F.col("reason")) | F.col("hinted"), F.col("at"))
    return rows.select(
        "file",
        F.make_valid_utf8("line").alias("line"),
        "kind",
        at.alias("at"),
        "reason",
        F.when(usable, said).alias("said"),
        F.when(at.isNotNull(), F.col("cluster")).alias("cluster"),
        at.cast("date").alias("day"),
    )


def _with_hints(rows: DataFrame) -> DataFrame:
    """Extract kind, cluster and time from the text of a damaged line, marked as `hinted`."""
    damaged = F.coalesce(F.col("reason").isin(*READABLE), F.lit(False)) & F.is_valid_utf8("line")

    def hint(name: str) -> Column:
        return F.nullif(F.regexp_extract("line", FIELD.format(name), 1), F.lit(""))

    at, cluster, kind = parse_time(hint("at")), hint("cluster"), hint("kind")
    earliest, latest = (F.lit(one).cast("timestamp") for one in (EARLIEST, LATEST))
    sound = at.between(earliest, latest) & cluster.rlike(CLUSTER) & kind.isin(*REQUIRED)
    hinted = damaged & F.coalesce(sound, F.lit(False))
    hints = {"at": at, "cluster": cluster, "kind": kind}
    rows = rows.withColumn("hinted", hinted)
    return rows.withColumns(
        {name: F.when(F.col("hinted"), one).otherwise(F.col(name)) for name, one in hints.items()}
    )


def undo_deduplication(rows: DataFrame) -> DataFrame:
    """Return the table `records` as returned by `parse_each`, before lines were compared."""
    alone = F.when(F.col("said").isNull(), F.col("reason"))
    return rows.withColumn("reason", alone).drop("used")


def has_no_time(why: Column) -> Column:
    """True for reasons that leave a record's cluster or time unknown."""
    names = list(REASONS)
    return F.coalesce(why.isin(*names[: names.index("stray-time")]), F.lit(False))


def shard(count: int) -> Column:
    """Return the number of the partition that stores a cluster's rows of a day."""
    return F.pmod(F.crc32("cluster"), F.lit(count)).cast("int")


def deduplicate(rows: DataFrame, shards: int = 1) -> DataFrame:
    """Add `used`, and the reason for repeated records.

    Of records about the same subject, the one whose text sorts first is used, from whichever file.
    If there are several shards, the rows of each come together.
    """
    usable, text = F.col("reason").isNull(), F.xxhash64("file", "line")
    rows = rows.withColumns(
        {
            "part": F.coalesce(part_of_day(), F.pmod(text, F.lit(PARTS))),
            "who": F.when(F.col("kind").isin(*REPORTED_BY), F.col("said.broker")),
            "bundle": F.col("said.bundle"),
            "name": F.col("said.name"),
            "alone": F.when(~usable, text),
        }
    )
    together: tuple[str, ...] = SAME[:3]
    same: tuple[str, ...] = SAME
    if shards > 1:
        rows = rows.withColumn("shard", shard(shards))
        together, same = ("shard", "day", "part"), ("shard", *SAME)
    of_same = Window.partitionBy(*same).orderBy("line", "file")
    rows = rows.repartition(*together).withColumns(
        {"nth": F.row_number().over(of_same), "kept": F.first("line").over(of_same)}
    )
    repeated = F.when(F.col("line") == F.col("kept"), "duplicate").otherwise("conflicting")
    why = F.when(usable & (F.col("nth") > 1), repeated).otherwise(F.col("reason"))
    return rows.withColumn("reason", why).withColumn("used", F.col("reason").isNull())


def part_of_day() -> Column:
    """Return the part of the day that a record's time is in; null without a time."""
    return F.floor(F.hour("at") / HOURS)


def quarantine(rows: DataFrame) -> DataFrame:
    """Return the table `quarantine`: the unused records."""
    return rows.where(~F.col("used"))


def used_days() -> tuple[Column, Column]:
    """Return the `first` and `last` day of used records, in days since 1970, as aggregates."""
    day = F.unix_date(F.when(F.col("used"), F.col("day")))
    return F.min(day).alias("first"), F.max(day).alias("last")


def stray_days(rows: DataFrame) -> DataFrame:
    """Return cluster and day of records whose clock is wrong."""
    days = rows.where("used").groupBy("cluster", "day").agg(F.count(F.lit(1)).alias("number"))
    return _strays(days)


def has_strays(rows: DataFrame) -> bool:
    """True if the clock of some record is wrong, compared with others or by an earlier check."""
    wrong = F.col("reason") == "stray-time"
    counts = F.count_if("used").alias("number"), F.count_if(wrong).alias("wrong")
    # Files are opened only once, since the metadata about their columns is large.
    days = rows.groupBy("cluster", "day").agg(*counts).localCheckpoint()
    if not _strays(days.where("number > 0")).isEmpty():
        return True
    found = rows.where(wrong & F.col("said").isNotNull())
    return not days.where("wrong > 0").isEmpty() and not found.isEmpty()


def _strays(days: DataFrame) -> DataFrame:
    """Return the stray days, given the `number` of records on each day."""
    cluster = Window.partitionBy("cluster")
    days = days.withColumns(
        {
            "before": F.lag("day").over(cluster.orderBy("day")),
            "after": F.lead("day").over(cluster.orderBy("day")),
            "all": F.sum("number").over(cluster),
        }
    )
    far = F.coalesce(F.date_diff("day", "before") > STRAY, F.lit(True))
    far = far & F.coalesce(F.date_diff("after", "day") > STRAY, F.lit(True))
    few = F.col("number") < F.col("all") * F.lit(FEW)
    return days.where(far & few).select("cluster", "day")


def as_stray(rows: DataFrame, days: DataFrame) -> DataFrame:
    """Quarantine the records of these clusters on these days."""
    stray = F.broadcast(days.withColumn("stray", F.lit(True)))
    found = rows.join(F.broadcast(days.select("day").distinct()), "day", "left_semi")
    found = found.join(stray, ["cluster", "day"], "left")
    why = F.when(F.col("stray"), F.coalesce("reason", F.lit("stray-time")))
    return found.withColumns(
        {
            "reason": F.coalesce(why, "reason"),
            "used": F.col("used") & F.col("stray").isNull(),
        }
    ).drop("stray")
