"""What was done: recorded actions, each at its cycle."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

KEY = ("cycle", "broker", "bundle")


def of_cycles(actions: DataFrame, ran: DataFrame) -> DataFrame:
    """The actions, each with the latest cycle at or before it, a row for each of its moments.

    What is not before the cycle's `upto` was done by nobody that is known, and left out.
    """
    cycles = ran.select(
        "cluster", F.col("cycle").alias("at"), F.struct("cycle", "upto", "moments").alias("ran")
    )
    marks = actions.withColumn("turn", F.lit(1)).unionByName(
        cycles.withColumn("turn", F.lit(0)), allowMissingColumns=True
    )
    course = Window.partitionBy("cluster").orderBy("at", "turn")
    so_far = course.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    marks = marks.withColumn("ran", F.last("ran", ignorenulls=True).over(so_far))
    marks = marks.where((F.col("turn") == 1) & (F.col("at") < F.col("ran.upto")))
    each = marks.withColumn("cycle", F.col("ran.cycle"))
    return each.select("cycle", F.explode("ran.moments").alias("moment"), *actions.columns)


def unloaded(actions: DataFrame) -> DataFrame:
    """When each bundle was unloaded by each broker in a cycle: `done`, the times in order."""
    times = F.array_sort(F.collect_list("at")).alias("done")
    return actions.where("kind = 'unloaded'").groupBy(*KEY).agg(times)


def beside(rows: DataFrame, done: DataFrame) -> DataFrame:
    """Rows with what was `done` with each; what no row is about has a row without anything else."""
    both = rows.join(done.hint("shuffle_hash"), list(KEY), "full_outer")
    return both.withColumn("unloaded", F.coalesce(F.size("done") > 0, F.lit(False)))
