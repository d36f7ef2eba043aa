"""What was done: unloads, each at its cycle."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

KEY = ("cycle", "broker", "bundle")
NEVER = "array<timestamp>"


def of_cycles(shed: DataFrame, ran: DataFrame) -> DataFrame:
    """The unloads that are or may be of a cycle, a row for each of the cycle's moments."""
    moments = ran.select("cluster", "cycle", F.explode("moments").alias("moment"))
    return shed.drop("day").join(moments.hint("shuffle_hash"), ["cluster", "cycle"])


def unloaded(shed: DataFrame) -> DataFrame:
    """When each bundle was unloaded by each broker in a cycle.

    `done` are the times in order, `doubtful` those of them that shedding need not have done, and
    `claimed` says that no other broker is known to have had the bundle: null where nobody is.
    """
    own = F.bool_and(F.col("owner") == F.col("broker")).alias("claimed")
    times = F.array_sort(F.collect_list("at")).alias("done")
    doubtful = F.array_sort(F.collect_list(F.when(F.col("open"), F.col("at")))).alias("doubtful")
    return shed.groupBy(*KEY).agg(times, doubtful, own)


def beside(rows: DataFrame, done: DataFrame) -> DataFrame:
    """Rows with what was `done` with each; what no row is about has a row without anything else."""
    both = rows.join(done.hint("shuffle_hash"), list(KEY), "full_outer")
    none = F.array().cast(NEVER)
    return both.withColumns(
        {
            "unloaded": F.coalesce(F.size("done") > 0, F.lit(False)),
            "doubtful": F.coalesce("doubtful", none),
        }
    )
