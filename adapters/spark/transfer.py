"""TransferShedder: moves bundles from the most to the least loaded brokers. [TRANSFER]

Rows of brokers need more columns:

    age             seconds since the load data were written; null if there are none
    without_data    registered brokers of the cycle that have no load data
    past            struct of `hits`, the number of consecutive earlier cycles with an imbalance,
                    and `since`, the seconds since each broker last unloaded bundles

Each struct in `owns` also has `kept`, true if the bundle stays regardless of its load, and
`targets`, the brokers that may take it, or null if all may.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pulsar_conformance.adapters.spark import threshold, usage
from pulsar_conformance.adapters.spark.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.adapters.spark.shapes import constant_double, or_zero
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

NAME = "TransferShedder"
IN_EXTENSIONS = f"org.apache.pulsar.broker.loadbalance.extensions.scheduler.{NAME}"
MANAGER, EXTENSIBLE = "loadManagerClassName", ".ExtensibleLoadManagerImpl"

TARGET_DEVIATION = "loadBalancerBrokerLoadTargetStd"
HITS = "loadBalancerSheddingConditionHitCountThreshold"
MAX_SHEDDING_BROKERS = "loadBalancerMaxNumberOfBrokerSheddingPerCycle"
DELAY = "loadBalanceSheddingDelayInSeconds"
LIFETIME = "loadBalancerBrokerLoadDataTTLInSeconds"
MAX_REPORTED_BUNDLES = "loadBalancerMaxNumberOfBundlesInBundleLoadReport"
TRANSFER_ENABLED = "loadBalancerTransferEnabled"
WITH_POLICIES = "loadBalancerSheddingBundlesWithPoliciesEnabled"
EXCLUDED = "loadBalancerSheddingExcludedNamespaces"

NUMBERS = (
    *(
        TARGET_DEVIATION,
        HITS,
        MAX_SHEDDING_BROKERS,
        DELAY,
        LIFETIME,
        MAX_REPORTED_BUNDLES,
        OVERLOAD_THRESHOLD,
    ),
    *(threshold.HISTORY_SHARE, *usage.WEIGHTS.values()),
)
SETTINGS = (*NUMBERS, TRANSFER_ENABLED, WITH_POLICIES, EXCLUDED, MANAGER)

LIST_COMMA = r"\s*,\s*"
"""Regular expression of a comma in a setting with a list, with the spaces around it, which a broker
ignores.
"""

PAST_SCHEMA = "struct<hits double, since map<string, double>>"
BROKER_COLUMNS = ("age", "without_data", "past")
"""Columns of brokers that only TransferShedder reads."""

LOAD_SCHEMA = "load double, traffic double"
MOVES_SCHEMA = "array<struct<source string, target string, amount double, bundles array<string>>>"

MAX_UNDERLOAD_SHARE = 0.5
"""Share of the mean load below which a broker is underloaded, unless the target deviation is small.

