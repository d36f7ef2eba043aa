"""Answers to `place.*`, by rows for `placement` and `anti_affinity`. [PLACE, ANTI]"""

from __future__ import annotations

from collections.abc import Mapping

from pulsar_conformance.adapters.spark import anti_affinity, average, placement, shapes, usage
from pulsar_conformance.adapters.spark.cases import (
    PlanBasis,
    SparkOperation,
    declined_answer,
    first_answer,
    json_answer,
)
from pulsar_conformance.adapters.spark.settings import missing_settings
from pulsar_conformance.adapters.spark.shedding import STRATEGY
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def select(cases: DataFrame, chosen: PlanBasis) -> DataFrame:
    """Return the broker that gets the bundle."""
    kilobyte = chosen.readings["kilobyte"]

    def rate(bundle: Column) -> Column:
        return shapes.carried(F.col("bundles")[bundle]["longTermData"], kilobyte)["messages"]

    reports = cases.select("*", F.explode_outer("candidates").alias("broker"))
    report = F.col("brokers")[F.col("broker")]
    none = F.array().cast("array<string>")
    reported, assigned = report["bundles"], F.col("preallocated")[F.col("broker")]
    has = F.array_union(F.coalesce(reported, none), F.coalesce(assigned, none))
    rows = reports.select(
        "*", rate(F.col("bundle")).alias("added"), F.explode_outer(has).alias("owned")
    ).select(
        "cycle",
        "settings",
        "broker",
        usage.percents_of_limits(report).alias("percent"),
        F.col("owned").alias("bundle"),
        rate(F.col("owned")).alias("rate"),
        "added",
        "plan",
    )
    scored = placement.scores(rows, chosen.readings)
    named = F.col("broker")
    grouped = scored.groupBy("cycle").agg(
        F.array_sort(F.collect_list(F.when(F.col("best"), named))).alias("best"),
        F.array_sort(F.collect_list(named)).alias("candidates"),
        F.collect_list(F.when(F.col("left_out"), named)).alias("overloaded"),
        *(F.any_value(one).alias(one) for one in ("by_chance", "settings", "plan")),
    )
    planned = placement.candidates_by_plan(F.col("candidates"), F.col("overloaded"), F.col("plan"))
    strategy, shedder = (F.col(f"settings.{one}") for one in (placement.STRATEGY, STRATEGY))
    pair = F.coalesce((strategy == average.NAME) & (shedder == average.NAME), F.lit(False))
    best = F.when(pair, planned).otherwise(F.col("best"))
    taken = placement.first_choice(best, pair | F.col("by_chance"), F.col("cycle"))
    other = F.when(
        strategy == placement.LEAST_USAGE, F.lit("Spark places bundles only by message rates")
    )
    answer = first_answer(
        declined_answer("unsupported", other),
        declined_answer("failed", missing_settings(F.col("settings"), placement.SETTINGS)),
        json_answer(broker=taken),
    )
    return grouped.select("cycle", answer.alias("answer"))


def place_anti_affine(cases: DataFrame, chosen: PlanBasis) -> DataFrame:
    """Return the broker that gets the namespace, and the best candidates and domains."""
    in_domains = F.flatten(F.map_values("domains"))
    known = F.array_union(F.array_union("candidates", in_domains), F.map_keys("owned"))
    brokers = cases.select("*", F.explode_outer(known).alias("broker"))
    broker, groups = F.col("broker"), F.col("groups")
    homes = F.map_filter("domains", lambda _name, members: F.array_contains(members, broker))
    mine = groups[F.col("namespace")]
    rivals = F.filter(
        F.col("owned")[broker], lambda one: (groups[one] == mine) & (one != F.col("namespace"))
    )
    rows = brokers.select(
        "cycle",
        "broker",
        F.coalesce(F.array_contains("candidates", broker), F.lit(False)).alias("candidate"),
        F.get(F.map_keys(homes), F.lit(0)).alias("domain"),
        F.explode_outer(rivals).alias("rival"),
    )
    placed = anti_affinity.with_best_brokers(rows, chosen.readings)
    grouped = placed.groupBy("cycle").agg(
        F.array_sort(F.collect_list(F.when(F.col("best"), broker))).alias("best"),
        F.array_sort(F.collect_set(F.when(F.col("best_domain"), F.col("domain")))).alias("domains"),
    )
    best = F.col("best")
    answer = json_answer(broker=F.get(best, F.lit(0)), domains=F.col("domains"), candidates=best)
    return grouped.select("cycle", answer.alias("answer"))


OPERATIONS: Mapping[str, SparkOperation] = {
    "place.select": SparkOperation(
        f"settings {shapes.SETTINGS}, bundle string, candidates array<string>, "
        f"brokers map<string, {shapes.BROKER}>, bundles map<string, {shapes.BUNDLE}>, "
        "preallocated map<string, array<string>>, "
        "plan struct<from string, to string, attempt string>",
        select,
        (*placement.SETTINGS, placement.STRATEGY, STRATEGY),
    ),
    "place.anti_affinity": SparkOperation(
        "domains map<string, array<string>>, groups map<string, string>, "
        "owned map<string, array<string>>, candidates array<string>, namespace string",
        place_anti_affine,
    ),
}
