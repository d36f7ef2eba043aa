"""`cycles`: the times at which load was shed, with the leader and the settings.

Cycles are recorded or, if not, assumed at every interval from the leader's start. An assumed cycle
may have run at any time until its first unload or the next cycle. It is therefore evaluated at the
first and the last of these moments.
"""

from __future__ import annotations

from datetime import datetime

from pulsar_conformance.adapters.spark import settings, shedding, threshold, transfer
from pulsar_conformance.adapters.spark.configuring import checkpointed_if_tiny, collect_small
from pulsar_conformance.audit.input.parsing import SHEDDING, UNKNOWN
from pulsar_conformance.audit.input.silver import LOST, LOST_LEADER
from pulsar_conformance.audit.input.silver import LOST_UNLOAD as LOST_UNLOAD_KIND
from pulsar_conformance.audit.pipeline.plan import AuditPlan, GoldTables, Silver, rows_in_period
from pulsar_conformance.audit.tables.causes import UNLOADING_SECONDS
from pulsar_conformance.audit.tables.settings_at import (
    REPORT_AGE,
    SECONDS_UNTIL_IN_FORCE,
    SHEDDING_INTERVAL,
    join_settings,
    settings_column,
    with_strategies,
)
from pulsar_conformance.audit.tables.signs import HINDSIGHT
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

NO_LEADER = "its leader's earlier knowledge is not recorded"
CUT_SHORT = "the history or the leader's term ends before the next cycle"
LEADER_JUST_BEGAN = "its leader was elected just before, and may not have run a cycle yet"
NOTHING_RECORDED_AFTER = "nothing is recorded after this cycle"
LEADER_NEWLY_ELECTED = "its leader was elected seconds before; only a later cycle can be judged"
LOST_SETTINGS = "the last recorded settings are quarantined; only a valid record can decide this"
LOST_REPORT = "a report of an unknown broker is quarantined; only its original can decide this"
LOST_UNLOAD = "an unload at that time is quarantined; only its original record can decide this"
LOST_BEFORE = "an earlier unload is quarantined; only its original record can decide this"

MAX_SKEW = 5.0
"""Maximum difference between two brokers' clocks, and maximum delay of a report, in seconds."""

USUAL_REPORT_MINUTES = 15.0
"""Number of minutes for which a report counts, unless a setting says otherwise."""

MIN_MINUTES, MAX_MINUTES = 1 / 60, 1 << 20
"""Bounds of a valid interval between cycles, in minutes."""

MICROS_OF_MINUTE, MICROS_OF_DAY = 60_000_000, 86_400_000_000


def minutes_as_interval(count: Column) -> Column:
    """Return a number of minutes as an interval; null if it is out of bounds."""
    seconds = F.when(count.between(MIN_MINUTES, MAX_MINUTES), count * 60).cast("decimal(18, 6)")
    return F.make_dt_interval(secs=seconds)


def _shortest_interval() -> Column:
    """Return the shortest interval that Spark can represent."""
    return F.expr("interval 1 microsecond")


def leader_terms(silver: Silver, days: DataFrame) -> DataFrame:
    """Return the terms of leaders: `cluster`, `since`, `until`, `last` and `led`.

    Two other periods count as terms: until the first recorded start of a leader, and from a
    quarantined record of a leader on. For them, `led` is false: it is unknown what the leader knew.
    """
    spans = days.groupBy("cluster").agg(F.min("first").alias("first"), F.max("last").alias("last"))
    begun = _leader_starts(silver).select("cluster", "at", F.lit(True).alias("led"))
    lost = silver.contexts.where(F.col("kind") == LOST_LEADER)
    begun = begun.unionByName(lost.select("cluster", "at", F.lit(False).alias("led")))
    first = spans.select("cluster", F.col("first").alias("at"), F.lit(False).alias("led"))
    begun = begun.unionByName(first).groupBy("cluster", "at").agg(F.max("led").alias("led"))
    mine = Window.partitionBy("cluster").orderBy("at")
    begun = begun.withColumn("next", F.lead("at").over(mine)).join(spans, "cluster")
    return begun.select(
        "cluster",
        F.col("at").alias("since"),
        F.coalesce("next", F.col("last") + _shortest_interval()).alias("until"),
        "last",
        "led",
    )


