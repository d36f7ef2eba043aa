"""Reads the load reports that an operator saved from a real cluster, and the files beside them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import yaml
from pulsar_conformance.adapters.protocol import NotJSON, parse_line
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference import reports
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES
from pulsar_conformance.reference.reports import CHANGES, COUNTS, NESTED, SIMPLE_NAMES, STATS
from pulsar_conformance.specs.errors import UserError, hint_at_file, why_no_folder, why_unreadable

SUFFIX = ".json"
SETTINGS_SUFFIXES = (".conf", ".env", ".properties", ".yaml", ".yml")
LOAD_REPORT = "load-report"
"""Beginning of the name of the file in which curl saves a broker's report."""

REPORT_HINT = "save each broker's admin/v2/broker-stats/load-report as BROKER.json"
TEXT = ".txt"
URLS = ("webServiceUrl", "webServiceUrlTls")
TIMES = ("lastUpdate", "timestamp")
"""Fields with the time of a report: of the modular, then of the simple load manager."""


class BadSnapshot(UserError):
    """Raised for an unusable file or folder; the message is one sentence."""


def json_files(directory: Path, pattern: str) -> Iterator[tuple[str, Path]]:
    """Yield the name and path of each file, sorted by path. URL escapes in names are decoded.

    Errors: `BadSnapshot` if there are none.
    """
    if not directory.is_dir():
        raise BadSnapshot(f"{directory}: {why_no_folder(directory)}")
    files = sorted(path for path in directory.glob(pattern) if path.is_file())
    if not files:
        raise BadSnapshot(f"{directory}: there is no *{SUFFIX} file in it")
    for path in files:
        yield unquote(path.relative_to(directory).as_posix().removesuffix(SUFFIX)), path


def json_content(path: Path) -> Any:
    """Return the JSON value in a file, ignoring other output of the ZooKeeper shell.

    Errors: `BadSnapshot`.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadSnapshot(f"{path}: {why_unreadable(error, path)}") from None
    try:
        return parse_line(data)
    except NotJSON as error:
        printed = re.search(rb"^\{.*\}[ \t\r]*$", data, re.DOTALL | re.MULTILINE)
        if printed and printed[0] != data.strip():
            with suppress(NotJSON):
                return parse_line(printed[0])
        raise BadSnapshot(f"{path}: it {error}{hint_at_file(data, REPORT_HINT)}") from None


KEPT_REPORT = (*RESOURCES, *RATE_FIELDS, "bundles", "lastStats")
"""Fields of a load report that affect decisions."""

TOP = "topBundlesLoadData"
"""Field of the top bundles of a broker."""

EXTENSIBLE = frozenset({"weightedMaxEMA", "msgThroughputEMA", "bundleCount", TOP})
"""Fields that only the extensible load manager's load data have."""

THROUGHPUTS = ("msgThroughputIn", "msgThroughputOut")


@dataclass(frozen=True)
class SavedReport:
    """A broker's saved report, with the broker's data in a case's format."""

    report: Any
    broker: Json
    version: str
    """The broker's version of Pulsar; empty if the report does not give it."""
    without_limit: tuple[str, ...] = ()
    """Resources that are left out of `broker`, because without a limit they have no percentage."""
    unknown: tuple[str, ...] = ()
    """Fields of the report that no release of Pulsar writes."""
    unmeasured: tuple[str, ...] = ()
    """Resources that are left out of `broker` because the broker could not measure them."""
    manager: str = "modular"
    """The load manager that wrote the report: modular or simple."""
    smoothed: float | None = None
    """The broker's weighted and smoothed usage, as a fraction; None if unknown."""


@dataclass(frozen=True)
class ReportsRead:
    """The reports in a folder or a file, by broker, and notes on unused files and values."""

    reports: Mapping[str, SavedReport]
    notes: tuple[str, ...] = ()


def read_reports(directory: Path, to_skip: Collection[Path] = ()) -> ReportsRead:
    """Read the newest report of each broker from a folder.

    `to_skip`: files of the folder to skip, since they are read for another purpose. Errors:
    `BadSnapshot` for a folder without reports, for a file that is not a report, and for several
    reports of a broker if the newest is unknown.
    """
    files, notes = saved_files(directory, to_skip)
    found: dict[str, tuple[SavedFile, SavedReport]] = {}
    for file in files:
        read = saved_report(str(file.path), file.content)
        same = identity(file.broker, read.report)
        if same in found:
            earlier, kept = found[same]
            newer = _newer_file(earlier, file, same)
            other = file if newer is earlier else earlier
            notes.append(_older_note(other, newer, same))
            found[same] = (newer, kept if newer is earlier else read)
        else:
            found[same] = (file, read)
    named: dict[str, SavedReport] = {}
    for file, read in found.values():
        if file.broker in named:
            raise BadSnapshot(f"{file.path}: there is already a report of {file.broker}; keep one")
        named[file.broker] = read
    return ReportsRead(named, tuple(notes))


