"""Fields of load reports and bundle data as releases of Pulsar write them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES
from pulsar_conformance.reference.reports import CHANGES, COUNTS, NESTED, SIMPLE_NAMES, STATS

RATED = ("CPU", "Memory", "BandwidthIn", "BandwidthOut", "MsgRateIn", "MsgRateOut")

REPORT = frozenset(
    {
        *RESOURCES,
        *RATE_FIELDS,
        *COUNTS,
        *CHANGES,
        *SIMPLE_NAMES,
        *SIMPLE_NAMES.values(),
        NESTED,
        "advertisedListeners",
        "bottleneckResourceType",
        "brokerId",
        "brokerVersionString",
        "bundles",
        "lastUpdate",
        "loadManagerClassName",
        "loadReportType",
        "maxResourceUsage",
        "name",
        "nonPersistentTopicsEnabled",
        "overLoaded",
        "persistentTopicsEnabled",
        "protocols",
        "pulsarServiceUrl",
        "pulsarServiceUrlTls",
        "startTimestamp",
        "timestamp",
        "underLoaded",
        "webServiceUrl",
        "webServiceUrlTls",
        *(f"{how}{what}" for how in ("allocated", "preAllocated") for what in RATED),
    }
)
"""Fields of LocalBrokerData and LoadReport, from 2.4 to 5.0."""

USAGE = frozenset({"usage", "limit"})
BUNDLE_STATS = frozenset({*RATE_FIELDS, *STATS, "cacheSize"})


def unknown_fields(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields of a report that no release writes, each with the most similar name."""
    nested = _object(report.get(NESTED))
    yield from _unknown(report, REPORT, "")
    yield from _unknown(nested, RESOURCES, f"{NESTED}.")
    for resources, above in ((report, ""), (nested, f"{NESTED}.")):
        for name in RESOURCES:
            yield from _unknown(_object(resources.get(name)), USAGE, f"{above}{name}.")
    for name in ("lastStats", SIMPLE_NAMES["lastStats"]):
        bundles = _object(report.get(name)).values()
        fields = dict.fromkeys(field for stats in bundles for field in _object(stats))
        yield from _unknown(fields, BUNDLE_STATS, f"{name}[…].")


def _object(value: Any) -> Mapping[str, Any]:
    """Return a JSON object, or an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def _unknown(fields: Iterable[str], known: Collection[str], above: str) -> Iterator[str]:
    for name in fields:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            yield f"{above}{name}" + (f" (did you mean {near[0]}?)" if near else "")
