"""Judgment of the destinations of bundles that AvgShedder both sheds and places. [PLANNED-02]

AvgShedder's plan applies as long as the attempt to unload the bundle lasts, but records do not show
how long that is. A move to the least used broker follows the plan. Any other destination is
undecided.
"""

from __future__ import annotations

from pulsar_conformance.adapters.spark import average, shedding, transfer, usage
from pulsar_conformance.audit.input.parsing import SHEDDING
from pulsar_conformance.audit.pipeline.plan import AuditPlan, GoldTables, Silver
from pulsar_conformance.audit.tables import causes, formatting, settings_at, streaks
from pulsar_conformance.audit.verdicts.extensible import HORIZON, NO_NEXT_OWNER
from pulsar_conformance.conformance.common import check
from pulsar_conformance.reference.placement import PLACEMENT_STRATEGY
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

RULE = "PLANNED-02"
KEY = ["cluster", "cycle"]
LEAST_USED_UNCERTAIN = "it is not certain which broker was used least"
ATTEMPT_UNRECORDED = "it is not recorded whether the attempt to unload it was still running"


def findings_about_plans(silver: Silver, made: GoldTables, plan: AuditPlan) -> DataFrame:
    """Return a row for each cycle with unloads of bundles that AvgShedder both sheds and places:
    `cluster`, `cycle`, `rule`, `verdict` and `evidence`.
    """
    went = streaks.with_all_days(made)["unloads"].where(
        (F.col("cause") == SHEDDING) & ~F.col("open")
    )
    went = went.where("cycle is not null").select(*KEY, "bundle", "at").distinct()
    rows = settings_at.join_settings(silver, plan, went, "cycle").where(_sheds_and_places(plan))
    rows = _with_least(silver, rows.select(*KEY, "bundle", "at", "force"))
    taken = silver.actions.where("kind = 'assigned'")
    taken = taken.select("cluster", "bundle", F.col("at").alias("taken"), "broker")
    passed = (F.unix_micros("taken") - F.unix_micros("at")) / 1_000_000
    next_ = F.broadcast(rows.select(*KEY, "bundle", "at")).join(taken, ["cluster", "bundle"])
    next_ = next_.where(passed.between(-causes.MAX_SKEW, HORIZON)).groupBy(*KEY, "bundle", "at")
    rows = rows.join(
        next_.agg(F.min_by("broker", "taken").alias("to")), [*KEY, "bundle", "at"], "left"
    )
    why = F.when(F.isnull("to"), NO_NEXT_OWNER).when(F.isnull("least"), LEAST_USED_UNCERTAIN)
    why = why.when(F.col("to") != F.col("least"), ATTEMPT_UNRECORDED)
    told = F.concat(F.col("bundle"), F.lit(": "), why)
    lack = F.min(F.when(why.isNotNull(), told))
    fine = formatting.joined("all unloaded bundles went to the least used broker,", F.min("to"))
    found = rows.groupBy(*KEY).agg(lack.alias("lack"), fine.alias("fine"))
    return found.select(
        *KEY,
        F.lit(RULE).alias("rule"),
        F.when(F.isnull("lack"), "allowed").otherwise("undecided").alias("verdict"),
        F.coalesce("lack", "fine").alias("evidence"),
    )


def names_avg_shedder(given: Column, plan: AuditPlan) -> Column:
    """True if the strategy for shedding is AvgShedder, by the settings or by default."""
    named = F.coalesce(given[shedding.STRATEGY], _default_column(plan, shedding.STRATEGY))
    return named.endswith(average.NAME)


def _sheds_and_places(plan: AuditPlan) -> Column:
    """True if AvgShedder both sheds and places bundles under the modular manager."""
    settings = F.col("settings")
    places = F.coalesce(settings[PLACEMENT_STRATEGY], _default_column(plan, PLACEMENT_STRATEGY))
    sheds = names_avg_shedder(settings, plan) & ~transfer.runs_extensible(F.col("force"))
    return sheds & places.endswith(average.NAME)


def _default_column(plan: AuditPlan, name: str) -> Column:
    return F.lit(str(plan.defaults.get(name, "")))


def _with_least(silver: Silver, rows: DataFrame) -> DataFrame:
    """Add `least`: the broker that certainly has the least usage, by the last reports before a
    cycle.
    """
    seen = silver.broker_samples.select("cluster", "broker", F.col("at").alias("seen"), "percent")
    cycles = F.broadcast(rows.select(*KEY, "force").dropDuplicates(KEY))
    age = F.unix_seconds("cycle") - F.unix_seconds("seen")
    last = cycles.join(seen, "cluster").where(age.between(0, causes.SILENCE))
    used = usage.maximum(usage.weighted_percents_of(F.col("percent"), F.col("force")))
    last = last.withColumn("used", used).groupBy(*KEY, "broker")
    last = last.agg(F.max_by("used", "seen").alias("used")).groupBy(*KEY)
    order = last.agg(F.array_sort(F.collect_list(F.struct("used", "broker"))).alias("order"))
    first, second = (F.get("order", F.lit(place)) for place in (0, 1))
    clear = second["used"] - first["used"] > float(check.POINTS)
    least = order.select(*KEY, F.when(clear, first["broker"]).alias("least"))
    return rows.join(F.broadcast(least), KEY, "left")
