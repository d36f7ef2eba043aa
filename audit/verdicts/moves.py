"""The last moment before a move: reports still show the bundles on their former owner."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pulsar_conformance.audit.tables.formatting import precise_utc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def moment_before_move(
    tables: Mapping[str, DataFrame],
    unloads: DataFrame,
    cluster: str,
    cycle: str,
    until: datetime | None,
) -> tuple[str, str] | None:
    """Return the last cycle and moment at which reports show the unloaded bundles on their former
    brokers.

    `unloads` are unloads of `cycle`; records after `until` do not count. None if there are no
    unloads, or if no such moment is known. The result may be before `cycle`: in imported reports,
    an unload shows only when the next report lacks the bundle, or when the next owner reports it.
    Some or all moments of the cycle are then after the move.
    """
    mine, at = F.col("cluster") == cluster, F.lit(cycle).cast("timestamp")
    held = tables["bundle_averages"].where(mine & (F.col("cycle") <= at))
    if until is not None:
        unloads = unloads.where(F.col("at") <= F.lit(until))
        held = held.where(F.col("moment") <= F.lit(until))
    went = unloads.select("bundle", "broker", F.col("at").alias("gone")).distinct()
    ran = tables["cycles"].where(mine).select("cycle", "logged")
    held = held.join(F.broadcast(went), ["bundle", "broker"]).join(F.broadcast(ran), "cycle")
    reported = (F.col("moment") == F.col("gone")) & ~F.col("contested")
    before = (F.col("moment") < F.col("gone")) | reported
    held = held.where(before | (F.col("logged") & (F.col("cycle") == at)))
    itself = F.col("logged") & (F.col("moment") == F.col("cycle"))
    many = F.countDistinct("broker", "bundle").alias("many")
    found = held.groupBy("cycle", "moment", itself.alias("itself")).agg(many)
    best = found.orderBy(*map(F.desc, ("cycle", "itself", "many", "moment")))
    row = best.select(precise_utc("cycle"), precise_utc("moment")).first()
    return None if row is None else (row[0], row[1])
