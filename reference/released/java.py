"""Java's numbers and maps, as far as they decide: floats of 32 bits, the order of hash maps."""

from __future__ import annotations

import struct
from collections.abc import Iterable

TABLE = 16
"""The places of a new hash map."""

INT = 2**31


def single(number: float) -> float:
    """The float of 32 bits nearest to a number."""
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def to_int(number: float) -> int:
    """A double as an int: without its fraction, and no further than an int reaches."""
    return max(-INT, min(INT - 1, int(number))) if abs(number) != float("inf") else INT - 1


def wrapped(number: int) -> int:
    """What is left of a whole number in an int, once it has overflowed."""
    return (number + INT) % (2 * INT) - INT


def hash_of(text: str) -> int:
    """`String.hashCode` of a text, in 32 bits without a sign."""
    found = 0
    units = text.encode("utf-16-be")
    for low in range(0, len(units), 2):
        found = (31 * found + (units[low] << 8) + units[low + 1]) & 0xFFFFFFFF
    return found


def places(count: int, concurrent: bool = False, size: int = TABLE) -> int:
    """The places of a HashMap, or a ConcurrentHashMap, that had `size`, once it holds so many."""
    while count >= size * 3 // 4 + (0 if concurrent else 1):
        size *= 2
    return size


def in_map(names: Iterable[str], concurrent: bool = False, size: int = TABLE) -> list[str]:
    """Names in the order in which a HashMap, or a ConcurrentHashMap, goes through them.

    It had `size` places before, and never has fewer. Of names in one place of the table, which are
    few, the one that came first is first.
    """
    known = list(dict.fromkeys(names))
    size = places(len(known), concurrent, size)
    return sorted(known, key=lambda name: _spread(name) & (size - 1))


def _spread(name: str) -> int:
    found = hash_of(name)
    return found ^ (found >> 16)
