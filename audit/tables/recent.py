"""Selection of the records that can matter to the last cycles of a history.

Expired reports, samples taken by former leaders, and samples too old for every time frame cannot.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from math import ceil

from pulsar_conformance.adapters.spark.configuring import collect_small
from pulsar_conformance.audit.input.changes import earliest_time
from pulsar_conformance.audit.pipeline.plan import AuditPlan, Silver
from pulsar_conformance.audit.tables import cycles, settings_at
from pulsar_conformance.audit.tables.signs import GONE_AFTER_INTERVALS
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

BUNDLE = ("cluster", "bundle")

MINUTES_OF_DAY = 1440
MAX_UNPRUNED_PERIOD = timedelta(days=7)
"""Maximum period of samples for which keeping expired samples is faster than dropping them."""

MAX_SUMMED_PERIOD = timedelta(days=2)
"""Maximum time since a leader's start for which summing all samples is faster than dropping expired
ones.
"""

DATA = "bundle_data"


def recent_records(silver: Silver, moments: DataFrame, plan: AuditPlan, most: int) -> Silver:
    """Return the records that can affect averages over `most` samples at these moments."""
    if plan.since is None:
        return silver
    day, silver = _utc_day(plan.since), without_expired_reports(silver, moments, plan)
    begun = earliest_time(moments, "since")
    samples = silver.bundle_samples.where(F.col("day") >= min(_utc_day(begun), day))
    silver = replace(silver, bundle_samples=samples.where(F.col("at") >= F.lit(begun)))
    if plan.readings["window"] == "sliding" and day - _utc_day(begun) > MAX_SUMMED_PERIOD:
        return _drop_old_samples(silver, day, most)
    return silver


def _drop_old_samples(silver: Silver, day: date, most: int) -> Silver:
    """Drop samples that are too old for any average over `most` samples on a day."""
    from_day = _first_counting_days(silver, day, most)
    (row,) = from_day.agg(F.min("from").alias("first")).collect()
    first = min(row["first"] or day, day)
    samples = silver.bundle_samples.where(F.col("day") >= F.lit(first))
    if day - first > MAX_UNPRUNED_PERIOD:
        samples = samples.join(from_day, list(BUNDLE), "left")
        samples = samples.where(F.col("day") >= F.coalesce("from", F.lit(day))).drop("from")
    return replace(silver, bundle_samples=samples, contexts=_with_last_data(silver.contexts, first))


def rows_since_leader_start(rows: DataFrame, moments: DataFrame) -> DataFrame:
    """Return the rows on and after the day on which the first leader of these moments started."""
    return rows.where(F.col("day") >= _utc_day(earliest_time(moments, "since")))


def without_expired_reports(silver: Silver, moments: DataFrame, plan: AuditPlan) -> Silver:
    """Drop reports that can no longer count at these moments."""
    if plan.since is None:
        return silver
    oldest = _reported_since(moments, _utc_day(plan.since))
    return replace(silver, broker_samples=silver.broker_samples.where(F.col("day") >= oldest))


def without_old_reports(silver: Silver, plan: AuditPlan) -> Silver:
    """Drop reports that are older than the day before the plan's first cycle."""
    if plan.since is None:
        return silver
    recent = F.col("day") >= _days_before(_utc_day(plan.since), 1)
    return replace(
        silver,
        broker_samples=silver.broker_samples.where(recent),
        bundle_samples=silver.bundle_samples.where(recent),
    )


def _utc_day(time: datetime) -> date:
    return time.astimezone(UTC).date()


def _days_before(day: date, count: int) -> date:
    return day - timedelta(days=min(count, day.toordinal() - 1))


def _reported_since(moments: DataFrame, day: date) -> date:
    """Return the day of the oldest report that can count at these moments."""
    age = F.coalesce(f"settings.{settings_at.REPORT_AGE}", F.lit(cycles.USUAL_REPORT_MINUTES))
    (row,) = collect_small(moments.agg(F.max(F.least(age, F.lit(cycles.MAX_MINUTES))).alias("age")))
    age = (row["age"] or cycles.USUAL_REPORT_MINUTES) * GONE_AFTER_INTERVALS
    return _days_before(day, 1 + ceil(age / MINUTES_OF_DAY))


def _first_counting_days(silver: Silver, day: date, most: int) -> DataFrame:
    """Return the column `from`: for each bundle, the first day whose samples can count on `day`.

    The last `most` samples of a bundle before `day` count.
    """
    owned = silver.broker_samples.select("cluster", F.explode("bundles").alias("bundle"))
    before = silver.bundle_samples.where(F.col("day") < F.lit(day))
    each = before.groupBy(*BUNDLE, "day").agg(F.count(F.lit(1)).alias("samples"))
    each = each.join(owned.distinct(), list(BUNDLE), "left_semi")
    later = Window.partitionBy(*BUNDLE).orderBy(F.desc("day"))
    later = later.rowsBetween(Window.unboundedPreceding, -1)
    each = each.withColumn("after", F.coalesce(F.sum("samples").over(later), F.lit(0)))
    each = each.where(F.col("after") < most)
    return each.groupBy(*BUNDLE).agg(F.min("day").alias("from"))


def _with_last_data(contexts: DataFrame, first: date) -> DataFrame:
    """Return the contexts from `first` on, and each bundle's last `bundle_data` before that day."""
    early = (F.col("kind") == DATA) & (F.col("day") < F.lit(first))
    latest = (
        contexts.where(early)
        .groupBy(*BUNDLE)
        .agg(F.max_by(F.struct("at", "data"), "at").alias("last"))
    )
    latest = latest.select(*BUNDLE, "last.*", F.lit(DATA).alias("kind"))
    return contexts.where(~early).unionByName(latest, allowMissingColumns=True)
