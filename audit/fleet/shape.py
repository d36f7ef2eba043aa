"""The shape of a broker: its resources, and how much of them its traffic uses."""

from __future__ import annotations

from collections.abc import Mapping

CORES = 16
MEGABYTES = 8192.0
"""Heap; direct memory has twice as much."""

BYTES_OF_BUNDLE = 400_000
MESSAGES_OF_BUNDLE = 250
"""Average traffic of a bundle per second, in and out together, approximately."""

NETWORK = 2.5
"""Capacity of a network card in each direction, as a multiple of the average traffic."""

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
"""The unit of each field: values are whole multiples of it."""

PARTS = {"first": 0.4, "second": 0.6}
"""Share of a bundle's traffic that each part carries."""


def limits(size: int) -> dict[str, float]:
    """Return the limits of a broker sized for this many bundles: % of cores, megabytes, kbit/s."""
    network = float(round(size * BYTES_OF_BUNDLE * 8 / 1000 * NETWORK))
    return {
        "cpu": 100.0 * CORES,
        "memory": MEGABYTES,
        "directMemory": 2 * MEGABYTES,
        "bandwidthIn": network,
        "bandwidthOut": network,
    }


def drawn_percents(size: int, rates: Mapping[str, float]) -> dict[str, float]:
    """Return the percentage of each resource that a broker uses."""
    messages = (rates["msgRateIn"] + rates["msgRateOut"]) / (size * MESSAGES_OF_BUNDLE)
    carried = (rates["msgThroughputIn"] + rates["msgThroughputOut"]) / (size * BYTES_OF_BUNDLE)
    cpu = min(2 + messages * 14 + carried * 32, 100.0)
    network = 0.8 / (limits(size)["bandwidthIn"])
    return {
        "cpu": cpu,
        "memory": 6 + cpu / 5,
        "directMemory": 4 + cpu / 4,
        "bandwidthIn": min(rates["msgThroughputIn"] * network, 100.0),
        "bandwidthOut": min(rates["msgThroughputOut"] * network, 100.0),
    }
