"""Signs that a broker has gone although its last report is recent, and lost reports.

A broker that stops leaves its last report behind. It may have gone once its shutdown is recorded,
or once its bundles are on a different broker without having been unloaded. A quarantined report was
known to the leader, but its content is unknown.
"""

from __future__ import annotations

from pulsar_conformance.audit.input.parsing import SHUTDOWN
from pulsar_conformance.audit.input.silver import LOST
from pulsar_conformance.audit.pipeline.plan import Silver
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

OF_BUNDLE = ("cluster", "bundle")
FORGOTTEN = 3
"""Number of longest intervals without a report after which a broker has certainly gone."""

STOPPED = "its shutdown is recorded"
ELSEWHERE = "one of its bundles is at another broker without having been unloaded"


def shutdowns(silver: Silver) -> DataFrame:
    """Return `cluster`, `broker` and `at`, the time at which the broker is recorded to stop."""
    stopped = silver.actions.where((F.col("kind") == "unloaded") & (F.col("cause") == SHUTDOWN))
    first = stopped.groupBy("cluster", "broker", F.date_trunc("minute", "at")).agg(
        F.min("at").alias("at")
    )
    return first.select("cluster", "broker", "at")


def lost_reports(silver: Silver) -> DataFrame:
    """Return `cluster`, `broker` and `at` of reports with unknown content."""
    lost = silver.contexts.where((F.col("kind") == LOST) & F.col("broker").isNotNull())
    # A usable report with the same time is the original of a damaged copy, not of a contradicting
    # report.
    at = F.when(F.col("name") == "conflicting", F.col("at") + F.expr("interval 1 microsecond"))
    return lost.select("cluster", "broker", at.otherwise(F.col("at")).alias("at"))


def moved_away(silver: Silver) -> DataFrame:
    """Return bundles that moved without an unload: `cluster`, `broker`, `at` and `reported`.

    `reported` is the time of the former owner's report that lists the bundle; a newer one shows
    that the broker still exists.
    """
    reported = silver.broker_samples.select(
        "cluster", "at", "broker", F.explode("bundles").alias("bundle")
    )
    ends = F.min("broker") != F.max("broker")
    moved = reported.groupBy(*OF_BUNDLE).agg(ends.alias("moved")).where("moved")
    assigned = silver.actions.where("kind = 'assigned'").select("cluster", "at", "broker", "bundle")
    sought = moved.select(*OF_BUNDLE).unionByName(assigned.select(*OF_BUNDLE)).distinct()
    claims = reported.withColumn("report", F.lit(True)).unionByName(
        assigned.withColumn("report", F.lit(False))
    )
    claims = claims.join(sought, list(OF_BUNDLE), "left_semi").withColumn("turn", F.lit(1))
    went = silver.actions.where("kind = 'unloaded'").select(
        "cluster", "at", "bundle", F.lit(0).alias("turn")
    )
    rows = claims.unionByName(went, allowMissingColumns=True)
    course = Window.partitionBy(*OF_BUNDLE).orderBy("at", "turn", "broker")
    before = course.rowsBetween(Window.unboundedPreceding, -1)
    owner = F.when(F.col("turn") == 1, F.struct("broker", "at", "report"))
    rows = rows.withColumns(
        {
            "former": F.last(owner, ignorenulls=True).over(before),
            "left": F.max(F.when(F.col("turn") == 0, F.col("at"))).over(before),
        }
    )
    taken = (F.col("turn") == 1) & (F.col("former.broker") != F.col("broker"))
    unloaded = F.coalesce(F.col("left") >= F.col("former.at"), F.lit(False))
    rows = rows.where(taken & ~unloaded & F.col("former.report"))
    return rows.groupBy(
        "cluster", F.col("former.broker").alias("broker"), F.col("former.at").alias("reported")
    ).agg(F.min("at").alias("at"))
