"""Answers to `bundles.*` and `settings.defaults`. [BUNDLE, SPLIT, CONFIG]"""

from __future__ import annotations

from collections.abc import Mapping

from pulsar_conformance.adapters.protocol import json_text
from pulsar_conformance.adapters.spark import growth, locating, ranges, shapes, splitting
from pulsar_conformance.adapters.spark.cases import (
    PlanBasis,
    Readings,
    SparkOperation,
    declined_answer,
    first_answer,
    json_answer,
)
from pulsar_conformance.adapters.spark.settings import missing_settings
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

UNORDERED_MESSAGE = "boundaries do not ascend from 0x00000000 to 0xffffffff"
DEFAULT_BUNDLES = "defaultNumberOfNamespaceBundles"
MAX_BUNDLES = 1 << 20
"""Maximum number of bundles of a namespace for which boundaries are computed."""


def defaults(cases: DataFrame, chosen: PlanBasis) -> DataFrame:
    """Return the defaults that other operations use for settings that a case omits."""
    return cases.select("cycle", F.lit(json_text({"settings": chosen.defaults})).alias("answer"))


def create(cases: DataFrame, _chosen: PlanBasis) -> DataFrame:
    """Return boundaries of bundles of equal width; the last bundle gets the remainder.

    [BUNDLE-01 … 03]
    """
    rows = cases.select(
        "cycle",
        "settings",
        "creator",
        F.coalesce("bundles", f"settings.{DEFAULT_BUNDLES}").try_cast("bigint").alias("count"),
    )
    count = F.col("count")
    few = F.when(count.between(1, MAX_BUNDLES), count)
    width = F.floor(F.try_divide(F.lit(ranges.HASHES), count)).cast("bigint")
    starts = F.transform(
        F.sequence(F.lit(0).cast("bigint"), few - 1), lambda place: ranges.hex_of(place * width)
    )
    boundaries = F.concat(starts, F.array(F.lit(f"0x{ranges.LAST_HASH:08x}")))
    many = F.concat(
        F.lit(f"Spark divides a namespace into 1 to {MAX_BUNDLES} bundles, not "),
        count.cast("string"),
    )
    other = F.when(
        F.col("creator") != "admin", F.lit("Spark creates namespaces only for administrators")
    )
    answer = first_answer(
        declined_answer("unsupported", other),
        declined_answer(
            "failed", F.when(count.isNull(), missing_settings(F.col("settings"), [DEFAULT_BUNDLES]))
        ),
        declined_answer("unsupported", F.when(few.isNull(), many)),
        json_answer(boundaries=boundaries),
    )
    return rows.select("cycle", answer.alias("answer"))


def locate(cases: DataFrame, chosen: PlanBasis) -> DataFrame:
    """Return the bundle of each topic, in the order of the topics."""
    partitions = chosen.readings["partitions"]
    found = locating.bundles_of_topics(F.col("boundaries"), F.col("topics"), partitions)
    cuts = F.col("boundaries")
    ends = F.array(cuts[0], F.element_at(cuts, -1))
    whole = ends == F.array(F.lit("0x00000000"), F.lit(f"0x{ranges.LAST_HASH:08x}"))
    ascend = whole & (cuts == F.array_sort(F.array_distinct(cuts)))
    answer = first_answer(
        declined_answer("failed", F.when(~ascend, F.lit(UNORDERED_MESSAGE))),
        json_answer(bundles=found),
    )
    return cases.select("cycle", answer.alias("answer"))


def split(cases: DataFrame, chosen: PlanBasis) -> DataFrame:
    """Return the parts into which a bundle is split."""
    readings = chosen.readings
    selecting = F.col(f"settings.{splitting.ALGORITHM_SETTING[readings['split-key']]}")
    algorithms = splitting.documented_algorithms(chosen.defaults)
    by_rates = _cuts_by_traffic(readings) if splitting.BY_RATES in algorithms else None
    rows = cases.select(
        "cycle",
        "settings",
        "topicLoads",
        F.col("topics"),
        F.col("algorithm").alias("asked"),
        "by",
        "bundle",
        F.coalesce("algorithm", selecting).alias("algorithm"),
        ranges.boundary_value(ranges.lower_of(F.col("bundle"))).alias("lower"),
        ranges.boundary_value(ranges.upper_of(F.col("bundle"))).alias("upper"),
        F.transform("topics", ranges.hash_of).alias("hashes"),
        F.transform("positions", ranges.boundary_value).alias("positions"),
    )
    lower, upper, algorithm = F.col("lower"), F.col("upper"), F.col("algorithm")
    cuts = splitting.cuts(
        algorithm,
        lower,
        upper,
        F.col("hashes"),
        F.col("positions"),
        readings["range-halves"],
        by_rates,
    )
    rows = rows.withColumn("cuts", cuts)
    refused = splitting.refusal_reason(
        F.col("asked"), F.col("by"), algorithm, lower, upper, algorithms
    )
    unset = F.when(algorithm.isNull(), F.lit("no algorithm is named or set"))
    empty = F.when(lower >= upper, F.concat("bundle", F.lit(" is not a hash range")))
    answer = first_answer(
        declined_answer("failed", empty),
        declined_answer("failed", unset),
        declined_answer("refused", refused),
        declined_answer("refused", splitting.REFUSED_CUTS[readings["split-ways"]](F.col("cuts"))),
        json_answer(bundles=splitting.parts(lower, upper, F.col("cuts"))),
    )
    return rows.select("cycle", answer.alias("answer"))


