"""Java's arithmetic, hash maps and partial sort where they affect decisions."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key

TABLE = 16
"""Capacity of a new hash map."""

INT = 2**31


def to_float32(number: float) -> float:
    """Round a number to the nearest 32-bit float."""
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def to_int(number: float) -> int:
    """Convert a double to an int as Java does: truncate and saturate."""
    return max(-INT, min(INT - 1, int(number))) if abs(number) != float("inf") else INT - 1


def wrap_int(number: int) -> int:
    """Reduce an integer to 32 bits, as a Java int does when it overflows."""
    return (number + INT) % (2 * INT) - INT


def java_hash(text: str) -> int:
    """Return Java's `String.hashCode` as an unsigned number."""
    found = 0
    units = text.encode("utf-16-be")
    for low in range(0, len(units), 2):
        found = (31 * found + (units[low] << 8) + units[low + 1]) & 0xFFFFFFFF
    return found


def map_capacity(count: int, concurrent: bool = False, size: int = TABLE) -> int:
    """Return the capacity of a hash map that holds `count` entries and was created with capacity
    `size`.
    """
    while count >= size * 3 // 4 + (0 if concurrent else 1):
        size *= 2
    return size


def in_map_order(names: Iterable[str], concurrent: bool = False, size: int = TABLE) -> list[str]:
    """Return names in the iteration order of a HashMap or a ConcurrentHashMap.

    `size` is the map's initial capacity; a map never shrinks. Names in the same bucket keep the
    order of insertion.
    """
    known = list(dict.fromkeys(names))
    size = map_capacity(len(known), concurrent, size)
    return sorted(known, key=lambda name: _spread_hash(name) & (size - 1))


def in_set_order(names: Iterable[str]) -> list[str]:
    """Return names in the iteration order of a HashSet that was constructed from a collection."""
    known = list(dict.fromkeys(names))
    size = TABLE
    while size < int(len(known) / 0.75) + 1:
        size *= 2
    return sorted(known, key=lambda name: _spread_hash(name) & (size - 1))


def _spread_hash(name: str) -> int:
    found = java_hash(name)
    return found ^ (found >> 16)


def partly_sorted(names: Sequence[str], most: int, compare: Callable[[str, str], int]) -> list[str]:
    """Return names, largest first, in the order produced by TopKBundles.partitionSort."""
    found = list(names)
    start, end, target = 0, len(found) - 1, most - 1
    while start < end:
        low, high, middle = start, end, start
        pivot = found[high]
        while middle <= high:
            order = compare(pivot, found[middle])
            if order < 0:
                found[low], found[middle] = found[middle], found[low]
                low, middle = low + 1, middle + 1
            elif order > 0:
                found[middle], found[high] = found[high], found[middle]
                high -= 1
            else:
                middle += 1
        if low <= target < middle:
            end = low
            break
        if target < low:
            end = low - 1
        else:
            start = middle

    def downwards(first: str, second: str) -> int:
        return compare(second, first)

    found[:end] = sorted(found[:end], key=cmp_to_key(downwards))
    return found