def _leader_starts(silver: Silver) -> DataFrame:
    return silver.contexts.where("kind = 'leader'").where(F.coalesce("anew", F.lit(True)))


def with_led(silver: Silver, rows: DataFrame) -> DataFrame:
    """Add `led`, true if the start of a leader is recorded at or before `cycle`."""
    first = _leader_starts(silver).groupBy("cluster").agg(F.min("at").alias("led"))
    rows = rows.join(F.broadcast(first), "cluster", "left")
    return rows.withColumn("led", F.coalesce(F.col("cycle") >= F.col("led"), F.lit(False)))


def recorded_days(silver: Silver) -> DataFrame:
    """Return a row per cluster and day that has records: `of` (the day), `first`, `last`,
    `reported`, `ran`.

    `first` and `last` are the times of the first and the last record. `reported` is true if a
    broker reported, and `ran` if a cycle ran. There are few such rows.
    """
    no = F.lit(False)
    kinds = (
        (silver.broker_samples, F.lit(True), no),
        (silver.actions, no, no),
        (silver.contexts, no, F.col("kind") == "cycle"),
    )
    of = F.to_date("at").alias("of")
    times = [
        rows.select("cluster", of, "at", reported.alias("reported"), ran.alias("ran"))
        for rows, reported, ran in kinds
    ]
    together = times[0].unionByName(times[1]).unionByName(times[2]).groupBy("cluster", "of")
    days = together.agg(
        F.min("at").alias("first"),
        F.max("at").alias("last"),
        F.bool_or("reported").alias("reported"),
        F.bool_or("ran").alias("ran"),
    )
    return days.localCheckpoint()


def cycles_table(silver: Silver, plan: AuditPlan) -> DataFrame:
    """Return the table: cycles with up to three `moments` each.

    `logged` is false for assumed cycles. `since` and `until` are the leader's term, `upto` the end
    of the cycle's unloads, and `doubt` the reason why the cycle cannot be judged. `settings`
    include the plan's settings.
    """
    days = recorded_days(silver)
    begun, counted = leader_terms(silver, days), days.where("ran").select("cluster").distinct()
    rows, assumed = _recorded_cycles(silver, begun), days.join(counted, "cluster", "left_anti")
    if not assumed.isEmpty():
        rows = rows.unionByName(
            _with_moments(silver, _assumed_cycles(silver, plan, begun, assumed))
        )
    rows = checkpointed_if_tiny(join_settings(silver, plan, rows, "cycle"))
    if plan.strategy:
        named = {"strategy": F.lit(plan.strategy), "other_strategy": F.lit(None).cast("string")}
    else:
        rows = with_strategies(silver, plan, rows)
        named = {name: F.col(name) for name in ("strategy", "other_strategy")}
    short = (F.regexp_replace(one, settings.STRATEGIES_PACKAGE, "") for one in named.values())
    rows = rows.withColumns(dict(zip(named, short, strict=True)))
    rows = _with_lost(silver, rows)
    unknown = ~F.col("led") & ~_is_forgotten()
    doubt = F.when(unknown, NO_LEADER).when(F.col("lost"), LOST_SETTINGS)
    doubt = F.coalesce(doubt, _doubt_column())
    rows = rows.withColumn("doubt", doubt)
    return rows.select(*COLUMNS, "strategy", "former", "other_strategy")