def _cuts_by_traffic(readings: Readings) -> Column:
    """Return the positions at which a bundle is cut by the traffic of its topics."""
    loads = F.transform(
        "topics",
        lambda topic: F.struct(
            ranges.hash_of(topic).alias("hash"),
            shapes.traffic(F.col("topicLoads")[topic]).alias("load"),
        ),
    )
    topics = F.transform(
        loads,
        lambda one: F.struct(
            one["hash"].alias("hash"),
            *(one["load"][name].alias(name) for name in splitting.MEASURES),
        ),
    )
    settings = F.col("settings")
    size = settings[growth.MAX_MEGABYTES] * shapes.MEGABYTE[readings["megabyte"]]
    most = F.struct(settings[growth.MAX_MESSAGES].alias("messages"), size.alias("bytes"))
    return splitting.cuts_by_traffic(topics, most, settings[splitting.FLOW_MARGIN])


def split_candidates(cases: DataFrame, chosen: PlanBasis) -> DataFrame:
    """Return the bundles to split, and the bundles whose parts are unloaded afterwards."""
    reports = cases.select("*", F.explode_outer("brokers").alias("broker", "report"))
    rows = reports.select("*", F.explode_outer("report.bundles").alias("bundle"))
    stats, namespace = (
        F.col("report.lastStats")[F.col("bundle")],
        ranges.namespace_of(F.col("bundle")),
    )
    average = F.col("bundles")[F.col("bundle")]["longTermData"]
    sessions = shapes.or_zero(stats["producerCount"]) + shapes.or_zero(stats["consumerCount"])
    rows = rows.select(
        "cycle",
        "settings",
        "leader",
        F.when(stats.isNotNull(), F.col("bundle")).alias("bundle"),
        namespace.alias("namespace"),
        shapes.or_zero(F.col("namespaceBundles")[namespace]).alias("bundles"),
        shapes.or_zero(stats["topics"]).alias("topics"),
        sessions.alias("sessions"),
        shapes.traffic(stats).alias("latest"),
        shapes.carried(average, chosen.readings["kilobyte"]).alias("long_term"),
    )
    decided = growth.with_split_columns(rows, chosen.readings)
    named = {
        name: F.array_sort(F.collect_list(F.when(F.col(name), F.col("bundle"))))
        for name in ("split", "unloaded")
    }
    grouped = decided.groupBy("cycle").agg(
        *(listed.alias(name) for name, listed in named.items()),
        F.any_value("settings").alias("settings"),
        F.any_value("leader").alias("leader"),
        F.bool_or(F.col("bundle").isNotNull()).alias("any"),
        F.bool_or(F.col("bundle").isNotNull() & (F.size("exceeds") > 0)).alias("grows"),
    )
    settings, looks = F.col("settings"), F.col(f"settings.{growth.AUTO_SPLIT}")
    lacking = F.coalesce(
        F.when(F.col("any"), missing_settings(settings, growth.LIMITS)),
        F.when(F.col("grows"), missing_settings(settings, (growth.MAX_BUNDLES,))),
    )
    lacking = F.when(F.col("leader") & looks, lacking)
    answer = first_answer(
        declined_answer("failed", lacking),
        json_answer(split=F.col("split"), unload=F.col("unloaded")),
    )
    return grouped.select("cycle", answer.alias("answer"))


SPLIT_SETTINGS = (
    *splitting.ALGORITHM_SETTING.values(),
    *(growth.MAX_MESSAGES, growth.MAX_MEGABYTES, splitting.FLOW_MARGIN),
)

OPERATIONS: Mapping[str, SparkOperation] = {
    "settings.defaults": SparkOperation("unused string", defaults),
    "bundles.create": SparkOperation(
        f"bundles double, creator string, settings {shapes.SETTINGS}", create, (DEFAULT_BUNDLES,)
    ),
    "bundles.locate": SparkOperation("boundaries array<string>, topics array<string>", locate),
    "bundles.split": SparkOperation(
        f"bundle string, algorithm string, by string, settings {shapes.SETTINGS}, "
        "topics array<string>, positions array<string>, "
        f"topicLoads map<string, struct<{shapes.RATES}>>",
        split,
        SPLIT_SETTINGS,
    ),
    "bundles.split_candidates": SparkOperation(
        f"settings {shapes.SETTINGS}, leader boolean, brokers map<string, {shapes.BROKER}>, "
        f"bundles map<string, {shapes.BUNDLE}>, namespaceBundles map<string, double>",
        split_candidates,
        growth.SETTINGS,
    ),
}
