"""Histories made from imported sources: their load reports, and the events between reports."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from pulsar_conformance.adapters.operated.sight import ObservedState
from pulsar_conformance.audit.collect.changes import Entry, events_between
from pulsar_conformance.audit.collect.sources import BadSource, ImportedData
from pulsar_conformance.conformance.cases.effects import EXTENSIBLE, manager_by_settings
from pulsar_conformance.conformance.cases.metrics import ONLY_EXTENSIBLE
from pulsar_conformance.reference.ranges import HashRange, namespace_of
from pulsar_conformance.reference.reports import NESTED
from pulsar_conformance.specs.text import counted, enumerated

MAX_LINE_GAP = timedelta(seconds=10)
"""Maximum time between two successive log lines of the same shedding cycle."""

Timed = tuple[datetime, Entry]


def imported_cluster(data: ImportedData) -> str:
    """Return the name of the cluster that the sources describe; empty if they name no cluster.

    Errors: `BadSource` if the sources name several clusters: their brokers and bundles would be
    mixed in one history.
    """
    named = data.clusters - {""}
    if len(named) > 1:
        raise BadSource(
            f"the sources describe several clusters, {enumerated(sorted(named))}; import each "
            "cluster separately, and restrict a Prometheus query to one value of the label cluster"
        )
    return next(iter(named), "")


def reported_versions(data: ImportedData) -> list[str]:
    """Return the versions of Pulsar named in the sources' load reports, most frequent first."""
    reports = [report for _, _, report in data.reports]
    reports += [one["report"] for _, one in data.records if isinstance(one.get("report"), dict)]
    named = Counter(str(one.get("brokerVersionString") or "") for one in reports)
    return [version for version, _ in named.most_common() if version]


def records_of(data: ImportedData, settings: Mapping[str, Any]) -> list[Timed]:
    """Return a history's records in time order. Errors: `BadSource` if there are none."""
    records = [*data.records, *_cycle_records(data)]
    records += [
        (at, {"kind": "load_report", "broker": broker, "report": report})
        for at, broker, report in data.reports
    ]
    logged = [one for one in data.records if one[1]["kind"] == "unloaded"]
    records += _events_between_reports(data, logged)
    if not records:
        raise BadSource(
            "the sources contain no load report, metric, log or history; give one of these"
        )
    named = [one["settings"] for _, one in records if one["kind"] == "settings"]
    managers = map(manager_by_settings, [settings, *named])
    if data.smoothed and EXTENSIBLE not in managers:
        raise BadSource(
            f"{ONLY_EXTENSIBLE}, but no settings name this load manager; give the broker's "
            "settings with --conf"
        )
    first = min(at for at, _ in records)
    if settings:
        records.append((first, {"kind": "settings", "settings": dict(settings)}))
    return sorted(records, key=lambda one: (one[0], ORDER.get(one[1]["kind"], len(ORDER))))


SINGLE_MOMENT_NOTE = (
    "any decision: with a single report of each broker, an audit has nothing to judge; import "
    "later reports or the leader's log as well"
)
"""Note on a history with one report per broker: what it lacks, why, and what to do."""

EXPLAIN_HINT = ", or see what the leader would decide now with pulsar-conformance explain FOLDER"
"""Advice added to `SINGLE_MOMENT_NOTE` if the reports are those of the modular load manager."""

KINDS = (
    "settings",
    "domain",
    "group",
    "leader",
    "owners",
    "bundle_data",
    "load_data",
    "load_report",
    "cycle",
    "split",
    "unloaded",
    "assigned",
)
ORDER = {kind: place for place, kind in enumerate(KINDS)}
"""Position of each kind of record among records with the same time."""


def _cycle_records(data: ImportedData) -> Iterator[Timed]:
    """Yield a cycle record for each group of log lines that one shedding cycle wrote."""
    last: datetime | None = None
    for at in sorted(data.logged):
        if last is None or at - last > MAX_LINE_GAP:
            yield at, {"kind": "cycle"}
        last = at


def _events_between_reports(data: ImportedData, logged: list[Timed]) -> Iterator[Timed]:
    """Yield the events that happened between successive reports.

    Unloads in `logged` are left out, because they already come from a log or history.
    """
    by_time: defaultdict[datetime, dict[str, frozenset[str]]] = defaultdict(dict)
    for at, broker, report in data.reports:
        if "bundles" in report:
            by_time[at][broker] = frozenset(report["bundles"])
    before: ObservedState | None = None
    seen: dict[str, datetime] = {}
    last = datetime.min
    for at in sorted(by_time):
        now = _state_after_reports(
            before, by_time[at], at in data.shed_by_sample_time, data.shed_by_sample_time.get(at)
        )
        for entry in events_between(before, now) if before else ():
            if entry["kind"] == "assigned" and entry["broker"] not in seen:
                continue
            known = entry["kind"] == "unloaded" and any(
                one["bundle"] == entry["bundle"] and seen[entry["broker"]] <= when <= at
                for when, one in logged
            )
            if entry["kind"] == "split" and (cause := _split_cause(data, last, at)):
                entry["cause"] = cause
            if not known:
                yield at, entry
        seen |= dict.fromkeys(by_time[at], at)
        before, last = now, at


