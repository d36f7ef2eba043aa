"""Evidence as text: the broker, what it unloaded, and what it had to unload."""

from __future__ import annotations

from pulsar_conformance.audit.tables.formatting import MEASURED, joined, plain_distinct_from
from pulsar_conformance.audit.verdicts.checks.registry import Readings
from pyspark.sql import Column
from pyspark.sql import functions as F

MAX_NAMED_BUNDLES = 5
"""Maximum number of bundles whose names are listed."""


def shed_text(names: str = "gone") -> Column:
    """Return a broker's unloads as text, such as `b1:8080 shed t/ns/0x…` or `b1:8080 kept all`."""
    some = F.array_join(F.slice(names, 1, MAX_NAMED_BUNDLES), ", ")
    more = F.when(
        F.size(names) > MAX_NAMED_BUNDLES,
        F.concat(F.lit(" and "), _count_of_rest(names), F.lit(" more")),
    )
    what = F.concat(some, F.coalesce(more, F.lit("")))
    return joined(
        F.col("broker"), F.when(F.size(names) > 0, joined("shed", what)).otherwise("kept all")
    )


def _count_of_rest(names: str) -> Column:
    return (F.size(names) - MAX_NAMED_BUNDLES).cast("string")


def usage_text(usage: Column, what: str, limit: Column) -> Column:
    """Return a broker's unloads and usage as text, such as `b1:8080 kept all; it is at 91 %,
    threshold 85 %`.
    """
    return F.concat(
        shed_text(),
        F.lit("; it is at "),
        plain_distinct_from(usage, limit),
        F.lit(f" %, {what} "),
        plain_distinct_from(limit, usage),
        F.lit(" %"),
    )


def amounts_text(readings: Readings, what: str, amount: Column, bound: Column) -> Column:
    """Return a broker's unloads and two amounts as text, such as `b1:8080 shed …; WHAT 3 MB/s of 4
    MB/s`.
    """
    written = MEASURED[readings["shed-measure"]]
    return F.concat(
        shed_text(), F.lit(f"; {what} "), written(amount), F.lit(" of "), written(bound)
    )
