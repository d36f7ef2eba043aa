"""Names and ranges of a fleet's bundles."""

from __future__ import annotations

from pulsar_conformance.audit.fleet.size import Fleet
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

BUNDLES_PER_NAMESPACE = 64
"""Initial number of bundles of a namespace; a cluster's last namespace may have fewer."""

TENANTS = ("shop", "bank", "game")
HASHES = 1 << 32


def bundle_ranges(fleet: Fleet, numbers: DataFrame) -> DataFrame:
    """Return a row per bundle: its numbers `cluster` and `bundle`, from 0, and `lower` and `upper`.

    `numbers` has a column `id` with 0, 1, 2 ..., one row per bundle.
    """
    count = F.lit(fleet.initial_bundles)
    rows = numbers.select(
        F.floor(F.col("id") / count).cast("int").alias("cluster"),
        F.pmod("id", count).cast("int").alias("bundle"),
    )
    first = F.floor(F.col("bundle") / BUNDLES_PER_NAMESPACE) * BUNDLES_PER_NAMESPACE
    size = F.least(F.lit(BUNDLES_PER_NAMESPACE), count - first)
    place = F.col("bundle") - first

    def boundary(place: Column) -> Column:
        return F.least(F.floor(place * HASHES / size), F.lit(HASHES - 1))

    return rows.select("*", boundary(place).alias("lower"), boundary(place + 1).alias("upper"))


def bundle_name(bundle: Column, lower: Column, upper: Column) -> Column:
    """Return a bundle's full name."""
    space = F.floor(bundle / BUNDLES_PER_NAMESPACE).cast("int")
    tenant = F.element_at(F.array(*map(F.lit, TENANTS)), F.pmod(space, F.lit(len(TENANTS))) + 1)
    number = F.lpad((space + 1).cast("string"), 3, "0")
    return F.concat(
        tenant, F.lit("/events-"), number, F.lit("/"), _hex(lower), F.lit("_"), _hex(upper)
    )


def _hex(value: Column) -> Column:
    return F.concat(F.lit("0x"), F.lpad(F.lower(F.hex(value)), 8, "0"))
