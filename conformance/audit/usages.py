"""`broker_usage`: what each broker uses at each cycle, and what the leader remembers of it."""

from __future__ import annotations

from pulsar_conformance.adapters.spark import shapes, threshold, usage
from pulsar_conformance.conformance.audit import cycles, reports
from pulsar_conformance.conformance.audit.plan import Made, Plan, Silver
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

SEEN = "struct<used double, least double, most double>"
"""A usage with all that was seen before it, and the bounds of what was seen."""

COURSE = f"struct<cycle timestamp, before {SEEN}, after {SEEN}, each array<{SEEN}>>"
"""At one point of the leader's memory: the cycle, what was seen before and after it, and what had
been seen before each row so far."""


def usages(silver: Silver, made: Made, plan: Plan) -> DataFrame:
    """The table. What a broker used at earlier cycles counts since the leader's start.

    Where nothing of it is kept, it is as if it had not been seen.
    """
    known = reports.at_moments(silver, cycles.moments(made, plan))
    carries = shapes.traffic(F.struct(*shapes.RATE_FIELDS))
    rows = known.select(
        "cluster",
        "broker",
        "since",
        F.struct(
            "cycle",
            "moment",
            usage.maximum(usage.weighed(F.col("percent"), F.col("settings"))).alias("present"),
            F.col(f"settings.{threshold.HISTORY_SHARE}").alias("kept"),
            "percent",
            carries["messages"].alias("messages"),
            carries["bytes"].alias("bytes"),
        ).alias("row"),
    )
    remembered = _remembered(rows)
    return cycles.of_plan(remembered, plan)


def _remembered(rows: DataFrame) -> DataFrame:
    """The rows of each broker and leader with what was seen before each, and with it."""
    courses = rows.groupBy("cluster", "broker", "since").agg(
        F.array_sort(F.collect_list("row")).alias("rows")
    )
    unknown = F.lit(None).cast(SEEN)
    start = F.struct(
        F.lit(None).cast("timestamp").alias("cycle"),
        unknown.alias("before"),
        unknown.alias("after"),
        F.array().cast(f"array<{SEEN}>").alias("each"),
    )
    course = F.aggregate("rows", start, _remember)
    each = courses.select(
        "cluster",
        "broker",
        "since",
        F.explode(F.arrays_zip("rows", course["each"].alias("each"))).alias("of"),
    )
    row = F.col("of.rows")
    before = F.when(row["kept"] > 0, F.col("of.each"))
    seen = _seen(before, row)
    return each.select(
        "cluster",
        row["cycle"].alias("cycle"),
        row["moment"].alias("moment"),
        "broker",
        "since",
        row["percent"].alias("percent"),
        row["present"].alias("present"),
        before["used"].alias("before"),
        *(seen[name].alias(name) for name in ("used", "least", "most")),
        row["messages"].alias("messages"),
        row["bytes"].alias("bytes"),
    )


def _seen(before: Column, row: Column) -> Column:
    present = row["present"]
    return F.struct(
        usage.mixed(before["used"], present, row["kept"]).alias("used"),
        F.least(before["least"], present).alias("least"),
        F.greatest(before["most"], present).alias("most"),
    )


def _remember(course: Column, row: Column) -> Column:
    """One row more. A cycle is remembered as it was at its first moment."""
    again = F.coalesce(course["cycle"] == row["cycle"], F.lit(False))
    before = F.when(again, course["before"]).otherwise(course["after"])
    first = row["moment"] == row["cycle"]
    return F.struct(
        row["cycle"].alias("cycle"),
        before.alias("before"),
        F.when(first, _seen(before, row)).otherwise(course["after"]).alias("after"),
        F.array_append(course["each"], before).alias("each"),
    )
