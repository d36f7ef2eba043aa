"""AvgShedder: moves load from the most to the least used broker after several hits. [AVERAGE]

A hit is a cycle in which the usage of the two brokers differs by more than a threshold; consecutive
hits are counted. Rows of brokers may have one of two columns about earlier cycles:

    earlier     array of structs: `usages`, the weighted usage of each broker, and `unloaded`, true
                if the cycle unloaded anything
    streak      struct of `idle` and `busy`, the two brokers in the last cycles, and of `low` and
                `high`, the number of consecutive cycles in which they differed by more than each
                threshold
"""

from __future__ import annotations

from collections.abc import Mapping

from pulsar_conformance.adapters.spark import usage
from pulsar_conformance.adapters.spark.uniform import MAX_SHARE, MIN_UNLOAD
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

NAME = "AvgShedder"

LOW, HIGH = "loadBalancerAvgShedderLowThreshold", "loadBalancerAvgShedderHighThreshold"
LOW_HITS = "loadBalancerAvgShedderHitCountLowThreshold"
HIGH_HITS = "loadBalancerAvgShedderHitCountHighThreshold"
SETTINGS = (
    LOW,
    HIGH,
    LOW_HITS,
    HIGH_HITS,
    MAX_SHARE,
    *MIN_UNLOAD.values(),
    *usage.WEIGHTS.values(),
)

HITS: Mapping[str, tuple[str, str]] = {"low": (LOW, LOW_HITS), "high": (HIGH, HIGH_HITS)}
"""Two settings of each threshold: its value, and the required number of consecutive hits."""

FILLED_COLUMN = "average_filled"
"""Column with the traffic of all fitting bundles in the queue, up to and including this one."""

EARLIER_SCHEMA = "array<struct<usages map<string, double>, unloaded boolean>>"


def with_broker_pair(brokers: DataFrame, readings: Mapping[str, str]) -> DataFrame:
    """Add the column `avgshedder`: the pair of brokers of the cycle, its hits, and the traffic to
    move.

    Fields: the broker's `usage`; `idle` and `busy`, the least and the most used broker, and their
    difference `apart`; `low` and `high`, the hits of each threshold; `over`, true if there are
    enough hits; `most_used`, true in the row of the most used broker; and `need`, the traffic in
    `measure` that may move from the most to the least used broker.
    """
    del readings
    cycle, settings, name = Window.partitionBy("cycle"), F.col("settings"), F.col("broker")
    used = usage.maximum(usage.weighted_percents_of(F.col("percent"), settings))
    brokers = brokers.withColumn("_used", F.when(name.isNotNull(), used))
    known, negated = F.col("_used").isNotNull(), (-F.col("_used")).alias("negated")
    brokers = brokers.withColumns(
        {
            "_idle": F.min(F.when(known, F.struct("_used", "broker"))).over(cycle),
            "_busy": F.min(F.when(known, F.struct(negated, "broker"))).over(cycle),
        }
    )
    idle, busy = F.col("_idle.broker"), F.col("_busy.broker")
    brokers = brokers.withColumns(
        {
            "_given": F.max(F.when(name == busy, F.col("carries"))).over(cycle),
            "_taken": F.max(F.when(name == idle, F.col("carries"))).over(cycle),
            "_apart": -F.col("_busy.negated") - F.col("_idle._used"),
        }
    )
    hits = {one: _hits(brokers.columns, one, idle, busy) for one in HITS}
    over = (
        F.coalesce((hits[one] > 0) & (hits[one] >= settings[times]), F.lit(False))
        for one, (_, times) in HITS.items()
    )
    need = _traffic_to_move(F.col("_given"), F.col("_taken"), settings)
    pair = F.struct(
        F.col("_used").alias("usage"),
        idle.alias("idle"),
        busy.alias("busy"),
        F.col("_apart").alias("apart"),
        *(count.alias(one) for one, count in hits.items()),
        (next(over) | next(over)).alias("over"),
        F.coalesce(name == busy, F.lit(False)).alias("most_used"),
        need["measure"].alias("measure"),
        need["need"].alias("need"),
    )
    made = [one for one in brokers.columns if one in HELPER_COLUMNS]
    return brokers.withColumn("avgshedder", pair).drop(*made)


HELPER_COLUMNS = ("_used", "_idle", "_busy", "_given", "_taken", "_apart")


def _hits(columns: list[str], threshold: str, idle: Column, busy: Column) -> Column:
    """Return the number of consecutive cycles up to this one in which this pair exceeds a
    threshold.
    """
    most = F.col("settings")[HITS[threshold][0]]
    before = F.lit(0)
    if "streak" in columns:
        streak = F.col("streak")
        same = (streak["idle"] == idle) & (streak["busy"] == busy)
        before = F.when(same, streak[threshold])
    elif "earlier" in columns:
        before = F.aggregate(
            "earlier",
            F.lit(0),
            lambda count, cycle: F.when(
                ~cycle["unloaded"] & _exceeds(cycle["usages"], idle, busy, most), count + 1
            ).otherwise(F.lit(0)),
        )
    over = F.coalesce(F.col("_apart") > most, F.lit(False))
    return F.when(over, F.coalesce(before, F.lit(0)).cast("int") + 1).otherwise(F.lit(0))


def _exceeds(usages: Column, idle: Column, busy: Column, most: Column) -> Column:
    """True if an earlier cycle had the same pair of brokers, with a difference above `most`."""
    each = F.map_entries(usages)

    def smallest(sign: int) -> Column:
        pairs = F.transform(
            each,
            lambda one: F.struct((one["value"] * sign).alias("value"), one["key"].alias("key")),
        )
        return F.array_min(pairs)

    least, highest = smallest(1), smallest(-1)
    same = (least["key"] == idle) & (highest["key"] == busy)
    return F.coalesce(same & (-highest["value"] - least["value"] > most), F.lit(False))


def _traffic_to_move(busy: Column, idle: Column, settings: Column) -> Column:
    """Return a struct of the `measure` and the traffic to move from the busy to the idle broker.

    The measure is messages; if these are too few, it is bytes. [AVERAGE-05, AVERAGE-06]
    """
    amounts = {one: (busy[one] - idle[one]) * settings[MAX_SHARE] for one in MIN_UNLOAD}
    found = _movable_struct("messages", F.lit(0.0))
    for one in reversed(tuple(MIN_UNLOAD)):
        worth = F.coalesce(amounts[one] > settings[MIN_UNLOAD[one]], F.lit(False))
        found = F.when(worth, _movable_struct(one, amounts[one])).otherwise(found)
    return found


def _movable_struct(measure: str, amount: Column) -> Column:
    return F.struct(F.lit(measure).alias("measure"), amount.alias("need"))


def _traffic_in_measure() -> Column:
    """Return a bundle's traffic per second in the cycle's measure: messages or bytes."""
    load = F.col("load")
    return F.when(F.col("avgshedder.measure") == "bytes", load["bytes"]).otherwise(load["messages"])


def _fits() -> Column:
    return (
        F.col("movable")
        & (_traffic_in_measure() > 0)
        & (_traffic_in_measure() <= F.col("avgshedder.need"))
    )


def average_fitting() -> Column:
    """Return the bundle's traffic if it fits into the traffic to move; otherwise null."""
    return F.when(_fits(), _traffic_in_measure())


def takes(_readings: Mapping[str, str]) -> Column:
    """True if AvgShedder sheds the bundle."""
    pair = F.col("avgshedder")
    return pair["over"] & pair["most_used"] & _fits() & (F.col(FILLED_COLUMN) <= pair["need"])
