"""Owners of unloaded bundles, and owners that have not reported yet.

They are known from load reports, records of owners, and assignments.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from pulsar_conformance.adapters.spark import shapes
from pulsar_conformance.adapters.spark.configuring import checkpointed_if_tiny
from pulsar_conformance.audit.pipeline.plan import Silver
from pulsar_conformance.audit.tables.names import with_reported_names
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F


def with_owner(silver: Silver, sought: DataFrame, unloads: DataFrame) -> DataFrame:
    """Add `owner` and `had` to unloads. `sought` are the unloaded bundles.

    `owner` is the last recorded owner; null if it is not known, or if a later report of the owner
    lacks the bundle. `had` is the last time at which the broker that unloads the bundle certainly
    owned it; a report may be recorded later than it was written. If another broker is recorded as
    owner at the time of the unload, it became the owner afterwards.
    """
    claims = _owner_claims(silver).join(sought, ["cluster", "bundle"], "left_semi")
    claim = F.struct("at", "owner")
    marks = unloads.withColumns({"turn": F.lit(1), "holder": F.col("broker")}).unionByName(
        claims.select(
            *("cluster", "bundle", "at", "stated"),
            claim.alias("claim"),
            F.lit(0).alias("turn"),
            F.col("owner").alias("holder"),
        ),
        allowMissingColumns=True,
    )
    earlier = Window.partitionBy("cluster", "bundle").orderBy(F.unix_micros("at"))
    earlier = earlier.rangeBetween(Window.unboundedPreceding, -1)
    own = Window.partitionBy("cluster", "bundle", "holder").orderBy("at", "turn")
    own = own.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    marks = marks.withColumns(
        {
            "former": F.max("claim").over(earlier),
            "last": F.max("claim.at").over(own),
            "had": F.max("stated").over(own),
        }
    ).where("turn = 1")
    itself = F.when(F.col("last") == F.col("at"), F.struct("at", F.col("broker").alias("owner")))
    marks = marks.withColumn("claim", F.coalesce(itself, "former"))
    dropped = (F.col("claim.owner") == F.col("broker")) & (F.col("claim.at") < F.col("reported"))
    owner = F.when(~F.coalesce(dropped, F.lit(False)), F.col("claim.owner"))
    return marks.withColumn("owner", owner).drop(
        *("turn", "claim", "holder", "former", "last", "stated")
    )


def _owner_claims(silver: Silver) -> DataFrame:
    """Return `cluster`, `at`, `bundle`, `owner` and `stated` of each record of a bundle's owner.

    `stated` is the time at which the record was certainly true; null if that is not known.
    """
    owners = silver.contexts.where("kind = 'owners'").select(
        "cluster", "at", F.explode("owners").alias("owner", "bundles")
    )
    bundle, owner, at = (
        F.explode("bundles").alias("bundle"),
        F.col("broker").alias("owner"),
        F.col("at"),
    )
    written, unknown = F.least("at", "written"), F.lit(None).cast("timestamp")
    sources = (
        owners.select("cluster", "at", bundle, "owner", at.alias("stated")),
        silver.broker_samples.select("cluster", "at", bundle, owner, written.alias("stated")),
        silver.bundle_samples.select("cluster", "at", "bundle", owner, unknown.alias("stated")),
        silver.actions.where("kind = 'assigned'").select(
            "cluster", "at", "bundle", owner, at.alias("stated")
        ),
    )
    return reduce(DataFrame.unionByName, sources)


UNREPORTED = "cluster string, broker string, at timestamp, until timestamp"
FOREVER = "timestamp'9999-01-01'"


def unreported_owners(silver: Silver) -> DataFrame:
    """Return periods in which the last recorded owner of a bundle has no recorded report yet.

    Columns: `cluster`, `broker`, `at` and `until`. Clusters without any report are left out. A
    small Spark job finds out whether there are such brokers.
    """
    claims = _recorded_claims(silver)
    first = silver.broker_samples.groupBy("cluster", "broker").agg(F.min("at").alias("first"))
    reporting = first.select("cluster").distinct()
    claims = claims.join(F.broadcast(reporting), "cluster", "left_semi")
    claims = claims.join(F.broadcast(first), ["cluster", "broker"], "left")
    sought = claims.where(F.isnull("first") | (F.col("at") < F.col("first")))
    sought = checkpointed_if_tiny(sought.select("cluster", "bundle").distinct())
    if sought.isEmpty():
        return shapes.empty_frame(sought, UNREPORTED)
    bundle = F.explode("bundles").alias("bundle")
    reported = silver.broker_samples.select("cluster", "at", bundle)
    rows = claims.unionByName(reported, allowMissingColumns=True)
    rows = rows.join(F.broadcast(sought), ["cluster", "bundle"], "left_semi")
    course = Window.partitionBy("cluster", "bundle").orderBy("at", "broker")
    forever = F.expr(FOREVER)
    until = F.least(F.coalesce(F.lead("at").over(course), forever), F.coalesce("first", forever))
    rows = rows.withColumn("until", until).where("broker is not null and at < until")
    return rows.select("cluster", "broker", "at", "until").distinct()


def _recorded_claims(silver: Silver) -> DataFrame:
    """Return `cluster`, `broker`, `at` and `bundle` of each record of an owner, except reports.

    Brokers are named as in load reports.
    """
    listed = silver.contexts.where("kind = 'owners'")
    listed = listed.select("cluster", "at", F.explode("owners").alias("broker", "bundles"))
    listed = listed.select("cluster", "broker", "at", F.explode("bundles").alias("bundle"))
    given = silver.actions.where("kind = 'assigned'").select("cluster", "broker", "at", "bundle")
    claims = replace(silver, contexts=listed, actions=given)
    named = with_reported_names(claims)
    return named.contexts.unionByName(named.actions)
