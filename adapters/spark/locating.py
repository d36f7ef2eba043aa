"""Bundles of topics, as columns of one row per namespace. [BUNDLE-04 … 13]"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pulsar_conformance.adapters.spark.ranges import hash_of, hex_of
from pyspark.sql import Column
from pyspark.sql import functions as F

PARTITION = r"-partition-(\d+)$"

HASHED_NAME: Mapping[str, Callable[[Column], Column]] = {
    "hashed": lambda topic: topic,
    "spread": lambda topic: F.regexp_replace(topic, PARTITION, ""),
}
"""Functions that return the name whose hash decides a topic's bundle, by alternative of
`partitions`.

[BUNDLE-07, BUNDLE-08]
"""

PARTITION_OFFSET: Mapping[str, Callable[[Column], Column]] = {
    "hashed": lambda _topic: F.lit(0).cast("bigint"),
    "spread": lambda topic: F.coalesce(
        F.regexp_extract(topic, PARTITION, 1).try_cast("bigint"), F.lit(0).cast("bigint")
    ),
}
"""Functions that return how many bundles a partition's bundle is after that of partition 0.

Keys are the alternatives of the reading `partitions`. [BUNDLE-08]
"""

SEARCH_STEPS = tuple(1 << power for power in range(30, -1, -1))
"""Widths of the steps of a binary search for a bundle, largest first."""


def bundles_of_topics(boundaries: Column, topics: Column, partitions: str) -> Column:
    """Return the bundle range of each topic, in order.

    `boundaries` ascend from 0x00000000 to 0xffffffff; `partitions` is the alternative of that
    reading. Each step is a separate transformation, because Spark evaluates an expression inside a
    lambda each time it occurs.
    """

    def sought(topic: Column) -> Column:
        hashed = hex_of(hash_of(HASHED_NAME[partitions](topic)))
        return F.struct(hashed.alias("hash"), PARTITION_OFFSET[partitions](topic).alias("further"))

    def place(one: Column) -> Column:
        found = bundle_index(boundaries, one["hash"]) + one["further"]
        return F.pmod(found, F.size(boundaries) - 1).cast("int")

    def name(place: Column) -> Column:
        return F.concat(F.get(boundaries, place), F.lit("_"), F.get(boundaries, place + 1))

    return F.transform(F.transform(F.transform(topics, sought), place), name)


def bundle_index(boundaries: Column, hashed: Column) -> Column:
    """Return the index of the bundle that contains a hash. [BUNDLE-04, BUNDLE-12, BUNDLE-13]

    Boundaries and hash are hexadecimal strings of equal length, so they compare like numbers. A
    binary search finds the last boundary that is not above the hash: 13 steps for 4096 bundles. The
    highest hash is in the last bundle.
    """
    needed = F.floor(F.log2(F.size(boundaries))).cast("int") + 1
    steps = F.slice(F.array(*map(F.lit, SEARCH_STEPS)), -needed, needed)

    def nearer(place: Column, step: Column) -> Column:
        return F.when(F.get(boundaries, place + step) <= hashed, place + step).otherwise(place)

    found = F.aggregate(steps, F.lit(0), nearer)
    return F.least(found, F.size(boundaries) - 2)
