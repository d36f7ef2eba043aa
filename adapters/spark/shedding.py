"""One cycle of shedding: what each bundle carries, whether it may go, and whether it does. [SHED]

Brokers and their bundles are rows of two frames. Any number of cycles can be together. Both have:

    cycle       identifies the cycle: a number, or a struct of cluster and time
    broker      its name; null in the one row of a cycle without brokers

Brokers also have:

    settings    struct of the effective `SETTINGS`, by their names in broker.conf
    strategy    class name, without Pulsar's own package
    percent     struct of what it uses of each resource (`usage.percents`)
    history     array of its earlier usages in weighted percent, the oldest first; instead of it,
                `smoothed` may be its usage with all of them and the present one
    carries     struct of what it carries: `messages` and `bytes` per second

Bundles also have:

    bundle      its full name
    load        struct of what the bundle carries in the short term, as `carries`
    moved       minutes since it was last unloaded; null where it was not

Brokers may have:

    least       bytes per second; ThresholdShedder sheds only more than this; null without a limit
    earlier     earlier cycles, or
    streak      what remains of them, for AvgShedder; see `average`

and those of `transfer`, for TransferShedder.

If brokers have their bundles in an array of structs, `owns`, that one frame is enough.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pulsar_conformance.adapters.spark import average, overload, threshold, transfer, uniform
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
"""Functions that are true if an unload is within the grace period, under the reading `grace-edge`.
[SHED-04]
"""

BROKER = ("cycle", "broker")


@dataclass(frozen=True)
class Strategy:
    """A strategy: the state of brokers, and which of their bundles it sheds.

    `levels` adds the state to brokers, as a struct with the strategy's name in lower case. `takes`
    is true for a row of `queued` that is shed; `sums` are the traffic to sum along the queue, by
    column.
    """

    settings: tuple[str, ...]
    levels: Callable[[DataFrame, Readings], DataFrame]
    takes: Callable[[Readings], Column]
    sums: Mapping[str, Callable[[], Column]]


STRATEGIES: Mapping[str, Strategy] = {
    "ThresholdShedder": Strategy(
        threshold.SETTINGS, threshold.threshold_levels, threshold.takes, {}
    ),
    "OverloadShedder": Strategy(overload.SETTINGS, overload.overload_levels, overload.takes, {}),
    "UniformLoadShedder": Strategy(
        (*uniform.SETTINGS, *uniform.LIMITS),
        uniform.with_ends,
        uniform.takes,
        {uniform.FILLED: uniform.fitting, uniform.COUNTED: uniform.one_if_fitting},
    ),
    average.NAME: Strategy(
        average.SETTINGS,
        average.with_pair,
        average.takes,
        {average.FILLED: average.average_fitting},
    ),
    transfer.NAME: Strategy(transfer.SETTINGS, transfer.with_transfers, transfer.takes, {}),
}

BY_REPORTS = tuple(name for name in STRATEGIES if name != transfer.NAME)
"""Strategies that decide by load reports alone."""

LATER: Mapping[str, str] = {average.NAME: average.LOW, transfer.NAME: transfer.TARGET}
"""Setting in the documents that describe a strategy, for each strategy that only some documents
describe.
"""


def documented_strategies(defaults: Mapping[str, object]) -> tuple[str, ...]:
    """Return the strategies in the documents that have these default settings."""
    return tuple(one for one in STRATEGIES if LATER.get(one) in (None, *defaults))


EVERYWHERE: Mapping[str, tuple[str, ...]] = {
    "overload-shedder": (),
    "all": ("OverloadShedder",),
}
"""Strategies that shed whichever strategy is set, under the reading `overload-scope`. [SHED-08]

