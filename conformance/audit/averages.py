"""`bundle_averages`: what each bundle carries at each cycle, and when it was unloaded last."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pulsar_conformance.adapters.spark import averages as known
from pulsar_conformance.adapters.spark import ranges, shapes
from pulsar_conformance.conformance.audit import cycles, reports
from pulsar_conformance.conformance.audit.plan import Made, Plan, Silver
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

FRAMES: Mapping[str, int] = {"shortTermData": 10, "longTermData": 1000}
"""The samples that count in each time frame. [DATA-03]"""

BEFORE, LOOK, AFTER = 0, 1, 2
"""What is sampled at the moment of a look is known at it, and what is done then is not."""


def averages(silver: Silver, made: Made, plan: Plan) -> DataFrame:
    """The table: what the leader's records say, or what its samples since its start come to."""
    rows = _timeline(silver, made, plan)
    begun = made["cycles"].select("cluster", "since", "until").distinct()
    rows = rows.join(F.broadcast(begun), "cluster").where("at >= since and at < until")
    rows = rows.withColumn("key", F.xxhash64("cluster", "bundle", "since"))
    keys, order = ("key", "cluster", "bundle", "since"), ("at", "turn", "broker")
    so_far = known.Course(keys, order).so_far()
    told = F.last("data", ignorenulls=True).over(so_far)
    went = F.last("went", ignorenulls=True).over(so_far)
    rows = rows.withColumns({"data": told, "went": went})
    rows = known.averages(rows, keys, order, FRAMES, plan.readings).where(F.col("turn") == LOOK)
    return rows.select(
        "cluster",
        "cycle",
        F.col("at").alias("moment"),
        "broker",
        "bundle",
        *(F.coalesce(f"data.{name}", _average(name)).alias(name) for name in FRAMES),
        _minutes(F.col("at"), F.col("went")).alias("moved"),
    )


def _average(name: str) -> Column:
    return F.col(name).cast(shapes.AVERAGE)


def _minutes(later: Column, earlier: Column) -> Column:
    return (F.unix_micros(later) - F.unix_micros(earlier)) / 60_000_000


def _timeline(silver: Silver, made: Made, plan: Plan) -> DataFrame:
    """Samples, records of the leader, unloadings and looks, in rows of one shape."""
    moments = cycles.of_plan(cycles.moments(made, plan), plan)
    owned = reports.at_moments(silver, moments)
    looks = owned.select(
        "cluster",
        F.explode("bundles").alias("bundle"),
        F.col("moment").alias("at"),
        F.lit(LOOK).alias("turn"),
        "broker",
        "cycle",
    )
    samples = silver.bundle_samples.select(
        "cluster", "bundle", "at", F.lit(BEFORE).alias("turn"), "broker", *shapes.RATE_FIELDS
    )
    data = silver.contexts.where("kind = 'bundle_data'").select(
        "cluster", "bundle", "at", F.lit(BEFORE).alias("turn"), "data"
    )
    went = silver.actions.where("kind = 'unloaded'").select(
        "cluster", "bundle", "at", F.lit(AFTER).alias("turn"), F.col("at").alias("went")
    )
    went = WENT[plan.readings["grace-of"]](silver, went)
    rows = looks
    for others in (samples, data, went):
        rows = rows.unionByName(others, allowMissingColumns=True)
    return rows.repartition("cluster", "bundle")


def _with_parts(silver: Silver, went: DataFrame) -> DataFrame:
    """Unloadings of bundles, each also as one of every bundle that lies within it."""
    space = ranges.namespace_of(F.col("bundle")).alias("space")
    within = silver.actions.where("kind = 'split'").select(
        "cluster", space, F.explode("into").alias("part")
    )
    whole = went.withColumn("space", space)
    parts = whole.join(within.distinct(), ["cluster", "space"])
    parts = parts.where(ranges.covers(F.col("bundle"), F.col("part")) & (F.expr("bundle != part")))
    parts = parts.select(*(F.col("part").alias(n) if n == "bundle" else n for n in went.columns))
    return went.unionByName(parts)


WENT: Mapping[str, Callable[[Silver, DataFrame], DataFrame]] = {
    "bundle": lambda _silver, went: went,
    "topic": _with_parts,
}
"""What counts as unloaded, by the reading `grace-of`. [SHED-04]"""
