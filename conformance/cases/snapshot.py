"""Builds cases from load reports and bundle data that an operator saved from a real cluster."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pulsar_conformance.conformance.bundles.operations import SPLIT_CANDIDATES
from pulsar_conformance.conformance.cases.effects import EXTENSIBLE
from pulsar_conformance.conformance.cases.load_reports import (
    BadSnapshot,
    SavedReport,
    address,
    json_content,
    json_files,
    written_at,
)
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.load_data.operations import READ, SUM, USAGE
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.reference.averages import FRAMES, WINDOWS
from pulsar_conformance.reference.cluster import RATE_FIELDS
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.reports import BUNDLE, MAX_MINUTES
from pulsar_conformance.specs.text import first_of
from pulsar_conformance.specs.versions import numbers_of

USUAL_MAX_MINUTES = 15
"""Default of `loadBalancerReportUpdateMaxIntervalMinutes`, in minutes."""
SWITCHES = ("persistentTopicsEnabled", "nonPersistentTopicsEnabled")
"""Fields of a report that are true if the broker serves persistent or non-persistent topics."""

EXPOSED = "exposeBundlesMetricsInPrometheus"
"""The setting that adds metrics of bundles to a broker's metrics."""

SIMPLE = "simple"
"""Name of the simple load manager's kind."""

HEARTBEATS, MONITOR = "heartbeats", "the SLA monitor"

UNENDING = (math.inf,)


class OwnNamespaces(NamedTuple):
    """A pattern of the namespaces that are named after brokers, and the versions that use the
    pattern.
    """

    kind: str
    pattern: re.Pattern[str]
    since: tuple[float, ...] = ()
    before: tuple[float, ...] = UNENDING
    unknown_after: tuple[float, ...] = UNENDING
    """The last version known to lack the pattern; versions between it and `since` may have it."""


NAMING_BROKERS = (
    OwnNamespaces(HEARTBEATS, re.compile(r"pulsar/[^/]+/[^:]+:\d+"), before=(4, 2, 0)),
    OwnNamespaces(HEARTBEATS, re.compile(r"pulsar/[^:/]+:\d+"), (2, 9, 0), unknown_after=(2, 8, 2)),
    OwnNamespaces(MONITOR, re.compile(r"sla-monitor/[^/]+/[^:]+:\d+"), before=(4, 2, 0)),
    OwnNamespaces(MONITOR, re.compile(r"sla-monitor/[^:/]+:\d+"), (4, 2, 0)),
)
"""HEARTBEAT_NAMESPACE_PATTERN and SLA_NAMESPACE_PATTERN of NamespaceService, by version.

PIP-457, in Pulsar 4.2.0, removed the cluster from the namespaces.
"""

MAX_UNKNOWN = 4
"""Maximum number of unknown fields that a note about a report names."""

KEPT_DATA = (*RATE_FIELDS, "numSamples", "maxSamples")


def read_bundle_data(path: Path) -> dict[str, Json]:
    """Return each bundle's data, by the bundle's full name.

    `path` is a folder with a file `tenant/namespace/range.json` for each bundle (or with `%2F` for
    each slash), or one file with an object that maps bundles to data. Errors: `BadSnapshot`.
    """
    if path.is_file():
        return _data_of_many(path)
    found: dict[str, Json] = {}
    for name, file in json_files(path, "**/*.json"):
        named = BUNDLE.fullmatch(name) is not None
        one = {name: _averages_of(file, json_content(file))} if named else _data_of_many(file)
        found.update(one)
    return found


def _data_of_many(file: Path) -> dict[str, Json]:
    data = json_content(file)
    if not isinstance(data, dict) or not all(BUNDLE.fullmatch(name) for name in data):
        problem = "neither its name nor its content names bundles (tenant/namespace/0x…_0x…)"
        raise BadSnapshot(f"{file}: {problem}")
    return {name: _averages_of(file, one) for name, one in data.items()}