Under TransferShedder, none does.
"""


def deciding_settings(strategies: Iterable[str] = STRATEGIES) -> tuple[str, ...]:
    """Return the settings that affect decisions of these strategies."""
    own = (name for one in strategies for name in STRATEGIES[one].settings)
    return tuple(dict.fromkeys((ENABLED, GRACE, STRATEGY, *own)))


def decision_rows(
    brokers: DataFrame,
    bundles: DataFrame,
    readings: Readings,
    strategies: Iterable[str] = BY_REPORTS,
) -> DataFrame:
    """Return a row per bundle, and per broker without any: whether it is `chosen`, and why.

    Columns: those given except `MEASURED`, those added by `with_counts` and `queued`, a struct for
    each strategy (`Strategy.levels`), and `chosen`, which is false for any other strategy.
    """
    planned = strategies_that_shed(strategies, readings)
    known = _with_levels(with_counts(brokers, bundles, readings), readings, planned)
    known = known.repartition("cycle").hint("shuffle_hash")
    rows = bundles.repartition("cycle").join(known, list(BROKER), "right")
    return _choose_bundles(queued(rows, readings, planned), readings, strategies)


def decisions_of_owners(
    brokers: DataFrame, readings: Readings, strategies: Iterable[str] = tuple(STRATEGIES)
) -> DataFrame:
    """Return the decisions for brokers with `owns`, in a plan without a join."""
    planned = strategies_that_shed(strategies, readings)
    parts = F.transform(
        "owns",
        lambda one: F.struct(
            one["moved"].alias("moved"),
            F.lit(1).cast("bigint").alias("many"),
            *(one["load"][name].alias(name) for name in _traffic_to_sum(brokers.columns, readings)),
        ),
    )
    known = _with_levels(
        _count_bundles(brokers.withColumn("parts", parts), readings), readings, planned
    )
    rows = known.select("*", F.inline_outer("owns")).drop("owns")
    return _choose_bundles(queued(rows, readings, planned), readings, strategies)


def strategies_that_shed(strategies: Iterable[str], readings: Readings) -> tuple[str, ...]:
    """Return these strategies, and those that also shed when another one is set."""
    return tuple(dict.fromkeys((*strategies, *EVERYWHERE[readings["overload-scope"]])))


def _with_levels(brokers: DataFrame, readings: Readings, planned: Iterable[str]) -> DataFrame:
    """Add a struct of levels for each strategy, and drop columns that are needed only for these."""
    for name in planned:
        brokers = STRATEGIES[name].levels(brokers, readings)
    return brokers.drop(*MEASURED)


def _choose_bundles(rows: DataFrame, readings: Readings, strategies: Iterable[str]) -> DataFrame:
    """Return the bundles in their brokers' queues, with the column `chosen`."""
    everywhere = EVERYWHERE[readings["overload-scope"]]
    enabled = F.col(f"settings.{ENABLED}") & (F.col("brokers") > 1)
    taken = [(F.col("strategy") == name) & STRATEGIES[name].takes(readings) for name in strategies]
    others = F.col("strategy").isin(*strategies) & (F.col("strategy") != transfer.NAME)
    taken += [others & STRATEGIES[name].takes(readings) for name in everywhere]
    chosen = enabled & F.col("movable") & F.array_contains(F.array(F.lit(False), *taken), True)
    return rows.withColumn("chosen", F.coalesce(chosen, F.lit(False)))


MEASURED = (
    *("percent", "history", "smoothed", "carries", "weight", "first", "least", "able_bytes"),
    *("earlier", "streak", *transfer.COLUMNS),
)
"""Columns of brokers that are not repeated for their bundles."""


def with_counts(brokers: DataFrame, bundles: DataFrame, readings: Readings) -> DataFrame:
    """Add to brokers `owned` and `able`, the numbers of their bundles and of their movable bundles.

    Also `first`, true if the row has a broker; `brokers`, the number of brokers in the cycle; and
    `weight`, the load in the measure set by the readings.
    """
    alike = bundles.groupBy(*BROKER, "moved").agg(
        F.count("bundle").alias("many"),
        *(F.sum(f"load.{name}").alias(name) for name in _traffic_to_sum(brokers.columns, readings)),
    )
    part = F.struct("moved", "many", *_traffic_to_sum(brokers.columns, readings))
    counted = alike.groupBy(*BROKER).agg(F.collect_list(part).alias("parts"))
    return _count_bundles(
        brokers.join(counted.hint("shuffle_hash"), list(BROKER), "left"), readings
    )


