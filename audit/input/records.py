"""The table `records`: a row per line, with its content or the reason why it is not used."""

from __future__ import annotations

from pulsar_conformance.audit.input.parsing import FIELDS, REQUIRED, parse_time, parsed_records
from pulsar_conformance.audit.input.reasons import (
    CLUSTER,
    EARLIEST_TIME,
    LATEST_TIME,
    REASONS,
    STRAY_GAP_DAYS,
    reason,
)
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

REPORTED_BY = ("load_report", "load_data", "leader")
"""Kinds of records of which a broker can write only one at a given time."""

IDENTIFYING_COLUMNS = ("cluster", "day", "part", "kind", "at", "who", "bundle", "name", "alone")
"""Columns that identify a record. The first three also determine which Spark task handles the
record.
"""

HOURS_PER_TASK = 3
"""Hours of a cluster's records per Spark task; with fewer, a table would have many small files."""

PARTS = 64
"""Number of Spark partitions for records without a time."""

READABLE = ("truncated-line", "not-json")
"""Reasons for quarantine that often leave kind, cluster and time of a line readable."""

FIELD = r'"{}"\s*:\s*"([^"\\]+)"'
"""Pattern of a text field in a damaged line; `format` inserts the name of the field."""

MAX_STRAY_SHARE = 0.01
"""Maximum share of a cluster's records that a stray day may have."""


def records(lines: DataFrame, shards: int = 1) -> DataFrame:
    """Return the table `records`, given the columns `file`, `line` and `damage` of all lines."""
    return deduplicate(parse_each_line(lines), shards)


def parse_each_line(lines: DataFrame) -> DataFrame:
    """Parse each line independently; return the columns of `records`, except `used`.

    Cluster, day and time are null if the line gives no credible values for them.
    """
    rows = _with_readable_fields(parsed_records(lines).withColumn("reason", reason()))
    usable = F.col("reason").isNull()
    said = F.struct(*FIELDS).alias("said")
    at = F.when(~has_unknown_time(F.col("reason")) | F.col("hinted"), F.col("at"))
    return rows.select(
        "file",
        F.when(F.col("utf8"), F.col("line")).otherwise(F.make_valid_utf8("line")).alias("line"),
        "kind",
        at.alias("at"),
        "reason",
        F.when(usable, said).alias("said"),
        F.when(at.isNotNull(), F.col("cluster")).alias("cluster"),
        at.cast("date").alias("day"),
    )


def _with_readable_fields(rows: DataFrame) -> DataFrame:
    """Fill in kind, cluster and time of damaged lines whose text has them; set `hinted`."""
    damaged = F.coalesce(F.col("reason").isin(*READABLE), F.lit(False)) & F.col("utf8")

    def hint(name: str) -> Column:
        # With nullif, Spark would search every line, even if no hint is needed.
        found = F.regexp_extract("line", FIELD.format(name), 1)
        return F.when(found != "", found)

    at, cluster, kind = parse_time(hint("at")), hint("cluster"), hint("kind")
    earliest, latest = (F.lit(one).cast("timestamp") for one in (EARLIEST_TIME, LATEST_TIME))
    sound = at.between(earliest, latest) & cluster.rlike(CLUSTER) & kind.isin(*REQUIRED)
    hinted = damaged & F.coalesce(sound, F.lit(False))
    hints = {"at": at, "cluster": cluster, "kind": kind}
    rows = rows.withColumn("hinted", hinted)
    return rows.withColumns(
        {name: F.when(F.col("hinted"), one).otherwise(F.col(name)) for name, one in hints.items()}
    )


def undo_deduplication(rows: DataFrame) -> DataFrame:
    """Return the rows of `records` as `parse_each_line` returned them, not compared with others."""
    alone = F.when(F.col("said").isNull(), F.col("reason"))
    return rows.withColumn("reason", alone).drop("used")


def has_unknown_time(why: Column) -> Column:
    """True if the reason why a line is quarantined makes its cluster or time unknown."""
    names = list(REASONS)
    return F.coalesce(why.isin(*names[: names.index("stray-time")]), F.lit(False))


