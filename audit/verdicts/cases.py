"""Cycles as cases of `shed.select`, for `explain` and for every adapter."""

from __future__ import annotations

from pulsar_conformance import specs
from pulsar_conformance.adapters.spark.settings import TYPED
from pulsar_conformance.adapters.spark.shapes import RATE_FIELDS, RESOURCES
from pulsar_conformance.adapters.spark.shedding import GRACE
from pulsar_conformance.audit.pipeline.plan import AuditPlan, Made
from pulsar_conformance.audit.tables.last_reports import PERHAPS, UNKNOWN
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

KEY = ["cluster", "cycle", "moment"]
REMEMBERED = 30
"""Number of earlier usages that a case lists; those before them are combined into one."""

AVERAGE = f"struct<{', '.join(f'{name} double' for name in RATE_FIELDS)}, numSamples bigint>"
BUNDLES = f"map<string, struct<shortTermData {AVERAGE}, longTermData {AVERAGE}>>"
AGO = "map<string, double>"


def case_lines_of(keys: DataFrame, moments: DataFrame, made: Made, plan: AuditPlan) -> DataFrame:
    """Return `KEY` and `case` for each key: an input line for `pulsar-conformance ask`.

    Traffic into and out of a broker is summed, and reported as incoming.
    """
    days = F.broadcast(keys.select("cluster", F.to_date("cycle").alias("day")).distinct())
    owned = _of_days(made["bundle_averages"], days).join(keys, KEY, "left_semi")
    counted = F.coalesce("standing", F.lit("")).isin("", PERHAPS, UNKNOWN)
    used = _of_days(made["broker_usage"].where(counted), days).join(keys, KEY, "left_semi")
    settled = moments.withColumn("grace", F.col(f"settings.{GRACE}")).join(keys, KEY, "left_semi")
    settled = settled.select(*KEY, "strategy", "given", "grace")
    seen = _history(_of_days(made["broker_usage"], days))
    brokers = _brokers(used.join(seen, ["cluster", "cycle", "broker"], "left"), owned)
    bundles = _bundles(owned.join(settled.select(*KEY, "grace"), KEY))
    rows = settled.join(brokers, KEY).join(bundles, KEY, "left")
    return rows.select(*KEY, F.to_json(_line(plan)).alias("case"))


def _of_days(table: DataFrame, days: DataFrame) -> DataFrame:
    """Return the rows of these days; only their partitions are read."""
    dated = table if "day" in table.columns else table.withColumn("day", F.to_date("cycle"))
    return dated.join(days, ["cluster", "day"]).drop("day")


def _line(plan: AuditPlan) -> Column:
    case = F.struct(
        "strategy",
        _typed(F.col("given")).alias("settings"),
        "brokers",
        F.coalesce("bundles", F.from_json(F.lit("{}"), BUNDLES)).alias("bundles"),
        F.coalesce("ago", F.from_json(F.lit("{}"), AGO)).alias("recentlyUnloaded"),
    )
    readings = F.struct(*(F.lit(value).alias(name) for name, value in plan.readings.items()))
    return F.struct(
        F.lit("shed.select").alias("ask"),
        case.alias("case"),
        F.lit(plan.profile).alias("profile"),
        readings.alias("readings"),
    )


def _typed(given: Column) -> Column:
    """Return the given settings with types; all others are null and not written to the JSON."""
    known = specs.load().settings.items()
    return F.struct(*(TYPED[one.type](given[name]).alias(name) for name, one in known))


def _history(table: DataFrame) -> DataFrame:
    """Return the usages before each cycle, oldest first: `cluster`, `cycle`, `broker`, `usages`.

    Usages of the same day are listed; earlier ones are combined into one.
    """
    earlier = Window.partitionBy("cluster", "broker", "since", F.to_date("cycle")).orderBy("cycle")
    few = earlier.rowsBetween(-REMEMBERED, -1)
    first = F.first("before").over(few)
    presents = F.collect_list("present").over(few)
    none = F.array().cast("array<double>")
    seen = F.concat(F.when(first.isNotNull(), F.array(first)).otherwise(none), presents)
    rows = table.where("cycle = moment").withColumn("usages", seen)
    return rows.select("cluster", "cycle", "broker", "usages")


def _brokers(used: DataFrame, owned: DataFrame) -> DataFrame:
    """Return rows of `KEY` and the map `brokers`."""
    bundles = owned.groupBy(*KEY, "broker").agg(F.array_sort(F.collect_list("bundle")).alias("has"))
    rows = used.join(bundles, [*KEY, "broker"], "left")
    resources = (
        F.struct(F.col(f"percent.{name}").alias("usage"), F.lit(100).alias("limit")).alias(name)
        for name in RESOURCES
    )
    before = F.col("before")
    some = F.when(F.size("usages") > 0, F.col("usages"))
    history = F.when(before.isNotNull(), F.coalesce(some, F.array(before)))
    report = F.struct(
        *resources,
        F.col("messages").alias("msgRateIn"),
        F.col("bytes").alias("msgThroughputIn"),
        F.coalesce("has", F.array().cast("array<string>")).alias("bundles"),
        history.alias("usageHistory"),
    )
    named = F.struct("broker", report.alias("report"))
    return rows.groupBy(*KEY).agg(_by_name(named).alias("brokers"))


def _bundles(owned: DataFrame) -> DataFrame:
    """Return `KEY` and the maps `bundles` and `ago`."""
    data = F.struct(
        *(F.col(name).cast(AVERAGE).alias(name) for name in ("shortTermData", "longTermData"))
    )
    lately = F.col("moved") <= F.col("grace")
    each = owned.groupBy(*KEY, "bundle").agg(
        F.any_value(data).alias("data"), F.min(F.when(lately, F.col("moved"))).alias("ago")
    )
    ago = F.when(F.col("ago").isNotNull(), F.struct("bundle", "ago"))
    return each.groupBy(*KEY).agg(
        _by_name(F.struct("bundle", "data")).alias("bundles"), _by_name(ago).alias("ago")
    )


def _by_name(named: Column) -> Column:
    """Return a map of names and values, ordered by name."""
    return F.map_from_entries(F.array_sort(F.collect_list(named)))