A small target deviation makes this share smaller. [TRANSFER-04]
"""


def runs_extensible(settings: Column) -> Column:
    """True if the settings select the extensible load manager, in any package."""
    return settings[MANAGER].endswith(EXTENSIBLE)


def with_transfers(brokers: DataFrame, _readings: Mapping[str, str]) -> DataFrame:
    """Add the column `transfershedder`: the cycle's imbalance, and the broker's unloads.

    Fields: the broker's `usage`; whether the cycle is `uneven` or `skipped`, and its `hits`; the
    `bundles` that this broker unloads and their `target`; and the `amount` of traffic that may
    move.
    """
    cycle, settings, name = Window.partitionBy("cycle"), F.col("settings"), F.col("broker")
    mine = F.col("strategy") == NAME
    age = or_zero(F.col("age"))
    fresh = mine & name.isNotNull() & (age <= settings[LIFETIME])
    passed = F.col("past.since")[name] - age
    load = F.struct(
        threshold.compared_usage(brokers.columns).alias("load"),
        name.alias("name"),
        F.col("carries.bytes").alias("traffic"),
        _movable_bundles(settings).alias("able"),
    )
    brokers = brokers.withColumns(
        {
            "_loads": F.array_sort(F.collect_list(F.when(fresh, load)).over(cycle)),
            "_early": F.max(F.coalesce(fresh & (passed < settings[DELAY]), F.lit(False))).over(
                cycle
            ),
            "_first": F.min("broker").over(cycle),
        }
    )
    plan = F.when(mine & (name == F.col("_first")), _plan(F.col("_loads"), settings))
    brokers = brokers.withColumn("_plan", plan)
    brokers = brokers.withColumn("_plan", F.max("_plan").over(cycle))
    move = F.get(F.filter("_plan.moves", lambda one: one["source"] == name), F.lit(0))
    found = F.struct(
        F.get(F.filter("_loads", lambda one: one["name"] == name), F.lit(0))["load"].alias("usage"),
        *(F.col(f"_plan.{one}").alias(one) for one in ("uneven", "skipped", "hits")),
        *(move[one].alias(one) for one in ("target", "amount", "bundles")),
    )
    return brokers.withColumn("transfershedder", found).drop("_loads", "_early", "_first", "_plan")


def takes(_readings: Mapping[str, str]) -> Column:
    """True if TransferShedder sheds the bundle."""
    return F.array_contains("transfershedder.bundles", F.col("bundle"))


def _movable_bundles(settings: Column) -> Column:
    """Return the bundles that may leave a broker, among those that it reports; most traffic first.

    [TRANSFER-17]
    """
    measured = F.filter("owns", lambda one: one["load"]["measured"] & (one["load"]["bytes"] > 0))
    each = F.transform(
        measured,
        lambda one: F.struct(
            (-one["load"]["bytes"]).alias("negated"),
            *(one[name].alias(name) for name in ("bundle", "kept", "targets")),
        ),
    )
    top = F.greatest(settings[MAX_REPORTED_BUNDLES].cast("int"), F.lit(0))
    return F.filter(F.slice(F.array_sort(each), F.lit(1), top), lambda one: ~one["kept"])


def _plan(loads: Column, settings: Column) -> Column:
    """Return a struct with the decision of a cycle. [TRANSFER-02, -06, -11, -13]

    `uneven` is true if the loads meet a condition for unloading, and `skipped` if the cycle must
    nevertheless unload nothing. `hits` is the number of consecutive uneven cycles. `moves` is null
    if the cycle decides on no moves.
    """
    uneven = finds_imbalance(loads, settings)
    skipped = F.col("_early") | F.coalesce(F.size("without_data") > 0, F.lit(False))
    before = F.coalesce(F.col("past.hits"), F.lit(0.0))
    hits = F.when(uneven, before + 1).otherwise(F.lit(0.0))
    decides = uneven & ~skipped & (hits > settings[HITS])
    return F.struct(
        uneven.alias("uneven"),
        skipped.alias("skipped"),
        hits.alias("hits"),
        F.when(decides, _moves(loads, settings)).alias("moves"),
    )


def _sum_over_brokers(brokers: Column, amount: Callable[[Column], Column]) -> Column:
    return F.aggregate(brokers, F.lit(0.0), lambda total, one: total + amount(one))


def finds_imbalance(brokers: Column, settings: Column) -> Column:
    """True if the loads of the brokers meet one of the conditions for unloading. [TRANSFER-01,
    TRANSFER-03 … 05]
    """
    count = F.size(brokers)
    mean = F.try_divide(_sum_over_brokers(brokers, lambda one: one["load"]), count)
    target = settings[TARGET_DEVIATION] * constant_double(100)
    squares = _sum_over_brokers(brokers, lambda one: (one["load"] - mean) * (one["load"] - mean))
    low = mean * F.least(constant_double(MAX_UNDERLOAD_SHARE), target / constant_double(200))
    high = F.greatest(mean + target, settings[OVERLOAD_THRESHOLD])
    extreme = F.exists(
        brokers,
        lambda one: (one["load"] < low) | (one["traffic"] == 0) | (one["load"] > high),
    )
    deviates = F.try_divide(squares, count) > target * target
    return F.coalesce((count > 0) & (deviates | extreme), F.lit(False))


def _moves(brokers: Column, settings: Column) -> Column:
    """Return the moves between pairs of brokers: the most and the least loaded broker, then the
    second most and the second least loaded broker, and so on.

    `brokers` are sorted by load. If a broker moves nothing, the next most loaded broker takes its
    place in the pair. [TRANSFER-09]
    """
    count = F.size(brokers)
    others = F.reverse(F.slice(brokers, F.lit(2), F.greatest(count - 1, F.lit(0))))
    now = F.transform(brokers, lambda one: F.struct(one["load"], one["traffic"]))
    start = F.struct(
        now.cast(f"array<struct<{LOAD_SCHEMA}>>").alias("now"),
        F.array().cast(MOVES_SCHEMA).alias("moves"),
        count.alias("place"),
    )

    def step(state: Column, source: Column) -> Column:
        moved = F.size(state["moves"])
        target = F.get(brokers, moved)
        filled = _fitting_bundles(source, target)
        due = (state["place"] > moved + 1) & (moved < settings[MAX_SHEDDING_BROKERS])
        due = due & finds_imbalance(state["now"], settings)
        moves = F.when(due & (F.size(filled["bundles"]) > 0), _move(source, target, filled))
        return F.struct(
            F.when(moves.isNull(), state["now"])
            .otherwise(_loads_after(state, source, filled))
            .alias("now"),
            F.concat(state["moves"], F.array_compact(F.array(moves))).alias("moves"),
            (state["place"] - 1).alias("place"),
        )

    return F.aggregate(others, start, step, lambda state: state["moves"])


def _move(source: Column, target: Column, filled: Column) -> Column:
    return F.struct(
        source["name"].alias("source"),
        target["name"].alias("target"),
        _traffic_to_equalize(source, target).alias("amount"),
        filled["bundles"].alias("bundles"),
    )


def _traffic_to_equalize(source: Column, target: Column) -> Column:
    """Return the traffic that must move to make the loads of two brokers equal. [TRANSFER-09]"""
    high, low = source["load"], target["load"]
    return or_zero(F.try_divide(source["traffic"] * (high - low), high * constant_double(2)))


def _fitting_bundles(source: Column, target: Column) -> Column:
    """Return the bundles that fit into the traffic to move, and their traffic.

    [TRANSFER-14 … 17]
    """
    amount = _traffic_to_equalize(source, target)
    start = F.struct(
        constant_double(0).alias("carried"), F.array().cast("array<string>").alias("bundles")
    )

    def step(state: Column, one: Column) -> Column:
        together = state["carried"] - one["negated"]
        permitted = one["targets"].isNull() | F.array_contains(one["targets"], target["name"])
        fits = permitted & (together <= amount)
        return F.struct(
            F.when(fits, together).otherwise(state["carried"]).alias("carried"),
            F.when(fits, F.array_append(state["bundles"], one["bundle"]))
            .otherwise(state["bundles"])
            .alias("bundles"),
        )

    return F.aggregate(source["able"], start, step)


def _loads_after(state: Column, source: Column, filled: Column) -> Column:
    """Return the loads of all brokers after traffic has moved from `source` to its target."""
    carried = filled["carried"]
    points = or_zero(F.try_divide(source["load"] * carried, source["traffic"]))
    to = F.size(state["moves"])

    def changed(one: Column, place: Column) -> Column:
        sign = F.when(place == to, constant_double(1)).when(
            place == state["place"] - 1, constant_double(-1)
        )
        sign = F.coalesce(sign, constant_double(0))
        return F.struct(
            (one["load"] + sign * points).alias("load"),
            (one["traffic"] + sign * carried).alias("traffic"),
        )

    return F.transform(state["now"], changed)