def shard_number(count: int) -> Column:
    """Return a column with the number of a row's shard, which depends only on its cluster."""
    return F.pmod(F.crc32("cluster"), F.lit(count)).cast("int")


def deduplicate(rows: DataFrame, shards: int = 1) -> DataFrame:
    """Add the column `used`, and the reason for records that repeat others.

    If several records are about the same subject, the one whose text sorts first is used, whatever
    its file. Each Spark task handles one part of a day: all its rows of one cluster or, if there
    are several shards, all its rows of one shard.
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
    together: tuple[str, ...] = IDENTIFYING_COLUMNS[:3]
    same: tuple[str, ...] = IDENTIFYING_COLUMNS
    if shards > 1:
        rows = rows.withColumn("shard", shard_number(shards))
        together, same = ("shard", "day", "part"), ("shard", *IDENTIFYING_COLUMNS)
    of_same = Window.partitionBy(*same).orderBy("line", "file")
    rows = rows.repartition(*together).withColumns(
        {"nth": F.row_number().over(of_same), "kept": F.first("line").over(of_same)}
    )
    repeated = F.when(F.col("line") == F.col("kept"), "duplicate").otherwise("conflicting")
    why = F.when(usable & (F.col("nth") > 1), repeated).otherwise(F.col("reason"))
    return rows.withColumn("reason", why).withColumn("used", F.col("reason").isNull())


def part_of_day() -> Column:
    """Return a column with the number of the part of the day that contains a record's time; null
    without a time.
    """
    return F.floor(F.hour("at") / HOURS_PER_TASK)


def quarantine(rows: DataFrame) -> DataFrame:
    """Return the table `quarantine`: the records that an audit does not use."""
    return rows.where(~F.col("used"))


def used_days() -> tuple[Column, Column]:
    """Return two aggregates: `first` and `last` day with used records, in days since 1970."""
    day = F.unix_date(F.when(F.col("used"), F.col("day")))
    return F.min(day).alias("first"), F.max(day).alias("last")


def stray_days(rows: DataFrame) -> DataFrame:
    """Return the stray days as cluster and day.

    A day is stray if it is far from the cluster's other days and has few records, which a wrong
    clock must have dated.
    """
    days = rows.where("used").groupBy("cluster", "day").agg(F.count(F.lit(1)).alias("number"))
    return _find_stray_days(days)


def has_strays(rows: DataFrame) -> bool:
    """True if a day is stray, or if an earlier check found a stray day."""
    wrong = F.col("reason") == "stray-time"
    counts = F.count_if("used").alias("number"), F.count_if(wrong).alias("wrong")
    # Files are opened only once, since the metadata about their columns is large.
    days = rows.groupBy("cluster", "day").agg(*counts).localCheckpoint()
    if not _find_stray_days(days.where("number > 0")).isEmpty():
        return True
    found = rows.where(wrong & F.col("said").isNotNull())
    return not days.where("wrong > 0").isEmpty() and not found.isEmpty()


def _find_stray_days(days: DataFrame) -> DataFrame:
    """Return the stray days, given the `number` of used records on each day."""
    cluster = Window.partitionBy("cluster")
    days = days.withColumns(
        {
            "before": F.lag("day").over(cluster.orderBy("day")),
            "after": F.lead("day").over(cluster.orderBy("day")),
            "all": F.sum("number").over(cluster),
        }
    )
    far = F.coalesce(F.date_diff("day", "before") > STRAY_GAP_DAYS, F.lit(True))
    far = far & F.coalesce(F.date_diff("after", "day") > STRAY_GAP_DAYS, F.lit(True))
    few = F.col("number") < F.col("all") * F.lit(MAX_STRAY_SHARE)
    return days.where(far & few).select("cluster", "day")


def quarantine_days(rows: DataFrame, days: DataFrame) -> DataFrame:
    """Return the records on the given days; those of stray days are quarantined.

    `days` has the stray days, each as a pair of a cluster and a day. The records of other clusters
    on such a day are returned unchanged.
    """
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
