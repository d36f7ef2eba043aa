"""One cycle of shedding: what each bundle carries, whether it may move, and whether it is shed.

Two frames have a row for each broker and a row for each bundle, of any number of cycles. Both have:

    cycle       identifies the cycle: a number, or a struct of cluster and time
    broker      the broker's name; null in the one row of a cycle without brokers

Brokers also have:

    settings    struct of the effective `SETTINGS`, by their names in broker.conf
    strategy    class name, without Pulsar's own package
    percent     struct of the usage of each resource (`usage.percents_of_limits`)
    history     array of earlier usages in weighted percent, oldest first; or, in its place,
                `smoothed`, the usage smoothed over the earlier usages and the present one
    carries     struct of the broker's load: `messages` and `bytes` per second

Bundles also have:

    bundle      the bundle's full name
    load        struct of the bundle's short-term load, like `carries`
    moved       minutes since the bundle was last unloaded; null if it was not

Brokers may have:

    least       bytes per second that ThresholdShedder's unloads must exceed; null without a minimum
    earlier     earlier cycles, for AvgShedder; or
    streak      what AvgShedder needs of earlier cycles; see `average`

and the columns of `transfer`, for TransferShedder.

Bundles may have:

    excluded    true if their namespace is excluded from shedding; if there is no such column, an
                excluded bundle still counts in what a strategy plans, but is not chosen

If brokers have their bundles in an array of structs, `owns`, a frame of brokers is enough. [SHED]
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pulsar_conformance.adapters.spark import (
    average,
    overload,
    policies,
    threshold,
    transfer,
    uniform,
)
from pulsar_conformance.adapters.spark.ranges import namespace_of
from pulsar_conformance.adapters.spark.shapes import SHEDDING_MEASURE, or_zero
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

ENABLED = "loadBalancerSheddingEnabled"
GRACE = "loadBalancerSheddingGracePeriodMinutes"
STRATEGY = "loadBalancerLoadSheddingStrategy"

Readings = Mapping[str, str]

WITHIN_GRACE: Mapping[str, Callable[[Column, Column], Column]] = {
    "blocked": operator.le,
    "free": operator.lt,
}
"""Comparisons that are true for an unload within the grace period, by alternative of `grace-edge`.
[SHED-04]
"""

BROKER = ("cycle", "broker")


@dataclass(frozen=True)
class Strategy:
    """A strategy: how it rates brokers, and which of their bundles it sheds.

    `levels` adds a struct about each broker, as a column with the strategy's name in lower case.
    `takes` is true for a row of `with_queue_places` whose bundle is shed. `sums` maps the name of a
    column to the quantity that the column sums along the queue. `settings` are the settings that it
    reads.
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
        (*uniform.SETTINGS, *uniform.OPTIONAL_SETTINGS),
        uniform.with_extremes,
        uniform.takes,
        {
            uniform.FILLED_COLUMN: uniform.fitting_traffic,
            uniform.COUNT_COLUMN: uniform.one_if_fitting,
        },
    ),
    average.NAME: Strategy(
        average.SETTINGS,
        average.with_broker_pair,
        average.takes,
        {average.FILLED_COLUMN: average.average_fitting},
    ),
    transfer.NAME: Strategy(transfer.SETTINGS, transfer.with_transfers, transfer.takes, {}),
}

BY_REPORTS = tuple(name for name in STRATEGIES if name != transfer.NAME)
"""Strategies that need nothing but load reports."""

MARKER_SETTING: Mapping[str, str] = {
    average.NAME: average.LOW,
    transfer.NAME: transfer.TARGET_DEVIATION,
}
"""For each strategy that not all documents describe: a setting that only its documents list."""


def documented_strategies(defaults: Mapping[str, object]) -> tuple[str, ...]:
    """Return the strategies that documents with these default settings describe."""
    return tuple(one for one in STRATEGIES if MARKER_SETTING.get(one) in (None, *defaults))


ALWAYS_SHEDDING: Mapping[str, tuple[str, ...]] = {
    "overload-shedder": (),
    "all": ("OverloadShedder",),
}
"""Strategies that shed even if another strategy is set, by alternative of `overload-scope`.
[SHED-08]

Under TransferShedder, none of them sheds.
"""


def deciding_settings(strategies: Iterable[str] = STRATEGIES) -> tuple[str, ...]:
    """Return the settings on which the decisions of these strategies depend."""
    own = (name for one in strategies for name in STRATEGIES[one].settings)
    return tuple(dict.fromkeys((ENABLED, GRACE, STRATEGY, transfer.EXCLUDED, *own)))