def _averages_of(file: Path, data: Any) -> Json:
    """Return a bundle's long-term and short-term averages, without other fields."""
    found = {}
    for frame in FRAMES:
        known = data.get(frame) if isinstance(data, dict) else None
        if not isinstance(known, dict):
            raise BadSnapshot(f"{file}: it is not bundle data, which has {' and '.join(FRAMES)}")
        found[frame] = {name: known[name] for name in KEPT_DATA if name in known}
    return found


@dataclass(frozen=True)
class Snapshot:
    """Data from which cases are built: load reports by broker, bundle data, and settings."""

    reported: Mapping[str, SavedReport]
    data: Mapping[str, Json]
    settings: Mapping[str, Any]
    manager: str = ""
    """The kind of load manager that runs; empty if it is not known."""

    @cached_property
    def brokers(self) -> dict[str, Json]:
        """Each broker's data in a case's format."""
        return {name: reported.broker for name, reported in self.reported.items()}

    @property
    def versions(self) -> list[str]:
        """The distinct Pulsar versions in the reports."""
        return list(dict.fromkeys(one.version for one in self.reported.values() if one.version))

    @property
    def simple(self) -> list[str]:
        """The brokers with reports in the format of the simple load manager."""
        return [name for name, one in self.reported.items() if one.manager == SIMPLE]

    def switched_off(self, switch: str) -> list[str]:
        """Return the brokers in whose reports the field `switch` is false."""
        return [
            name
            for name, one in self.reported.items()
            if isinstance(one.report, dict) and one.report.get(switch) is False
        ]

    @cached_property
    def owned(self) -> list[str]:
        """The bundles that any broker owns."""
        return [name for broker in self.brokers.values() for name in broker.get("bundles", ())]

    @cached_property
    def latest_statistics(self) -> dict[str, Json]:
        """The latest statistics of each bundle without bundle data, in the form of one sample."""
        return {
            name: {frame: _as_one_sample(stats, window) for frame, window in WINDOWS.items()}
            for broker in self.brokers.values()
            for name, stats in broker.get("lastStats", {}).items()
            if name not in self.data
        }

    @cached_property
    def bundles(self) -> dict[str, Json]:
        """The data of each owned bundle whose data are known, in report order."""
        known = {**self.latest_statistics, **self.data}
        return {name: known[name] for name in self.owned if name in known}

    def notes(self) -> Iterator[str]:
        """Yield notes for the user on omitted resources and assumed bundle data."""
        for name, reported in self.reported.items():
            if reported.without_limit:
                unlimited = ", ".join(reported.without_limit)
                yield f"{name}: resources left out, since they have no limit: {unlimited}"
            if reported.unmeasured:
                unmeasured = ", ".join(reported.unmeasured)
                yield f"{name}: resources left out, since not measured (limit -1): {unmeasured}"
            if reported.unknown:
                fields = first_of(reported.unknown, MAX_UNKNOWN)
                yield f"{name}: fields not used, since no load report has them: {fields}"
        yield from self._old_reports()
        sampled = [name for name in self.owned if name in self.latest_statistics]
        if sampled:
            yield f"no bundle data of {_bundle_text(sampled)}: the latest rates count as one sample"
        if not self.owned and any(one.report is None for one in self.reported.values()):
            absent = "the metrics name no bundles, so the case has no traffic"
            if self.manager == EXTENSIBLE:
                yield f"{absent}: the extensible load manager exposes no bundles in metrics"
            elif self.settings.get(EXPOSED) is True:
                yield f"{absent}, although {EXPOSED}=true: save pulsar_bundle_* of each broker, too"
            else:
                yield f"{absent}: set {EXPOSED}=true"
        if unknown := [name for name in self.owned if name not in self.bundles]:
            known = f"there are neither bundle data nor latest rates of {_bundle_text(unknown)}"
            yield f"{known}: 50 msg/s and 50 KB/s each way are assumed (DATA-04, DATA-05)"

    def _old_reports(self) -> Iterator[str]:
        """Yield a note for each report that is much older than the newest."""
        limit = self.settings.get(MAX_MINUTES, USUAL_MAX_MINUTES)
        times = {name: written_at(one.report) for name, one in self.reported.items()}
        known = {name: at for name, at in times.items() if at is not None}
        newest = max(known, key=lambda name: known[name], default="")
        for name, at in known.items():
            minutes = (known[newest] - at) / 60_000
            if minutes > limit:
                yield (
                    f"{name}: its report is {minutes:.0f} minutes older than that of {newest}, but "
                    f"a broker writes one at least every {limit:g} minutes; save all reports "
                    "again, close together, and leave out brokers that no longer run"
                )

    @property
    def without_traffic(self) -> list[str]:
        """Brokers known only from metrics that lack some bundle's rates or name no bundles."""
        return [
            name
            for name, one in self.reported.items()
            if one.report is None
            and (
                not self.owned
                or any(
                    rate not in stats
                    for stats in one.broker["lastStats"].values()
                    for rate in RATE_FIELDS
                )
            )
        ]

    def unowned(self) -> list[str]:
        """Return the bundles that have bundle data but no owner."""
        return sorted({*self.data} - {*self.owned})


