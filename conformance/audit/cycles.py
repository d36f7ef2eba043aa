"""When load was shed: the cycles, their leader's memory, and the settings in force.

A cycle is what was recorded as one, or else every interval from the leader's start. It then may
have been at any moment up to the first unloading, or up to the next one, and is looked at twice.
"""

from __future__ import annotations

from pulsar_conformance.adapters.spark import growth, settings, shedding
from pulsar_conformance.conformance.audit.plan import Made, Plan, Silver
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

INTERVAL = "loadBalancerSheddingIntervalMinutes"
REPORT_AGE = "loadBalancerReportUpdateMaxIntervalMinutes"
SETTINGS = tuple(dict.fromkeys((*shedding.settings_of(), *growth.SETTINGS, INTERVAL, REPORT_AGE)))
"""Those that decide what is known, shed and split at a cycle."""

NO_LEADER = "no leader's start is recorded before it"
CUT_SHORT = "the history or its leader ends before the next one"
FIRST = "its leader has just begun, and need not have run one yet"
LAST = "nothing is recorded after it"


SHORTEST = 1 / 60
"""Minutes: no interval is taken to be shorter."""


def minutes(count: Column) -> Column:
    """So many minutes as an interval; null of what can be none."""
    seconds = F.when(count.between(SHORTEST, 1 << 20), count * 60).cast("decimal(18, 6)")
    return F.make_dt_interval(secs=seconds)


def _instant() -> Column:
    """The shortest time there is."""
    return F.expr("interval 1 microsecond")


def starts(silver: Silver) -> DataFrame:
    """When leaders began to remember: `cluster`, `since`, `until` (when it ends) and `led`.

    A history may begin before its first leader's start: that is a memory, too, but not `led`.
    """
    spans = _spans(silver)
    begun = silver.contexts.where("kind = 'leader'").select(
        "cluster", "at", F.lit(True).alias("led")
    )
    first = spans.select("cluster", F.col("first").alias("at"), F.lit(False).alias("led"))
    begun = begun.unionByName(first).groupBy("cluster", "at").agg(F.max("led").alias("led"))
    mine = Window.partitionBy("cluster").orderBy("at")
    begun = begun.withColumn("next", F.lead("at").over(mine)).join(spans, "cluster")
    return begun.select(
        "cluster",
        F.col("at").alias("since"),
        F.coalesce("next", F.col("last") + _instant()).alias("until"),
        "last",
        "led",
    )


def _spans(silver: Silver) -> DataFrame:
    """From when to when anything is recorded of each cluster."""
    recorded = (silver.broker_samples, silver.actions, silver.contexts)
    times = [
        one.groupBy("cluster").agg(F.min("at").alias("first"), F.max("at").alias("last"))
        for one in recorded
    ]
    together = times[0].unionByName(times[1]).unionByName(times[2])
    return together.groupBy("cluster").agg(
        F.min("first").alias("first"), F.max("last").alias("last")
    )


def cycles(silver: Silver, plan: Plan) -> DataFrame:
    """`cycles`: each with the moments that it is looked at: one where it is recorded, else two.

    `since` and `until` are its leader's, its unloadings are before `upto`, `doubt` says why it
    cannot be judged, and `settings` are those recorded last, but for those that the plan overrides.
    """
    begun = starts(silver)
    recorded = _recorded(silver, begun)
    counted = recorded.select("cluster").distinct()
    guessed = _guessed(silver, plan, begun).join(counted, "cluster", "left_anti")
    rows = _with_settings(silver, plan, recorded.unionByName(_seen(silver, guessed)), "cycle")
    named = F.lit(plan.strategy) if plan.strategy else F.col(f"force.{shedding.STRATEGY}")
    strategy = F.regexp_replace(named, settings.STRATEGIES_PACKAGE, "").alias("strategy")
    return rows.select(*COLUMNS, strategy)


COLUMNS = ("cluster", "cycle", "moments", "since", "until", "upto", "doubt", "settings")


def moments(made: Made, plan: Plan) -> DataFrame:
    """The cycles, a row for each `moment`, with their settings typed as the rules take them."""
    force = settings.in_force(F.col("settings"), SETTINGS, plan.defaults)
    each = made["cycles"].withColumn("moment", F.explode("moments"))
    each = each.withColumn("given", F.col("settings")).withColumn("settings", force)
    return each.drop("moments", "day")


