"""Isolation policies and anti-affinity groups that limit TransferShedder. [TRANSFER]

Rows are cases of `shed.select`, with `SHAPE`, `brokers` and `settings`.
"""

from __future__ import annotations

from pulsar_conformance.adapters.spark.ranges import namespace_of
from pulsar_conformance.adapters.spark.transfer import EXCLUDED, WITH_POLICIES
from pyspark.sql import Column
from pyspark.sql import functions as F

POLICY = (
    "struct<namespaces array<string>, primary array<string>, secondary array<string>, least double>"
)
SHAPE = f"withoutData array<string>, isolation array<{POLICY}>, groups map<string, string>"


def _policies(namespace: Column) -> Column:
    """Return a namespace's isolation policies."""
    none = F.array().cast(f"array<{POLICY}>")
    policies = F.coalesce("isolation", none)
    return F.filter(policies, lambda one: F.array_contains(one["namespaces"], namespace))


def _group(namespace: Column) -> Column:
    return F.coalesce("groups", F.create_map().cast("map<string, string>"))[namespace]


def keeps(namespace: Column) -> Column:
    """True if a namespace's bundles stay, whatever they carry. [TRANSFER-14, TRANSFER-16]"""
    excluded = F.array_contains(F.split(f"settings.{EXCLUDED}", ","), namespace)
    restricted = (F.size(_policies(namespace)) > 0) | _group(namespace).isNotNull()
    allowed = F.coalesce(F.col(f"settings.{WITH_POLICIES}"), F.lit(False))
    return F.coalesce(excluded, F.lit(False)) | (restricted & ~allowed)


def targets(namespace: Column) -> Column:
    """Return the brokers that may take a namespace's bundle; null for any. [TRANSFER-15]"""
    permitted = _permitted(namespace)
    group = _group(namespace)
    counts = F.transform(permitted, lambda name: _rivals(name, namespace, group))
    fewest = F.array_min(counts)
    best = F.filter(permitted, lambda name: _rivals(name, namespace, group) == fewest)
    free = F.isnull("isolation") & F.isnull("groups")
    return F.when(~free, F.when(group.isNull(), permitted).otherwise(best))


def _permitted(namespace: Column) -> Column:
    """Return the brokers to which isolation policies restrict a namespace."""
    names, none = F.map_keys("brokers"), F.array().cast("array<string>")
    own = F.get(_policies(namespace), F.lit(0))
    dedicated = F.coalesce(F.flatten(F.col("isolation.primary")), none)
    primary = F.array_intersect(names, own["primary"])
    beside = F.array_union(primary, F.array_intersect(names, own["secondary"]))
    enough = F.size(primary) >= own["least"]
    within = F.when(enough, primary).otherwise(beside)
    return F.when(own.isNull(), F.array_except(names, dedicated)).otherwise(within)


def _rivals(broker: Column, namespace: Column, group: Column) -> Column:
    """Return how many other namespaces of a group a broker serves."""
    bundles = F.coalesce(F.col("brokers")[broker]["bundles"], F.array().cast("array<string>"))
    served = F.array_distinct(F.transform(bundles, namespace_of))
    return F.size(F.filter(served, lambda one: (one != namespace) & (_group(one) == group)))
