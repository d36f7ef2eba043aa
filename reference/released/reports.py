"""Parsing of load reports in a release, `LoadReportDeserializer.deserialize`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pulsar_conformance.reference import reports
from pulsar_conformance.reference.cluster import RESOURCES
from pulsar_conformance.reference.context import Case, Refused
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.released.release import ReleasedWays
from pulsar_conformance.reference.reports import COUNTS, LOAD, NESTED, Unreadable

STATISTICS = "bundleStats"
MARK, KIND, SIMPLE_KIND = "underLoaded", "loadReportType", "LoadReport"

SUMMED: Mapping[str, str] = {
    "msgRateIn": "msgRateIn",
    "msgRateOut": "msgRateOut",
    "msgThroughputIn": "msgRateIn",
    "msgThroughputOut": "msgRateOut",
    "numTopics": "topics",
    "numProducers": "producerCount",
    "numConsumers": "consumerCount",
}
"""Totals of a simple report, each with the number of its bundles that is summed."""


def read(case: Case, release: ReleasedWays) -> Derivation:
    """Return the values of a report's getters after a release parsed it. Errors: `Refused`."""
    report = case["report"]
    try:
        if not isinstance(report, Mapping):
            raise Unreadable("a load report is a JSON object")
        simple = is_simple(report)
        broker = _simple(report) if simple else _modular(report, release)
    except Unreadable as wrong:
        raise Refused(str(wrong)) from None
    manager = "simple" if simple else "modular"

    def explain() -> Iterator[Step]:
        marks = f"{MARK} or {SIMPLE_KIND} as its {KIND}"
        neither = marks.replace(" or ", " nor ")
        has = f"it has {marks}" if simple else f"it has neither {neither}"
        yield Step("manager", f"{manager}: {has} ({release.place('report-kind')})")
        if simple:
            yield Step("carries", f"what its bundles do ({release.place('report-totals')})")
        yield Step("says", ", ".join(broker))

    return Derivation({"manager": manager, "broker": broker}, explain)


def is_simple(report: Mapping[str, Any]) -> bool:
    """True if the simple load manager wrote it, by its marker fields."""
    return MARK in report or report.get(KIND) == SIMPLE_KIND


def _modular(report: Mapping[str, Any], release: ReleasedWays) -> dict[str, Any]:
    """Resources at the top; counts that are left out are 0."""
    known = {name: report[name] for name in (*RESOURCES, *LOAD) if report.get(name) is not None}
    more = report.get(STATISTICS)
    if release.ways["modular-statistics"] == "both" and isinstance(more, Mapping):
        known["lastStats"] = {**known.get("lastStats", {}), **more}
    return reports.read({**dict.fromkeys(COUNTS, 0), **known}).broker


def _simple(report: Mapping[str, Any]) -> dict[str, Any]:
    """Resources below `systemResourceUsage`; loads are added up over the bundles."""
    nested = report.get(NESTED)
    said = reports.read({**report, NESTED: {} if nested is None else nested}).broker
    stats = said.get("lastStats", {})
    totals = {name: sum(one.get(of, 0) for one in stats.values()) for name, of in SUMMED.items()}
    return {**said, **totals, "numBundles": len(stats), "bundles": list(stats)}
