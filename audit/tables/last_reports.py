"""The last report of each broker at a moment, unless it has expired."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_conformance.audit.pipeline.plan import Silver
from pulsar_conformance.audit.tables import cycles
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F


def at_moments(silver: Silver, moments: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return the moments, each with every broker that has reported recently: `broker`, and the
    given `columns` of its report."""
    looks = _looks(silver, moments)
    report = F.struct("at", *columns).alias("report")
    samples = silver.broker_samples.select(
        "cluster", "broker", F.col("at").alias("moment"), F.lit(0).alias("turn"), report
    )
    both = looks.withColumn("turn", F.lit(1)).unionByName(samples, allowMissingColumns=True)
    course = Window.partitionBy("cluster", "broker").orderBy("moment", "turn")
    so_far = course.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    last = F.last("report", ignorenulls=True).over(so_far)
    seen = both.withColumn("report", last).where("turn = 1")
    age = F.col("moment") - F.col("report.at")
    seen = seen.where(age <= _oldest())
    return seen.select(*moments.columns, "broker", *(f"report.{name}" for name in columns))


def _oldest() -> Column:
    return cycles.minutes(F.coalesce(f"settings.{cycles.REPORT_AGE}", F.lit(cycles.OLDEST)))


def _looks(silver: Silver, moments: DataFrame) -> DataFrame:
    """Return the moments, each with every broker that reported on that day or the one before."""
    reported = silver.broker_samples.select("cluster", "broker", F.to_date("at").alias("of"))
    days = F.array("of", F.date_add("of", 1))
    known = reported.distinct().select("cluster", "broker", F.explode(days).alias("of")).distinct()
    return moments.withColumn("of", F.to_date("moment")).join(known, ["cluster", "of"]).drop("of")
