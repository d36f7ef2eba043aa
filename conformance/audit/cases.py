"""Cycles as cases of `shed.select`, for `explain` and for every adapter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pulsar_conformance import specs
from pulsar_conformance.adapters.spark.settings import TYPED
from pulsar_conformance.adapters.spark.shapes import RESOURCES
from pulsar_conformance.adapters.spark.shedding import GRACE
from pulsar_conformance.conformance.audit.plan import Made, Plan
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

KEY = ["cluster", "cycle", "moment"]
REMEMBERED = 30
"""Earlier usages that a case names one by one; those before them are one usage together."""


def cases(keys: DataFrame, moments: DataFrame, made: Made, plan: Plan) -> DataFrame:
    """`KEY` and `case` for each of the keys: a line as `pulsar-conformance ask` reads them.

    What comes in and what goes out of a broker is told as if it all came in.
    """
    days = keys.select("cluster", F.to_date("cycle").alias("day")).distinct()
    owned = _of(made["bundle_averages"], keys, days)
    brokers = _with_history(_of(made["broker_usage"], keys, days), made["broker_usage"], days)
    settled = moments.join(keys, KEY, "left_semi")
    rows = settled.join(_brokers(brokers, owned), KEY).join(_bundles(owned), KEY, "left")
    typed = _typed(F.col("given"))
    case = F.struct(
        "strategy",
        typed.alias("settings"),
        "brokers",
        F.coalesce("bundles", F.from_json(F.lit("{}"), BUNDLES)).alias("bundles"),
        F.coalesce(_recently(), F.from_json(F.lit("{}"), AGO)).alias("recentlyUnloaded"),
    )
    readings = F.struct(*(F.lit(value).alias(name) for name, value in plan.readings.items()))
    line = F.struct(
        F.lit("shed.select").alias("ask"),
        case.alias("case"),
        F.lit(plan.profile).alias("profile"),
        readings.alias("readings"),
    )
    return rows.select(*KEY, F.to_json(line).alias("case"))
