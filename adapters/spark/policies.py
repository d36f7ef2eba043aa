"""Isolation policies and anti-affinity groups that limit TransferShedder. [TRANSFER]

Rows are cases of `shed.select` with the fields of `CASE_FIELDS`, `brokers` and `settings`.
"""

from __future__ import annotations

from pulsar_conformance.adapters.spark.ranges import namespace_of
from pulsar_conformance.adapters.spark.transfer import EXCLUDED, LIST_COMMA, WITH_POLICIES
from pyspark.sql import Column
from pyspark.sql import functions as F

POLICY = (
    "struct<namespaces array<string>, primary array<string>, secondary array<string>, least double>"
)
CASE_FIELDS = f"withoutData array<string>, isolation array<{POLICY}>, groups map<string, string>"


def _policies_of(namespace: Column) -> Column:
    """Return a namespace's isolation policies."""
    none = F.array().cast(f"array<{POLICY}>")
    policies = F.coalesce("isolation", none)
    return F.filter(policies, lambda one: F.array_contains(one["namespaces"], namespace))


def _group_of(namespace: Column) -> Column:
    return F.coalesce("groups", F.create_map().cast("map<string, string>"))[namespace]


def must_stay(namespace: Column) -> Column:
    """True if a namespace's bundles may not move, regardless of load. [TRANSFER-14, TRANSFER-16]"""
    restricted = (F.size(_policies_of(namespace)) > 0) | _group_of(namespace).isNotNull()
    allowed = F.coalesce(F.col(f"settings.{WITH_POLICIES}"), F.lit(False))
    return is_listed_as_excluded(namespace) | (restricted & ~allowed)


def is_listed_as_excluded(namespace: Column) -> Column:
    """True if a setting excludes a namespace's bundles from shedding. [SHED-17, TRANSFER-16]"""
    listed = F.split(F.trim(f"settings.{EXCLUDED}"), LIST_COMMA)
    return F.coalesce(F.array_contains(listed, namespace), F.lit(False))


def permitted_targets(namespace: Column) -> Column:
    """Return the brokers that may take a bundle of a namespace; null if all may. [TRANSFER-15]"""
    permitted = _brokers_by_policies(namespace)
    group = _group_of(namespace)
    counts = F.transform(permitted, lambda name: _rivals_of(name, namespace, group))
    fewest = F.array_min(counts)
    best = F.filter(permitted, lambda name: _rivals_of(name, namespace, group) == fewest)
    free = F.isnull("isolation") & F.isnull("groups")
    return F.when(~free, F.when(group.isNull(), permitted).otherwise(best))


def _brokers_by_policies(namespace: Column) -> Column:
    """Return the brokers to which isolation policies restrict a namespace."""
    names, none = F.map_keys("brokers"), F.array().cast("array<string>")
    own = F.get(_policies_of(namespace), F.lit(0))
    dedicated = F.coalesce(F.flatten(F.col("isolation.primary")), none)
    primary = F.array_intersect(names, own["primary"])
    beside = F.array_union(primary, F.array_intersect(names, own["secondary"]))
    enough = F.size(primary) >= own["least"]
    within = F.when(enough, primary).otherwise(beside)
    return F.when(own.isNull(), F.array_except(names, dedicated)).otherwise(within)


def _rivals_of(broker: Column, namespace: Column, group: Column) -> Column:
    """Return how many other namespaces of the group the broker serves."""
    bundles = F.coalesce(F.col("brokers")[broker]["bundles"], F.array().cast("array<string>"))
    served = F.array_distinct(F.transform(bundles, namespace_of))
    return F.size(F.filter(served, lambda one: (one != namespace) & (_group_of(one) == group)))
