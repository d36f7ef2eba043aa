"""Pulsar's load data as Spark types, and functions that read them.

All numbers are doubles, even counts, because JSON may write 3 as 3.0.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

RESOURCES = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
"""Resources whose usage a broker reports. [USAGE-01]"""

RATE_FIELDS = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
"""Messages and bytes per second in each direction."""

RATES = ", ".join(f"{name} double" for name in RATE_FIELDS)
STATS = f"struct<{RATES}, topics double, producerCount double, consumerCount double>"
AVERAGE = f"struct<{RATES}, numSamples double>"
BUNDLE = f"struct<shortTermData {AVERAGE}, longTermData {AVERAGE}>"
USED = ", ".join(f"{name} struct<usage double, limit double>" for name in RESOURCES)
BROKER = (
    f"struct<{USED}, {RATES}, bundles array<string>, lastStats map<string, {STATS}>, "
    "usageHistory array<double>, age double>"
)
SETTINGS = "map<string, string>"

NEVER_MEASURED = 50
"""Messages and kilobytes per second, in each direction, assumed for a bundle without samples.

[DATA-04, DATA-05]
"""

KILOBYTE: Mapping[str, int] = {"decimal": 1000, "binary": 1024}
"""Number of bytes in a kilobyte, by alternative of the reading `kilobyte`."""

MEGABYTE: Mapping[str, int] = {"decimal": 1000**2, "binary": 1024**2}
"""Number of bytes in a megabyte, by alternative of the reading `megabyte`."""


def or_zero(number: Column) -> Column:
    """Return the number, or 0 if it is null."""
    return F.coalesce(number, F.lit(0.0))


def empty_frame(like: DataFrame, columns: str) -> DataFrame:
    """Return an empty frame with these columns, in the session of the frame `like`."""
    none, fields = F.lit(None), StructType.fromDDL(columns)
    return like.where(F.lit(False)).select(*(none.cast(f.dataType).alias(f.name) for f in fields))


def constant_double(value: float) -> Column:
    """Return a column with a constant double."""
    return F.lit(float(value))


def traffic(rates: Column) -> Column:
    """Return a struct of `messages` and `bytes` per second, both directions added up."""
    return F.struct(
        (or_zero(rates["msgRateIn"]) + or_zero(rates["msgRateOut"])).alias("messages"),
        (or_zero(rates["msgThroughputIn"]) + or_zero(rates["msgThroughputOut"])).alias("bytes"),
    )


def measured(average: Column) -> Column:
    """True if an average has samples."""
    return F.coalesce(average["numSamples"] > 0, F.lit(False))


def assumed_rates(kilobyte: str) -> Column:
    """Return a struct of the rates assumed for a bundle without samples. [DATA-04, 05]"""
    amounts = (1, 1, KILOBYTE[kilobyte], KILOBYTE[kilobyte])
    pairs = zip(RATE_FIELDS, amounts, strict=True)
    return F.struct(
        *(constant_double(NEVER_MEASURED * amount).alias(name) for name, amount in pairs)
    )


def known_rates(average: Column, kilobyte: str) -> Column:
    """Return a struct of a bundle's average rates, or of the assumed rates if it has no samples.

    [DATA-09]
    """
    rates = F.struct(*(or_zero(average[name]).alias(name) for name in RATE_FIELDS))
    return F.when(measured(average), rates).otherwise(assumed_rates(kilobyte))


def carried(average: Column, kilobyte: str) -> Column:
    """Return a bundle's average traffic, or the assumed traffic if it has no samples. [DATA-09]"""
    return traffic(known_rates(average, kilobyte))


SHEDDING_AVERAGE: Mapping[str, str] = {"short-term": "shortTermData", "long-term": "longTermData"}
"""Field of the average that is a bundle's load in shedding, by alternative of `shed-window`."""

SHEDDING_MEASURE: Mapping[str, str] = {"throughput": "bytes", "message-rate": "messages"}
"""Kind of traffic that shedding sorts by and adds up, by alternative of `shed-measure`."""