def _as_one_sample(stats: Json, window: int) -> Json:
    rates = {name: stats[name] for name in RATE_FIELDS if name in stats}
    return {**rates, "numSamples": 1, "maxSamples": window}


def _bundle_text(bundles: list[str]) -> str:
    return bundles[0] if len(bundles) == 1 else f"{len(bundles)} bundles"


def _shedding_cases(snapshot: Snapshot) -> list[Json]:
    return [
        {
            "strategy": None,
            "settings": dict(snapshot.settings),
            "brokers": snapshot.brokers,
            "bundles": snapshot.bundles,
            "recentlyUnloaded": {},
        }
    ]


def _split_cases(snapshot: Snapshot) -> list[Json]:
    """Return one case in which brokers are assumed to own all bundles of the cluster."""
    return [
        {
            "settings": dict(snapshot.settings),
            "leader": True,
            "brokers": snapshot.brokers,
            "bundles": snapshot.bundles,
            "namespaceBundles": dict(Counter(map(namespace_of, snapshot.owned))),
        }
    ]


def _usage_cases(snapshot: Snapshot) -> list[Json]:
    settings = dict(snapshot.settings)
    return [
        {"settings": settings, "weighted": False, "broker": broker}
        for broker in snapshot.brokers.values()
    ]


def _average_cases(snapshot: Snapshot) -> list[Json]:
    return [
        {
            "bundles": {
                name: snapshot.bundles[name]
                for name in broker.get("bundles", ())
                if name in snapshot.bundles
            },
            "owned": broker.get("bundles", []),
        }
        for broker in snapshot.brokers.values()
    ]


def _report_cases(snapshot: Snapshot) -> list[Json]:
    return [{"report": reported.report} for reported in snapshot.reported.values()]


MAKERS: Mapping[str, Callable[[Snapshot], list[Json]]] = {
    SHED.id: _shedding_cases,
    SPLIT_CANDIDATES.id: _split_cases,
    USAGE.id: _usage_cases,
    SUM.id: _average_cases,
    READ.id: _report_cases,
}
"""For each operation, the function that builds its cases from load reports."""

PER_BROKER_OPERATIONS = (USAGE.id, SUM.id, READ.id)
"""Operations with one question for each broker; their cases do not name the broker."""


def trial_from_snapshot(operation: str, snapshot: Snapshot) -> Trial:
    """Return a trial with an operation's questions about a snapshot, in order of the brokers."""
    return Trial.of(operation, *MAKERS[operation](snapshot))


def host_of(broker: str) -> str:
    """Return a broker's host without the port; isolation policies match only the host."""
    host, _, port = broker.rpartition(":")
    return host if port.isdecimal() and host else broker


