"""Each broker's last report at a moment, and whether the leader certainly counts it."""

from __future__ import annotations

from dataclasses import replace

from pulsar_conformance.adapters.spark.averages import Timeline
from pulsar_conformance.adapters.spark.shapes import RATE_FIELDS
from pulsar_conformance.audit.input.changes import earliest_time
from pulsar_conformance.audit.pipeline.plan import AuditPlan, GoldTables, Silver
from pulsar_conformance.audit.tables import cycles, owners, recent, settings_at, signs
from pulsar_conformance.audit.tables.names import with_reported_names
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

PERHAPS, LATE, UNKNOWN, LOST = "perhaps", "late", "unknown", "lost"
"""Values of the column `standing`, which is null if the broker's last report certainly counts.

PERHAPS: the broker may have gone. LATE: it may have gone, because its report is late. UNKNOWN: the
content of its newest report is unknown. LOST: nothing is known of its load, because its only report
is quarantined, or because it owns bundles without a recorded report.
"""

REPORT_OVERDUE = "its last report is older than the longest interval"
UNUSUALLY_SILENT = "it has not reported for far longer than usual"
REPORT_QUARANTINED = "one of its reports is quarantined"
UNREPORTED = "it owns bundles, but no load report of it is recorded until then"


MEASURED = ("percent", *RATE_FIELDS)
"""Columns that are taken from the broker's report."""


def last_reports(silver: Silver, made: GoldTables, plan: AuditPlan) -> DataFrame:
    """Return the table: the last report of each broker that may count at a moment of a cycle.

    `reported` is the time of the report. `standing` is null if the report certainly counts;
    otherwise `note` says why it may not. A broker is left out if it has certainly gone: its
    shutdown is recorded, all its bundles are on other brokers without having been unloaded, its
    report is overdue and there is a sign that it has gone, or its report is much too old. The table
    includes cycles before the plan's period.
    """
    age = F.col(f"settings.{settings_at.REPORT_AGE}").alias(settings_at.REPORT_AGE)
    moments = cycles.cycle_moments(made, plan)
    moments = moments.select("cluster", "cycle", "moment", F.struct(age).alias("settings"))
    whole = silver
    if plan.since is not None:
        begun = replace(plan, since=earliest_time(moments, "moment"))
        silver = recent.without_expired_reports(silver, moments, begun)
    claims = owners.unreported_owners(whole)
    looks = _broker_moments(silver, moments, claims)
    skew = F.expr(f"interval {cycles.MAX_SKEW:g} seconds")
    samples = silver.broker_samples.select(
        "cluster",
        "broker",
        F.col("at").alias("moment"),
        F.struct("at", *MEASURED).alias("report"),
        _report_gaps(),
    )
    signed = _sign_marks(silver, skew)
    owned = claims.select(
        "cluster",
        "broker",
        (F.col("at") - skew).alias("moment"),
        F.col("at").alias("claimed"),
        F.col("until").alias("owned"),
    )
    marks = looks.withColumn("turn", F.lit(1))
    samples = samples.withColumn("came", F.col("moment"))
    for rows in (samples, *signed, owned):
        marks = marks.unionByName(rows.withColumn("turn", F.lit(0)), allowMissingColumns=True)
    course = Window.partitionBy("cluster", "broker").orderBy("moment", "turn")
    so_far = course.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    last = {name: F.max(name).over(so_far) for name in (*SIGNS, "claimed", "owned")}
    last |= {name: F.last(name, ignorenulls=True).over(so_far) for name in ("report", "gaps")}
    last["next"] = Timeline(("cluster", "broker"), ("moment", "turn")).value_after("came")
    seen = marks.withColumns(last).where("turn = 1").withColumns(_standing_columns())
    seen = seen.where("counts")
    of_report = (F.col(f"report.{name}").alias(name) for name in MEASURED)
    reported = F.col("report.at").alias("reported")
    key = ("cluster", "cycle", "moment", "broker")
    return seen.select(*key, reported, *of_report, "standing", "note")


SIGNS = ("stopped", "ended", "alive", "moved", "emptied", "deposed", "lost")
"""Columns with the times of signs that a broker is up or has gone, and of lost reports."""


def _sign_marks(silver: Silver, skew: Column) -> list[DataFrame]:
    """Return rows with the columns `cluster`, `broker`, `moment` and one of `SIGNS`.

    A sign counts from `moment` on. `stopped` and `moved` count from when the broker may have gone,
    `ended` and `emptied` from when it has certainly gone.
    """
    named = with_reported_names(silver)
    at, election = F.col("at"), F.lit(signs.ELECTION)
    stopped = signs.shutdowns(named)
    each = {
        "stopped": (stopped, at - skew, "last"),
        "ended": (stopped, at + skew, "last"),
        "alive": (signs.signs_of_life(named), at - election, "at"),
        "deposed": (signs.replaced_leaders(named), at - election, "at"),
        "lost": (signs.lost_reports(silver), at - skew, "at"),
    }
    marks = [
        rows.select("cluster", "broker", moment.alias("moment"), F.col(value).alias(name))
        for name, (rows, moment, value) in each.items()
    ]
    return [*marks, _marks_of_moves(signs.moved_without_unload(named), skew)]


def _marks_of_moves(moved: DataFrame, skew: Column) -> DataFrame:
    """Return the marks `moved` and `emptied`, as rows of one frame, so that the moves are found
    only once.
    """
    reported, none = F.col("reported"), F.lit(None).cast("timestamp")

    def mark(moment: Column, moved: Column, emptied: Column) -> Column:
        return F.struct(moment.alias("moment"), moved.alias("moved"), emptied.alias("emptied"))

    both = F.array(
        mark(F.col("since"), reported, none), mark(F.col("emptied") + skew, none, reported)
    )
    return moved.select("cluster", "broker", F.inline(both)).where("moment is not null")


