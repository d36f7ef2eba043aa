"""Every line as a record: what it says, and whether it is used. Each line is one row, always."""

from __future__ import annotations

from pulsar_conformance.audit.input.damage import REASONS, STRAY, reason
from pulsar_conformance.audit.input.parsing import FIELDS, parsed
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

REPORTED_BY = ("load_report", "leader")
"""Kinds of which each broker may have one at the same time."""

SAME = ("cluster", "day", "part", "kind", "at", "who", "bundle", "name", "alone")
"""What tells records apart, the first three also what is worked on together."""

HOURS = 3
"""So many hours of a cluster are worked on together: fewer make many small files."""

PARTS = 64
"""So many parts have the lines of which no time is known."""

FEW = 0.01
"""The share of a cluster's records that a stray day has less of."""


def records(lines: DataFrame) -> DataFrame:
    """The table `records` of lines with `file`, `line` and `damage`."""
    return once_each(each_said(lines))


def each_said(lines: DataFrame) -> DataFrame:
    """What each line says by itself, in the columns of `records`, but for `used`.

    Cluster, day and time are null where they cannot be believed.
    """
    rows = parsed(lines).withColumn("reason", reason())
    usable = F.col("reason").isNull()
    said = F.struct(*FIELDS).alias("said")
    at = F.when(~unplaced(F.col("reason")), F.col("at"))
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


def as_said(rows: DataFrame) -> DataFrame:
    """The table `records` as `each_said` made it: without what was found beside others."""
    alone = F.when(F.col("said").isNull(), F.col("reason"))
    return rows.withColumn("reason", alone).drop("used")


def unplaced(why: Column) -> Column:
    """Whether a reason leaves open of which cluster or when the record is."""
    names = list(REASONS)
    return F.coalesce(why.isin(*names[: names.index("stray-time")]), F.lit(False))


def once_each(rows: DataFrame) -> DataFrame:
    """Rows with `used`, and with a reason for those that are there already.

    Of records that say the same, or something else of the same, the one whose text sorts first is
    used, wherever it stands.
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
    same = Window.partitionBy(*SAME).orderBy("line", "file")
    rows = rows.repartition("cluster", "day", "part").withColumns(
        {"nth": F.row_number().over(same), "kept": F.first("line").over(same)}
    )
    repeated = F.when(F.col("line") == F.col("kept"), "duplicate").otherwise("conflicting")
    why = F.when(usable & (F.col("nth") > 1), repeated).otherwise(F.col("reason"))
    return rows.withColumn("reason", why).withColumn("used", F.col("reason").isNull())


def part_of_day() -> Column:
    """Of a day's records, what is worked on together; null without a time."""
    return F.floor(F.hour("at") / HOURS)


def quarantine(rows: DataFrame) -> DataFrame:
    """The table `quarantine` of the table `records`: all that is not used."""
    return rows.where(~F.col("used"))


def stray_days(rows: DataFrame) -> DataFrame:
    """Cluster and day of records whose clock was wrong, of the table `records`."""
    days = rows.where("used").groupBy("cluster", "day").agg(F.count(F.lit(1)).alias("number"))
    return _strays(days)


def has_strays(rows: DataFrame) -> bool:
    """Whether the clock of a record is wrong beside those of others, or was found to be."""
    wrong = F.col("reason") == "stray-time"
    counts = F.count_if("used").alias("number"), F.count_if(wrong).alias("wrong")
    # The files are opened once: what each says of its columns is long.
    days = rows.groupBy("cluster", "day").agg(*counts).localCheckpoint()
    if not _strays(days.where("number > 0")).isEmpty():
        return True
    found = rows.where(wrong & F.col("said").isNotNull())
    return not days.where("wrong > 0").isEmpty() and not found.isEmpty()


def _strays(days: DataFrame) -> DataFrame:
    """Those of the days of clusters, with the `number` of their records, that are of none."""
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
    """The records of all clusters on such days: those of the clusters named are not used."""
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