def _split_cause(data: ImportedData, since: datetime, at: datetime) -> str:
    """Return the cause of splits between two times; empty if unknown.

    A split that the leader counted is automatic; an administrator requested any other.
    """
    if since not in data.split or at not in data.split:
        return ""
    return "automatic" if data.split[at] > data.split[since] else "admin"


def _state_after_reports(
    before: ObservedState | None,
    reported: Mapping[str, frozenset[str]],
    complete: bool,
    shed: float | None,
) -> ObservedState:
    """Return the cluster's state after some brokers reported.

    If `complete`, all running brokers have reported, so brokers without a report are gone. `shed`
    is the leader's count of shed bundles.
    """
    former = {} if before is None or complete else before.owners
    taken = frozenset[str]().union(*reported.values())
    owners = {broker: held - taken for broker, held in former.items()}
    owners |= reported
    divided = {} if before is None else dict(_split_bundles(before, owners))
    for parent in divided:
        owners = {broker: held - {parent} for broker, held in owners.items()}
    return ObservedState(owners=owners, leader="leader", shed=shed, divided=divided)


def _split_bundles(
    before: ObservedState, owners: Mapping[str, frozenset[str]]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each bundle that was split since the state `before`, with its parts."""
    had = before.owner_by_bundle()
    new = {bundle for held in owners.values() for bundle in held} - had.keys()
    for whole in had:
        space, hashes = namespace_of(whole), HashRange.parse(whole)
        near = {one: HashRange.parse(one) for one in sorted(new) if namespace_of(one) == space}
        parts = {
            one: part for one, part in near.items() if hashes.lower <= part.lower < hashes.upper
        }
        ranges = list(parts.values())
        if len(ranges) > 1 and (ranges[0].lower, ranges[-1].upper) == (hashes.lower, hashes.upper):
            yield whole, tuple(parts)


MISSING_PART_TEXTS = (
    ("settings", "settings: the documented defaults apply; give --conf, or a log that has them"),
    ("leader", "leaders: an audit assumes cycles from the first record on"),
    ("cycle", "shedding cycles: an audit assumes one at every interval"),
    ("bundle_data", "bundle data: averages begin with this history"),
    ("load_report", "loads: without load reports or metrics no cycle can be judged"),
)
"""For each kind of record, the consequence for an audit if a history has no such record."""


def is_single_moment(records: list[Timed]) -> bool:
    """True if a history has one report of each broker, and no record of load data, unload or cycle.

    It has no decision that an audit could judge. Brokers save their reports at different times
    within an interval, so the times of the reports may differ.
    """
    reports = Counter(one["broker"] for _, one in records if one["kind"] == "load_report")
    return max(reports.values(), default=0) == 1 and not {"cycle", "unloaded", "load_data"} & {
        one["kind"] for _, one in records
    }


def missing_parts(data: ImportedData, records: list[Timed]) -> Iterator[str]:
    """Yield each part of a history that the sources lack, with the consequence for an audit."""
    kinds = {one["kind"] for _, one in records}
    if is_single_moment(records):
        explained = not any(NESTED in report for _, _, report in data.reports)
        yield SINGLE_MOMENT_NOTE + (EXPLAIN_HINT if explained else "")
    yield from (cost for kind, cost in MISSING_PART_TEXTS if kind not in kinds)
    if "cycle" in kinds and "log" in data.kinds:
        yield "cycles that shed nothing and logged nothing: omissions are not judged"
    if not {"log", "counters", "history"} & data.kinds:
        yield "why bundles move: the cause of every unload is unknown; also give the leader's log"
    if data.undated:
        yield (
            f"when {counted(data.undated, 'load report')} without a time "
            f"{'was' if data.undated == 1 else 'were'} written: the modification times of the "
            "files are used"
        )
    if "metrics" in data.kinds:
        yield (
            "when bundles moved between two samples of a metric: the later sample's time is used"
        )
    if "reports" in data.kinds:
        yield (
            "when bundles moved between two reports, unless a log has the time: the later report's "
            "time is used"
        )
