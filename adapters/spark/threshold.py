"""ThresholdShedder: brokers far above the average usage shed until they are below it.
[THRESHOLD]
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from pulsar_conformance.adapters.spark import usage
from pulsar_conformance.adapters.spark.shapes import constant_double
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

SHEDDER_THRESHOLD = "loadBalancerBrokerThresholdShedderPercentage"
HISTORY_SHARE = "loadBalancerHistoryResourcePercentage"
LOWER_BOUNDARY = "lowerBoundarySheddingEnabled"
MIN_THROUGHPUT = "loadBalancerBundleUnloadMinThroughputThreshold"
SETTINGS = (
    *(SHEDDER_THRESHOLD, HISTORY_SHARE, LOWER_BOUNDARY, MIN_THROUGHPUT),
    *usage.WEIGHTS.values(),
)

BELOW_AVERAGE = 5
"""Distance from the average down to the target, in percentage points or in percent of the average.
[THRESHOLD-03]
"""

BOUNDARY_LOAD = 10
"""Percentage points subtracted in the documents' example of a lower boundary. [THRESHOLD-09]"""

OVER_LIMIT: Mapping[str, Callable[[Column, Column], Column]] = {
    "exceeds": operator.gt,
    "reaches": operator.ge,
}
"""Comparisons of usage and limit, by alternative of `threshold-trigger`. [THRESHOLD-01,
THRESHOLD-02]
"""

TARGET_USAGE: Mapping[str, Callable[[Column], Column]] = {
    "points": lambda average: average - constant_double(BELOW_AVERAGE),
    "percent": lambda average: (
        average * constant_double(100 - BELOW_AVERAGE) / constant_double(100)
    ),
}
"""Functions that return a broker's usage after shedding, by alternative of `threshold-target`.

[THRESHOLD-03]
"""

TRAFFIC_OF_USAGE: Mapping[str, Callable[[Column, Column, Column], Column]] = {
    "traffic": lambda excess, _used, weight: excess * weight / constant_double(100),
    "usage": lambda excess, used, weight: F.try_divide(excess * weight, used),
}
"""Functions that convert percentage points of usage to traffic, by alternative of
`threshold-released`.

[THRESHOLD-03]
"""

IDLE_BOUND: Mapping[str, Callable[[Column, Column], Column]] = {
    "printed-sum": lambda average, _threshold: average,
    "average-minus-threshold": lambda average, threshold: average - threshold,
    "average-minus-10": lambda average, _threshold: average - constant_double(BOUNDARY_LOAD),
}
"""Functions that return the usage below which a broker is idle, by alternative of `lower-boundary`.

[THRESHOLD-09]
"""


RELIEVES_IDLE: Mapping[str, Callable[[Column, Column, Column], Column]] = {
    "some": lambda place, _above, _need: place == 1,
    "enough": lambda place, above, need: (place == 1) | (above < need),
}
"""Conditions under which a bundle is shed because another broker is idle.

Keys are the alternatives of the reading `lower-boundary-amount`. [THRESHOLD-13]
"""


def threshold_levels(brokers: DataFrame, readings: Mapping[str, str]) -> DataFrame:
    """Add the column `thresholdshedder` to brokers: their limits, and whether they shed.

    Fields: `usage`, `average`, `threshold`, `limit`, `target` and `bound` in percent; `over`, true
    if the usage is above the limit and shedding is worthwhile; `need`, the traffic to shed; and
    `relieves`, true if the broker sheds because another broker of the cycle is idle.
    """
    brokers = with_levels(brokers, readings)
    level = F.col("thresholdshedder")
    worth = _is_worthwhile(brokers.columns, readings)
    brokers = brokers.withColumns(
        {"_worth": worth, "thresholdshedder": level.withField("over", level["over"] & worth)}
    )
    cycle = Window.partitionBy("cycle")
    busy = F.when((F.col("able") > 0) & F.col("_worth"), F.struct(level["usage"], F.col("broker")))
    brokers = brokers.withColumns(
        {
            "_any": F.max(level["over"] & (F.col("able") > 0)).over(cycle),
            "_idle": F.max(F.col("first") & (level["usage"] < level["bound"])).over(cycle)
            & F.col(f"settings.{LOWER_BOUNDARY}"),
            "_busiest": F.max(busy).over(cycle)["broker"],
        }
    )
    relieves = F.col("_idle") & ~F.col("_any") & (F.col("broker") == F.col("_busiest"))
    level = level.withField("relieves", relieves)
    return brokers.withColumn("thresholdshedder", level).drop("_any", "_idle", "_busiest", "_worth")


