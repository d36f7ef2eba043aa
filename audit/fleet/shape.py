"""Brokers' resources, and how traffic uses them."""

from __future__ import annotations

from collections.abc import Mapping

CORES = 16
MEGABYTES = 8192.0
"""Heap memory of a broker, in megabytes; its direct memory is twice as large."""

BYTES_OF_BUNDLE = 400_000
MESSAGES_OF_BUNDLE = 250
"""Approximate average traffic of a bundle, in messages per second, in and out together."""

NETWORK = 2.5
"""Capacity of a broker's network in each direction, as a multiple of its average traffic in both.
"""

VERSION = "3.0.7"

GROWN = (900, 1040)
"""Number of topics of a bundle that will be split: usually, and in the last report before the
split.
"""

UNITS: Mapping[str, float] = {
    "msgRateIn": 0.125,
    "msgRateOut": 0.125,
    "msgThroughputIn": 1.0,
    "msgThroughputOut": 1.0,
    "topics": 1.0,
}
"""Unit of each field, of which all its values are whole multiples."""

PARTS = {"first": 0.4, "second": 0.6}
"""Share of a split bundle's traffic that each part carries."""


def resource_limits(bundles: int) -> dict[str, float]:
    """Return the limits of a broker that is sized for a number of bundles: % of a core, megabytes,
    kbit/s.
    """
    network = float(round(bundles * BYTES_OF_BUNDLE * 8 / 1000 * NETWORK))
    return {
        "cpu": 100.0 * CORES,
        "memory": MEGABYTES,
        "directMemory": 2 * MEGABYTES,
        "bandwidthIn": network,
        "bandwidthOut": network,
    }


def resource_percents(bundles: int, rates: Mapping[str, float]) -> dict[str, float]:
    """Return the percentage of each resource that a broker uses at these rates."""
    messages = (rates["msgRateIn"] + rates["msgRateOut"]) / (bundles * MESSAGES_OF_BUNDLE)
    carried = (rates["msgThroughputIn"] + rates["msgThroughputOut"]) / (bundles * BYTES_OF_BUNDLE)
    cpu = min(2 + messages * 14 + carried * 32, 100.0)
    network = 0.8 / (resource_limits(bundles)["bandwidthIn"])
    return {
        "cpu": cpu,
        "memory": 6 + cpu / 5,
        "directMemory": 4 + cpu / 4,
        "bandwidthIn": min(rates["msgThroughputIn"] * network, 100.0),
        "bandwidthOut": min(rates["msgThroughputOut"] * network, 100.0),
    }