def identity(name: str, report: Any) -> str:
    """Return the host and web port in a report, by which Pulsar identifies a broker.

    The result is `name` if the report has no host and port.
    """
    return address(report) or name


def address(report: Any) -> str:
    """Return the host and web port in a report as text; empty if the report has none."""
    urls = (report.get(name) for name in URLS) if isinstance(report, dict) else ()
    return next((found for url in urls if isinstance(url, str) and (found := urlsplit(url)[1])), "")


def written_at(report: Any) -> float | None:
    """Return the milliseconds since 1970 at which a report was written; None if unknown."""
    times = (report.get(name) for name in TIMES) if isinstance(report, dict) else ()
    return next((one for one in times if isinstance(one, int | float) and one > 0), None)


def _newer_file(first: SavedFile, second: SavedFile, broker: str) -> SavedFile:
    """Return the file with the newer of two reports of a broker. Errors: `BadSnapshot`."""
    if first.content == second.content:
        return first
    at, then = written_at(first.content), written_at(second.content)
    if at is None or then is None or at == then:
        raise BadSnapshot(
            f"{second.path}: {first.path} is also a report of {broker}, and their "
            f"{TIMES[0]} fields do not tell which is newer; keep one of them"
        )
    return first if at > then else second


def _older_note(unused: SavedFile, used: SavedFile, broker: str) -> str:
    which = "the same" if unused.content == used.content else "a newer"
    return f"{unused.path} is not used: {used.path} is {which} report of broker {broker}"


class SavedFile(NamedTuple):
    """A saved JSON file that is named after a broker."""

    broker: str
    path: Path
    content: Any


def saved_files(
    directory: Path, to_skip: Collection[Path] = ()
) -> tuple[list[SavedFile], list[str]]:
    """Return the files of a folder that may describe a broker's load, and notes on other files.

    A file is named `BROKER.json` or `BROKER`, or it is `BROKER/load-report`, as curl saves it. A
    file with another name is not read unless it contains a load report. `to_skip`: files of the
    folder that are read for another purpose.

    Errors: `BadSnapshot`.
    """
    if not directory.is_dir():
        raise BadSnapshot(f"{directory}: {why_no_folder(directory)}")
    notes: list[str] = []
    candidates: list[tuple[str, Path, bool]] = []
    known = [one.resolve() for one in to_skip]
    for path in sorted(directory.glob("[!.]*")):
        if any(one.is_relative_to(path.resolve()) for one in known):
            continue
        if path.is_dir():
            nested = [one for one in sorted(path.glob(f"{LOAD_REPORT}*")) if one.is_file()]
            candidates += [(unquote(path.name), one, True) for one in nested]
            if not nested:
                notes.append(f"{path} is not read: it is a folder without a file {LOAD_REPORT}")
        elif path.suffix in SETTINGS_SUFFIXES:
            notes.append(f"{path} is not read; to use its settings, add --conf {path}")
        else:
            name = unquote(path.name.removesuffix(TEXT).removesuffix(SUFFIX))
            candidates.append((name, path, path.suffix == SUFFIX))
    if not candidates:
        below = sorted({str(one.parent) for one in directory.glob("[!.]*/*") if one.is_file()})
        hint = f"the reports may be in {' or '.join(below)}" if below else REPORT_HINT
        raise BadSnapshot(f"{directory}: there is no *{SUFFIX} file in it; {hint}")
    by_name = any(certain for _, _, certain in candidates)
    files = []
    for name, path, certain in candidates:
        try:
            content = json_content(path)
            if certain or not by_name or _has_load(content):
                files.append(SavedFile(name, path, content))
            else:
                notes.append(f"{path} is not read: it is not a load report")
        except BadSnapshot as error:
            if certain or not by_name:
                raise
            notes.append(f"{path} is not read: {str(error).removeprefix(f'{path}: ')}")
    return files, notes


