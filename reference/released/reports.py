"""Load reports in a release: when they are written, and how they are parsed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pulsar_conformance.reference.answers.extensions import report_due_answer
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES
from pulsar_conformance.reference.context import Case, Context
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.numbers import Percent, exact
from pulsar_conformance.reference.released.configuration import DOUBLE, V2_10, WHOLE_NUMBER
from pulsar_conformance.reference.released.java import INT
from pulsar_conformance.reference.released.loads import Leader
from pulsar_conformance.reference.released.release import ReleasedWays
from pulsar_conformance.reference.reports import (
    BUNDLE,
    CHANGES,
    COUNTS,
    MIN_MILLIS,
    NESTED,
    STATS,
)
from pulsar_conformance.reference.written import ReportDue

STATISTICS = "bundleStats"
MARK, KIND, SIMPLE_KIND = "underLoaded", "loadReportType", "LoadReport"
LONG = 2**63
V4 = (4,)
"""The first version whose simple reports may have more than 2^31 topics."""

SUMMED: Mapping[str, str] = {
    "msgRateIn": "msgRateIn",
    "msgRateOut": "msgRateOut",
    "msgThroughputIn": "msgRateIn",
    "msgThroughputOut": "msgRateOut",
    "numTopics": "topics",
    "numProducers": "producerCount",
    "numConsumers": "consumerCount",
}
"""The totals of a simple report, each with the field of its bundles that is summed."""

MIN_SECONDS = 5
"""Minimum seconds between two checks of the load in 2.4, a constant of LoadManagerShared."""

SIMPLE_CHANGES = {"lastBundleGains": "bundleGains", "lastBundleLosses": "bundleLosses"}
SWITCHES = ("persistentTopicsEnabled", "nonPersistentTopicsEnabled")
OWNED = ("CPU", "Memory", "BandwidthIn", "BandwidthOut", "MsgRateIn", "MsgRateOut")
"""Suffixes of the allocation fields of a simple report."""


def due(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """Return a release's answer: whether a broker writes its load data now."""
    return report_due_answer(_ReleasedDue(case, context.settings(case), release))


@dataclass(frozen=True)
class _ReleasedDue(ReportDue):
    """A `report.due` case, decided by a release's own usage and minimum interval."""

    release: ReleasedWays

    @property
    def too_soon(self) -> bool:
        """True before the minimum interval has passed; in 2.4, the interval is a constant."""
        if MIN_MILLIS in self.settings.defaults:
            return super().too_soon
        return exact(self.case["seconds"]) < MIN_SECONDS

    def usage(self, name: str) -> Percent:
        """Return the usage in percent that is compared; `name` is `written` or `now`."""
        modular = self.case["manager"] == "modular"
        weighted = modular and self.release.ways["reported-change"] == "weighted"
        one = {"brokers": {name: self.case[name]}, "bundles": {}}
        return 100 * exact(Leader(one, self.settings, self.release).usage(name, weighted)[0])


class _Mismatch(Exception):
    """Raised for a value that Jackson cannot parse as the field's type."""


def read(case: Case, release: ReleasedWays) -> Derivation:
    """Return a release's answer: the values of a parsed report's getters, or why parsing fails."""
    report = case["report"]
    try:
        if not isinstance(report, Mapping):
            raise _Mismatch("a load report must be a JSON object")
        simple = is_simple(report)
        broker = _parse_simple(report, release) if simple else _parse_modular(report, release)
    except _Mismatch as error:
        why = str(error)
        return Derivation({"refused": why}, lambda: (Step("refused", why),))
    manager = "simple" if simple else "modular"
    unfit = _why_inexpressible(broker)
    if unfit is not None:
        return Derivation({"unsupported": unfit}, lambda: (Step("says", unfit),))

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
    """True if the simple load manager wrote the report, judging by its marker fields."""
    kind = report.get(KIND)
    return MARK in report or (isinstance(kind, str) and kind == SIMPLE_KIND)


def _parse_modular(report: Mapping[str, Any], release: ReleasedWays) -> dict[str, Any]:
    """Parse a modular report: resources at the top level; a missing number is 0."""
    _check_parsable(report, _boolean_parser(release), SWITCHES)
    _check_parsable(report, _whole_number_parser(LONG), ("lastUpdate",))
    known = {name: _parse_usage(report[name]) for name in RESOURCES if report.get(name) is not None}
    found: dict[str, Any] = {name: usage for name, usage in known.items() if usage is not None}
    found |= {name: _parse_double(report.get(name)) for name in RATE_FIELDS}
    found |= {name: _whole_number_parser(INT)(report.get(name)) for name in COUNTS}
    for name in ("bundles", *CHANGES):
        found |= _parse_bundle_names(report, name, name)
    stats = _parse_statistics(report.get("lastStats", {}))
    if release.ways["modular-statistics"] == "both" and STATISTICS in report:
        stats = {**(stats or {}), **(_parse_statistics(report[STATISTICS]) or {})}
    return found if stats is None else {**found, "lastStats": stats}