def broker_ids(snapshot: Snapshot) -> dict[str, str]:
    """Return each broker's ID (host and web port), by the broker's name in the case.

    If the name has a port, it is the ID; otherwise the ID is in the report.
    """
    return {name: _broker_id(name, one.report) for name, one in snapshot.reported.items()}


def _broker_id(name: str, report: Any) -> str:
    known = name if host_of(name) != name else ""
    return known or address(report) or name


def named_broker_notes(bundle: str, snapshot: Snapshot, version: str) -> Iterator[str]:
    """Yield a note if a bundle's namespace names a broker that is not active.

    Only in this case does the load manager place the bundle of an SLA monitor; it never places the
    bundle of a heartbeat. If `version` is empty, the patterns of all versions are used.

    Errors: `BadSnapshot` if the bundle belongs to the named broker, or if this is not known.
    """
    namespace = namespace_of(bundle)
    numbers = numbers_of(version) if version else ()
    forms = [one for one in NAMING_BROKERS if one.pattern.fullmatch(namespace)]
    kinds = [one.kind for one in forms if not numbers or one.since <= numbers < one.before]
    broker = namespace.rpartition("/")[2]
    for one in forms:
        if numbers and one.unknown_after < numbers < one.since:
            without, since = (".".join(map(str, each)) for each in (one.unknown_after, one.since))
            raise BadSnapshot(
                f"--place {bundle}: Pulsar {since}, unlike {without}, uses its namespace for "
                f"{one.kind} of {broker}, so no strategy places it; what {version} does is unknown"
            )
    if not kinds:
        return
    active = {*broker_ids(snapshot).values(), *snapshot.brokers} & {broker, host_of(broker)}
    if active or HEARTBEATS in kinds:
        raise BadSnapshot(
            f"--place {bundle}: its namespace names {broker}, so it belongs to that broker; no "
            f"strategy places the bundles of {kinds[0]}"
        )
    yield f"{broker} is not among the brokers, so the load manager places a bundle of its namespace"


def switched_off_notes(snapshot: Snapshot) -> Iterator[str]:
    """Yield at most one note, on brokers that cannot take a bundle with persistent topics."""
    off = ", ".join(snapshot.switched_off(SWITCHES[0]))
    if off:
        yield (
            f"{SWITCHES[0]} is false in the report of {off}: only bundles of namespaces with "
            "an isolation policy can go there, but the answer assumes that all can; to ask where a "
            "bundle goes, use explain with --place BUNDLE"
        )


def unowned_notes(snapshot: Snapshot, place: str | None) -> Iterator[str]:
    """Yield at most one note, on bundle data not used because no broker owns the bundle."""
    unowned = [name for name in snapshot.unowned() if name != place]
    if unowned:
        yield f"bundle data not used, since no broker owns the bundle: {first_of(unowned, 1)}"


def policy_without_topics(namespace: str, snapshot: Snapshot) -> tuple[list[Json], list[str]]:
    """Return an isolation policy that excludes brokers without persistent topics, and notes.

    These brokers get a bundle only if its namespace has an isolation policy
    (LoadManagerShared.applyNamespacePolicies).
    """
    names = snapshot.switched_off(SWITCHES[0])
    persistent, volatile = (", ".join(snapshot.switched_off(switch)) for switch in SWITCHES)
    notes = []
    if persistent:
        notes.append(
            f"{SWITCHES[0]} is false in the report of {persistent}: no persistent topic of "
            f"{namespace}, which has no isolation policy, can go there"
        )
    if volatile:
        notes.append(
            f"{SWITCHES[1]} is false in the report of {volatile}: a bundle that is looked up for a "
            "non-persistent topic cannot go there; the answer assumes a persistent topic"
        )
    reserved = {"namespaces": [], "primary": names, "secondary": [], "least": 1}
    return [reserved] if names else [], notes
