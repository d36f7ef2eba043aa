"""The hash range of a namespace, and the ranges and names of its bundles."""

from __future__ import annotations

import re
import zlib
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

FULL_LOWER = 0x00000000
FULL_UPPER = 0xFFFFFFFF
HASHES = FULL_UPPER + 1
"""Number of hash values of a namespace. [BUNDLE-01]"""

UNSTATED_HASH = "the suite's own, CRC-32 of the whole name; other implementations may differ"
"""Note on the hashes in a derivation, if the documents name no hash function."""

HASH_RULE = "BUNDLE-11"
"""The rule that states the hash function."""

HASH_OF_RULE = f"CRC-32 of the whole name ({HASH_RULE})"

HASH_OF_RELEASES = "CRC-32 of the whole name (NamespaceBundleFactory.getLongHashCode)"


def hex_of(value: int) -> str:
    """Format a hash as a boundary, such as 0x40000000."""
    return f"0x{value:08x}"


def hash_of(topic: str) -> int:
    """Return the CRC-32 of the complete topic name as an unsigned number. [BUNDLE-11]"""
    return zlib.crc32(topic.encode())


@dataclass(frozen=True, order=True)
class HashRange:
    """A bundle's hash range: includes `lower`, excludes `upper`. [BUNDLE-12]

    The last range of a namespace includes its upper bound. [BUNDLE-13]
    """

    lower: int
    upper: int

    @classmethod
    @lru_cache(maxsize=2**16)
    def parse(cls, name: str) -> HashRange:
        """Parse a range such as `0x00000000_0x40000000`, or the name of a bundle with this range.

        Errors: `ValueError` if the name is invalid or its range is empty.
        """
        lower, _, upper = name.rpartition("/")[2].partition("_")
        parsed = cls(int(lower, 16), int(upper, 16))
        if not FULL_LOWER <= parsed.lower < parsed.upper <= FULL_UPPER:
            raise ValueError(f"{name} is not a hash range")
        return parsed

    @property
    def name(self) -> str:
        """The range as text, such as `0x00000000_0x40000000`."""
        return f"{hex_of(self.lower)}_{hex_of(self.upper)}"

    @property
    def last(self) -> bool:
        """True if this is the namespace's last range."""
        return self.upper == FULL_UPPER

    @property
    def width(self) -> int:
        """Number of hashes in the range."""
        return self.upper - self.lower + self.last

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int) and (
            self.lower <= value < self.upper or (self.last and value == FULL_UPPER)
        )

    def covers(self, other: HashRange) -> bool:
        """True if the other range lies within this range."""
        return self.lower <= other.lower and other.upper <= self.upper

    def cut(self, positions: Sequence[int]) -> tuple[HashRange, ...]:
        """Return the parts into which ascending positions inside the range divide it. [SPLIT-14]"""
        ends = [self.lower, *positions, self.upper]
        return tuple(HashRange(*pair) for pair in pairwise(ends))


def ranges_of(boundaries: Sequence[str]) -> tuple[HashRange, ...]:
    """Return the ranges between boundaries such as `["0x00000000", "0x80000000", "0xffffffff"]`."""
    ends = [int(boundary, 16) for boundary in boundaries]
    return tuple(HashRange(*pair) for pair in pairwise(ends))


def ascend(boundaries: Sequence[str]) -> bool:
    """True if boundaries ascend from the lowest hash to the highest."""
    ends = [int(boundary, 16) for boundary in boundaries]
    rises = all(one < other for one, other in pairwise(ends))
    return rises and (ends[0], ends[-1]) == (FULL_LOWER, FULL_UPPER)


def index_of(ranges: Sequence[HashRange], value: int) -> int:
    """Return the index of the range that contains a hash; the ranges are sorted. [BUNDLE-04]"""
    return bisect_right(ranges, value, key=lambda part: part.lower) - 1


def namespace_of(bundle: str) -> str:
    """Return `tenant/namespace` from a bundle's full name."""
    return bundle.rpartition("/")[0]


Locate = Callable[[Sequence[HashRange], str], int]

PARTITION = re.compile(r"-partition-(\d+)$")


def boundaries(count: int) -> list[str]:
    """Return the boundaries of a new namespace with `count` bundles. [BUNDLE-01, BUNDLE-03]"""
    width = HASHES // count
    return [hex_of(width * index) for index in range(count)] + [hex_of(FULL_UPPER)]


def index_by_own_hash(ranges: Sequence[HashRange], topic: str) -> int:
    """Return the index of a topic's bundle; a partition is located by its own name, like any topic.

    [BUNDLE-07]
    """
    return index_of(ranges, hash_of(topic))


def index_by_partition_number(ranges: Sequence[HashRange], topic: str) -> int:
    """Return the index of a partition's bundle: partition N is N bundles after partition 0.

    Consecutive partitions lie in consecutive bundles, which different brokers can own. [BUNDLE-08]
    """
    whole, number = without_partition(topic)
    return (index_by_own_hash(ranges, whole) + number) % len(ranges)


def without_partition(topic: str) -> tuple[str, int]:
    """Split a topic's name into the name without its partition and the partition's number.

    The number is 0 for a topic without partitions.
    """
    partition = PARTITION.search(topic)
    return (topic[: partition.start()], int(partition[1])) if partition else (topic, 0)


LOCATE: Mapping[str, Locate] = {"hashed": index_by_own_hash, "spread": index_by_partition_number}
"""The index of a topic's range, for each alternative of the reading `partitions`."""

COUNTED: Mapping[str, Callable[[str], tuple[str, int]]] = {
    "hashed": lambda topic: (topic, 0),
    "spread": without_partition,
}
"""Function that returns the name to hash for a topic, and the number of bundles to count on from
the bundle of that name.

The keys are the alternatives of the reading `partitions`.
"""
