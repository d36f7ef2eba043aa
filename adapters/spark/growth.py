"""Bundles that the leader splits automatically. [SPLIT-01 … 09]

Rows are the bundles that brokers report, with these columns. One frame can hold any number of runs.

    cycle       identifies the run
    settings    struct of the effective `SETTINGS`
    leader      whether the broker is the leader
    bundle      its full name; null if no report has its statistics: it is not split
    namespace   of the bundle
    bundles     how many bundles that namespace has
    topics      of the bundle, as last reported
    sessions    producers and consumers together, as last reported
    latest      struct of its rates by the last report: `messages` and `bytes` per second
    long_term   struct of its long-term rates
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pulsar_conformance.adapters.spark.shapes import MEGABYTE, constant
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

MAX_TOPICS = "loadBalancerNamespaceBundleMaxTopics"
MAX_SESSIONS = "loadBalancerNamespaceBundleMaxSessions"
MAX_MESSAGES = "loadBalancerNamespaceBundleMaxMsgRate"
MAX_MEGABYTES = "loadBalancerNamespaceBundleMaxBandwidthMbytes"
MAX_BUNDLES = "loadBalancerNamespaceMaximumBundles"
AUTO_SPLIT = "loadBalancerAutoBundleSplitEnabled"
AUTO_UNLOAD = "loadBalancerAutoUnloadSplitBundlesEnabled"
LIMITS = (MAX_TOPICS, MAX_SESSIONS, MAX_MESSAGES, MAX_MEGABYTES)
SETTINGS = (*LIMITS, MAX_BUNDLES, AUTO_SPLIT, AUTO_UNLOAD)

WINDOW: Mapping[str, str] = {"long-term": "long_term", "latest": "latest"}
"""Rates that are compared with the limits, under the reading `split-rate-window`."""

MEASURED: Mapping[str, Callable[[Column], Column]] = {
    MAX_TOPICS: lambda _rates: F.col("topics"),
    MAX_SESSIONS: lambda _rates: F.col("sessions"),
    MAX_MESSAGES: lambda rates: rates["messages"],
    MAX_MEGABYTES: lambda rates: rates["bytes"],
}
"""Quantity to which each limit applies. [SPLIT-01 … 04]"""


def candidate_rows(rows: DataFrame, readings: Mapping[str, str]) -> DataFrame:
    """Add the limits that a bundle `exceeds`, and whether it is `split` and its parts `unloaded`.

    `turn` numbers a namespace's bundles, those that exceed a limit first. [SPLIT-05, 06]
    """
    rates = F.col(WINDOW[readings["split-rate-window"]])
    unit = {MAX_MEGABYTES: MEGABYTE[readings["megabyte"]]}
    over = (
        F.when(
            MEASURED[name](rates) > F.col(f"settings.{name}") * constant(unit.get(name, 1)),
            F.lit(name),
        )
        for name in LIMITS
    )
    rows = rows.withColumn("exceeds", F.array_compact(F.array(*over)))
    grows = (F.size("exceeds") > 0) & F.col("bundle").isNotNull()
    queue = Window.partitionBy("cycle", "namespace").orderBy(F.desc(grows), "bundle")
    rows = rows.withColumn("turn", F.row_number().over(queue))
    room = F.col(f"settings.{MAX_BUNDLES}") - F.col("bundles")
    enabled = F.col("leader") & F.col(f"settings.{AUTO_SPLIT}")
    split = F.coalesce(enabled & grows & (F.col("turn") <= room), F.lit(False))
    unloaded = split & F.coalesce(F.col(f"settings.{AUTO_UNLOAD}"), F.lit(False))
    return rows.withColumns({"split": split, "unloaded": unloaded})
