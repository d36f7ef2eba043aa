"""Division of a namespace into bundles, and the bundle of a topic. [BUNDLE]"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from pulsar_conformance.reference.ranges import (
    FULL_UPPER,
    HASHES,
    HashRange,
    hash_of,
    hex_of,
    index_of,
)

Locate = Callable[[Sequence[HashRange], str], int]

PARTITION = re.compile(r"-partition-(\d+)$")


def boundaries(count: int) -> list[str]:
    """The boundaries of a new namespace with `count` bundles. [BUNDLE-01, BUNDLE-03]"""
    width = HASHES // count
    return [hex_of(width * place) for place in range(count)] + [hex_of(FULL_UPPER)]


def by_own_hash(ranges: Sequence[HashRange], topic: str) -> int:
    """A partition is a topic like any other, hashed by its own name. [BUNDLE-07]"""
    return index_of(ranges, hash_of(topic))


def by_partition_number(ranges: Sequence[HashRange], topic: str) -> int:
    """Partitions go to neighbouring bundles, so that different brokers can own them. [BUNDLE-08]"""
    whole, number = without_partition(topic)
    return (by_own_hash(ranges, whole) + number) % len(ranges)


def without_partition(topic: str) -> tuple[str, int]:
    """Topic and partition number; 0 for a topic without partitions."""
    partition = PARTITION.search(topic)
    return (topic[: partition.start()], int(partition[1])) if partition else (topic, 0)


LOCATE: Mapping[str, Locate] = {"hashed": by_own_hash, "spread": by_partition_number}
"""Function by alternative of the reading `partitions`."""

COUNTED: Mapping[str, Callable[[str], tuple[str, int]]] = {
    "hashed": lambda topic: (topic, 0),
    "spread": without_partition,
}
"""Hashed name and offset in bundles, by the reading `partitions`."""
