"""Bundles that the leader splits automatically. [SPLIT-01 … 09]

Rows are the bundles that brokers report, with these columns. One frame can hold any number of runs.

    cycle       identifies the run
    settings    struct of the effective `SETTINGS`
    leader      true if the broker is the leader
    bundle      its full name; null if no report has its statistics, so that it is not split
    namespace   the bundle's namespace
    bundles     number of bundles of that namespace
    topics      number of the bundle's topics in the last report
    sessions    number of its producers and consumers in the last report
    latest      struct of its rates in the last report: `messages` and `bytes` per second
    long_term   struct of its long-term rates
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pulsar_conformance.adapters.spark.shapes import MEGABYTE, constant_double
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

RATES_COLUMN: Mapping[str, str] = {"long-term": "long_term", "latest": "latest"}
"""Column with the rates that are compared with the limits, by alternative of
`split-rate-window`.
"""

LIMITED_QUANTITY: Mapping[str, Callable[[Column], Column]] = {
    MAX_TOPICS: lambda _rates: F.col("topics"),
    MAX_SESSIONS: lambda _rates: F.col("sessions"),
    MAX_MESSAGES: lambda rates: rates["messages"],
    MAX_MEGABYTES: lambda rates: rates["bytes"],
}
"""Functions that return the quantity to which a limit applies, by limit. [SPLIT-01 … 04]"""


def with_split_columns(rows: DataFrame, readings: Mapping[str, str]) -> DataFrame:
    """Add the columns `exceeds`, `turn`, `split` and `unloaded` to bundles. [SPLIT-05, 06]

    `exceeds` lists the limits that the bundle exceeds. `turn` numbers the bundles of a namespace;
    bundles that exceed a limit come first. `split` is true if the bundle is split, and `unloaded`
    if its parts are unloaded afterwards.
    """
    rates = F.col(RATES_COLUMN[readings["split-rate-window"]])
    unit = {MAX_MEGABYTES: MEGABYTE[readings["megabyte"]]}
    over = (
        F.when(
            LIMITED_QUANTITY[name](rates)
            > F.col(f"settings.{name}") * constant_double(unit.get(name, 1)),
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
