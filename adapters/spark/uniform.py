"""UniformLoadShedder: balances the most and the least loaded broker. [UNIFORM]"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from pulsar_conformance.adapters.spark.shapes import constant_double
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

RATE_THRESHOLD = "loadBalancerMsgRateDifferenceShedderThreshold"
THROUGHPUT_THRESHOLD = "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold"
SETTINGS = (RATE_THRESHOLD, THROUGHPUT_THRESHOLD)
MAX_SHARE = "maxUnloadPercentage"
MIN_UNLOAD: Mapping[str, str] = {
    "messages": "minUnloadMessage",
    "bytes": "minUnloadMessageThroughput",
}
"""Setting with the minimum traffic to unload, by its measure. [UNIFORM-06, AVERAGE-06]"""

MAX_UNLOADED_BUNDLES = "maxUnloadBundleNumPerShedding"
OPTIONAL_SETTINGS = (MAX_SHARE, *MIN_UNLOAD.values(), MAX_UNLOADED_BUNDLES)
"""Settings that are null under documents that do not describe them."""

RATES_DIFFER: Mapping[str, Callable[[Column, Column, Column], Column]] = {
    "percent": lambda most, least, threshold: (
        (most - least) * constant_double(100) > threshold * least
    ),
    "messages": lambda most, least, threshold: most - least > threshold,
}
"""Comparisons of message rates, by alternative of `uniform-difference`. [UNIFORM-01]"""

BYTES_DIFFER: Mapping[str, Callable[[Column, Column, Column], Column]] = {
    "ratio": lambda most, least, threshold: most > threshold * least,
    "difference": lambda most, least, threshold: most - least > threshold * least,
}
"""Comparisons of bytes per second, by alternative of `uniform-multiplier`. [UNIFORM-01]"""

DIFFERENCES_TRIGGER: Mapping[str, Callable[[Column, Column], Column]] = {
    "both": operator.and_,
    "either": operator.or_,
}
"""Conditions under which two differences trigger shedding, by alternative of `uniform-trigger`.

[UNIFORM-01, UNIFORM-02]
"""


def _fits() -> Column:
    traffic = F.col("traffic")
    return F.col("movable") & (traffic > 0) & (traffic <= F.col("uniformloadshedder.need"))


FILLED_COLUMN = "filled"
"""Column with the traffic of all fitting bundles in the queue, up to and including this one."""


def fitting_traffic() -> Column:
    """Return the bundle's traffic if it fits into the traffic to move; otherwise null."""
    return F.when(_fits(), F.col("traffic"))


COUNT_COLUMN = "fitting"
"""Column with the number of fitting bundles in the queue, up to and including this one."""


def one_if_fitting() -> Column:
    """Return 1 if the bundle fits into the traffic to move; otherwise null."""
    return F.when(_fits(), F.lit(1))


def takes(_readings: Mapping[str, str]) -> Column:
    """True if UniformLoadShedder sheds the bundle."""
    ends, most = F.col("uniformloadshedder"), F.col(f"settings.{MAX_UNLOADED_BUNDLES}")
    few = F.coalesce((most < 0) | (F.col(COUNT_COLUMN) <= most), F.lit(True))
    return (
        ends["over"] & ends["most_loaded"] & _fits() & (F.col(FILLED_COLUMN) <= ends["need"]) & few
    )


def with_extremes(rows: DataFrame, readings: Mapping[str, str]) -> DataFrame:
    """Add the column `uniformloadshedder` to brokers: the cycle's extremes, and the traffic to
    move.

    Fields: `least` and `most`, the lowest and highest `messages` and `bytes` per second of a
    broker; `over`, true if the differences trigger shedding and reach the minimum to unload;
    `most_loaded`, true in the row of the most loaded broker; and `need`, the traffic to move: half
    of the difference between the most and the least loaded broker, or the documented share of this
    difference if that is less.
    """
    cycle, there = Window.partitionBy("cycle"), F.col("broker").isNotNull()
    measured = {"messages": F.col("carries.messages"), "bytes": F.col("carries.bytes")}
    heaviest = F.max(F.when(there, F.struct(F.col("weight"), F.col("broker")))).over(cycle)
    rows = rows.withColumns(
        {
            **{f"_most_{one}": F.max(rate).over(cycle) for one, rate in measured.items()},
            **{f"_least_{one}": F.min(rate).over(cycle) for one, rate in measured.items()},
            "_heaviest": heaviest,
            "_lightest": F.min("weight").over(cycle),
        }
    )
    settings, gap = F.col("settings"), F.col("_heaviest.weight") - F.col("_lightest")
    most, least = F.col("_most_messages"), F.col("_least_messages")
    rates = RATES_DIFFER[readings["uniform-difference"]](most, least, settings[RATE_THRESHOLD])
    differ = BYTES_DIFFER[readings["uniform-multiplier"]]
    bytes_ = differ(F.col("_most_bytes"), F.col("_least_bytes"), settings[THROUGHPUT_THRESHOLD])
    made = ["_heaviest", "_lightest", *(f"_{end}_{one}" for end in EXTREMES for one in measured)]
    ends = F.struct(
        *(
            F.struct(*(F.col(f"_{end}_{one}").alias(one) for one in measured)).alias(end)
            for end in EXTREMES
        ),
        (DIFFERENCES_TRIGGER[readings["uniform-trigger"]](rates, bytes_) & _is_worthwhile()).alias(
            "over"
        ),
        (F.col("broker") == F.col("_heaviest.broker")).alias("most_loaded"),
        F.least(gap / constant_double(2), gap * settings[MAX_SHARE]).alias("need"),
    )
    return rows.withColumn("uniformloadshedder", ends).drop(*made)


def _is_worthwhile() -> Column:
    """True if the messages or the bytes to move reach their minimum, or have no minimum.
    [UNIFORM-06]
    """
    settings = F.col("settings")
    enough = (
        F.coalesce(
            (F.col(f"_most_{one}") - F.col(f"_least_{one}")) * settings[MAX_SHARE]
            >= settings[least],
            F.lit(True),
        )
        for one, least in MIN_UNLOAD.items()
    )
    return next(enough) | next(enough)


EXTREMES = ("least", "most")