def _has_load(content: Any) -> bool:
    """True if a JSON value has the fields of a load report or of load data."""
    return isinstance(content, dict) and not EXTENSIBLE.union(RESOURCES, (NESTED,)).isdisjoint(
        content
    )


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
    resources = report[NESTED] if read.manager == "simple" else report
    there = [name for name in RESOURCES if resources.get(name) is not None]
    unmeasured = tuple(name for name in there if name not in read.broker)
    broker |= _lacking_rates(read)
    return SavedReport(report, broker, version, unlimited, unknown, unmeasured, read.manager)


def _lacking_rates(read: reports.Report) -> dict[str, float]:
    """Return the rates that a broker's report lacks, each as the sum over the broker's bundles.

    The simple load manager's report has no throughput: its field `msgThroughput…` has message
    rates.
    """
    stats = read.broker.get("lastStats", {}).values()
    absent = [name for name in RATE_FIELDS if name not in read.broker]
    wrong = THROUGHPUTS if read.manager == "simple" else ()
    return sums_of(stats, dict.fromkeys((*absent, *wrong)) if stats else ())


def sums_of(stats: Collection[Json], names: Iterable[str] = RATE_FIELDS) -> dict[str, float]:
    """Return the sum of each rate in `names` over bundle statistics."""
    return {name: sum(one.get(name, 0) for one in stats) for name in names}


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
"""Fields of LocalBrokerData and LoadReport in Pulsar 2.4 to 5.0."""

USAGE = frozenset({"usage", "limit"})
BUNDLE_STATS = frozenset({*RATE_FIELDS, *STATS, "cacheSize"})


def unknown_fields(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields of a report that no release writes, each with the most similar name."""
    nested = _as_object(report.get(NESTED))
    yield from _unknown_names(report, REPORT, "")
    yield from _unknown_names(nested, RESOURCES, f"{NESTED}.")
    for resources, above in ((report, ""), (nested, f"{NESTED}.")):
        for name in RESOURCES:
            yield from _unknown_names(_as_object(resources.get(name)), USAGE, f"{above}{name}.")
    for name in ("lastStats", SIMPLE_NAMES["lastStats"]):
        bundles = _as_object(report.get(name)).values()
        fields = dict.fromkeys(field for stats in bundles for field in _as_object(stats))
        yield from _unknown_names(fields, BUNDLE_STATS, f"{name}[…].")


def _as_object(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a JSON object, else an empty object."""
    return value if isinstance(value, dict) else {}


def _unknown_names(fields: Iterable[str], known: Collection[str], above: str) -> Iterator[str]:
    for name in fields:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            yield f"{above}{name}" + (f" (did you mean {near[0]}?)" if near else "")


def read_policies(file: Path) -> Any:
    """Read a file of isolation policies: JSON, or Kubernetes operator resources in YAML."""
    if file.suffix not in (".yaml", ".yml"):
        return json_content(file)
    try:
        resources = list(yaml.safe_load_all(file.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadSnapshot(f"{file}: it cannot be read as YAML: {error}") from None
    found = [one.get("spec") for one in resources if isinstance(one, dict)]
    policies = {
        str(spec.get("name")): {
            **spec,
            "auto_failover_policy": {
                "policy_type": spec.get("autoFailoverPolicyType"),
                "parameters": spec.get("autoFailoverPolicyParams"),
            },
            "secondary": spec.get("secondary") or [],
        }
        for spec in found
        if isinstance(spec, dict) and "autoFailoverPolicyType" in spec
    }
    if not policies:
        raise BadSnapshot(f"{file}: it contains no resource of kind PulsarNSIsolationPolicy")
    return policies


NUMBERED = re.compile(r"(\d+)\.(\d+)\.(\d+)(.*)", re.DOTALL)


def plain_versions(reports: Mapping[str, SavedReport], *, compared: bool) -> dict[str, str]:
    """Return each broker's version without suffix, if it begins with three numbers.

    Errors: `BadSnapshot` if Pulsar compares the versions (`compared`) and a version has a suffix,
    such as -SNAPSHOT, because Pulsar orders such versions differently or not at all.
    """
    found = {name: NUMBERED.match(one.version) for name, one in reports.items()}
    more = [name for name, numbers in found.items() if numbers and numbers[4]]
    if compared and more:
        raise BadSnapshot(
            f"{more[0]} runs {reports[more[0]].version}: with preferLaterVersions, Pulsar also "
            "compares the text after the three numbers, and a case cannot contain that text"
        )
    return {
        name: ".".join(str(int(part)) for part in numbers.groups()[:3])
        for name, numbers in found.items()
        if numbers
    }
