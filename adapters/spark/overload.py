"""OverloadShedder: brokers above a fixed threshold shed their excess plus a margin. [OVERLOAD]"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from pulsar_conformance.adapters.spark import usage
from pulsar_conformance.adapters.spark.shapes import constant_double
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

OVERLOAD_THRESHOLD = "loadBalancerBrokerOverloadedThresholdPercentage"
SETTINGS = (OVERLOAD_THRESHOLD,)

MARGIN = 5
"""Points that an overloaded broker sheds in addition to its excess. [OVERLOAD-02]"""

MIN_BUNDLES = 2
"""Minimum number of bundles of a broker that sheds bundles. [OVERLOAD-07]"""

OVERLOADED: Mapping[str, Callable[[Column, Column], Column]] = {
    "exceeds": operator.gt,
    "reaches": operator.ge,
}
"""Comparisons of usage and threshold, by alternative of `overload-trigger`. [OVERLOAD-01,
OVERLOAD-04]
"""

SHEDS_BY_AMOUNT: Mapping[str, Callable[[Column, Column, Column], Column]] = {
    "margin": lambda rank, above, need: (rank == 1) | (above < need),
    "one": lambda rank, _above, _need: rank == 1,
    "every": lambda rank, _above, _need: rank > 0,
}
"""Conditions under which a bundle is shed, by alternative of `overload-amount`.

[OVERLOAD-02, 03, 05, 06, 13]
"""


def need_of(used: Column, threshold: Column, weight: Column) -> Column:
    """Return the traffic that an overloaded broker sheds. [OVERLOAD-02]"""
    return (used - threshold + constant_double(MARGIN)) * weight / constant_double(100)


def overload_levels(brokers: DataFrame, readings: Mapping[str, str]) -> DataFrame:
    """Add to each broker the column `overloadshedder`, a struct made by `level_struct`."""
    return brokers.withColumn("overloadshedder", level_struct(readings))


def takes(readings: Mapping[str, str]) -> Column:
    """True if OverloadShedder sheds the bundle."""
    level = F.col("overloadshedder")
    amount = SHEDS_BY_AMOUNT[readings["overload-amount"]](
        F.col("rank"), F.col("above"), level["need"]
    )
    return level["over"] & (F.col("owned") >= MIN_BUNDLES) & F.col("movable") & amount


def level_struct(readings: Mapping[str, str]) -> Column:
    """Return a struct of a broker's `usage`, `threshold`, `over` and `need` under OverloadShedder.

    `usage` and `threshold` are in percent, `over` is true if the broker is overloaded, and `need`
    is the traffic that it must shed.
    """
    used, threshold = usage.maximum(F.col("percent")), F.col(f"settings.{OVERLOAD_THRESHOLD}")
    return F.struct(
        used.alias("usage"),
        threshold.alias("threshold"),
        OVERLOADED[readings["overload-trigger"]](used, threshold).alias("over"),
        need_of(used, threshold, F.col("weight")).alias("need"),
    )
