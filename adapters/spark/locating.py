"""In which bundle topics lie, by windows over hashes and boundaries together. [BUNDLE-04 … 13]"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pulsar_conformance.adapters.spark.ranges import hash_of
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

PARTITION = r"-partition-(\d+)$"

Readings = Mapping[str, str]

HASHED: Mapping[str, Callable[[Column], Column]] = {
    "hashed": lambda topic: topic,
    "spread": lambda topic: F.regexp_replace(topic, PARTITION, ""),
}
"""The name whose hash counts, by the reading `partitions`. [BUNDLE-07, BUNDLE-08]"""

FURTHER: Mapping[str, Callable[[Column], Column]] = {
    "hashed": lambda _topic: F.lit(0),
    "spread": lambda topic: F.coalesce(
        F.regexp_extract(topic, PARTITION, 1).try_cast("bigint"), F.lit(0)
    ),
}
"""How many bundles further a partition lies, by the reading `partitions`. [BUNDLE-08]"""


def located(bundles: DataFrame, topics: DataFrame, readings: Readings) -> DataFrame:
    """The topics, each with the `index` of the bundle that holds it, from 0.

    `bundles` are the columns `space` (what tells namespaces apart), `lower` (the first hash of a
    bundle) and `index`, from 0, in the order of the hashes; the last one holds the last hash of
    all. `topics` are `space`, `topic` and any others, which stay.
    """
    kind = readings["partitions"]
    hashed, further = HASHED[kind](F.col("topic")), FURTHER[kind](F.col("topic"))
    others = [name for name in topics.columns if name not in ("space", "topic")]
    asked = topics.withColumns({"at": hash_of(hashed), "further": further, "asked": F.lit(1)})
    starts = bundles.select("space", F.col("lower").alias("at"), F.lit(0).alias("asked"), "index")
    both = starts.unionByName(asked, allowMissingColumns=True)
    below = Window.partitionBy("space").orderBy("at", "asked")
    every = Window.partitionBy("space")
    found = both.withColumn("first", F.last("index", ignorenulls=True).over(below))
    found = found.withColumn("count", F.max("index").over(every) + 1)
    index = F.pmod(F.col("first") + F.col("further"), F.col("count"))
    return found.where("asked = 1").select("space", "topic", *others, index.alias("index"))