def _parse_simple(report: Mapping[str, Any], release: ReleasedWays) -> dict[str, Any]:
    """Parse a simple report: resources in `systemResourceUsage`, load summed over bundles."""
    _check_parsable(report, _boolean_parser(release), (MARK, "overLoaded", *SWITCHES))
    _check_parsable(report, _whole_number_parser(LONG), ("timestamp",))
    _check_parsable(
        report, _whole_number_parser(LONG if release.version >= V4 else INT), ("numTopics",)
    )
    _check_parsable(report, _whole_number_parser(INT), COUNTS[1:])
    allocated = (f"{start}llocated{end}" for end in OWNED for start in ("a", "preA"))
    _check_parsable(report, _parse_double, ("msgRateIn", "msgRateOut", *allocated))
    nested = report.get(NESTED)
    within = {} if nested is None else _parse_object(nested)
    known = {name: _parse_usage(within[name]) for name in RESOURCES if within.get(name) is not None}
    found: dict[str, Any] = {name: usage for name, usage in known.items() if usage is not None}
    stats = _parse_statistics(report.get(STATISTICS))
    each = list((stats or {}).values())
    found |= {name: sum(one[of] for one in each) for name, of in SUMMED.items()}
    found |= {"numBundles": len(each), "bundles": sorted(stats or {})}
    for name, called in SIMPLE_CHANGES.items():
        found |= _parse_bundle_names(report, called, name)
    return found if stats is None else {**found, "lastStats": stats}


def _check_parsable(report: Mapping[str, Any], parse: Callable[[Any], Any], names: Any) -> None:
    """Check that fields can be parsed; their values are not used."""
    for name in names:
        if name in report:
            parse(report[name])


def _parse_object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _Mismatch(f"{value!r} is not a JSON object")
    return value


def _parse_usage(value: Any) -> dict[str, float] | None:
    """Parse usage and limit; None for a negative limit, which means not measured."""
    data = _parse_object(value)
    usage, limit = _parse_double(data.get("usage")), _parse_double(data.get("limit"))
    return None if limit < 0 else {"usage": usage, "limit": limit}


def _parse_double(value: Any) -> float:
    if value is None:
        return 0.0
    if isinstance(value, str):
        text = value.strip()
        if not text or text == "null":
            return 0.0
        if not DOUBLE.fullmatch(text):
            raise _Mismatch(f"{value!r} is not a number")
        return float(text.rstrip("dDfF"))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Mismatch(f"{value!r} is not a number")
    return float(value)


def _whole_number_parser(most: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        if isinstance(value, str) and value.strip() and not WHOLE_NUMBER.fullmatch(value.strip()):
            raise _Mismatch(f"{value!r} is not a whole number")
        number = int(value) if isinstance(value, str) and value.strip() else _parse_double(value)
        if not -most <= number < most:
            raise _Mismatch(f"{value!r} is out of range")
        return int(value) if isinstance(value, int) else int(number)

    return parse


def _boolean_parser(release: ReleasedWays) -> Callable[[Any], None]:
    """Parse true, false, an integer or a string; 2.4 accepts strings in lower case only."""
    known = {"true", "false", "", "null"}
    if release.version >= V2_10:
        known |= {"True", "TRUE", "False", "FALSE"}

    def parse(value: Any) -> None:
        if isinstance(value, str) and value.strip() in known:
            return
        if value is not None and not isinstance(value, int):
            raise _Mismatch(f"{value!r} is not a boolean")

    return parse


def _parse_bundle_names(report: Mapping[str, Any], field: str, name: str) -> dict[str, list[str]]:
    """Return the distinct bundles of a field; no bundles if the field is null."""
    value = report.get(field, [])
    if value is None:
        return {}
    if not isinstance(value, list):
        raise _Mismatch(f"{field}: {value!r} is not a list of bundles")
    if any(isinstance(one, list | Mapping) for one in value):
        raise _Mismatch(f"{field}: {value!r} is not a list of strings")
    return {name: sorted({str(one) for one in value})}


def _parse_statistics(value: Any) -> dict[str, dict[str, Any]] | None:
    if value is None:
        return None
    found = {}
    for bundle, one in _parse_object(value).items():
        stats = _parse_object(one)
        rates = {name: _parse_double(stats.get(name)) for name in RATE_FIELDS}
        counts = {
            name: _whole_number_parser(LONG if name == "topics" else INT)(stats.get(name))
            for name in STATS
        }
        _check_parsable(stats, _whole_number_parser(LONG), ("cacheSize",))
        found[bundle] = {**rates, **counts}
    return found


def _why_inexpressible(broker: Mapping[str, Any]) -> str | None:
    """Return why the protocol cannot express the release's result of parsing; None if it can."""
    for bundle in (*broker.get("bundles", ()), *broker.get("lastStats", ())):
        if not BUNDLE.fullmatch(bundle):
            return f"the release reads {bundle!r} as a bundle"
    numbers = [broker[name] for name in (*RATE_FIELDS, *COUNTS)]
    numbers += [value for stats in broker.get("lastStats", {}).values() for value in stats.values()]
    numbers += [value for name in RESOURCES for value in broker.get(name, {}).values()]
    unfit = next((one for one in numbers if not (one >= 0 and math.isfinite(one))), None)
    return None if unfit is None else f"the release reads a number of {unfit}"
