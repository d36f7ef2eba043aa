"""Builds cases from load reports and bundle data that an operator saved from a real cluster."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pulsar_conformance.adapters.protocol import NotJSON, parse_line
from pulsar_conformance.conformance.bundles.operations import SPLIT_CANDIDATES
from pulsar_conformance.conformance.cases.report_fields import unknown_fields
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.load_data.operations import READ, SUM, USAGE
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.reference import reports
from pulsar_conformance.reference.averages import FRAMES, WINDOWS
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.reports import BUNDLE
from pulsar_conformance.specs.errors import UserError

SUFFIX = ".json"
OF_SETTINGS = (".conf", ".env", ".properties", ".yaml", ".yml")
LOAD_REPORT = "load-report"
"""Beginning of the name under which curl saves a broker's report."""


class BadSnapshot(UserError):
    """Raised for an unusable file or folder; the message is one sentence."""


def json_files(directory: Path, pattern: str) -> Iterator[tuple[str, Path]]:
    """Yield the name and path of each file, sorted by path; `%2F` etc. in names are decoded.

    Errors: `BadSnapshot` if there are none.
    """
    if not directory.is_dir():
        raise BadSnapshot(f"{directory}: it is not a folder")
    files = sorted(path for path in directory.glob(pattern) if path.is_file())
    if not files:
        raise BadSnapshot(f"{directory}: there is no *{SUFFIX} in it")
    for path in files:
        yield unquote(path.relative_to(directory).as_posix().removesuffix(SUFFIX)), path


def json_content(path: Path) -> Any:
    """Return the JSON value in a file, ignoring other output of the ZooKeeper shell.

    Errors: `BadSnapshot`.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadSnapshot(f"{path}: {error.strerror or error}") from None
    try:
        return parse_line(data)
    except NotJSON as error:
        printed = re.search(rb"^\{.*\}[ \t\r]*$", data, re.DOTALL | re.MULTILINE)
        if printed and printed[0] != data.strip():
            with suppress(NotJSON):
                return parse_line(printed[0])
        raise BadSnapshot(f"{path}: it {error}") from None


KEPT_REPORT = (*RESOURCES, *RATE_FIELDS, "bundles", "lastStats")
"""Fields of a load report on which decisions depend."""

EXTENSIBLE = frozenset({"weightedMaxEMA", "msgThroughputEMA", "bundleCount", "topBundlesLoadData"})
"""Fields that only the load data of the extensible load manager has."""

MAX_UNKNOWN = 4
"""Maximum number of unknown fields of a report that are named."""

THROUGHPUTS = ("msgThroughputIn", "msgThroughputOut")


@dataclass(frozen=True)
class SavedReport:
    """A broker's saved report, and the broker in a case's format."""

    report: Any
    broker: Json
    version: str
    """The broker's version of Pulsar; empty if the report does not give it."""
    without_limit: tuple[str, ...] = ()
    """Resources that are left out of `broker` because they have no limit, and so no percentage."""
    unknown: tuple[str, ...] = ()
    """Fields of the report that no release of Pulsar writes."""


def read_reports(directory: Path) -> dict[str, SavedReport]:
    """Read each broker's report from a folder; return them by the broker's name.

    A file is named `BROKER.json` or `BROKER`, or it is `BROKER/load-report`, as curl saves it.

    Errors: `BadSnapshot` for a folder without reports, and for a file that is not a report.
    """
    found: dict[str, SavedReport] = {}
    for broker, path in _report_files(directory):
        if broker in found:
            raise BadSnapshot(f"{path}: there is already a report of {broker}")
        found[broker] = saved_report(str(path), json_content(path))
    return found


def _report_files(directory: Path) -> list[tuple[str, Path]]:
    """Return each report's broker and path, sorted. Errors: `BadSnapshot`."""
    saved = sorted(directory.glob(f"*/{LOAD_REPORT}*")) if directory.is_dir() else []
    if saved:
        return [(unquote(path.parent.name), path) for path in saved]
    named = any(directory.glob(f"*{SUFFIX}"))
    settings = settings_files(directory)
    if directory.is_dir() and not named and {*directory.iterdir()} - {*settings}:
        found = json_files(directory, "[!.]*")
        return [(name, path) for name, path in found if path not in settings]
    return list(json_files(directory, f"*{SUFFIX}"))


def settings_files(directory: Path) -> list[Path]:
    """Return the files of a folder whose names are those of settings, such as broker.conf."""
    return sorted(path for path in directory.glob("*") if path.suffix in OF_SETTINGS)