def _with_lost(silver: Silver, rows: DataFrame) -> DataFrame:
    """Add `lost_report` and `lost_unload`: times of quarantined records that may matter.

    They are those of the last report of an unknown broker, up to `MAX_SKEW` after the cycle, and
    the last unload of an unknown bundle, up to `UNLOADING_SECONDS` after the cycle.
    """
    lost = silver.contexts.where(F.col("kind").isin(LOST, LOST_UNLOAD_KIND))
    report = (F.col("kind") == LOST) & F.col("broker").isNull()
    unload = (F.col("kind") == LOST_UNLOAD_KIND) & (F.isnull("bundle") | F.isnull("broker"))
    early = F.when(report, MAX_SKEW).otherwise(UNLOADING_SECONDS).cast("decimal(18, 6)")
    lost = lost.where(report | unload).select(
        "cluster",
        (F.col("at") - F.make_dt_interval(secs=early)).alias("cycle"),
        F.when(report, F.col("at")).alias("lost_report"),
        F.when(unload, F.col("at")).alias("lost_unload"),
        F.lit(0).alias("turn"),
    )
    both = rows.withColumn("turn", F.lit(1)).unionByName(lost, allowMissingColumns=True)
    so_far = Window.partitionBy("cluster").orderBy("cycle", "turn")
    so_far = so_far.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    last = {name: F.max(name).over(so_far) for name in ("lost_report", "lost_unload")}
    return both.withColumns(last).where("turn = 1").drop("turn")


def _doubt_column() -> Column:
    """Return why a cycle cannot be judged, such as a quarantined record; null if it can be."""
    age = minutes_as_interval(F.coalesce(F.col(f"force.{REPORT_AGE}"), F.lit(USUAL_REPORT_MINUTES)))
    grace = minutes_as_interval(F.coalesce(F.col(f"force.{shedding.GRACE}"), F.lit(GRACE_MINUTES)))
    since = {name: F.col("cycle") - F.col(name) for name in ("lost_report", "lost_unload")}
    skew = F.make_dt_interval(secs=F.lit(MAX_SKEW).cast("decimal(18, 6)"))
    doubt = F.col("doubt")
    return (
        F.when(doubt.isNotNull() & (doubt != LEADER_NEWLY_ELECTED), doubt)
        .when(since["lost_report"] <= age, LOST_REPORT)
        .when(since["lost_unload"] <= skew, LOST_UNLOAD)
        .when(doubt.isNotNull(), doubt)
        .when(since["lost_unload"] <= grace, LOST_BEFORE)
    )


GRACE_MINUTES = 30.0
"""Length of the grace period in minutes, unless a setting says otherwise."""

CYCLE_SETTINGS = (
    SHEDDING_INTERVAL,
    REPORT_AGE,
    shedding.GRACE,
    shedding.STRATEGY,
    threshold.HISTORY_SHARE,
)
"""Settings on which the table depends. If they are not recorded, their defaults apply."""

SAMPLES = 10
"""Number of samples of a bundle on which shedding is based. [DATA-03]"""

NEGLIGIBLE_SHARE = 1e-8
"""Share of the compared usage below which earlier usage is negligible."""


def _is_forgotten() -> Column:
    """True if nothing that the leader knew before the recorded history can still matter.

    That is, grace periods are over, samples are complete, and earlier usage has no weight.
    """
    kept = F.col(f"force.{threshold.HISTORY_SHARE}")
    faded = (kept <= 0) | (F.pow(kept, F.col("ran")) < NEGLIGIBLE_SHARE)
    remembers = F.col("strategy") == "ThresholdShedder"
    reported = F.coalesce(F.col(f"force.{REPORT_AGE}"), F.lit(USUAL_REPORT_MINUTES)) * SAMPLES
    passed = (F.unix_micros("cycle") - F.unix_micros("since")) / MICROS_OF_MINUTE
    over = (passed > F.col(f"force.{shedding.GRACE}")) & (passed > reported)
    return F.coalesce(over & (~remembers | faded), F.lit(False))


COLUMNS = ("cluster", "cycle", "logged", "moments", "since", "until", "upto", "doubt", "settings")


def cycle_moments(made: GoldTables, plan: AuditPlan) -> DataFrame:
    """Return a row for each `moment` of each cycle, with settings in their types."""
    each = made["cycles"].withColumn("moment", F.explode("moments"))
    typed = {"given": F.col("settings"), "settings": settings_column(plan)}
    each = each.withColumns(typed)
    return each.drop("moments", "day")


