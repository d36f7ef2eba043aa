"""Brokers' resources, and how traffic uses them."""

from __future__ import annotations

from collections.abc import Mapping

CORES = 16
MEGABYTES = 8192.0
"""Heap memory of a broker, in megabytes; its direct memory is twice as large."""

BYTES_OF_BUNDLE = 400_000
MESSAGES_OF_BUNDLE = 250
"""Approximate messages per second of an average bundle, in and out together."""

NETWORK = 2.5
"""Capacity of a broker's network per direction, as a multiple of its average traffic, in + out."""

VERSION = "3.0.7"

TOPICS_BEFORE_SPLIT = (900, 1040)
"""Numbers of topics of a bundle that will be split: usually, and in the last report before."""

UNITS: Mapping[str, float] = {
    "msgRateIn": 0.125,
    "msgRateOut": 0.125,
    "msgThroughputIn": 1.0,
    "msgThroughputOut": 1.0,
    "topics": 1.0,
}
"""Steps between possible values, by field: every value is a whole multiple of its step."""

PARTS = {"first": 0.4, "second": 0.6}
"""Share of a split bundle's traffic that each part carries."""


def resource_limits(bundles: int) -> dict[str, float]:
    """Return the limits of a broker that is sized for a number of bundles.

    The CPU is in percent of a core, memory in megabytes, bandwidth in kbit/s.
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
    """Return the percentage of each resource that a broker uses.

    The broker is sized for `bundles` bundles. `rates` are the total rates of the bundles that it
    has.
    """
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
