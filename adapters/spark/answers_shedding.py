"""Answers to `shed.select`: converts cases to rows for `shedding`, and rows to answers. [SHED]"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pulsar_conformance.adapters.spark import (
    average,
    overload,
    policies,
    shapes,
    shedding,
    threshold,
    transfer,
    uniform,
    usage,
)
from pulsar_conformance.adapters.spark.cases import (
    PlanBasis,
    SparkOperation,
    declined_answer,
    first_answer,
)
from pulsar_conformance.adapters.spark.placement import STRATEGY as PLACEMENT
from pulsar_conformance.adapters.spark.ranges import covers, namespace_of
from pulsar_conformance.adapters.spark.settings import STRATEGIES_PACKAGE, missing_settings
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

MINUTES_SINCE_UNLOAD: Mapping[str, Callable[[Column, Column], Column]] = {
    "bundle": lambda unloaded, bundle: unloaded[bundle],
    "topic": lambda unloaded, bundle: F.array_min(
        F.map_values(F.map_filter(unloaded, lambda name, _ago: covers(name, bundle)))
    ),
}
"""Functions that return the minutes since the last relevant unload, by alternative of `grace-of`.

Relevant are unloads of the bundle or, under one alternative, also of bundles that contained its
topics.
"""


def brokers_of(cases: DataFrame, chosen: PlanBasis) -> DataFrame:
    """Return the brokers of all cases with their bundles, as rows of `shedding`."""
    observed = F.exists(F.map_values("brokers"), lambda one: F.size(one["usageHistory"]) > 0)
    recent = F.size(F.map_keys("recentlyUnloaded")) > 0
    counting = F.col("past").isNotNull().alias("counting")
    earlier = ("earlier",) if average.LOW in chosen.defaults else ()
    transfers = transfer.TARGET_DEVIATION in chosen.defaults
    if transfers:
        earlier = (*earlier, "past", "without_data")
        cases = cases.withColumnRenamed("withoutData", "without_data")
    asked = F.struct(observed.alias("observed"), recent.alias("recent"), counting).alias("asked")
    reported = F.transform_values(
        "brokers",
        lambda _name, report: F.struct(
            usage.percents_of_limits(report).alias("percent"),
            report["usageHistory"].alias("history"),
            shapes.traffic(report).alias("carries"),
            _owned_structs(report, chosen).alias("owns"),
            *((report["age"].alias("age"),) if transfers else ()),
        ),
    )
    each = F.explode_outer(reported).alias("broker", "report")
    shed_by = _strategy_column(transfers=transfers).alias("strategy")
    least = F.col(f"settings.{threshold.MIN_THROUGHPUT}")
    megabyte = shapes.constant_double(shapes.MEGABYTE[chosen.readings["megabyte"]])
    rows = cases.select(
        "cycle", "settings", shed_by, asked, (least * megabyte).alias("least"), *earlier, each
    )
    return rows.select(
        "cycle", "settings", "strategy", "asked", "least", *earlier, "broker", "report.*"
    )


def _strategy_column(*, transfers: bool) -> Column:
    """Return the strategy's class name, without Pulsar's package. [TRANSFER-18]"""
    given = F.col("given")
    written = (F.col("strategy"), F.col(f"settings.{shedding.STRATEGY}"))
    short = (F.nullif(F.regexp_replace(one, STRATEGIES_PACKAGE, ""), F.lit("")) for one in written)
    named = F.coalesce(*short)
    unnamed = F.isnull("strategy") & ~F.map_contains_key(given, shedding.STRATEGY)
    left = transfer.runs_extensible(given) & unnamed if transfers else F.lit(False)
    return F.when(left | (named == transfer.IN_EXTENSIONS), transfer.NAME).otherwise(named)


def _owned_structs(report: Column, chosen: PlanBasis) -> Column:
    """Return an array of structs: the bundles that a broker owns."""
    frame = shapes.SHEDDING_AVERAGE[chosen.readings["shed-window"]]
    moved = MINUTES_SINCE_UNLOAD[chosen.readings["grace-of"]]
    found = F.transform(
        report["bundles"],
        lambda bundle: F.struct(
            bundle.alias("bundle"),
            F.col("bundles")[bundle][frame].alias("average"),
            moved(F.col("recentlyUnloaded"), bundle).alias("moved"),
        ),
    )
    return F.transform(
        found,
        lambda one: F.struct(
            one["bundle"].alias("bundle"),
            shapes.carried(one["average"], chosen.readings["kilobyte"])
            .withField("measured", shapes.measured(one["average"]))
            .alias("load"),
            one["moved"].alias("moved"),
            policies.is_listed_as_excluded(namespace_of(one["bundle"])).alias("excluded"),
            *(_restrictions(one, chosen) if transfer.TARGET_DEVIATION in chosen.defaults else ()),
        ),
    )


def _restrictions(bundle: Column, chosen: PlanBasis) -> tuple[Column, Column]:
    """Return two columns: whether a bundle must stay, and the brokers that may take it (null for
    all).
    """
    space = namespace_of(bundle["bundle"])
    kept = shedding.in_grace_period(bundle["moved"], chosen.readings) | policies.must_stay(space)
    return kept.alias("kept"), policies.permitted_targets(space).alias("targets")


def select(cases: DataFrame, chosen: PlanBasis) -> DataFrame:
    """Return the bundles that each cycle unloads, in the order of each broker's unloads.

    If the case has `past`, the answer has `state`, which belongs in the case of the next cycle.
    """
    known = shedding.documented_strategies(chosen.defaults)
    decided = shedding.decisions_of_owners(brokers_of(cases, chosen), chosen.readings, known)
    place, to, state = _unload_details(transfer.NAME in known)
    to = F.coalesce(_destination(chosen, known), to)
    going = F.struct("broker", place.alias("place"), "bundle", to.alias("to"))
    grouped = decided.groupBy("cycle").agg(
        F.array_sort(F.collect_list(F.when(F.col("chosen"), going))).alias("going"),
        F.bool_or(_depends_on_movable(chosen, known)).alias("weighing"),
        F.any_value(state).alias("state"),
        *(F.any_value(name).alias(name) for name in ("strategy", "settings", "asked", "brokers")),
    )
    names = ("broker", "bundle", "to")
    unload = F.transform("going", lambda one: F.struct(*(one[name].alias(name) for name in names)))
    none = F.when(F.isnull("strategy"), F.lit(f"{shedding.STRATEGY}: no documented default"))
    strange = F.concat(F.col("strategy"), F.lit(" is not documented"))
    unknown = F.when(~F.col("strategy").isin(*known), strange)
    deciding = F.col(f"settings.{shedding.ENABLED}") & (F.col("brokers") > 1)
    answer = first_answer(
        declined_answer("failed", none),
        declined_answer("unsupported", unknown),
        declined_answer("failed", F.when(deciding, _missing_settings(chosen))),
        F.to_json(F.struct(unload.alias("unload"), "state")),
    )
    return grouped.select("cycle", answer.alias("answer"))


def _destination(chosen: PlanBasis, known: Sequence[str]) -> Column:
    """Return the destination of a bundle that AvgShedder both sheds and places. [PLANNED-01]"""
    if average.NAME not in known:
        return F.lit(None).cast("string")
    both = (F.col("strategy") == average.NAME) & (F.col(f"settings.{PLACEMENT}") == average.NAME)
    return F.when(both & average.takes(chosen.readings), F.col("avgshedder.idle"))


def _unload_details(known: bool) -> tuple[Column, Column, Column]:
    """Return an unloaded bundle's position, its destination, and the cycle's state.

    `known` is true if the documents describe TransferShedder; otherwise, destination and state are
    null.
    """
    none = F.lit(None).cast("string")
    if not known:
        return F.col("place"), none, none
    move, named = F.col("transfershedder"), F.col(f"settings.{transfer.TRANSFER_ENABLED}")
    turn = F.array_position(move["bundles"], F.col("bundle")).cast("int")
    state = F.struct(*(move[name].alias(name) for name in ("uneven", "skipped")))
    return (
        F.coalesce(turn, F.col("place")),
        F.when(named, move["target"]),
        F.when(F.col("asked.counting"), state),
    )


NEEDED_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "OverloadShedder": overload.SETTINGS,
    "ThresholdShedder": (threshold.SHEDDER_THRESHOLD, *usage.WEIGHTS.values()),
    "UniformLoadShedder": uniform.SETTINGS,
    average.NAME: average.SETTINGS,
    transfer.NAME: transfer.NUMBERS,
}
"""Settings that each strategy needs for a decision."""


def _depends_on_movable(chosen: PlanBasis, known: Sequence[str]) -> Column:
    """True for brokers whose decision depends on which of their bundles can move."""
    if shedding.ALWAYS_SHEDDING[chosen.readings["overload-scope"]]:
        return F.lit(True)
    level, idle = F.col("thresholdshedder"), F.col(f"settings.{threshold.LOWER_BOUNDARY}")
    by_strategy = {
        "OverloadShedder": F.col("overloadshedder.over") & (F.col("owned") >= overload.MIN_BUNDLES),
        "ThresholdShedder": level["over"] | (idle & (level["usage"] < level["bound"])),
        "UniformLoadShedder": F.col("uniformloadshedder.over"),
        average.NAME: F.col("avgshedder.over"),
        transfer.NAME: F.col("transfershedder.uneven"),
    }
    return F.coalesce(
        *(F.when(F.col("strategy") == name, by_strategy[name]) for name in known),
        F.lit(False),
    )


def _missing_settings(chosen: PlanBasis) -> Column:
    """Return text with the names of settings that the answer depends on but that have no value.

    Null if all of them have values.
    """
    settings, strategy = F.col("settings"), F.col("strategy")
    observed = (strategy == "ThresholdShedder") & F.col("asked.observed")
    everywhere = (
        name
        for one in shedding.ALWAYS_SHEDDING[chosen.readings["overload-scope"]]
        for name in NEEDED_SETTINGS[one]
    )
    recent = F.col("weighing") & F.col("asked.recent")
    return F.coalesce(
        *(
            F.when(strategy == name, missing_settings(settings, needed))
            for name, needed in NEEDED_SETTINGS.items()
        ),
        missing_settings(settings, everywhere),
        F.when(observed, missing_settings(settings, [threshold.HISTORY_SHARE])),
        F.when(recent, missing_settings(settings, [shedding.GRACE])),
    )


OPERATIONS: Mapping[str, SparkOperation] = {
    "shed.select": SparkOperation(
        f"strategy string, settings {shapes.SETTINGS}, brokers map<string, {shapes.BROKER}>, "
        f"bundles map<string, {shapes.BUNDLE}>, recentlyUnloaded map<string, double>, "
        f"earlier {average.EARLIER_SCHEMA}, past {transfer.PAST_SCHEMA}, {policies.CASE_FIELDS}",
        select,
        (*shedding.deciding_settings(), PLACEMENT),
    ),
}
