"""Earlier usage that a leader may know from the terms of former leaders.

No document says whether a new leader knows what former leaders knew. In a release, a new leader
knows nothing, but a broker that leads again may know what it knew before: its memory lives as long
as its process. Terms have equal values of `whose` if one may continue the memory of the other.
"""

from __future__ import annotations

from collections.abc import Callable

from pulsar_conformance.audit.pipeline.plan import (
    ALL_DAYS_PREFIX,
    AuditPlan,
    GoldTables,
    Silver,
)
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

MEMORY_FIELDS = ("ever_least", "ever_most", "apart")
"""Fields of the column `memory` of `broker_usage` that are about former leaders."""

NEGLIGIBLE = 1e-6
"""Difference of usage, in percentage points, below which earlier usage is negligible."""

Smooth = Callable[[DataFrame], DataFrame]

WIDEST = 100.0
"""Largest possible difference of usage, in percentage points."""


def leaders_by_term(silver: Silver, made: GoldTables, plan: AuditPlan) -> DataFrame:
    """Return `cluster`, `since`, `until` and `whose` of each term with cycles.

    `whose` is equal for terms of which one may continue the memory of the other. Under documents,
    these are all terms of a cluster. Under a release, `whose` is the leader's name, or the start of
    the term if the leader is unknown.
    """
    ran = made.get(f"{ALL_DAYS_PREFIX}cycles", made["cycles"])
    terms = ran.groupBy("cluster", "since").agg(F.max("until").alias("until"))
    if not plan.released:
        return terms.withColumn("whose", F.lit(""))
    named = silver.contexts.where("kind = 'leader'").select(
        "cluster", F.col("at").alias("told"), "broker"
    )
    within = terms.join(F.broadcast(named), "cluster").where("told >= since and told < until")
    first = within.groupBy("cluster", "since").agg(F.min_by("broker", "told").alias("leader"))
    terms = terms.join(F.broadcast(first), ["cluster", "since"], "left")
    whose = F.coalesce("leader", F.col("since").cast("string"))
    return terms.withColumn("whose", whose).drop("leader")


def terms_with_heirs(silver: Silver, made: GoldTables, plan: AuditPlan) -> DataFrame | None:
    """Return the rows of `leaders_by_term`; None if no term can continue another's memory.

    A small Spark job finds out whether any term can.
    """
    terms = leaders_by_term(silver, made, plan)
    several = terms.groupBy("cluster", "whose").count().where("count > 1")
    return None if several.isEmpty() else terms


def with_memory(rows: DataFrame, smooth: Smooth | None) -> DataFrame:
    """Add `MEMORY_FIELDS` to the column `memory`, and add the column `ever`.

    `ever` has the least and the greatest usage before the cycle that the leader or a former leader
    knew. The rows have the columns of `usages`, and `whose` if a term may continue another. If the
    leader has forgotten a broker, according to `back`, usage before its row with `returned` does
    not count. `smooth` returns the smoothed usage after each cycle; None if it is not known how
    usage is smoothed.
    """
    none = F.lit(None).cast("double")
    if "whose" not in rows.columns:
        fields = {name: F.col(f"memory.{name.removeprefix('ever_')}") for name in MEMORY_FIELDS[:2]}
        rows = rows.withColumn("ever", F.struct(none.alias("least"), none.alias("most")))
        return _with_fields(rows, {**fields, "apart": none})
    whose = ("cluster", "broker", "whose")
    forgot = F.col("returned") & (F.col("back") > F.col("since"))
    resets = F.count_if(forgot).over(Window.partitionBy(*whose).orderBy("cycle", "moment"))
    rows = rows.withColumn("resets", resets)
    own = Window.partitionBy(*whose, "resets").orderBy("cycle", "moment")
    so_far = own.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    given = {name: name if name in rows.columns else none for name in MEMORY_FIELDS}
    bounds = F.struct(
        F.min(F.coalesce(given["ever_least"], F.col("least"))).over(so_far).alias("least"),
        F.max(F.coalesce(given["ever_most"], F.col("most"))).over(so_far).alias("most"),
    )
    rows = rows.withColumn("so far", bounds).withColumn("ever", F.lag("so far").over(own))
    same = Window.partitionBy("cluster", "broker", "since", "cycle").orderBy("moment")
    rows = rows.withColumn("ever", F.first("ever").over(same))
    apart = none
    if smooth is not None:
        rows, apart = _with_distance(rows, smooth)
    fields = {"ever_least": F.col("`so far`.least"), "ever_most": F.col("`so far`.most")}
    return _with_fields(rows, {**fields, "apart": apart})


def _with_fields(rows: DataFrame, fields: dict[str, Column]) -> DataFrame:
    memory = F.col("memory")
    for name, value in fields.items():
        memory = memory.withField(name, value)
    return rows.withColumn("memory", memory)


def _with_distance(rows: DataFrame, smooth: Smooth) -> tuple[DataFrame, Column]:
    """Add the maximum difference that former terms make to smoothed usage; null if none.

    At the first cycle of a term, the earlier usage may be any usage that former leaders knew. In
    later cycles, the difference fades like all earlier usage.
    """
    key = ["cluster", "broker", "since", "back"]
    term = Window.partitionBy(*key).orderBy("cycle", "moment")
    present, kept, ever = F.col("present"), F.col("kept"), F.col("ever")
    most = F.greatest(present - ever["least"], ever["most"] - present, F.lit(0.0))
    begun = F.when(ever["least"].isNotNull(), kept * most)
    if "apart" in rows.columns:
        begun = F.when(F.col("ever_least").isNotNull(), F.col("apart")).otherwise(begun)
    begun = F.when(F.row_number().over(term) == 1, begun).otherwise(F.lit(0.0))
    counted = rows.where("counts").select(*key, "cycle", begun.alias("present"), "kept")
    after = smooth(counted).withColumnRenamed("after", "distance")
    rows = rows.join(after.hint("shuffle_hash"), [*key, "cycle"], "left")
    so_far = term.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    known = F.when(F.col("counts"), F.struct(F.nullif("distance", F.lit(0.0)).alias("distance")))
    return rows, F.last(known, ignorenulls=True).over(so_far)["distance"]


def if_kept(
    bounds: tuple[Column, Column], smoothed: tuple[Column, Column], *, exact: bool
) -> Column:
    """Return the bounds of a broker's usage if the leader has the memory of former leaders.

    Null if that makes no difference. `bounds` are the least and the greatest usage in the leader's
    own term, and `smoothed` the least and the greatest smoothed usage.
    """
    ever, present, kept = F.col("ever"), F.col("present"), F.col("kept")
    least, most = F.least(ever["least"], present), F.greatest(ever["most"], present)
    apart = F.nanvl(F.col("memory.apart"), F.lit(WIDEST))
    differs = apart > NEGLIGIBLE if exact else (least < bounds[0]) | (most > bounds[1])
    counting = F.coalesce(kept > 0, F.lit(True)) & ever["least"].isNotNull()
    known = F.struct(
        least.alias("least"),
        most.alias("most"),
        (smoothed[0] - apart).alias("lower"),
        (smoothed[1] + apart).alias("upper"),
    )
    return F.when(counting & differs, known)
