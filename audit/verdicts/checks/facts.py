"""What the checks know of a cycle, a row a broker: what it has, what it gave up, where it stands.

As in the suite's own checks, what floating point might decide is null: neither so nor not so.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_

from pulsar_conformance.adapters.spark import overload, shedding, threshold, uniform, usage
from pulsar_conformance.adapters.spark.shapes import MEASURE, RESOURCES, or_nothing
from pulsar_conformance.audit.verdicts.checks.acts import sole
from pulsar_conformance.audit.verdicts.checks.registry import false, true
from pulsar_conformance.conformance.common import expect
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

Readings = Mapping[str, str]

POINTS, SHARE = float(expect.POINTS), float(expect.SHARE)
EXACT = (0.0, 25.0, 50.0, 75.0, 100.0)
"""Percentages without rounding in any floating point."""

EXACT_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
KEY = ["cycle", "broker"]


def facts(acts: DataFrame, brokers: DataFrame, cycles: DataFrame, readings: Readings) -> DataFrame:
    """A row for each view of each broker of each cycle, those included that are only said to have
    unloaded. `looks` is how many views there are.

    `acts` are what `acts.acts` makes of the table `decisions`, `brokers` have `percent`,
    `smoothed`, `observed` (whether before), `least`, `most`, `carries` and `turn` (in which order
    they are reported), and `cycles` have `settings` (typed), `named` (the settings that are given)
    and `strategy`. All have `cycle`, which tells cycles apart.
    """
    rows = acts.join(brokers.hint("shuffle_hash"), KEY, "left")
    rows = rows.join(cycles.hint("shuffle_hash"), "cycle")
    rows = rows.withColumns(
        {
            "first": F.col("percent").isNotNull(),
            "weight": F.col(f"carries.{MEASURE[readings['shed-measure']]}"),
        }
    )
    count = F.count(F.when(F.col("first"), 1)).over(Window.partitionBy("cycle"))
    rows = rows.withColumn("brokers", count)
    rows = rows.withColumn("overloadshedder", overload.levels(readings))
    rows = threshold.with_levels(rows, readings)
    rows = uniform.with_ends(rows, readings)
    return _judgeable(_viewed(rows), readings)


def _viewed(rows: DataFrame) -> DataFrame:
    """A row for each view of a broker: where there are two of one, there are two of every one."""
    most = F.max(F.size("views")).over(Window.partitionBy("cycle"))
    every = F.when((most > 1) & (F.size("views") == 1), sole(F.col("views"))).otherwise(
        F.col("views")
    )
    rows = rows.withColumns({"looks": most, "views": every})
    return rows.select(*(name for name in rows.columns if name != "views"), F.inline("views"))


def of_cycle() -> Window:
    """All brokers of a cycle, as one view has them."""
    return Window.partitionBy("cycle", "sure")


def any_of(holds: Column) -> Column:
    """Whether something holds of a broker of the cycle."""
    return F.max(true(holds)).over(of_cycle())


def none_of(holds: Column) -> Column:
    """Whether it holds of no broker."""
    return ~any_of(holds)


def total(amount: Column) -> Column:
    """The sum over the brokers of the cycle."""
    return F.sum(amount).over(of_cycle())


def setting(name: str) -> Column:
    """A setting that is in force."""
    return F.col(f"settings.{name}")


def _judgeable(rows: DataFrame, readings: Readings) -> DataFrame:
    """The rows with what more than one check asks."""
    known, levels = F.col("first"), F.col("thresholdshedder")
    rows = rows.withColumns(
        {
            "enabled": true(setting(shedding.ENABLED)) & (F.col("brokers") > 1),
            "total": total(F.col("answered")),
            "shed": F.when(F.col("unweighed") > 0, F.lit(float("inf"))).otherwise(
                or_nothing(carried(F.col("out")))
            ),
            "short": or_nothing(
                carried(F.slice("out", 1, F.greatest(F.size("out") - 1, F.lit(0))))
            ),
            "laden": _laden(),
            "loaded": (F.col("owned") >= overload.FEWEST) & _laden(),
            "can": (F.col("owned") >= overload.FEWEST) & (F.col("movable_traffic") > 0),
            "overloaded": F.when(known, _overloaded()),
            "_exact": F.min(F.when(known, _exact())).over(of_cycle()),
            "seen": any_of(F.col("observed")),
        }
    )
    sure = F.col("_exact") & ~F.col("seen") & _count_is_exact()
    limit = F.col("settings")[threshold.SHEDDER_THRESHOLD]
    over = F.when(near(levels["usage"], levels["limit"]) & ~(sure & limit.isin(*EXACT)), None)
    under = F.when(
        near(levels["usage"], levels["bound"]) & ~(sure & limit.isin(*EXACT, 10.0)), None
    )
    scope = F.lit(readings["overload-scope"] == "all")
    return rows.withColumns(
        {
            "over": F.when(known, over.otherwise(levels["over"])),
            "under": F.when(known, under.otherwise(levels["usage"] < levels["bound"])),
            "sheds_under_85": scope & known & ~false(F.col("overloaded")),
        }
    )


def _laden() -> Column:
    whole = (F.col("carries.messages") > 0) & (F.col("carries.bytes") > 0)
    return (F.col("both") > 0) & true(whole)


def carried(bundles: Column) -> Column:
    """The traffic of bundles together."""
    return F.aggregate(bundles, F.lit(0.0), lambda sum_, one: sum_ + one["traffic"])


def near(amount: Column, bound: Column) -> Column:
    """Whether two percentages are too close for floating point to tell apart."""
    return F.abs(amount - bound) <= POINTS


def _overloaded() -> Column:
    level = F.col("overloadshedder")
    exact = _all_exact() & level["threshold"].isin(*EXACT)
    close = near(level["usage"], level["threshold"]) & ~exact
    return F.when(close, None).otherwise(level["over"])


def _all_exact() -> Column:
    return reduce(and_, (F.col(f"percent.{name}").isin(*EXACT) for name in RESOURCES))


def _exact() -> Column:
    """Whether a broker's usage comes out the same in every floating point."""
    weights = reduce(and_, (setting(name).isin(*EXACT_WEIGHTS) for name in usage.WEIGHTS.values()))
    return true(_all_exact() & F.col("thresholdshedder.usage").isin(*EXACT) & weights)


def _count_is_exact() -> Column:
    count = F.col("brokers")
    return count.bitwiseAND(count - 1) == 0
