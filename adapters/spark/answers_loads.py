"""`usage.*`: what brokers use, as answers. [USAGE]"""

from __future__ import annotations

from collections.abc import Mapping

from pulsar_conformance.adapters.spark import shapes, usage
from pulsar_conformance.adapters.spark.cases import Chosen, Operation, as_text, declined, first_of
from pulsar_conformance.adapters.spark.settings import missing
from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def maximum(cases: DataFrame, _chosen: Chosen) -> DataFrame:
    """The largest usage of a broker, weighted or not, and the resource that has it."""
    settings, weighted = F.col("settings"), F.col("weighted")
    percent = usage.percents(F.col("broker"))
    percent = F.when(weighted, usage.weighed(percent, settings)).otherwise(percent)
    rows = cases.withColumn("percent", percent)
    used = F.col("percent")
    answer = first_of(
        declined("failed", F.when(weighted, missing(settings, usage.WEIGHTS.values()))),
        as_text(percent=usage.maximum(used), resource=usage.busiest(used)),
    )
    return rows.select("cycle", answer.alias("answer"))


def nic(cases: DataFrame, _chosen: Chosen) -> DataFrame:
    """The speed of the network interface, in Gbit/s."""
    speed = usage.nic_speed(F.col(f"settings.{usage.NIC_SPEED}"), F.col("nics")[0]["reportedGbps"])
    unknown = F.when(speed.isNull(), F.lit("no speed is reported and none is set"))
    answer = first_of(declined("refused", unknown), as_text(gbps=speed))
    return cases.select("cycle", answer.alias("answer"))


OPERATIONS: Mapping[str, Operation] = {
    "usage.max": Operation(
        f"settings {shapes.SETTINGS}, weighted boolean, broker {shapes.BROKER}",
        maximum,
        tuple(usage.WEIGHTS.values()),
    ),
    "usage.nic": Operation(
        f"settings {shapes.SETTINGS}, nics array<struct<reportedGbps double>>",
        nic,
        (usage.NIC_SPEED,),
    ),
}
