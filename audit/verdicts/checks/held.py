"""Bundles that may have to stay on their broker although a strategy chooses them."""

from __future__ import annotations

from pulsar_conformance.adapters.spark import ranges
from pulsar_conformance.audit.pipeline.plan import AuditPlan, Silver
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

HEARTBEAT_BUNDLES = r"^pulsar/(?:[^/]+/)?[^/]+:\d+/0x"
"""Pattern of the names of brokers' heartbeat bundles, in the old and the new format."""

CHECKS_DESTINATION = "released-3.0"
"""First release that keeps a bundle if placement would choose its owner again."""


def with_bundles_that_may_stay(silver: Silver, rows: DataFrame, plan: AuditPlan) -> DataFrame:
    """Add the column `held`, true if the bundle may have to stay on its broker.

    There are three possible reasons: the bundle's namespace may be in an anti-affinity group; the
    bundle may be a heartbeat bundle, if a release is judged; or placement may choose the present
    owner again, if no other broker has fewer bundles of the namespace.
    """
    rows = rows.withColumn("space", ranges.namespace_of(F.col("bundle")))
    groups = silver.contexts.where("kind = 'group'").select(
        F.col("cluster").alias("of"), F.explode("members").alias("space")
    )
    groups = groups.distinct().withColumn("grouped", F.lit(True))
    key = F.col("cycle.cluster").alias("of")
    rows = rows.withColumn("of", key).join(F.broadcast(groups), ["of", "space"], "left")
    held = F.col("grouped")
    if plan.released:
        held = held | F.col("bundle").rlike(HEARTBEAT_BUNDLES)
    if plan.released and plan.profile >= CHECKS_DESTINATION:
        rows, again = _with_fewest(rows)
        held = F.coalesce(held, F.lit(False)) | again
    held = F.coalesce(held & F.col("owned"), F.lit(False))
    return rows.withColumn("held", held).drop("space", "of", "grouped", "own", "least", "having")


def _with_fewest(rows: DataFrame) -> tuple[DataFrame, Column]:
    """Add a column that is true if no broker has fewer bundles of the namespace than the owner."""
    of_broker = Window.partitionBy("cycle", "space", "broker")
    of_space, cycle = Window.partitionBy("cycle", "space"), Window.partitionBy("cycle")
    rows = rows.withColumn("own", F.count_if("owned").over(of_broker))
    brokers = F.size(F.collect_set("broker").over(cycle))
    having = F.size(F.collect_set(F.when(F.col("owned"), F.col("broker"))).over(of_space))
    rows = rows.withColumns({"least": F.min("own").over(of_space), "having": having})
    fewest = F.when(F.col("having") < brokers, F.lit(0)).otherwise(F.col("least"))
    return rows, F.col("own") <= fewest