def of_plan(rows: DataFrame, plan: Plan) -> DataFrame:
    """The rows of those cycles that the plan asks for."""
    if plan.since is not None:
        rows = rows.where(F.col("cycle") >= F.lit(plan.since))
    if plan.until is not None:
        rows = rows.where(F.col("cycle") < F.lit(plan.until))
    return rows


def _recorded(silver: Silver, begun: DataFrame) -> DataFrame:
    ran = silver.contexts.where("kind = 'cycle'").select("cluster", F.col("at").alias("cycle"))
    after = Window.partitionBy("cluster").orderBy("cycle")
    ran = ran.distinct().withColumn("next", F.lead("cycle").over(after))
    led = ran.join(begun, "cluster").where("cycle >= since and cycle < until")
    alone = F.col("next").isNull() & (F.col("last") <= F.col("cycle"))
    return led.select(
        "cluster",
        "cycle",
        "since",
        "until",
        F.coalesce("next", F.col("last") + _instant()).alias("upto"),
        F.when(~F.col("led"), NO_LEADER).when(alone, LAST).alias("doubt"),
        F.array("cycle").alias("moments"),
    )


def _guessed(silver: Silver, plan: Plan, begun: DataFrame) -> DataFrame:
    """Every interval of each leader, from its start."""
    settled = _with_settings(silver, plan, begun, "since")
    interval = minutes(F.col(f"force.{INTERVAL}"))
    each = settled.withColumn("interval", interval).select(
        "*", F.explode(F.sequence("since", "until", "interval")).alias("cycle")
    )
    each = each.where("cycle < until")
    doubt = (
        F.when(~F.col("led"), NO_LEADER)
        .when(F.col("cycle") == F.col("since"), FIRST)
        .when(F.col("cycle") + F.col("interval") > F.col("until"), CUT_SHORT)
    )
    upto = F.least(F.col("cycle") + F.col("interval"), "until").alias("upto")
    return each.select("cluster", "cycle", "since", "until", upto, doubt.alias("doubt"))


def _seen(silver: Silver, guessed: DataFrame) -> DataFrame:
    """Guessed cycles with the first and the last moment that each can have been at."""
    went = silver.actions.where("kind = 'unloaded'").select("cluster", F.col("at").alias("went"))
    marks = guessed.withColumn("went", F.lit(None).cast("timestamp")).withColumn(
        "at", F.col("cycle")
    )
    marks = marks.unionByName(went.withColumn("at", F.col("went")), allowMissingColumns=True)
    later = Window.partitionBy("cluster").orderBy(F.desc("at"), F.desc_nulls_last("went"))
    first = F.last("went", ignorenulls=True).over(
        later.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    marks = marks.withColumn("first", first).where("cycle is not null")
    end = F.least("first", F.col("upto") - _instant())
    acted = F.coalesce(F.col("first") < F.col("upto"), F.lit(False))
    marks = marks.where((F.col("cycle") > F.col("since")) | acted)
    ends = F.array_distinct(F.array("cycle", end)).alias("moments")
    return marks.select("cluster", "cycle", "since", "until", "upto", "doubt", ends)


def _with_settings(silver: Silver, plan: Plan, rows: DataFrame, at: str) -> DataFrame:
    """Rows with the settings that were recorded last, at or before the time in a column."""
    known = silver.contexts.where("kind = 'settings'").select(
        "cluster",
        F.col("at").alias(at),
        F.col("settings").alias("recorded"),
        F.lit(0).alias("turn"),
    )
    asked = rows.withColumn("turn", F.lit(1))
    both = asked.unionByName(known, allowMissingColumns=True)
    course = Window.partitionBy("cluster").orderBy(at, "turn")
    so_far = course.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    both = both.withColumn("recorded", F.last("recorded", ignorenulls=True).over(so_far))
    both = both.where("turn = 1").withColumn("settings", _overridden(F.col("recorded"), plan))
    force = settings.in_force(F.col("settings"), SETTINGS, plan.defaults)
    return both.withColumn("force", force).drop("turn", "recorded")


def _overridden(recorded: Column, plan: Plan) -> Column:
    none = F.create_map().cast("map<string, string>")
    recorded = F.coalesce(recorded, none)
    if not plan.settings:
        return recorded
    names = [F.lit(name) for name in plan.settings]
    others = F.map_filter(recorded, lambda name, _value: ~name.isin(*plan.settings))
    values = [F.lit(value) for value in plan.settings.values()]
    return F.map_concat(others, F.map_from_arrays(F.array(*names), F.array(*values)))