def decision_rows(
    brokers: DataFrame,
    bundles: DataFrame,
    readings: Readings,
    strategies: Iterable[str] = BY_REPORTS,
) -> DataFrame:
    """Return a row per bundle, with `chosen` true if it is shed, and a row per broker without
    bundles.

    Columns: the given ones except `BROKER_ONLY_COLUMNS`, those added by `with_counts` and
    `with_queue_places`, and a struct for each strategy (`Strategy.levels`). `chosen` is false under
    a strategy that is not in `strategies`.
    """
    planned = strategies_that_shed(strategies, readings)
    known = _with_levels(with_counts(brokers, bundles, readings), readings, planned)
    known = known.repartition("cycle").hint("shuffle_hash")
    rows = bundles.repartition("cycle").join(known, list(BROKER), "right")
    return _choose_bundles(with_queue_places(rows, readings, planned), readings, strategies)


def decisions_of_owners(
    brokers: DataFrame, readings: Readings, strategies: Iterable[str] = tuple(STRATEGIES)
) -> DataFrame:
    """Return `decision_rows` for brokers that have their bundles in `owns`, without a join."""
    planned = strategies_that_shed(strategies, readings)
    parts = F.transform(
        "owns",
        lambda one: F.struct(
            one["moved"].alias("moved"),
            one["excluded"].alias("excluded"),
            F.lit(1).cast("bigint").alias("many"),
            *(one["load"][name].alias(name) for name in _traffic_to_sum(brokers.columns, readings)),
        ),
    )
    known = _with_levels(
        _count_bundles(brokers.withColumn("parts", parts), readings), readings, planned
    )
    rows = known.select("*", F.inline_outer("owns")).drop("owns")
    return _choose_bundles(with_queue_places(rows, readings, planned), readings, strategies)


def strategies_that_shed(strategies: Iterable[str], readings: Readings) -> tuple[str, ...]:
    """Return these strategies, and the strategies that shed even if another strategy is set."""
    return tuple(dict.fromkeys((*strategies, *ALWAYS_SHEDDING[readings["overload-scope"]])))


def _with_levels(brokers: DataFrame, readings: Readings, planned: Iterable[str]) -> DataFrame:
    """Add a struct of levels for each strategy; drop the columns that only the levels need."""
    for name in planned:
        brokers = STRATEGIES[name].levels(brokers, readings)
    return brokers.drop(*BROKER_ONLY_COLUMNS)


def _choose_bundles(rows: DataFrame, readings: Readings, strategies: Iterable[str]) -> DataFrame:
    """Return the bundles in the queues of their brokers, with the column `chosen`."""
    everywhere = ALWAYS_SHEDDING[readings["overload-scope"]]
    enabled = F.col(f"settings.{ENABLED}") & (F.col("brokers") > 1)
    taken = [(F.col("strategy") == name) & STRATEGIES[name].takes(readings) for name in strategies]
    others = F.col("strategy").isin(*strategies) & (F.col("strategy") != transfer.NAME)
    taken += [others & STRATEGIES[name].takes(readings) for name in everywhere]
    chosen = enabled & F.col("movable") & F.array_contains(F.array(F.lit(False), *taken), True)
    return rows.withColumn("chosen", F.coalesce(chosen, F.lit(False)))


BROKER_ONLY_COLUMNS = (
    *("percent", "history", "smoothed", "carries", "weight", "first", "least", "able_bytes"),
    *("earlier", "streak", *transfer.BROKER_COLUMNS),
)
"""Columns of brokers that are left out of the rows of bundles."""


def with_counts(brokers: DataFrame, bundles: DataFrame, readings: Readings) -> DataFrame:
    """Add to brokers `owned`, the number of their bundles, and `able`, the number that may move.

    It also adds `first`, true if the row has a broker; `brokers`, the number of brokers in the
    cycle; and `weight`, the broker's load in the measure that the readings choose.
    """
    kinds = ("moved", _excluded_column(bundles, F.lit(False)))
    alike = bundles.groupBy(*BROKER, *kinds).agg(
        F.count("bundle").alias("many"),
        *(F.sum(f"load.{name}").alias(name) for name in _traffic_to_sum(brokers.columns, readings)),
    )
    part = F.struct("moved", "excluded", "many", *_traffic_to_sum(brokers.columns, readings))
    counted = alike.groupBy(*BROKER).agg(F.collect_list(part).alias("parts"))
    return _count_bundles(
        brokers.join(counted.hint("shuffle_hash"), list(BROKER), "left"), readings
    )