def strategies_followed(made: GoldTables, plan: AuditPlan) -> tuple[str, ...]:
    """Return the documented strategies of the plan's cycles, found by a small Spark job.

    TransferShedder is left out, since it decides by load data instead of load reports.
    """
    ran, documented = (
        in_period_of(made["cycles"], plan),
        shedding.documented_strategies(plan.defaults),
    )
    documented = tuple(one for one in documented if one != transfer.NAME)
    names = ran.select("strategy").union(ran.select("other_strategy")).distinct()
    known = collect_small(names.where(F.col("strategy").isin(*documented)))
    return tuple(name for name in documented if (name,) in known)


def in_period_of(rows: DataFrame, plan: AuditPlan) -> DataFrame:
    """Return the rows of the cycles that a plan judges."""
    return rows_in_period(rows, F.col("cycle"), plan)


def _recorded_cycles(silver: Silver, begun: DataFrame) -> DataFrame:
    ran = silver.contexts.where("kind = 'cycle'").select("cluster", F.col("at").alias("cycle"))
    after = Window.partitionBy("cluster").orderBy("cycle")
    ran = ran.distinct().withColumn("former", F.lag("cycle").over(after))
    again = F.unix_micros("cycle") - F.unix_micros("former") <= REPEATED_CYCLE_SECONDS * 1_000_000
    ran = ran.where(~F.coalesce(again, F.lit(False))).drop("former")
    ran = ran.withColumn("next", F.lead("cycle").over(after))
    led = ran.join(begun, "cluster").where("cycle >= since and cycle < until")
    alone = F.col("next").isNull() & (F.col("last") <= F.col("cycle"))
    term = Window.partitionBy("cluster", "since").orderBy("cycle")
    passed = F.unix_micros("cycle") - F.unix_micros("since")
    elected = F.col("led") & (passed < SECONDS_UNTIL_IN_FORCE * 1_000_000)
    moments = F.array_distinct(F.array_compact(F.array("cycle", "early", "later")))
    return _with_reports(silver, led).select(
        "cluster",
        "cycle",
        "since",
        "until",
        F.coalesce("next", F.col("last") + _shortest_interval()).alias("upto"),
        F.when(alone, NOTHING_RECORDED_AFTER).when(elected, LEADER_NEWLY_ELECTED).alias("doubt"),
        "led",
        (F.row_number().over(term) - 1).alias("ran"),
        moments.alias("moments"),
        F.lit(True).alias("logged"),
    )


REPEATED_CYCLE_SECONDS = 0.5
"""Maximum seconds between the records of the same cycle in two logs."""


def _with_reports(silver: Silver, ran: DataFrame) -> DataFrame:
    """Add `early` and `later`: moments at which the leader may have known other reports.

    Clocks differ, and a report may reach the leader late. If a report is recorded within `MAX_SKEW`
    before the cycle, the cycle is also evaluated `early`, without the report. If a report is
    recorded after the cycle but before the next one, and was written no later than `MAX_SKEW` after
    the cycle, the cycle is also evaluated `later`, with the report.
    """
    skew = F.make_dt_interval(secs=F.lit(MAX_SKEW).cast("decimal(18, 6)"))
    samples = silver.broker_samples.select("cluster", "broker", "at", "written")
    first = samples.groupBy("cluster", "broker", F.coalesce("written", "at").alias("written")).agg(
        F.min("at").alias("read")
    )
    known = first.select(
        "cluster",
        (F.col("written") - skew).alias("time"),
        "read",
        F.lit(None).cast("timestamp").alias("seen"),
        F.lit(0).alias("turn"),
    )
    seen = samples.select(
        "cluster", F.col("at").alias("time"), F.col("at").alias("seen"), F.lit(0).alias("turn")
    ).distinct()
    marks = ran.withColumns({"time": F.col("cycle"), "turn": F.lit(1)})
    for rows in (known, seen):
        marks = marks.unionByName(rows, allowMissingColumns=True)
    so_far = Window.partitionBy("cluster").orderBy("time", "turn")
    so_far = so_far.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    marks = marks.withColumns(
        {"read": F.max("read").over(so_far), "seen": F.max("seen").over(so_far)}
    ).where("turn = 1")
    end = F.coalesce(F.col("next") - skew, F.col("read"))
    later = F.when(F.col("read") > F.col("cycle"), F.least("read", end))
    early = F.col("cycle") - skew
    return marks.withColumns(
        {
            "early": F.when(F.col("seen") > early, early),
            "later": F.when(later > F.col("cycle"), later),
        }
    ).drop("time", "turn", "read", "seen")


