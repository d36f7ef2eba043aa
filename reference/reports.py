"""Load reports, parsed in the format of the load manager that wrote them. [REPORT]"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES
from pulsar_conformance.reference.ranges import HashRange

NESTED = "systemResourceUsage"
"""Field that contains the resources in reports of the simple load manager. [REPORT-02]"""

COUNTS = ("numTopics", "numBundles", "numProducers", "numConsumers")
STATS = ("topics", "producerCount", "consumerCount")
CHANGES = ("lastBundleGains", "lastBundleLosses")
LOAD = (*RATE_FIELDS, *COUNTS, "bundles", *CHANGES, "lastStats")
"""Fields of a report other than resources. [REPORT-04 … 07]"""

SIMPLE_NAMES: Mapping[str, str] = {
    "lastStats": "bundleStats",
    "lastBundleGains": "bundleGains",
    "lastBundleLosses": "bundleLosses",
}
"""Fields with a different name in reports of the simple load manager."""

THRESHOLD = "loadBalancerReportUpdateThresholdPercentage"
MIN_MILLIS = "loadBalancerReportUpdateMinIntervalMillis"
MAX_MINUTES = "loadBalancerReportUpdateMaxIntervalMinutes"
MAX_BUNDLES = "loadBalancerMaxNumberOfBundlesInBundleLoadReport"
"""Settings that decide when a report is written, and (`MAX_BUNDLES`) how many bundles it has."""

MAX_VALUE_LENGTH = 60
"""Maximum number of characters of a wrong value in an error."""

BUNDLE = re.compile(r"[^/]+(/[^/]+){1,2}/0x[0-9a-f]{8}_0x[0-9a-f]{8}")


class Unreadable(ValueError):
    """Raised for an invalid load report; the message gives the problem and the field."""


@dataclass(frozen=True)
class Report:
    """A parsed load report.

    `manager` is `simple` or `modular`; `broker` is the content in the protocol's format.
    """

    manager: str
    broker: dict[str, Any]


def read(report: object) -> Report:
    """Parse a load report; nothing is added or computed.

    `report` is the JSON of /loadbalance/brokers/BROKER. Fields that are not in the protocol are
    omitted, and so are resources with a negative limit, which were not measured. Errors:
    `Unreadable`. [REPORT-03 … 08]
    """
    if not isinstance(report, Mapping):
        raise Unreadable("a load report must be a JSON object")
    manager = manager_of_report(report)
    broker = (_parse_simple if manager == "simple" else _parse_modular)(report)
    if not broker and NESTED not in report:
        raise Unreadable(f"it has neither {NESTED} nor cpu")
    return Report(manager, broker)


def manager_of_report(report: Mapping[str, Any]) -> str:
    """Return the load manager that wrote a report. [REPORT-01, 02]

    The modular load manager writes resources at the top level. The simple load manager writes them
    there too, but only its reports have the field `systemResourceUsage`.
    """
    return "modular" if report.get(NESTED) is None else "simple"


def _parse_modular(report: Mapping[str, Any]) -> dict[str, Any]:
    return _parse_fields(report, (*RESOURCES, *LOAD), above="")


def _parse_simple(report: Mapping[str, Any]) -> dict[str, Any]:
    """Parse a simple load manager's report; if it lists no bundles, use those with statistics."""
    resources = _parse_fields(_parse_object(report[NESTED], NESTED), RESOURCES, above=f"{NESTED}.")
    load = _parse_fields(report, LOAD, above="", called=SIMPLE_NAMES)
    if "lastStats" in load:
        load.setdefault("bundles", list(load["lastStats"]))
    return {**resources, **load}


def _parse_fields(
    data: Mapping[str, Any],
    names: Iterable[str],
    above: str,
    called: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Parse the fields that are present, each by its type.

    `above` is the prefix of field names in errors. `called` maps each field whose name in the
    report is different to that name.
    """
    found: dict[str, Any] = {}
    for name in names:
        there = called.get(name, name)
        value = data.get(there)
        read = None if value is None else READ[name](value, above + there)
        if read is not None:
            found[name] = read
    return found


def _parse_object(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Unreadable(f"{place}: {_quoted_value(value)} is not a JSON object")
    return value


def _parse_number(value: object, place: str) -> float:
    if value is None:
        raise Unreadable(f"{place}: is missing")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unreadable(f"{place}: {_quoted_value(value)} is not a number")
    if not abs(value) <= sys.float_info.max:
        raise Unreadable(f"{place}: {_quoted_value(value)} is too large")
    return value


def _parse_amount(value: object, place: str) -> float:
    number = _parse_number(value, place)
    if number < 0:
        raise Unreadable(f"{place}: {_quoted_value(value)} is below 0")
    return number


def _parse_count(value: object, place: str) -> int:
    number = _parse_amount(value, place)
    if number != int(number):
        raise Unreadable(f"{place}: {_quoted_value(value)} is not a count")
    return int(number)


def _parse_usage(value: object, place: str) -> dict[str, float] | None:
    """Parse usage and limit; None for a negative limit, which means not measured."""
    data = _parse_object(value, place)
    limit = _parse_number(data.get("limit"), f"{place}.limit")
    if limit < 0:
        return None
    return {"usage": _parse_amount(data.get("usage"), f"{place}.usage"), "limit": limit}


def _parse_bundle(value: object, place: str) -> str:
    if not isinstance(value, str) or not BUNDLE.fullmatch(value):
        raise Unreadable(
            f"{place}: {_quoted_value(value)} is not a bundle (tenant/namespace/0x…_0x…)"
        )
    try:
        HashRange.parse(value)
    except ValueError as error:
        raise Unreadable(f"{place}: {error}") from None
    return value


def _parse_bundles(value: object, place: str) -> list[str]:
    if not isinstance(value, list):
        raise Unreadable(f"{place}: {_quoted_value(value)} is not a list of bundles")
    return list(dict.fromkeys(_parse_bundle(one, place) for one in value))


def _parse_statistics(value: object, place: str) -> dict[str, dict[str, Any]]:
    found = {}
    for name, stats in _parse_object(value, place).items():
        bundle, where = _parse_bundle(name, place), f"{place}[{name!r}]"
        found[bundle] = _parse_fields(
            _parse_object(stats, where), (*RATE_FIELDS, *STATS), f"{where}."
        )
    return found


def _quoted_value(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]}..."


READ: Mapping[str, Callable[[object, str], Any]] = {
    **dict.fromkeys(RESOURCES, _parse_usage),
    **dict.fromkeys(RATE_FIELDS, _parse_amount),
    **dict.fromkeys((*COUNTS, *STATS), _parse_count),
    **dict.fromkeys(("bundles", *CHANGES), _parse_bundles),
    "lastStats": _parse_statistics,
}
"""Function that parses each field; it raises `Unreadable` for a wrong value."""
