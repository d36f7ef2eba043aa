"""Earlier unloads of bundles that TransferShedder unloads. [TRANSFER-20]

Cycles of the extensible manager are not recorded. Both unloads may have been decided up to
`causes.UNLOADING_SECONDS` before they were recorded, and brokers' clocks differ.
"""

from __future__ import annotations

from pulsar_conformance.adapters.spark import shedding
from pulsar_conformance.audit.pipeline.plan import AuditPlan, Silver
from pulsar_conformance.audit.tables import averages, causes, cycles, formatting
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

UNLOAD = ["cluster", "at", "broker", "bundle"]

NO_CERTAIN_START = "it is not certain whether that unload began a grace period"
OTHER_LEADER = "another broker was elected in between, and no document says what a new leader knows"
NEAR_END = "the grace period ended at about that time"


def with_earlier_unloads(
    silver: Silver, plan: AuditPlan, rows: DataFrame, unloads: DataFrame
) -> DataFrame:
    """Add `moved`, `surely_moved` and `elected` to unloads.

    `moved` is the time of the bundle's last unload before the turn that may have started a grace
    period. `surely_moved` is the time of the last such unload that certainly started a grace
    period. `elected` is true if a leader was elected since `surely_moved`.

    `rows` are unloads with the columns `UNLOAD` and `cycle`. `unloads` has the rows of the table.
    """
    perhaps, surely = averages.causes_starting_grace(plan)
    may = unloads.where(F.col("cause").isin(perhaps) | F.col("open"))
    sure = F.col("cause").isin(surely) & ~F.col("open")
    went = may.select("cluster", "bundle", F.col("at").alias("went"), sure.alias("sure")).distinct()
    went = averages.GRACE_UNLOADS[plan.readings["grace-of"]](silver, went)
    mine = rows.select(*UNLOAD, "cycle").join(went, ["cluster", "bundle"]).where("went < cycle")
    last = mine.groupBy(*UNLOAD).agg(
        F.max("went").alias("moved"), F.max(F.when(F.col("sure"), F.col("went"))).alias("surely")
    )
    led = silver.contexts.where("kind = 'leader'").where(F.coalesce("anew", F.lit(True)))
    led = led.select("cluster", F.col("at").alias("led")).distinct()
    since = last.join(F.broadcast(led), "cluster").where("led >= surely")
    since = since.join(rows.select(*UNLOAD, "cycle"), UNLOAD).where("led <= at")
    elected = since.select(*UNLOAD, F.lit(True).alias("elected")).distinct()
    last = last.join(elected, UNLOAD, "left").withColumnRenamed("surely", "surely_moved")
    return rows.join(F.broadcast(last), UNLOAD, "left")


def again_columns() -> tuple[Column, Column, Column]:
    """Return three columns: whether an unload is certainly within a grace period, why it may be,
    and the evidence.
    """
    grace = F.col(f"force.{shedding.GRACE}")
    slack = (causes.UNLOADING_SECONDS + causes.MAX_SKEW) / 60
    since, surely = _minutes_since("moved"), _minutes_since("surely_moved")
    maybe = F.coalesce(since - slack <= grace, F.lit(False))
    known = F.coalesce(surely + slack < grace, F.lit(False))
    led = F.coalesce("elected", F.lit(False))
    shown = F.when(known, surely).otherwise(since)
    told = F.concat(
        F.col("bundle"),
        F.lit(" was unloaded "),
        formatting.plain(shown),
        F.lit(" minutes after an earlier unload, grace "),
        formatting.plain(grace),
    )
    near = F.coalesce(surely - slack <= grace, F.lit(False))
    why = F.when(known, OTHER_LEADER).when(near & ~led, NEAR_END).otherwise(NO_CERTAIN_START)
    open_ = F.when(maybe & ~(known & ~led), F.concat(told, F.lit("; "), why))
    return known & ~led, open_, told


def _minutes_since(name: str) -> Column:
    return (F.unix_micros("at") - F.unix_micros(name)) / cycles.MICROS_OF_MINUTE
