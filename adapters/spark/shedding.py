"""One cycle of shedding: what each bundle carries, whether it may go, and whether it does. [SHED]

Rows are the bundles of brokers, with these columns. Any number of cycles can be together.

    cycle       what tells the cycles apart: a number, a struct of cluster and time
    settings    struct of `SETTINGS` in force, by their names in broker.conf
    strategy    class name, without Pulsar's own package
    broker      its name; null in the one row of a cycle without brokers
    percent     struct of what it uses of each resource (`usage.percents`)
    history     array of its earlier usages in weighted percent, the oldest first; instead of it,
                `smoothed` may be its usage with all of them and the present one
    carries     struct of what it carries: `messages` and `bytes` per second
    bundle      its full name; null in the one row of a broker without bundles
    load        struct of what the bundle carries in the short term, as `carries`
    moved       minutes since it was last unloaded; null where it was not
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping

from pulsar_conformance.adapters.spark import overload, threshold, uniform
from pulsar_conformance.adapters.spark.shapes import MEASURE, or_nothing
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

ENABLED = "loadBalancerSheddingEnabled"
GRACE = "loadBalancerSheddingGracePeriodMinutes"
STRATEGY = "loadBalancerLoadSheddingStrategy"

Readings = Mapping[str, str]

RECENTLY: Mapping[str, Callable[[Column, Column], Column]] = {
    "blocked": operator.le,
    "free": operator.lt,
}
"""Whether an unload so long ago is within the grace period, by `grace-edge`. [SHED-04]"""

Strategy = Callable[[DataFrame, Readings], DataFrame]
"""Adds a struct of its own name in small letters: `takes`, and how that came about."""

STRATEGIES: Mapping[str, Strategy] = {
    "ThresholdShedder": threshold.considered,
    "OverloadShedder": overload.considered,
    "UniformLoadShedder": uniform.considered,
}

SETTINGS: Mapping[str, tuple[str, ...]] = {
    "ThresholdShedder": threshold.SETTINGS,
    "OverloadShedder": overload.SETTINGS,
    "UniformLoadShedder": uniform.SETTINGS,
}
"""What each strategy depends on."""

EVERYWHERE: Mapping[str, tuple[str, ...]] = {
    "overload-shedder": (),
    "all": ("OverloadShedder",),
}
"""The strategies that shed whichever is set, by the reading `overload-scope`. [SHED-08]"""


def settings_of(strategies: Iterable[str] = STRATEGIES) -> tuple[str, ...]:
    """The settings that decide under these strategies."""
    names = (ENABLED, GRACE, STRATEGY, *(name for one in strategies for name in SETTINGS[one]))
    return tuple(dict.fromkeys(names))


def decisions(
    rows: DataFrame, readings: Readings, strategies: Iterable[str] = tuple(STRATEGIES)
) -> DataFrame:
    """The rows, with what is unloaded (`chosen`) and why.

    Added are `traffic` (in the measure of the readings), `movable`, `place` (from 1, the movable
    ones with the most traffic first), `above` (what the movable ones before it carry together),
    `owned` and `able` (how many bundles its broker has, and how many of them may move), `first`
    (of its broker), `brokers` (of the cycle), a struct for each strategy, and `chosen`.

    Under strategies that are not among `strategies` nothing is chosen.
    """
    everywhere = EVERYWHERE[readings["overload-scope"]]
    planned = tuple(dict.fromkeys((*strategies, *everywhere)))
    rows = ordered(rows, readings)
    for name in planned:
        rows = STRATEGIES[name](rows, readings)
    enabled = F.col(f"settings.{ENABLED}") & (F.col("brokers") > 1)
    takes = [(F.col("strategy") == name) & takes_of(name) for name in strategies]
    takes += [F.col("strategy").isin(*strategies) & takes_of(name) for name in everywhere]
    chosen = enabled & F.col("movable") & F.array_contains(F.array(*takes), True)
    return rows.withColumn("chosen", F.coalesce(chosen, F.lit(False)))


def takes_of(strategy: str) -> Column:
    """Whether a strategy takes the bundle of the row."""
    return F.coalesce(F.col(f"{strategy.lower()}.takes"), F.lit(False))


def ordered(rows: DataFrame, readings: Readings) -> DataFrame:
    """The bundles of each broker in the order in which they would go. [SHED-02, SHED-04, SHED-07]

    Two that carry alike go by their names.
    """
    recently = RECENTLY[readings["grace-edge"]]
    blocked = F.coalesce(recently(F.col("moved"), F.col(f"settings.{GRACE}")), F.lit(False))
    measure = MEASURE[readings["shed-measure"]]
    rows = rows.withColumns(
        {
            "traffic": F.col(f"load.{measure}"),
            "weight": F.col(f"carries.{measure}"),
            "movable": F.col("bundle").isNotNull() & ~blocked,
        }
    )
    mine = Window.partitionBy("cycle", "broker")
    queue = mine.orderBy(F.desc("movable"), F.desc("traffic"), "bundle")
    going = F.when(F.col("movable"), F.col("traffic"))
    rows = rows.withColumns(
        {
            "place": F.row_number().over(queue),
            "above": or_nothing(
                F.sum(going).over(queue.rowsBetween(Window.unboundedPreceding, -1))
            ),
        }
    )
    rows = rows.withColumns(
        {
            "owned": F.count("bundle").over(mine),
            "able": F.count(going).over(mine),
            "first": (F.col("place") == 1) & F.col("broker").isNotNull(),
        }
    )
    of_cycle = Window.partitionBy("cycle")
    return rows.withColumn("brokers", F.count(F.when(F.col("first"), 1)).over(of_cycle))
