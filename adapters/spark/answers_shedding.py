"""`shed.select`: cases as the rows of `shedding`, and what is chosen as an answer. [SHED]"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pulsar_conformance.adapters.spark import overload, shapes, shedding, uniform, usage
from pulsar_conformance.adapters.spark.cases import Chosen, Operation, as_text, declined, first_of
from pulsar_conformance.adapters.spark.ranges import covers
from pulsar_conformance.adapters.spark.settings import STRATEGIES_PACKAGE, missing
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

MOVED: Mapping[str, Callable[[Column, Column], Column]] = {
    "bundle": lambda unloaded, bundle: unloaded[bundle],
    "topic": lambda unloaded, bundle: F.array_min(
        F.map_values(F.map_filter(unloaded, lambda name, _ago: covers(name, bundle)))
    ),
}
"""Minutes since a bundle was unloaded: itself, or one that held its topics; by `grace-of`."""


def _reports(cases: DataFrame) -> DataFrame:
    return cases.select("*", F.explode_outer("brokers").alias("broker", "report")).drop("brokers")


def brokers_of(cases: DataFrame) -> DataFrame:
    """The brokers of cases as `shedding` looks at them."""
    named, report = F.regexp_replace("strategy", STRATEGIES_PACKAGE, ""), F.col("report")
    return _reports(cases).select(
        "cycle",
        "settings",
        F.coalesce(named, F.col(f"settings.{shedding.STRATEGY}")).alias("strategy"),
        "broker",
        usage.percents(report).alias("percent"),
        report["usageHistory"].alias("history"),
        shapes.traffic(report).alias("carries"),
    )


def bundles_of(cases: DataFrame, chosen: Chosen) -> DataFrame:
    """The bundles of those brokers."""
    rows = _reports(cases).select("*", F.explode("report.bundles").alias("bundle"))
    bundle = F.col("bundle")
    average = F.col("bundles")[bundle]["shortTermData"]
    return rows.select(
        "cycle",
        "broker",
        "bundle",
        shapes.carried(average, chosen.readings["kilobyte"]).alias("load"),
        MOVED[chosen.readings["grace-of"]](F.col("recentlyUnloaded"), bundle).alias("moved"),
    )


def select(cases: DataFrame, chosen: Chosen) -> DataFrame:
    """What each cycle unloads, in the order of decision within a broker."""
    bundles = bundles_of(cases, chosen)
    decided = shedding.decisions(brokers_of(cases), bundles, chosen.readings)
    going = F.when(F.col("chosen"), F.struct("broker", "place", "bundle"))
    grouped = decided.groupBy("cycle").agg(
        F.array_sort(F.collect_list(going)).alias("going"),
        F.any_value("strategy").alias("strategy"),
        F.any_value("settings").alias("settings"),
    )
    unload = F.transform(
        "going", lambda one: F.struct(one["broker"].alias("broker"), one["bundle"].alias("bundle"))
    )
    strange = F.concat(F.col("strategy"), F.lit(" is not documented"))
    unknown = F.when(~F.col("strategy").isin(*shedding.STRATEGIES), strange)
    answer = first_of(
        declined("failed", _missing()), declined("unsupported", unknown), as_text(unload=unload)
    )
    return grouped.select("cycle", answer.alias("answer"))


NEEDED: Mapping[str, tuple[str, ...]] = {
    "OverloadShedder": overload.SETTINGS,
    "ThresholdShedder": (
        "loadBalancerBrokerThresholdShedderPercentage",
        *usage.WEIGHTS.values(),
    ),
    "UniformLoadShedder": uniform.SETTINGS,
}
"""Settings without which a strategy cannot decide."""


def _missing() -> Column:
    """Which settings a case lacks that its answer depends on; null where none."""
    settings, strategy = F.col("settings"), F.col("strategy")
    none = F.when(strategy.isNull(), F.lit(f"{shedding.STRATEGY}: no documented default"))
    return F.coalesce(
        none,
        *(F.when(strategy == name, missing(settings, needed)) for name, needed in NEEDED.items()),
    )


OPERATIONS: Mapping[str, Operation] = {
    "shed.select": Operation(
        f"strategy string, settings {shapes.SETTINGS}, brokers map<string, {shapes.BROKER}>, "
        f"bundles map<string, {shapes.BUNDLE}>, recentlyUnloaded map<string, double>",
        select,
        shedding.settings_of(),
    ),
}