def _standing_columns() -> dict[str, Column]:
    """Return `standing`, `note`, and `counts`, which is false if the broker has certainly gone."""
    at, oldest = F.col("report.at"), _oldest_counting()
    late = F.coalesce(F.col("moment") - at > oldest, F.lit(False))
    stopped, moved, deposed = (
        F.coalesce(F.col(name) >= at, F.lit(False)) for name in ("stopped", "moved", "deposed")
    )
    gone = stopped | moved
    longest = F.when(F.size("gaps") == RHYTHM_INTERVALS, F.array_max("gaps"))
    silent = _unix_seconds("moment") - _unix_seconds("report.at") > longest * SILENT_AFTER
    soon = F.col("next") - F.col("moment") <= F.lit(signs.HINDSIGHT)
    back = F.coalesce(soon & (F.col("next") - at <= oldest), F.lit(False))
    silent = F.coalesce(silent, F.lit(False)) & ~back
    newer = F.col("lost").isNotNull() & F.coalesce(F.col("lost") > at, F.lit(True))
    known = F.coalesce(at, F.col("lost"))
    up = ~F.coalesce(F.col("stopped") >= F.col("claimed"), F.lit(False))
    unreported = at.isNull() & up & F.coalesce(F.col("moment") < F.col("owned"), F.lit(False))
    standing = (
        F.when(at.isNull(), LOST)
        .when(newer, UNKNOWN)
        .when(late, LATE)
        .when(gone | deposed | silent, PERHAPS)
    )
    note = (
        F.when(unreported & F.col("lost").isNull(), UNREPORTED)
        .when(at.isNull() | newer, REPORT_QUARANTINED)
        .when(late, REPORT_OVERDUE)
        .when(stopped, F.lit(signs.SHUTDOWN_RECORDED))
        .when(moved, F.lit(signs.BUNDLE_ELSEWHERE))
        .when(deposed, F.lit(signs.OTHER_BROKER_LEADS))
        .when(silent, F.lit(UNUSUALLY_SILENT))
    )
    recent = F.col("moment") - known <= oldest * F.lit(signs.GONE_AFTER_INTERVALS)
    recent = recent | F.coalesce(at.isNotNull() & soon, F.lit(False))
    left = (late & gone) | _has_surely_gone(F.greatest(at, "lost"), oldest)
    return {
        "standing": standing,
        "note": F.when(standing.isNotNull(), F.concat_ws(": ", "broker", note)),
        "counts": F.coalesce((recent | unreported) & ~left, F.lit(False)),
    }


def _has_surely_gone(known: Column, oldest: Column) -> Column:
    """True if the broker certainly has gone.

    That is, if it shut down and no record shows that it started again, or if other brokers have all
    its bundles without an unload. In the latter case, a broker that reports again within the
    longest report interval may have been up all the time. `known` is the time of the last report,
    even a lost one.
    """
    ended = (F.col("ended") >= known) & ~F.coalesce(F.col("alive") > F.col("stopped"), F.lit(False))
    back = F.coalesce(F.col("next") - F.col("report.at") <= oldest, F.lit(False))
    emptied = (F.col("emptied") >= known) & ~back
    return F.coalesce(ended, F.lit(False)) | F.coalesce(emptied, F.lit(False))


RHYTHM_INTERVALS = 4
"""Number of intervals between reports from which a broker's usual interval is estimated."""

SILENT_AFTER = 5
"""Multiple of the longest of a broker's last `RHYTHM_INTERVALS` intervals between reports.

A broker that has been silent for longer may have gone.
"""


def _report_gaps() -> Column:
    """Return the column `gaps`: a broker's last `RHYTHM_INTERVALS` intervals between reports, in
    seconds.
    """
    course = Window.partitionBy("cluster", "broker").orderBy("at")
    gap = _unix_seconds("at") - F.lag(_unix_seconds("at")).over(course)
    return F.collect_list(gap).over(course.rowsBetween(1 - RHYTHM_INTERVALS, 0)).alias("gaps")


def _unix_seconds(time: str) -> Column:
    return F.unix_micros(time) / 1_000_000


def _oldest_counting() -> Column:
    return cycles.minutes_as_interval(
        F.coalesce(f"settings.{settings_at.REPORT_AGE}", F.lit(cycles.USUAL_REPORT_MINUTES))
    )


def _broker_moments(silver: Silver, moments: DataFrame, claims: DataFrame) -> DataFrame:
    """Return a row for each moment and each broker that may count at the moment.

    These are brokers with a report, even a quarantined one, on that day or the day before, and
    brokers with an earlier claim in `claims`.
    """
    reports = silver.broker_samples.select("cluster", "broker", F.to_date("at").alias("of"))
    lost = signs.lost_reports(silver).select("cluster", "broker", F.to_date("at").alias("of"))
    days = F.array("of", F.date_add("of", 1))
    named = reports.unionByName(lost).distinct()
    known = named.select("cluster", "broker", F.explode(days).alias("of"))
    begun = claims.groupBy("cluster", "broker").agg(F.min(F.to_date("at")).alias("begun"))
    ran = moments.select("cluster", F.to_date("moment").alias("of")).distinct()
    owning = ran.join(F.broadcast(begun), "cluster").where(F.col("of") >= F.date_sub("begun", 1))
    known = known.unionByName(owning.select("cluster", "broker", "of")).distinct()
    return moments.withColumn("of", F.to_date("moment")).join(known, ["cluster", "of"]).drop("of")
