"""Hash ranges and bundle names, as columns. [BUNDLE]"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

LAST_HASH = 0xFFFFFFFF
HASHES = LAST_HASH + 1
"""Number of hash values of a namespace. [BUNDLE-01]"""

BOUNDARY_LENGTH = 10
"""Length of a boundary such as 0x40000000."""

RANGE_LENGTH = 2 * BOUNDARY_LENGTH + 1
"""Length of a range such as 0x00000000_0x40000000."""


def hash_of(topic: Column) -> Column:
    """Return the CRC-32 of a full topic name in UTF-8. [BUNDLE-11]"""
    return F.crc32(F.encode(topic, "UTF-8"))


def boundary_value(boundary: Column) -> Column:
    """Parse a boundary such as 0x40000000."""
    return F.conv(F.substring(boundary, 3, BOUNDARY_LENGTH), 16, 10).cast("bigint")


def hex_of(value: Column) -> Column:
    """Format a number as a boundary such as 0x40000000."""
    return F.concat(F.lit("0x"), F.lpad(F.lower(F.hex(value)), BOUNDARY_LENGTH - 2, "0"))


def lower_of(name: Column) -> Column:
    """Return a bundle's lower boundary as text, from its range or full name."""
    return F.substring(name, -RANGE_LENGTH, BOUNDARY_LENGTH)


def upper_of(name: Column) -> Column:
    """Return a bundle's upper boundary as text, from its range or full name."""
    return F.substring(name, -BOUNDARY_LENGTH, BOUNDARY_LENGTH)


def range_name(lower: Column, upper: Column) -> Column:
    """Return the name of the range between two numbers."""
    return F.concat(hex_of(lower), F.lit("_"), hex_of(upper))


def namespace_of(bundle: Column) -> Column:
    """Return `tenant/namespace` from a bundle's full name."""
    return F.substring(bundle, F.lit(1), F.length(bundle) - RANGE_LENGTH - 1)


def covers(whole: Column, part: Column) -> Column:
    """True if the bundle `whole` contains the bundle `part`: same namespace, range within its
    range.

    Boundaries are compared as text.
    """
    same = namespace_of(whole) == namespace_of(part)
    return same & (lower_of(whole) <= lower_of(part)) & (upper_of(part) <= upper_of(whole))