def _assumed_cycles(
    silver: Silver, plan: AuditPlan, begun: DataFrame, days: DataFrame
) -> DataFrame:
    """Return a cycle for every interval since a leader's start, on days with known reports."""
    settled = join_settings(silver, plan, begun, "since")
    step = (F.col(f"force.{SHEDDING_INTERVAL}") * MICROS_OF_MINUTE).cast("bigint")
    step = F.when(F.col(f"force.{SHEDDING_INTERVAL}").between(MIN_MINUTES, MAX_MINUTES), step)
    since, until = F.unix_micros("since"), F.unix_micros("until")
    day = F.unix_micros(F.col("of").cast("timestamp"))
    ahead = F.greatest(F.ceil((day - since) / step), F.lit(0))
    rows = settled.join(_days_with_known_reports(days), "cluster").withColumns(
        {"step": step, "first": since + ahead * step, "end": F.least(day + MICROS_OF_DAY, until)}
    )
    each = rows.where("first < end").select(
        "*", F.explode(F.sequence(F.col("first"), F.col("end") - 1, F.col("step"))).alias("at")
    )
    each = each.withColumns(
        {
            "cycle": F.timestamp_micros("at"),
            "next": F.timestamp_micros(F.col("at") + F.col("step")),
        }
    )
    begins, cut = F.col("cycle") == F.col("since"), F.col("next") > F.col("until")
    doubt = F.when(begins, LEADER_JUST_BEGAN).when(cut, CUT_SHORT).alias("doubt")
    upto = F.least("next", "until").alias("upto")
    ran = ((F.col("at") - since) / step).alias("ran")
    return each.select("cluster", "cycle", "since", "until", upto, doubt, "led", ran)


def _days_with_known_reports(days: DataFrame) -> DataFrame:
    """Return `cluster` and `of`: each day on which a broker reported, and the day after it."""
    both = F.explode(F.array("of", F.date_add("of", 1))).alias("of")
    return days.where("reported").select("cluster", both).distinct()


def _with_moments(silver: Silver, assumed: DataFrame) -> DataFrame:
    """Add the `moments` of assumed cycles, in order.

    They are the start of the interval, the first unload that shedding may have caused, and the
    first unload that shedding certainly caused or, if there is none, the end of the interval.
    """
    maybe = F.coalesce("cause", F.lit(UNKNOWN)).isin(SHEDDING, UNKNOWN)
    went = silver.actions.where("kind = 'unloaded'").where(maybe)
    went = went.select("cluster", "at", F.col("at").alias("went"), "cause")
    marks = assumed.withColumn("at", F.col("cycle")).unionByName(went, allowMissingColumns=True)
    later = Window.partitionBy("cluster").orderBy(F.desc("at"), F.desc_nulls_last("went"))
    so_far = later.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    surely = F.when(F.col("cause") == SHEDDING, F.col("went"))
    marks = marks.withColumns(
        {
            "first": F.last("went", ignorenulls=True).over(so_far),
            "shed": F.last(surely, ignorenulls=True).over(so_far),
        }
    ).where("cycle is not null")
    end = F.least("shed", F.col("upto") - _shortest_interval())
    acted = F.coalesce(F.col("shed") < F.col("upto"), F.lit(False))
    marks = marks.where((F.col("cycle") > F.col("since")) | acted)
    perhaps = F.when(F.col("first") < end, F.col("first"))
    ends = F.array_distinct(F.array_compact(F.array("cycle", perhaps, end))).alias("moments")
    kept = ("cluster", "cycle", "since", "until", "upto", "doubt", "led", "ran")
    return marks.select(*kept, ends, F.lit(False).alias("logged"))


def affected_cycles(own: DataFrame, _silver: Silver, since: datetime) -> DataFrame:
    """Return the cycles that may have run at or after `since`, or that later records may affect."""
    return own.where(F.array_max("moments") >= F.lit(since - HINDSIGHT)).select("cluster", "cycle")
