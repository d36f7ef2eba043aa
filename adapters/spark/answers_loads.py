"""Answers to `usage.*` and `average.*`: usage of brokers, load of bundles. [USAGE, DATA]"""

from __future__ import annotations

from collections.abc import Mapping

from pulsar_conformance.adapters.spark import averages, shapes, usage
from pulsar_conformance.adapters.spark.cases import (
    PlanBasis,
    SparkOperation,
    declined_answer,
    first_answer,
    json_answer,
)
from pulsar_conformance.adapters.spark.settings import missing_settings
from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def maximum(cases: DataFrame, _chosen: PlanBasis) -> DataFrame:
    """Return a broker's largest resource usage, weighted or not, and the resource with this
    usage.
    """
    settings, weighted = F.col("settings"), F.col("weighted")
    percent = usage.percents_of_limits(F.col("broker"))
    percent = F.when(weighted, usage.weighted_percents_of(percent, settings)).otherwise(percent)
    rows = cases.withColumn("percent", percent)
    used = F.col("percent")
    answer = first_answer(
        declined_answer(
            "failed", F.when(weighted, missing_settings(settings, usage.WEIGHTS.values()))
        ),
        json_answer(percent=usage.maximum(used), resource=usage.busiest_resource(used)),
    )
    return rows.select("cycle", answer.alias("answer"))


def nic(cases: DataFrame, _chosen: PlanBasis) -> DataFrame:
    """Return the network interface's speed in Gbit/s."""
    speed = usage.nic_speed(F.col(f"settings.{usage.NIC_SPEED}"), F.col("nics")[0]["reportedGbps"])
    unknown = F.when(speed.isNull(), F.lit("the NIC's speed is neither reported nor set"))
    below = F.when(speed < 0, F.lit("a NIC speed below 0 is set"))
    refused = declined_answer("refused", F.coalesce(unknown, below))
    answer = first_answer(refused, json_answer(gbps=speed))
    return cases.select("cycle", answer.alias("answer"))


FRAMES: Mapping[str, str] = {"shortTermData": "shortSamples", "longTermData": "longSamples"}
"""For each time frame, the field of a case with its number of samples. [DATA-03]"""


def bundle(cases: DataFrame, chosen: PlanBasis) -> DataFrame:
    """Return a bundle's averages over its samples in both time frames."""
    frames = (
        F.struct(F.lit(name).alias("frame"), F.col(window).alias("window"))
        for name, window in FRAMES.items()
    )
    look = F.array(F.lit(None).cast(f"struct<{shapes.RATES}>"))
    each = cases.select(
        "cycle", F.concat("samples", look).alias("samples"), F.inline(F.array(*frames))
    )
    samples = each.select("cycle", "frame", "window", F.posexplode("samples").alias("at", "sample"))
    rates = (
        F.when(F.col("sample").isNotNull(), shapes.or_zero(F.col("sample")[name])).alias(name)
        for name in shapes.RATE_FIELDS
    )
    samples = samples.select(
        "cycle", "frame", "window", F.col("sample").isNull().alias("look"), "at", *rates
    )
    keys = ["cycle", "frame", "window"]
    looked = averages.averages(samples, keys, ["at"], {"known": "window"}, chosen.readings)
    known = looked.where("look").select(*keys, "known.*")
    average = F.struct(
        *shapes.RATE_FIELDS,
        F.col("numSamples").cast("bigint").alias("numSamples"),
        F.col("window").cast("bigint").alias("maxSamples"),
    )
    framed = known.groupBy("cycle").agg(
        *(F.max(F.when(F.col("frame") == name, average)).alias(name) for name in FRAMES)
    )
    answer = json_answer(**{name: F.col(name) for name in FRAMES})
    return framed.select("cycle", answer.alias("answer"))


def broker(cases: DataFrame, chosen: PlanBasis) -> DataFrame:
    """Return the sums over a broker's bundles in both time frames."""
    kilobyte = chosen.readings["kilobyte"]
    owned = cases.select("cycle", "bundles", F.explode_outer("owned").alias("bundle"))
    load, there = F.col("bundles")[F.col("bundle")], F.col("bundle").isNotNull()
    rows = owned.select(
        "cycle",
        *(F.when(there, shapes.known_rates(load[name], kilobyte)).alias(name) for name in FRAMES),
    )
    summed = rows.groupBy("cycle").agg(
        *(averages.sum_of_rates(F.col(name)).alias(name) for name in FRAMES)
    )
    answer = json_answer(**{name: F.col(name) for name in FRAMES})
    return summed.select("cycle", answer.alias("answer"))


OPERATIONS: Mapping[str, SparkOperation] = {
    "usage.max": SparkOperation(
        f"settings {shapes.SETTINGS}, weighted boolean, broker {shapes.BROKER}",
        maximum,
        tuple(usage.WEIGHTS.values()),
    ),
    "usage.nic": SparkOperation(
        f"settings {shapes.SETTINGS}, nics array<struct<reportedGbps double>>",
        nic,
        (usage.NIC_SPEED,),
    ),
    "average.bundle": SparkOperation(
        f"samples array<struct<{shapes.RATES}>>, shortSamples double, longSamples double", bundle
    ),
    "average.broker": SparkOperation(
        f"bundles map<string, {shapes.BUNDLE}>, owned array<string>", broker
    ),
}
