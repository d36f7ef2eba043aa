"""The shapes of Pulsar's load data as Spark types, and what is read from them.

Numbers are doubles, counts too: JSON may write 3 as 3.0.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

RESOURCES = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
"""Resources whose usage a broker reports. [USAGE-01]"""

RATE_FIELDS = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
"""Messages and bytes per second, each way."""

RATES = ", ".join(f"{name} double" for name in RATE_FIELDS)
STATS = f"struct<{RATES}, topics double, producerCount double, consumerCount double>"
AVERAGE = f"struct<{RATES}, numSamples double>"
BUNDLE = f"struct<shortTermData {AVERAGE}, longTermData {AVERAGE}>"
USED = ", ".join(f"{name} struct<usage double, limit double>" for name in RESOURCES)
BROKER = (
    f"struct<{USED}, {RATES}, bundles array<string>, lastStats map<string, {STATS}>, "
    "usageHistory array<double>>"
)
SETTINGS = "map<string, string>"

NEVER_MEASURED = 50
"""Messages and kilobytes per second, each way, before the first sample. [DATA-04, DATA-05]"""

KILOBYTE: Mapping[str, int] = {"decimal": 1000, "binary": 1024}
"""Bytes, by the reading `kilobyte`."""

MEGABYTE: Mapping[str, int] = {"decimal": 1000**2, "binary": 1024**2}
"""Bytes, by the reading `megabyte`."""


def or_nothing(number: Column) -> Column:
    """A number, 0 where it is left out."""
    return F.coalesce(number, F.lit(0.0))


def constant(value: float) -> Column:
    """A constant as a double."""
    return F.lit(float(value))


def traffic(rates: Column) -> Column:
    """Both directions together: struct of `messages` and `bytes` per second."""
    return F.struct(
        (or_nothing(rates["msgRateIn"]) + or_nothing(rates["msgRateOut"])).alias("messages"),
        (or_nothing(rates["msgThroughputIn"]) + or_nothing(rates["msgThroughputOut"])).alias(
            "bytes"
        ),
    )


def measured(average: Column) -> Column:
    """True if an average has a sample."""
    return F.coalesce(average["numSamples"] > 0, F.lit(False))


def assumed(kilobyte: str) -> Column:
    """Struct of the rates that a bundle is taken to have before its first sample. [DATA-04, 05]"""
    amounts = (1, 1, KILOBYTE[kilobyte], KILOBYTE[kilobyte])
    pairs = zip(RATE_FIELDS, amounts, strict=True)
    return F.struct(*(constant(NEVER_MEASURED * amount).alias(name) for name, amount in pairs))


def known_rates(average: Column, kilobyte: str) -> Column:
    """Struct of the rates of a bundle by its average, or assumed ones. [DATA-09]"""
    rates = F.struct(*(or_nothing(average[name]).alias(name) for name in RATE_FIELDS))
    return F.when(measured(average), rates).otherwise(assumed(kilobyte))


def carried(average: Column, kilobyte: str) -> Column:
    """Traffic of a bundle by its average, or an assumed one. [DATA-09]"""
    return traffic(known_rates(average, kilobyte))


FRAME: Mapping[str, str] = {"short-term": "shortTermData", "long-term": "longTermData"}
"""Average that determines a bundle's load when shedding, by the reading `shed-window`."""

MEASURE: Mapping[str, str] = {"throughput": "bytes", "message-rate": "messages"}
"""Traffic that orders and counts when load is shed, by the reading `shed-measure`."""
