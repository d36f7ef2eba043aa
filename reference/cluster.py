"""Brokers and bundles as exact numbers, parsed from load reports and bundle data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from pulsar_conformance.reference.numbers import (
    CACHED_NUMBERS,
    ZERO,
    Fraction,
    Percent,
    Rate,
    exact,
    jsonable,
)

RESOURCES = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
"""The system resources whose usage a broker reports. [USAGE-01]"""

RATE_FIELDS = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
"""Field names of traffic in the protocol."""

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Rates:
    """Traffic in both directions: messages per second, and bytes per second."""

    messages_in: Rate
    messages_out: Rate
    bytes_in: Rate
    bytes_out: Rate

    @staticmethod
    def read(data: Json) -> Rates:
        """Parse `msgRateIn`, `msgRateOut`, `msgThroughputIn`, `msgThroughputOut`, by default 0."""
        return _rates(
            data.get("msgRateIn", 0),
            data.get("msgRateOut", 0),
            data.get("msgThroughputIn", 0),
            data.get("msgThroughputOut", 0),
        )

    def each(self) -> tuple[Rate, Rate, Rate, Rate]:
        """Return the four rates: messages in and out, then bytes in and out."""
        return self.messages_in, self.messages_out, self.bytes_in, self.bytes_out

    def write(self) -> dict[str, float]:
        """Return the rates as JSON fields; the inverse of `read`."""
        return dict(zip(RATE_FIELDS, map(jsonable, self.each()), strict=True))

    @cached_property
    def messages(self) -> Rate:
        """Messages per second, in + out."""
        return self.messages_in + self.messages_out

    @cached_property
    def throughput(self) -> Rate:
        """Bytes per second, in + out."""
        return self.bytes_in + self.bytes_out


@lru_cache(CACHED_NUMBERS)
def _rates(messages_in: float, messages_out: float, bytes_in: float, bytes_out: float) -> Rates:
    return Rates(exact(messages_in), exact(messages_out), exact(bytes_in), exact(bytes_out))


@dataclass(frozen=True)
class Stats:
    """A bundle's latest statistics in its broker's report."""

    rates: Rates
    topics: int
    producers: int
    consumers: int

    @property
    def sessions(self) -> int:
        """Number of producers plus consumers. [SPLIT-02]"""
        return self.producers + self.consumers

    @classmethod
    def read(cls, data: Json) -> Stats:
        """Parse a bundle's statistics."""
        get = data.get
        return cls(
            Rates.read(data), get("topics", 0), get("producerCount", 0), get("consumerCount", 0)
        )


@dataclass(frozen=True)
class Broker:
    """A broker's load report: usage of resources in percent, rates, bundles and earlier usage."""

    name: str
    percent: Mapping[str, Percent]
    rates: Rates
    bundles: tuple[str, ...]
    stats: Mapping[str, Stats]
    history: tuple[Percent, ...]

    @classmethod
    def read(cls, name: str, data: Json) -> Broker:
        """Parse a broker's load report; an absent resource is unused."""
        return cls(
            name,
            {one: percent_of(data[one]) if one in data else ZERO for one in RESOURCES},
            Rates.read(data),
            tuple(data.get("bundles", ())),
            {bundle: Stats.read(stats) for bundle, stats in data.get("lastStats", {}).items()},
            tuple(exact(percent) for percent in data.get("usageHistory", ())),
        )


def percent_of(usage: Json | None) -> Percent:
    """Return usage as a percentage of the limit; 0 if there is no limit."""
    if not usage or not usage["limit"]:
        return ZERO
    return _percent(usage["usage"], usage["limit"])


@lru_cache(CACHED_NUMBERS)
def _percent(usage: float, limit: float) -> Percent:
    return 100 * exact(usage) / exact(limit)


def average_of(bundle: Json | None, frame: str) -> Rates | None:
    """Return a bundle's `shortTermData` or `longTermData`; None if it has no samples."""
    data = (bundle or {}).get(frame)
    if not data or not data["numSamples"]:
        return None
    return Rates.read(data)


NEVER_MEASURED_MESSAGES = 50
"""Messages per second in each direction, assumed for a bundle without samples. [DATA-04]"""

NEVER_MEASURED_KILOBYTES = 50
"""Kilobytes per second in each direction, assumed for a bundle without samples. [DATA-05]"""

KILOBYTE: Mapping[str, int] = {"decimal": 1000, "binary": 1024}
"""Number of bytes in a kilobyte, for each alternative of the reading `kilobyte`."""

MEGABYTE: Mapping[str, int] = {"decimal": 1000**2, "binary": 1024**2}
"""Number of bytes in a megabyte, for each alternative of the reading `megabyte`."""


def unmeasured_rates(kilobyte: str) -> Rates:
    """Return the rates assumed for a bundle before its first sample. [DATA-04 … 06]"""
    rate = Fraction(NEVER_MEASURED_MESSAGES)
    size = Fraction(NEVER_MEASURED_KILOBYTES * KILOBYTE[kilobyte])
    return Rates(rate, rate, size, size)
