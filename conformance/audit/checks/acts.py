"""What each broker had at a cycle and what it gave up: its rows of `decisions` together."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_conformance.adapters.spark.shapes import or_nothing
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

OUT = "array<struct<at timestamp, less double, bundle string, traffic double, movable boolean>>"
"""Its own bundles that it gave up, in their order: by time, then those with more traffic first."""

COLUMNS = (
    "owned bigint, able bigint, blocked bigint, movable_traffic double, most_traffic double, "
    "most_kept double, kept bigint, both bigint, narrowing bigint, answered bigint, "
    f"out {OUT}, alien array<string>, stuck array<string>, gone array<string>"
)
"""In numbers, and by name: `alien` were none of its own, `stuck` were to stay, `gone` are all."""


def acts(decided: DataFrame, key: Sequence[str]) -> DataFrame:
    """A row for each `key`, which tells a broker at a cycle, of rows of the table `decisions`."""
    keys = list(key)
    rows = _counted(decided, keys).join(_gone(decided, keys).hint("shuffle_hash"), keys, "left")
    none = F.array().cast("array<string>")
    return rows.withColumns({name: F.coalesce(name, none) for name in ("alien", "stuck", "gone")})


def _counted(decided: DataFrame, keys: list[str]) -> DataFrame:
    """What each broker has, in numbers."""
    movable, traffic = F.col("movable"), F.col("traffic")
    carries = (F.col("messages") > 0) & (F.col("bytes") > 0)
    return decided.groupBy(*keys).agg(
        F.count_if("owned").alias("owned"),
        F.count_if(movable).alias("able"),
        F.count_if(F.col("owned") & ~movable).alias("blocked"),
        or_nothing(F.sum(F.when(movable, traffic))).alias("movable_traffic"),
        F.max(F.when(movable, traffic)).alias("most_traffic"),
        F.max(F.when(movable & ~F.col("unloaded"), traffic)).alias("most_kept"),
        F.count_if(movable & ~F.col("unloaded")).alias("kept"),
        F.count_if(movable & carries).alias("both"),
        F.count_if(movable & F.col("narrows")).alias("narrowing"),
        F.coalesce(F.sum(F.size("done")), F.lit(0)).alias("answered"),
    )


def _gone(decided: DataFrame, keys: list[str]) -> DataFrame:
    """What each broker gave up: its own in order, those of others, and what was to stay."""
    gone = decided.where(F.col("unloaded") | (F.col("owned") & ~F.col("movable")))
    own, unloaded, less = F.col("owned"), F.col("unloaded"), (-F.col("traffic")).alias("less")
    one = F.struct(F.col("done")[0].alias("at"), less, "bundle", "traffic", "movable")
    names = F.array_repeat("bundle", F.size("done"))
    return gone.groupBy(*keys).agg(
        F.array_sort(F.collect_list(F.when(own & unloaded, one))).alias("out"),
        F.collect_list(F.when(~own & unloaded, F.col("bundle"))).alias("alien"),
        F.collect_list(F.when(own & ~F.col("movable"), F.col("bundle"))).alias("stuck"),
        F.flatten(F.collect_list(F.when(unloaded, names))).alias("gone"),
    )