def saved_report(place: str, report: Any) -> SavedReport:
    """Parse a broker's report. Errors: `BadSnapshot`, starting with `place`."""
    extensible = isinstance(report, dict) and EXTENSIBLE.intersection(report)
    if extensible and "bundles" not in report:
        raise BadSnapshot(
            f"{place}: this is load data of the extensible load manager, to which other rules "
            "apply; run `explain FOLDER`, without --place, to see whether TransferShedder would "
            "shed"
        )
    try:
        read = reports.read(report)
    except reports.Unreadable as error:
        raise BadSnapshot(f"{place}: it is not a load report: {error}") from None
    unlimited = tuple(
        name
        for name in RESOURCES
        if name in read.broker and read.broker[name]["usage"] and not read.broker[name]["limit"]
    )
    kept = [name for name in KEPT_REPORT if name in read.broker and name not in unlimited]
    broker = {name: read.broker[name] for name in kept}
    version = str(report.get("brokerVersionString") or "")
    unknown = tuple(unknown_fields(report))
    return SavedReport(report, {**broker, **_totals(read)}, version, unlimited, unknown)


def _totals(read: reports.Report) -> dict[str, float]:
    """Return the rates that a broker's report lacks, as sums over its bundles.

    The simple load manager's report has no throughput: its field of that name has the message rate
    instead.
    """
    stats = read.broker.get("lastStats", {}).values()
    absent = [name for name in RATE_FIELDS if name not in read.broker]
    wrong = THROUGHPUTS if read.manager == "simple" else ()
    return sums_of(stats, dict.fromkeys((*absent, *wrong)) if stats else ())


def sums_of(stats: Collection[Json], names: Iterable[str] = RATE_FIELDS) -> dict[str, float]:
    """Return the sums of rates over bundle statistics."""
    return {name: sum(one.get(name, 0) for one in stats) for name in names}


KEPT_DATA = (*RATE_FIELDS, "numSamples", "maxSamples")


def read_bundle_data(path: Path) -> dict[str, Json]:
    """Return each bundle's data, by the bundle's full name.

    `path` is a folder of files `tenant/namespace/range.json` (or with `%2F` for each slash), or one
    file with an object that maps bundles to data. Errors: `BadSnapshot`.
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

    @cached_property
    def brokers(self) -> dict[str, Json]:
        """Each broker's data in a case's format."""
        return {name: reported.broker for name, reported in self.reported.items()}

    @property
    def versions(self) -> list[str]:
        """The distinct Pulsar versions in the reports."""
        return list(dict.fromkeys(one.version for one in self.reported.values() if one.version))

    @cached_property
    def owned(self) -> list[str]:
        """The bundles that any broker owns."""
        return [name for broker in self.brokers.values() for name in broker.get("bundles", ())]

    @cached_property
    def latest(self) -> dict[str, Json]:
        """Bundle data with one sample, the reported statistics, for bundles without bundle data."""
        return {
            name: {frame: _one_sample(stats, window) for frame, window in WINDOWS.items()}
            for broker in self.brokers.values()
            for name, stats in broker.get("lastStats", {}).items()
            if name not in self.data
        }

    @cached_property
    def bundles(self) -> dict[str, Json]:
        """Every owned bundle with known data, in report order."""
        known = {**self.latest, **self.data}
        return {name: known[name] for name in self.owned if name in known}

    def notes(self) -> Iterator[str]:
        """Yield notes for the user about omitted resources and assumed bundle data."""
        for name, reported in self.reported.items():
            if reported.without_limit:
                unlimited = ", ".join(reported.without_limit)
                yield f"{name}: left out, since they have no limit: {unlimited}"
            if reported.unknown:
                fields = ", ".join(reported.unknown[:MAX_UNKNOWN])
                more = len(reported.unknown) - MAX_UNKNOWN
                others = f" and {more} more" if more > 0 else ""
                yield f"{name}: not used, since no load report has them: {fields}{others}"
        sampled = [name for name in self.owned if name in self.latest]
        if sampled:
            yield f"no bundle data of {_counted(sampled)}: the latest rates count as one sample"
        if not self.owned and any(one.report is None for one in self.reported.values()):
            yield "the metrics name no bundles: set exposeBundlesMetricsInPrometheus=true"
        unknown = [name for name in self.owned if name not in self.bundles]
        if unknown:
            yield f"neither bundle data nor latest rates of {_counted(unknown)}"

    def unowned(self) -> list[str]:
        """Return the bundles with bundle data that no broker owns."""
        return sorted({*self.data} - {*self.owned})


def _one_sample(stats: Json, window: int) -> Json:
    rates = {name: stats[name] for name in RATE_FIELDS if name in stats}
    return {**rates, "numSamples": 1, "maxSamples": window}


def _counted(bundles: list[str]) -> str:
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
    """Return the case; the cluster is assumed to have no bundles but those of the brokers."""
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
"""For each operation whose cases can be built from load reports, the function that does so."""

OF_EACH_BROKER = (USAGE.id, SUM.id, READ.id)
"""Operations that are asked once for each broker, and whose cases do not name it."""


def trial_from(operation: str, snapshot: Snapshot) -> Trial:
    """Return an operation's questions about a snapshot, in the order of the brokers."""
    return Trial.of(operation, *MAKERS[operation](snapshot))
