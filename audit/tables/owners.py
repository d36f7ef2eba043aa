"""Owners of unloaded bundles, by reports, records of owners, and assignments."""

from __future__ import annotations

from functools import reduce

from pulsar_conformance.audit.pipeline.plan import Silver
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F


def with_owner(silver: Silver, sought: DataFrame, unloads: DataFrame) -> DataFrame:
    """Add `owner` and `had` to unloads. `sought` are the unloaded bundles.

    `owner` is the last recorded owner. The column is null if no owner is known, or if a later
    report of the owner lacks the bundle. `had` is the last time at which the broker that unloads
    the bundle certainly owned it; a report may be recorded later than it was written.

    If another owner is recorded with the same time as the unload, it became the owner afterwards.
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