def _count_bundles(rows: DataFrame, readings: Readings) -> DataFrame:
    """Add counts and load to brokers, and `parts`: bundles by last unload and whether they are
    excluded.
    """
    free = F.filter(
        "parts", lambda one: ~(one["excluded"] | in_grace_period(one["moved"], readings))
    )
    rows = rows.withColumn("carries", BROKER_LOAD[readings["broker-rates"]]())
    rows = rows.withColumns(
        {
            "owned": _number_of_bundles(F.col("parts")),
            "able": _number_of_bundles(free),
            "first": F.col("broker").isNotNull(),
            "weight": F.col(f"carries.{SHEDDING_MEASURE[readings['shed-measure']]}"),
        }
    )
    if "least" in rows.columns:
        rows = rows.withColumn("able_bytes", _sum_over_parts(free["bytes"]))
    of_cycle = Window.partitionBy("cycle")
    return rows.withColumn("brokers", F.count("broker").over(of_cycle)).drop("parts")


def _load_of_bundles() -> Column:
    """Return a broker's load as the sum over its bundles: a struct of `messages` and `bytes`."""
    sums = (_sum_over_parts(F.col("parts")[name]).alias(name) for name in SUMMED_TRAFFIC["bundles"])
    return F.struct(*sums)


def _sum_over_parts(amounts: Column) -> Column:
    return or_zero(F.aggregate(amounts, F.lit(0.0), lambda total, amount: total + amount))


SUMMED_TRAFFIC: Mapping[str, tuple[str, ...]] = {
    "reported": (),
    "bundles": tuple(SHEDDING_MEASURE.values()),
}
"""Kinds of traffic to sum over the bundles of a broker, by alternative of `broker-rates`."""


def _traffic_to_sum(columns: Iterable[str], readings: Readings) -> tuple[str, ...]:
    """Return the kinds of traffic to sum; bytes are among them if a minimum throughput is set."""
    needed = ("bytes",) if "least" in columns else ()
    return tuple(dict.fromkeys((*needed, *SUMMED_TRAFFIC[readings["broker-rates"]])))


BROKER_LOAD: Mapping[str, Callable[[], Column]] = {
    "reported": lambda: F.col("carries"),
    "bundles": _load_of_bundles,
}
"""Functions that return the load of a broker, by alternative of `broker-rates`. [OVERLOAD-02,
THRESHOLD-03]
"""


def _number_of_bundles(parts: Column) -> Column:
    counted = F.aggregate(parts, F.lit(0).cast("bigint"), lambda total, part: total + part["many"])
    return F.coalesce(counted, F.lit(0))


def in_grace_period(moved: Column, readings: Readings) -> Column:
    """True if a bundle that was unloaded `moved` minutes ago may not move yet. [SHED-04]"""
    recently = WITHIN_GRACE[readings["grace-edge"]]
    return F.coalesce(recently(moved, F.col(f"settings.{GRACE}")), F.lit(False))


def _excluded_column(bundles: DataFrame, otherwise: Column) -> Column:
    """Return the column `excluded` of bundles, or `otherwise` if there is none. [SHED-17]"""
    own = F.col("excluded") if "excluded" in bundles.columns else otherwise
    return F.coalesce(own, F.lit(False)).alias("excluded")


def with_queue_places(rows: DataFrame, readings: Readings, strategies: Iterable[str]) -> DataFrame:
    """Add to bundles their positions in their broker's queue. [SHED-02, SHED-04, SHED-07, SHED-17]

    Columns: `traffic` in the measure that the readings choose; `excluded`; `movable`; `place`,
    counted from 1, with movable bundles first, then by decreasing traffic, then by name; `rank`,
    which is `place` unless the readings sort by expense; `above`, the traffic of movable bundles
    ahead; and the sums of the strategies.
    """
    named = policies.is_listed_as_excluded(namespace_of(F.col("bundle")))
    rows = rows.withColumn("excluded", _excluded_column(rows, named))
    kept = F.col("excluded") | in_grace_period(F.col("moved"), readings)
    rows = rows.withColumns(
        {
            "traffic": F.col(f"load.{SHEDDING_MEASURE[readings['shed-measure']]}"),
            "movable": F.col("bundle").isNotNull() & ~kept,
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
    above = or_zero(F.sum(going).over(before))
    rank = place
    if readings["overload-amount"] == "one":
        dearest = F.desc(F.col(f"load.{SHEDDING_MEASURE[readings['expensive-measure']]}"))
        by_expense = Window.partitionBy("seat", *BROKER)
        rank = F.row_number().over(by_expense.orderBy(F.desc("movable"), dearest, "bundle"))
    rows = rows.withColumns({"place": place, "rank": rank, "above": above, **sums})
    return rows.drop("seat")
