"""The settings in force at a time, and the strategy by which a leader sheds."""

from __future__ import annotations

from pulsar_conformance.adapters.spark import growth, settings, shedding, transfer
from pulsar_conformance.audit.input.silver import LOST_SETTINGS
from pulsar_conformance.audit.pipeline.plan import AuditPlan, Silver
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.utils import is_remote

SHEDDING_INTERVAL = "loadBalancerSheddingIntervalMinutes"
REPORT_AGE = "loadBalancerReportUpdateMaxIntervalMinutes"
MIN_REPORT_MILLIS = "loadBalancerReportUpdateMinIntervalMillis"
SETTINGS = tuple(
    dict.fromkeys(
        (
            *shedding.deciding_settings(),
            *growth.SETTINGS,
            SHEDDING_INTERVAL,
            REPORT_AGE,
            MIN_REPORT_MILLIS,
        )
    )
)
"""Settings that affect what a leader knows, sheds and splits."""

SECONDS_UNTIL_IN_FORCE = 10.0
"""Seconds after which a changed setting certainly applies.

After as many seconds, a new leader certainly knows all reports.
"""


def join_settings(silver: Silver, plan: AuditPlan, rows: DataFrame, at: str) -> DataFrame:
    """Add the settings that were last recorded at or before the time in the column `at`."""
    known = silver.contexts.where("kind = 'settings'").select(
        "cluster",
        F.col("at").alias(at),
        F.col("settings").alias("recorded"),
        F.col("at").alias("set_at"),
        F.lit(0).alias("turn"),
    )
    lost = silver.contexts.where(F.col("kind") == LOST_SETTINGS)
    lost = lost.select(
        "cluster", F.col("at").alias(at), F.col("at").alias("lost_at"), F.lit(0).alias("turn")
    )
    both = rows.withColumn("turn", F.lit(1))
    for recorded in (known, lost):
        both = both.unionByName(recorded, allowMissingColumns=True)
    course = Window.partitionBy("cluster").orderBy(at, "turn")
    so_far = course.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    record = F.when(F.col("set_at").isNotNull(), F.struct("recorded", "set_at"))
    earlier = course.rowsBetween(Window.unboundedPreceding, -1)
    own = F.col("set_at").isNotNull()
    before = F.when(own, F.last(record, ignorenulls=True).over(earlier))
    both = both.withColumns({"record": record, "before": before})
    whole = F.when(own, F.struct("record", "before"))
    both = both.withColumns(
        {
            "whole": F.last(whole, ignorenulls=True).over(so_far),
            "lost_at": F.last("lost_at", ignorenulls=True).over(so_far),
        }
    ).where("turn = 1")
    set_at, lost_at = F.col("whole.record.set_at"), F.col("lost_at")
    fresh = F.unix_micros(at) - F.unix_micros(set_at) < SECONDS_UNTIL_IN_FORCE * 1_000_000
    previous = F.col("whole.before.recorded")
    both = both.withColumns(
        {
            "settings": _override(F.col("whole.record.recorded"), plan),
            "previous": previous,
            "former": F.when(fresh & previous.isNotNull(), _override(previous, plan)),
            "lost": F.coalesce(lost_at.isNotNull() & ~(set_at > lost_at), lost_at.isNotNull()),
        }
    )
    both = both.withColumn("force", settings_column(plan))
    return both.drop("turn", "recorded", "set_at", "record", "before", "lost_at", "whole")


def with_strategies(silver: Silver, plan: AuditPlan, rows: DataFrame) -> DataFrame:
    """Add the columns `strategy`, the strategy when the leader started, and `other_strategy`.

    A changed strategy takes effect when a broker is restarted. A leader that may not have been
    restarted since a change may still follow `other_strategy`, the strategy before the change.
    """
    own = followed_strategy(F.col("force")).alias("strategy")
    start = rows.select("cluster", "since", "led").distinct()
    first = (
        silver.contexts.where("kind = 'settings'")
        .groupBy("cluster")
        .agg(F.min("at").alias("begun"))
    )
    start = start.join(F.broadcast(first), "cluster", "left")
    settle = F.make_dt_interval(secs=F.lit(SECONDS_UNTIL_IN_FORCE).cast("decimal(18, 6)"))
    asked = F.greatest(F.col("since") + settle, F.coalesce("begun", "since"))
    start = join_settings(silver, plan, start.withColumn("asked", asked), "asked")
    given, names = _override(F.col("previous"), plan), (transfer.MANAGER, shedding.STRATEGY)
    old = followed_strategy(settings.in_force(given, names, plan.defaults))
    start = start.select(
        "cluster", "since", own, F.when(F.col("previous").isNotNull(), old).alias("other")
    )
    rows = rows.join(F.broadcast(start), ["cluster", "since"], "left")
    other = F.when(F.col("other") != F.col("strategy"), F.col("other"))
    return rows.withColumn("other_strategy", other)


def followed_strategy(force: Column) -> Column:
    """Return the strategy by which a leader with these settings sheds.

    Under the extensible manager, this is always TransferShedder. [TRANSFER-18]
    """
    extensible = transfer.runs_extensible(force)
    return F.when(extensible, transfer.NAME).otherwise(force[shedding.STRATEGY])


def in_force(given: Column, plan: AuditPlan) -> Column:
    """Return the given settings with documented defaults, in the types that the rules need."""
    return settings.in_force(given, SETTINGS, plan.defaults)


def settings_column(plan: AuditPlan) -> Column:
    """Return the column `settings` with defaults and types, as `in_force` gives them."""
    name = "settings of Spark Connect" if is_remote() else "settings"
    if name not in plan.columns:
        plan.columns[name] = in_force(F.col("settings"), plan)
    return plan.columns[name]


def _override(recorded: Column, plan: AuditPlan) -> Column:
    none = F.create_map().cast("map<string, string>")
    recorded = F.coalesce(recorded, none)
    if not plan.settings:
        return recorded
    names = [F.lit(name) for name in plan.settings]
    others = F.map_filter(recorded, lambda name, _value: ~name.isin(*plan.settings))
    values = [F.lit(value) for value in plan.settings.values()]
    return F.map_concat(others, F.map_from_arrays(F.array(*names), F.array(*values)))