def _count_bundles(rows: DataFrame, readings: Readings) -> DataFrame:
    """Add counts and load to brokers with `parts`, their bundles grouped by time of unloading."""
    free = F.filter("parts", lambda part: ~blocked(part["moved"], readings))
    rows = rows.withColumn("carries", CARRIES[readings["broker-rates"]]())
    rows = rows.withColumns(
        {
            "owned": _number_of_bundles(F.col("parts")),
            "able": _number_of_bundles(free),
            "first": F.col("broker").isNotNull(),
            "weight": F.col(f"carries.{MEASURE[readings['shed-measure']]}"),
        }
    )
    if "least" in rows.columns:
        rows = rows.withColumn("able_bytes", _sum_over_parts(free["bytes"]))
    of_cycle = Window.partitionBy("cycle")
    return rows.withColumn("brokers", F.count("broker").over(of_cycle)).drop("parts")


def _load_of_bundles() -> Column:
    """Return a broker's load as the sum over its bundles: a struct of `messages` and `bytes`."""
    sums = (_sum_over_parts(F.col("parts")[name]).alias(name) for name in ADDED["bundles"])
    return F.struct(*sums)


def _sum_over_parts(amounts: Column) -> Column:
    return or_nothing(F.aggregate(amounts, F.lit(0.0), lambda total, amount: total + amount))


ADDED: Mapping[str, tuple[str, ...]] = {"reported": (), "bundles": tuple(MEASURE.values())}
"""Traffic to sum over the bundles of a broker, under the reading `broker-rates`."""


def _traffic_to_sum(columns: Iterable[str], readings: Readings) -> tuple[str, ...]:
    """Return which traffic is summed; bytes are included where a minimum throughput is set."""
    needed = ("bytes",) if "least" in columns else ()
    return tuple(dict.fromkeys((*needed, *ADDED[readings["broker-rates"]])))


CARRIES: Mapping[str, Callable[[], Column]] = {
    "reported": lambda: F.col("carries"),
    "bundles": _load_of_bundles,
}
"""Load of a broker, under the reading `broker-rates`. [OVERLOAD-02, THRESHOLD-03]"""


def _number_of_bundles(parts: Column) -> Column:
    counted = F.aggregate(parts, F.lit(0).cast("bigint"), lambda total, part: total + part["many"])
    return F.coalesce(counted, F.lit(0))


def blocked(moved: Column, readings: Readings) -> Column:
    """True if a bundle that was unloaded `moved` minutes ago must stay. [SHED-04]"""
    recently = RECENTLY[readings["grace-edge"]]
    return F.coalesce(recently(moved, F.col(f"settings.{GRACE}")), F.lit(False))


def queued(rows: DataFrame, readings: Readings, strategies: Iterable[str]) -> DataFrame:
    """Add to bundles their position in the queue for unloading. [SHED-02, SHED-04, SHED-07]

    Columns: `traffic` in the measure set by the readings; `movable`; `place` from 1, movable
    bundles with the most traffic first, ties by name; `rank`, the same with the most expensive
    first; `above`, the traffic of movable bundles ahead; and the strategies' sums.
    """
    rows = rows.withColumns(
        {
            "traffic": F.col(f"load.{MEASURE[readings['shed-measure']]}"),
            "movable": F.col("bundle").isNotNull() & ~blocked(F.col("moved"), readings),
            "seat": F.xxhash64(*BROKER),
        }
    )
    order = (F.desc("movable"), F.desc("traffic"), "bundle")
    queue = Window.partitionBy("seat", *BROKER).orderBy(*order)
    before = queue.rowsBetween(Window.unboundedPreceding, -1)
    so_far = queue.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    going = F.when(F.col("movable"), F.col("traffic"))
    sums = {
        name: F.sum(amount()).over(so_far)
        for one in strategies
        for name, amount in STRATEGIES[one].sums.items()
    }
    place = F.row_number().over(queue)
    above = or_nothing(F.sum(going).over(before))
    rank = place
    if readings["overload-amount"] == "one":
        dearest = F.desc(F.col(f"load.{MEASURE[readings['expensive-measure']]}"))
        by_expense = Window.partitionBy("seat", *BROKER)
        rank = F.row_number().over(by_expense.orderBy(F.desc("movable"), dearest, "bundle"))
    rows = rows.withColumns({"place": place, "rank": rank, "above": above, **sums})
    return rows.drop("seat")
