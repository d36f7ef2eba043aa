"""Placement on the broker with the lowest weighted long-term message rate. [PLACE]

Rows are the bundles that candidates own or were assigned, with these columns. One frame can hold
any number of placements.

    cycle       identifies the placement
    settings    struct of the effective `SETTINGS`
    broker      the candidate; null in the one row of a placement without candidates
    percent     struct of its usage of each resource (`usage.percents_of_limits`)
    bundle      a bundle of the candidate, or null in the single row of a candidate without bundles
    rate        long-term messages per second of that bundle, in + out
    added       long-term messages per second of the bundle to be placed, in + out
    plan        struct of AvgShedder's plan for the bundle, or null: its source `from`, its
                destination `to`, and the state of the `attempt` to unload it
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from pulsar_conformance.adapters.spark import usage
from pulsar_conformance.adapters.spark.shapes import or_zero
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

OVERLOAD_THRESHOLD = "loadBalancerBrokerOverloadedThresholdPercentage"
SETTINGS = (OVERLOAD_THRESHOLD,)
STRATEGY, LEAST_USAGE = "loadBalancerLoadPlacementStrategy", "LeastResourceUsageWithWeight"
"""The setting that names the strategy, and a strategy that this engine does not offer."""

TOO_BUSY: Mapping[str, Callable[[Column, Column], Column]] = {
    "eligible": operator.gt,
    "excluded": operator.ge,
}
"""Conditions under which a usage is too high, by alternative of `placement-at-threshold`.
[PLACE-04]
"""

SCORE_FUNCTIONS: Mapping[str, Callable[[Column, Column, Column], Column]] = {
    "weighted": lambda rate, distance, _added: F.try_divide(rate, distance),
    "plain": lambda rate, _distance, _added: rate,
    "weighted-with-bundle": lambda rate, distance, added: F.try_divide(rate + added, distance),
}
"""Functions that return a broker's score, by alternative of `placement-score`. [PLACE-02]

A score that depends on the distance to the threshold is null if this distance is 0.
"""


def scores(rows: DataFrame, readings: Mapping[str, str]) -> DataFrame:
    """Return a row per candidate with its score and `best`, true if it may be chosen. [PLACE-05]

    Columns: `cycle`, `broker`, `usage` in percent, `rate`, `left_out` (true if the usage is too
    high), `score`, `best`, and `by_chance` (true if all candidates are left out, so that any may be
    chosen).
    """
    summed = rows.groupBy("cycle", "broker").agg(
        or_zero(F.sum(F.when(F.col("bundle").isNotNull(), F.col("rate")))).alias("rate"),
        F.any_value("percent").alias("percent"),
        F.any_value("added").alias("added"),
        F.any_value("settings").alias("settings"),
        F.any_value("plan").alias("plan"),
    )
    threshold = F.col(f"settings.{OVERLOAD_THRESHOLD}")
    measured = summed.withColumn("usage", usage.maximum(F.col("percent")))
    distance = threshold - F.col("usage")
    out = TOO_BUSY[readings["placement-at-threshold"]](F.col("usage"), threshold)
    score = SCORE_FUNCTIONS[readings["placement-score"]](F.col("rate"), distance, F.col("added"))
    scored = measured.withColumns({"left_out": out, "score": F.when(~out, score)})
    every = Window.partitionBy("cycle")
    scored = scored.withColumns(
        {"_least": F.min("score").over(every), "by_chance": F.min("left_out").over(every)}
    )
    # A broker without a score takes the bundle only if no other is considered.
    best = (
        F.when(F.col("by_chance"), F.col("broker").isNotNull())
        .when(F.col("_least").isNull(), ~F.col("left_out"))
        .otherwise(F.col("score") == F.col("_least"))
    )
    return scored.withColumn("best", F.coalesce(best, F.lit(False))).drop("_least")


def candidates_by_plan(candidates: Column, overloaded: Column, plan: Column) -> Column:
    """Return the candidates among which AvgShedder, given its plan, chooses at random.

    [PLANNED-02 … 06]
    """
    to = plan["to"]
    others = F.array_except(candidates, F.array(plan["from"], to))
    healthy = F.array_except(others, overloaded)
    gone = F.when(F.size(others) > 0, others).otherwise(candidates)
    gives_way = F.array_contains(overloaded, to) & (F.size(healthy) > 0)
    there = F.when(gives_way, healthy).otherwise(F.array(to))
    running = F.when(F.array_contains(candidates, to), there).otherwise(gone)
    return F.when(plan["attempt"] == "running", running).otherwise(candidates)


def first_choice(best: Column, by_chance: Column, turn: Column) -> Column:
    """Return the first broker of `best` or, if the choice is random, the one whose turn it is.

    `turn` is the number of the question, so repeating a question gives the next broker. [PLACE-05]
    """
    nth = F.when(by_chance, F.pmod(turn, F.greatest(F.size(best), F.lit(1)))).otherwise(F.lit(0))
    return F.get(best, nth.cast("int"))