def takes(readings: Mapping[str, str]) -> Column:
    """True if ThresholdShedder sheds the bundle."""
    level = F.col("thresholdshedder")
    enough, relief = RELIEVES_IDLE["enough"], RELIEVES_IDLE[readings["lower-boundary-amount"]]
    own = level["over"] & F.col("movable") & enough(F.col("place"), F.col("above"), level["need"])
    wanted = relief(F.col("place"), F.col("above"), level["need"])
    relieving = level["relieves"] & F.col("movable") & wanted
    return F.coalesce(own, F.lit(False)) | relieving


def with_levels(rows: DataFrame, readings: Mapping[str, str]) -> DataFrame:
    """Add each broker's usage, the average of all, and the limits based on the average.

    The average is exact if the usages are exact and the number of brokers is a power of two.
    Otherwise it is always rounded in the same way, because brokers are added in the order of their
    names. If rows have the column `smoothed`, it gives the usage. [THRESHOLD-05 … 07]
    """
    settings = F.col("settings")
    rows = rows.withColumn("_used", compared_usage(rows.columns))
    by_name = Window.partitionBy("cycle").orderBy("broker")
    all_of_them = by_name.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    total = F.sum(F.when(F.col("first"), F.col("_used"))).over(all_of_them)
    rows = rows.withColumn("_average", F.try_divide(total, F.col("brokers").cast("double")))
    used, average, threshold = F.col("_used"), F.col("_average"), settings[SHEDDER_THRESHOLD]
    limit, target = average + threshold, TARGET_USAGE[readings["threshold-target"]](average)
    released = TRAFFIC_OF_USAGE[readings["threshold-released"]]
    level = F.struct(
        used.alias("usage"),
        average.alias("average"),
        threshold.alias("threshold"),
        limit.alias("limit"),
        target.alias("target"),
        IDLE_BOUND[readings["lower-boundary"]](average, threshold).alias("bound"),
        OVER_LIMIT[readings["threshold-trigger"]](used, limit).alias("over"),
        released(used - target, used, F.col("weight")).alias("need"),
    )
    return rows.withColumn("thresholdshedder", level).drop("_used", "_average")


def _is_worthwhile(given: list[str], readings: Mapping[str, str]) -> Column:
    """True if a broker would shed more than the minimum throughput, or if there is no minimum.

    [THRESHOLD-20]
    """
    if "least" not in given:
        return F.lit(True)
    level = F.col("thresholdshedder")
    released = TRAFFIC_OF_USAGE[readings["threshold-released"]]
    share = released(level["usage"] - level["target"], level["usage"], F.col("carries.bytes"))
    shed = F.when(level["usage"] != 0, share).otherwise(F.lit(0.0))
    shed = F.least(F.coalesce(shed, F.lit(0.0)), F.col("able_bytes"))
    return F.col("least").isNull() | (shed > F.col("least"))


def compared_usage(given: list[str]) -> Column:
    """Return a broker's usage, smoothed over its history. [THRESHOLD-06, THRESHOLD-07]"""
    if "smoothed" in given:
        return F.col("smoothed")
    settings = F.col("settings")
    present = usage.maximum(usage.weighted_percents_of(F.col("percent"), settings))
    return usage.smoothed_usage(F.col("history"), present, settings[HISTORY_SHARE])
