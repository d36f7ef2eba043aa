"""The rows that checks read, one per broker of a cycle: bundles, unloads, usage and limits.

As in the suite's own checks, the result of a comparison is null if rounding could decide it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_

from pulsar_conformance.adapters.spark import average, overload, shedding, threshold, uniform, usage
from pulsar_conformance.adapters.spark.shapes import MEGABYTE, RESOURCES, SHEDDING_MEASURE, or_zero
from pulsar_conformance.audit.verdicts.checks.acts import both_views_certain, no_unloads
from pulsar_conformance.audit.verdicts.checks.knowledge import with_views
from pulsar_conformance.audit.verdicts.checks.registry import certainly, certainly_not
from pulsar_conformance.conformance.common import check
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

Readings = Mapping[str, str]

POINTS, SHARE = float(check.POINTS), float(check.SHARE)
EXACT = (0.0, 25.0, 50.0, 75.0, 100.0)
"""Percentages that floating-point numbers represent exactly."""

EXACT_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
BOUNDS = ("least", "most", "lower", "upper")
"""Columns with bounds of a broker's usage. Their sums over all brokers of a cycle are in columns
whose names end with `_total`.
"""

KEY = ["cycle", "broker"]


def facts(
    acts: DataFrame,
    brokers: DataFrame,
    cycles: DataFrame,
    readings: Readings,
    strategies: Sequence[str] = tuple(shedding.STRATEGIES),
) -> DataFrame:
    """Return a row for each view of each broker in each cycle, with the columns that checks read.

    Brokers known only by their unloads are included. The column `view_count` is the number of
    views. The most and the least loaded broker of a cycle are added only if UniformLoadShedder is
    among the strategies.

    `acts` has the rows of `acts.summarize_brokers`. `brokers` has the columns `percent`,
    `smoothed`, `observed` (whether there are earlier observations), those of `BOUNDS`, `carries`
    and `turn` (the broker's place in a case). `cycles` has `settings` (typed), `named` (names of
    the given settings), `strategy`, if a release judges `released`, and if any cycle follows
    AvgShedder the columns of `streaks.with_streaks`. All three have `cycle`, the key of a cycle.

    If `brokers` has `standing`, `cycles` must have `others`, as in `knowledge.with_views`. The
    result then has `remembers`: true if the leader knows the memory of former leaders.
    """
    every = "standing" in brokers.columns
    if "released" not in cycles.columns:
        cycles = cycles.withColumn("released", F.lit(False))
    rows = acts.join(brokers.hint("shuffle_hash"), KEY, "full_outer" if every else "left")
    rows = rows.join(cycles.hint("shuffle_hash"), "cycle")
    if every:
        rows = with_views(rows.withColumn("views", F.coalesce("views", no_unloads())))
    else:
        rows = rows.withColumns(
            {"view": F.lit(0), "knowledge_views": F.lit(1), "remembers": F.lit(False)}
        )
    rows = rows.withColumns(
        {
            "first": F.col("percent").isNotNull(),
            "weight": F.col(f"carries.{SHEDDING_MEASURE[readings['shed-measure']]}"),
            "brokers": F.count("percent").over(Window.partitionBy("cycle")),
        }
    )
    rows = rows.withColumn("overloadshedder", overload.level_struct(readings))
    rows = threshold.with_levels(rows, readings)
    if "UniformLoadShedder" in strategies:
        rows = uniform.with_extremes(rows, readings)
    if "streak" in rows.columns:
        rows = average.with_broker_pair(rows, readings)
    rows = _repeat_for_views(rows)
    if every:
        rows = rows.withColumn("cycle", F.col("cycle.cycle"))
    return _with_common_columns(rows, readings)


def _repeat_for_views(rows: DataFrame) -> DataFrame:
    """Return a row for each view of a broker.

    If any broker of a cycle has two views, all brokers of the cycle get two.
    """
    most = F.max(F.size("views")).over(Window.partitionBy("cycle"))
    every = F.when(
        (most > 1) & (F.size("views") == 1), both_views_certain(F.col("views"))
    ).otherwise(F.col("views"))
    view_count = most * F.col("knowledge_views")
    rows = rows.withColumns({"view_count": view_count, "views": every})
    return rows.select(*(name for name in rows.columns if name != "views"), F.inline("views"))


def window_of_cycle() -> Window:
    """Return a Spark window over all brokers of a cycle in one view."""
    return Window.partitionBy("cycle", "view", "sure")


def any_broker(holds: Column) -> Column:
    """True if the condition is true for at least one broker of the cycle."""
    return max_over_brokers(certainly(holds))


def max_over_brokers(amount: Column) -> Column:
    """Return the greatest amount of all brokers of the cycle."""
    return F.max(amount).over(window_of_cycle())


def no_broker(holds: Column) -> Column:
    """True if the condition is true for no broker of the cycle."""
    return ~any_broker(holds)


def sum_over_brokers(amount: Column) -> Column:
    """Return the sum of an amount over all brokers of the cycle."""
    return F.sum(amount).over(window_of_cycle())


def least_of_brokers(value: Column) -> Column:
    """Return the least value of all brokers of the cycle."""
    return F.min(value).over(window_of_cycle())


def setting_in_force(name: str) -> Column:
    """Return the value of a setting that is in force."""
    return F.col(f"settings.{name}")


def _with_common_columns(rows: DataFrame, readings: Readings) -> DataFrame:
    """Add the columns that several checks read."""
    known, levels = F.col("first"), F.col("thresholdshedder")
    rows = rows.withColumns(
        {
            "enabled": certainly(setting_in_force(shedding.ENABLED)) & (F.col("brokers") > 1),
            "total": sum_over_brokers(F.col("answered")),
            "shed": F.when(F.col("unweighed") > 0, F.lit(float("inf"))).otherwise(
                or_zero(total_traffic(F.col("out")))
            ),
            "short": or_zero(
                total_traffic(F.slice("out", 1, F.greatest(F.size("out") - 1, F.lit(0))))
            ),
            "laden": _is_laden(),
            "loaded": (F.col("owned") >= overload.MIN_BUNDLES) & _is_laden(),
            "can": (F.col("owned") >= overload.MIN_BUNDLES)
            & (F.col("movable_traffic") > 0)
            & has_no_excluded(),
            "overloaded": F.when(known, _is_overloaded()),
            "_exact": F.min(F.when(known, _is_exact())).over(window_of_cycle()),
            "seen": any_broker(F.col("observed")),
            **{f"{name}_total": sum_over_brokers(F.col(name)) for name in BOUNDS},
        }
    )
    sure = F.col("_exact") & ~F.col("seen") & _count_is_exact()
    limit = F.col("settings")[threshold.SHEDDER_THRESHOLD]
    close = is_too_close(levels["usage"], levels["limit"]) & ~(sure & limit.isin(*EXACT))
    above = F.when(~close, levels["over"])
    needed = threshold.TRAFFIC_OF_USAGE[readings["threshold-released"]](
        levels["usage"] - levels["target"], levels["usage"], F.col("carries.bytes")
    )
    by_release = points_to_shed(levels["usage"] - levels["average"]) / 100 * F.col("carries.bytes")
    needed = F.when(F.col("released"), F.least(needed, by_release)).otherwise(needed)
    relief = F.when(F.col("released"), levels["threshold"] / 200 * F.col("carries.bytes"))
    rows = rows.withColumns(
        {
            "worthwhile": exceeds_minimum_unload(or_zero(needed)),
            "relief_worthwhile": exceeds_minimum_unload(or_zero(F.coalesce(relief, needed))),
        }
    )
    over = F.when(above, F.col("worthwhile")).otherwise(above)  # Above, and enough to shed.
    under = F.when(
        is_too_close(levels["usage"], levels["bound"]) & ~(sure & limit.isin(*EXACT, 10.0)), None
    )
    scope = F.lit(readings["overload-scope"] == "all")
    return rows.withColumns(
        {
            "above": F.when(known, above),
            "over": F.when(known, over),
            "under": F.when(known, under.otherwise(levels["usage"] < levels["bound"])),
            "sheds_under_85": scope & known & ~certainly_not(F.col("overloaded")),
        }
    )


def exceeds_minimum_unload(needed: Column) -> Column:
    """True if both the bytes to shed and the movable bytes exceed the minimum for an unload.

    Always true without a minimum. Null if the result depends on which bundles are unloaded, or on
    the definition of a megabyte. [THRESHOLD-20]
    """
    least, most = setting_in_force(threshold.MIN_THROUGHPUT), or_zero(F.col("movable_bytes"))
    much, little = least * MEGABYTE["binary"], least * MEGABYTE["decimal"]
    under = (needed < little * (1 - SHARE)) & (most < little * (1 - SHARE))
    return (
        F.when(least.isNull(), F.lit(True))
        .when((needed > much * (1 + SHARE)) & (most > much * (1 + SHARE)), F.lit(True))
        .when(under & has_no_excluded(), F.lit(False))
    )


def points_to_shed(excess: Column) -> Column:
    """Return the percentage points of its traffic that a broker certainly sheds.

    `excess` is the distance of its usage from the average. A release sheds the excess over average
    and threshold plus five points.
    """
    over = excess - F.col("thresholdshedder.threshold") + threshold.BELOW_AVERAGE
    return F.when(F.col("released"), over).otherwise(excess)


def _is_laden() -> Column:
    whole = (F.col("carries.messages") > 0) & (F.col("carries.bytes") > 0)
    return (F.col("both") > 0) & certainly(whole) & has_no_excluded()


def has_no_excluded() -> Column:
    """True if a broker has no bundle of a namespace that is excluded from shedding.

    No document says whether other bundles must make up for such a bundle.
    """
    return F.coalesce(F.size("excluded"), F.lit(0)) <= 0


def total_traffic(bundles: Column) -> Column:
    """Return the sum of the bundles' traffic."""
    return F.aggregate(bundles, F.lit(0.0), lambda sum_, one: sum_ + one["traffic"])


def is_too_close(amount: Column, bound: Column) -> Column:
    """True if two percentages differ so little that floating point might not tell them apart."""
    return F.abs(amount - bound) <= POINTS


def _is_overloaded() -> Column:
    level = F.col("overloadshedder")
    exact = _are_all_exact() & level["threshold"].isin(*EXACT)
    close = is_too_close(level["usage"], level["threshold"]) & ~exact
    return F.when(close, None).otherwise(level["over"])


def _are_all_exact() -> Column:
    return reduce(and_, (F.col(f"percent.{name}").isin(*EXACT) for name in RESOURCES))


def _is_exact() -> Column:
    """True if a broker's usage is computed without rounding: all percentages are in `EXACT`, and
    all weights in `EXACT_WEIGHTS`.
    """
    weights = reduce(
        and_, (setting_in_force(name).isin(*EXACT_WEIGHTS) for name in usage.WEIGHTS.values())
    )
    return certainly(_are_all_exact() & F.col("thresholdshedder.usage").isin(*EXACT) & weights)


def _count_is_exact() -> Column:
    count = F.col("brokers")
    return count.bitwiseAND(count - 1) == 0
