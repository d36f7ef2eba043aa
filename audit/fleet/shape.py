"""Load reports as Pulsar writes them: what a broker uses follows from what it carries.

The formulas take numbers and columns alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

CORES = 16
MEGABYTES = 8192.0
"""Heap; direct memory has twice as much."""

BYTES_OF_BUNDLE = 400_000
MESSAGES_OF_BUNDLE = 250
"""What a bundle carries on average, each second and both ways together, about."""

NETWORK = 2.5
"""A network card takes so many times what a broker's bundles carry on average, each way."""

VERSION = "3.0.7"

GROWN = (900, 1040)
"""Topics of a bundle that will be split, and in the last report before."""

UNITS: Mapping[str, float] = {
    "msgRateIn": 0.125,
    "msgRateOut": 0.125,
    "msgThroughputIn": 1.0,
    "msgThroughputOut": 1.0,
    "topics": 1.0,
}
"""What each is a whole number of."""

PARTS = {"first": 0.4, "second": 0.6}
"""How much of a bundle each part carries."""

Least = Callable[[Any, Any], Any]


def limits(size: int) -> dict[str, float]:
    """What a broker that is made for so many bundles has: percent of cores, megabytes, kbit/s."""
    network = float(round(size * BYTES_OF_BUNDLE * 8 / 1000 * NETWORK))
    return {
        "cpu": 100.0 * CORES,
        "memory": MEGABYTES,
        "directMemory": 2 * MEGABYTES,
        "bandwidthIn": network,
        "bandwidthOut": network,
    }


def percents(size: int, rates: Mapping[str, Any], least: Least) -> dict[str, Any]:
    """Percent of each resource that a broker uses; `least` is the smaller of two."""
    messages = (rates["msgRateIn"] + rates["msgRateOut"]) / (size * MESSAGES_OF_BUNDLE)
    carried = (rates["msgThroughputIn"] + rates["msgThroughputOut"]) / (size * BYTES_OF_BUNDLE)
    cpu = least(2 + messages * 14 + carried * 32, 100.0)
    network = 0.8 / (limits(size)["bandwidthIn"])
    return {
        "cpu": cpu,
        "memory": 6 + cpu / 5,
        "directMemory": 4 + cpu / 4,
        "bandwidthIn": least(rates["msgThroughputIn"] * network, 100.0),
        "bandwidthOut": least(rates["msgThroughputOut"] * network, 100.0),
    }
