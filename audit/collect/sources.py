"""Operators' data: load reports, znodes, results of metric queries, logs, histories."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

from pulsar_conformance.adapters.operated.log_lines import is_log_line
from pulsar_conformance.adapters.protocol import NotJSON, parse_line
from pulsar_conformance.audit.collect.changes import Entry
from pulsar_conformance.conformance.cases.load_reports import (
    LOAD_REPORT,
    SUFFIX,
    saved_report,
    sums_of,
)
from pulsar_conformance.conformance.cases.metrics import (
    BUNDLE_METRICS,
    RESOURCE_METRICS,
    SMOOTHED_METRIC,
    add_sample,
    broker_in,
)
from pulsar_conformance.reference.averages import FRAMES
from pulsar_conformance.reference.cluster import RESOURCES
from pulsar_conformance.reference.reports import BUNDLE
from pulsar_conformance.specs.errors import UserError, why_unreadable

Json = dict[str, Any]


class BadSource(UserError):
    """An error: a source cannot be imported. The message names the problem and the remedy."""


@dataclass
class ImportedData:
    """All data read from sources, most of it with its time."""

    reports: list[tuple[datetime, str, Json]] = field(default_factory=list)
    shed_by_sample_time: dict[datetime, float | None] = field(default_factory=dict)
    """Number of shed bundles at times at which metrics cover all brokers; None if unknown."""
    split: dict[datetime, float] = field(default_factory=dict)
    """Number of bundles split by the leader so far, by time."""
    records: list[tuple[datetime, Entry]] = field(default_factory=list)
    """Records from histories, logs and bundle data, each with its time."""
    logged: list[datetime] = field(default_factory=list)
    """Times of log lines that belong to a shedding cycle."""
    kinds: set[str] = field(default_factory=set)
    """Kinds of sources read: reports, recorded reports, metrics, counters, log, history."""
    smoothed: bool = False  # True if metrics of the extensible load manager were read
    notes: list[str] = field(default_factory=list)
    undated: int = 0  # Number of reports without a time
    clusters: set[str] = field(default_factory=set)  # "" for data that name none


def read_sources(paths: Iterable[Path], date: datetime | None = None) -> ImportedData:
    """Read files and folders. `date` is the day of the first line of a log without dates.

    Errors: `BadSource`, `BadSnapshot`.
    """
    found = ImportedData()
    for path in paths:
        files = sorted(_files_in(path)) if path.is_dir() else [path]
        if not files:
            raise BadSource(f"{path}: the folder contains no files; give another folder")
        for file in files:
            _read_file(found, file, path if path.is_dir() else file.parent, date)
    return found


def _files_in(folder: Path) -> Iterator[Path]:
    if any(folder.rglob("_delta_log")):
        raise BadSource(f"{folder}: it is a Delta Lake table; export its current rows as JSON")
    if any(one.parent.name == "metadata" for one in folder.rglob("*.metadata.json")):
        raise BadSource(f"{folder}: it is an Iceberg table; export its current rows as JSON")
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.startswith((".", "_")):
            yield path


def _open_zstd(file: Path) -> io.RawIOBase:
    """Open a Zstandard file with Python 3.14 or, in older versions, pyarrow (extra `spark`)."""
    with suppress(ImportError):
        return cast(io.RawIOBase, import_module("compression.zstd").ZstdFile(file))
    with suppress(ImportError):
        return cast(io.RawIOBase, import_module("pyarrow").CompressedInputStream(str(file), "zstd"))
    raise ValueError("for Zstandard, install Python 3.14 or the extra `spark`, or decompress it")


OPENERS: Mapping[str, Callable[[Path], Any]] = {
    ".gz": gzip.GzipFile,
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _open_zstd,
    ".zstd": _open_zstd,
}
"""Functions that open compressed files, by suffix."""

REFUSED_ENDINGS = {
    ".tar": "it is an archive; unpack it and give the folder",
    ".tgz": "it is an archive; unpack it and give the folder",
    ".zip": "it is an archive; unpack it and give the folder",
    ".parquet": "it is Parquet, which needs no import; run audit with --input and this file",
}


def _read_file(data: ImportedData, file: Path, folder: Path, date: datetime | None) -> None:
    """Add the data of a file, recognized by content. Errors: `BadSource`, `BadSnapshot`."""
    name = file.name.removesuffix(file.suffix) if file.suffix in OPENERS else file.name
    for ending, why in REFUSED_ENDINGS.items():
        if name.endswith(ending):
            raise BadSource(f"{file}: {why}")
    label = unquote((file.parent / name).relative_to(folder).as_posix())
    label = label.removesuffix(SUFFIX).removesuffix(".txt")
    try:
        with open_source(file) as stream:
            _read_stream(data, file, label, stream, date)
    except UNREADABLE as wrong:
        raise BadSource(f"{file}: {why_unreadable(wrong, file)}") from None


HEAD = 1 << 16
"""Number of bytes at the start of a file from which its kind is recognized."""

UNREADABLE = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)
"""Errors raised when a missing, truncated or damaged file is opened or read."""


def open_source(file: Path) -> io.BufferedReader:
    """Open a file, and decompress it if its suffix names a compression. Errors: `UNREADABLE`."""
    return io.BufferedReader(OPENERS.get(file.suffix, io.FileIO)(file), HEAD)


def _read_stream(
    data: ImportedData, file: Path, label: str, stream: io.BufferedReader, date: datetime | None
) -> None:
    """Add the data of a file: JSON, a znode dump, output of ZooKeeper's shell, or otherwise a log.

    `label` is its path in the imported folder, which may name a broker or a bundle.
    """
    head = stream.peek(HEAD).removeprefix(codecs.BOM_UTF8)
    if re.match(rb"\s*[{\[](?!zk: )", head):  # ZooKeeper's shell prompts with "[zk: ".
        _read_json(data, file, label, stream.read(), date)
    elif ZNODE.search(head.decode("utf-8", "replace")):
        _read_znodes(data, file, _decoded_lines(stream))
    elif PRINTED_JSON.search(head):
        _read_shell_output(data, file, label, list(_decoded_lines(stream)), date)
    else:
        _read_log(data, file, _decoded_lines(stream), date)


PRINTED_JSON = re.compile(rb"^\{", re.MULTILINE)
"""Start of a JSON object that ZooKeeper's shell printed among other lines."""


def _read_shell_output(
    data: ImportedData, file: Path, label: str, lines: list[str], date: datetime | None
) -> None:
    """Add the JSON objects among other lines; if there are none, read the lines as a log."""
    found_objects = filter(None, map(json_object, lines))
    documents = [one for one in found_objects if not is_log_line(one)]
    for one in documents:
        _read_document(data, file, label, one)
    if not documents:
        _read_log(data, file, lines, date)


def _decoded_lines(stream: Iterable[bytes]) -> Iterator[str]:
    return (line.decode("utf-8", "replace").rstrip("\r\n") for line in stream)


def _read_json(
    data: ImportedData, file: Path, label: str, content: bytes, date: datetime | None
) -> None:
    """Add the data of a JSON document, of a file with a document on each line, or of a JSON log."""
    text = content.decode("utf-8-sig", "replace")
    with suppress(NotJSON):
        document = parse_line(text.encode())
        if not isinstance(document, dict) or not is_log_line(document):
            _read_document(data, file, label, document)
            return
    documents = [json_object(line) for line in text.splitlines() if line.strip()]
    if any(one is None or is_log_line(one) for one in documents):
        _read_log(data, file, text.splitlines(), date)
        return
    for one in documents:
        _read_document(data, file, label, one)


def json_object(line: str) -> Json | None:
    """Return the JSON object in a line; None if the line is not a JSON object."""
    document = None
    with suppress(NotJSON):
        document = parse_line(line.encode())
    return document if isinstance(document, dict) else None


def _read_log(data: ImportedData, file: Path, lines: Iterable[str], date: datetime | None) -> None:
    from pulsar_conformance.audit.collect.logged import read_log

    read_log(data, file, lines, date)


def _read_document(data: ImportedData, file: Path, label: str, document: Any) -> None:
    """Add the data of a JSON document, whose fields show what kind of data it is."""
    if isinstance(document, list):
        for one in document:
            _read_document(data, file, label, one)
    elif not isinstance(document, dict):
        raise BadSource(f"{file}: it contains a JSON value that is not an object")
    elif "kind" in document and "at" in document:
        _add_record(data, file, document)
    elif isinstance(document.get("data"), dict) and "result" in document["data"]:
        _read_series(data, file, document["data"]["result"])
    elif all(frame in document for frame in FRAMES):
        bundle = next(filter(BUNDLE.fullmatch, (label, "/".join(label.split("/")[-3:]))), "")
        _add_bundle_data(data, file, bundle, document)
    elif (
        document
        and all(isinstance(one, dict) for one in document.values())
        and not any(name in document for name in (*RESOURCES, "systemResourceUsage", "lastStats"))
    ):
        for name, one in document.items():
            _read_document(data, file, name, one)
    else:
        _add_report(data, file, _broker_of(file, label, document), document)


def _broker_of(file: Path, label: str, report: Json) -> str:
    """Return the broker of a load report, from the name of its file or folder, or from its URL.

    Errors: `BadSource` if none of them names a broker.
    """
    *folders, name = label.split("/")
    if not name.startswith(LOAD_REPORT):
        return name
    url = str(report.get("webServiceUrl") or report.get("webServiceUrlTls") or "")
    broker = folders[-1] if folders else url.rpartition("//")[2]
    if not broker:
        raise BadSource(f"{file}: it names no broker; put it into a folder named after the broker")
    return broker


def _add_report(data: ImportedData, file: Path, broker: str, report: Json) -> None:
    saved_report(f"{file}, {broker}", report)
    written = report.get("lastUpdate")
    if isinstance(written, int) and written > 0:
        at = datetime.fromtimestamp(written / 1000, UTC)
    else:
        at = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        data.undated += 1
    data.kinds.add("reports")
    data.reports.append((at, broker, report))


def _add_record(data: ImportedData, file: Path, record: Json) -> None:
    at = time_of(str(record["at"]))
    if at is None:
        raise BadSource(f"{file}: {record['at']} is not a time; write it as 2026-11-20T10:00:00Z")
    data.kinds.add("history")
    data.clusters.add(str(record.get("cluster", "")))
    if record["kind"] == "load_report" and isinstance(record.get("report"), dict):
        data.kinds.add("recorded reports")
    data.records.append((at, {k: v for k, v in record.items() if k not in ("at", "cluster")}))


def _add_bundle_data(data: ImportedData, file: Path, bundle: str, averages: Json) -> None:
    if not bundle:
        raise BadSource(f"{file}: its path names no bundle; save it as TENANT/NAMESPACE/0x…_0x…")
    at = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    kept = {frame: averages[frame] for frame in FRAMES}
    data.records.append((at, {"kind": "bundle_data", "bundle": bundle, "data": kept}))


ZNODE = re.compile(r"/loadbalance/(brokers|bundle-data)/(\S+)")


def _read_znodes(data: ImportedData, file: Path, lines: Iterable[str]) -> None:
    """Add the znodes in a dump, where each znode's path precedes its data."""
    path: tuple[str, str] | None = None
    before = len(data.reports) + len(data.records)
    for line in lines:
        znode = ZNODE.search(line)
        path = (znode[1], unquote(znode[2]).rstrip(",:]\"'")) if znode else path
        start = line.find("{")
        if path is None or start < 0:
            continue
        with suppress(NotJSON):
            parsed = parse_line(line[start:].strip().encode())
            if path[0] == "brokers":
                _add_report(data, file, path[1], parsed)
            else:
                _add_bundle_data(data, file, path[1], parsed)
            path = None
    if len(data.reports) + len(data.records) == before:
        raise BadSource(f"{file}: it lists znodes of /loadbalance without data; dump the data, too")


SPLIT_COUNTERS = ("pulsar_lb_bundles_split_total", "pulsar_lb_bundles_split_count")
"""Names, in different releases, of the metric that counts the bundles split by the leader."""

SHED_COUNTERS = ("pulsar_lb_unload_bundle_total", "pulsar_lb_unload_bundle_count")
"""Names, in different releases, of the metric that counts the bundles shed by the leader."""


def _read_series(data: ImportedData, file: Path, series: list[Json]) -> None:
    """Add a report for each broker and time in the result of a range query of Prometheus."""
    measured: defaultdict[datetime, dict[str, Json]] = defaultdict(dict)
    shed: defaultdict[datetime, float] = defaultdict(float)
    for one in series:
        labels = one.get("metric", {})
        name, broker = labels.get("__name__"), broker_in(labels)
        data.clusters.add(labels.get("cluster", ""))
        data.smoothed |= name == SMOOTHED_METRIC
        if name in SHED_COUNTERS:
            for stamp, value in _samples(one):
                shed[stamp] += value
        elif name in SPLIT_COUNTERS:
            for stamp, value in _samples(one):
                data.split[stamp] = data.split.get(stamp, 0) + value
        elif broker and (name in RESOURCE_METRICS or name in BUNDLE_METRICS):
            for stamp, value in _samples(one):
                report = measured[stamp].setdefault(broker, {"lastStats": {}})
                add_sample(report, name, labels, value)
    if not measured and not shed and not data.split:
        raise BadSource(f"{file}: it has no broker's pulsar_lb_*_usage or pulsar_bundle_* metrics")
    _add_series(data, measured, shed)


def _samples(series: Json) -> Iterator[tuple[datetime, float]]:
    for stamp, value in series.get("values") or [series["value"]]:
        yield datetime.fromtimestamp(float(stamp), UTC), float(value)


def _add_series(
    data: ImportedData,
    measured: Mapping[datetime, Mapping[str, Json]],
    shed: Mapping[datetime, float],
) -> None:
    """Add reports made from metrics; merge each with a known report of the same broker and time."""
    data.kinds.add("metrics")
    known = {(at, broker): report for at, broker, report in data.reports}
    for at, brokers in measured.items():
        data.shed_by_sample_time.setdefault(at, None)
        for broker, report in brokers.items():
            if (at, broker) not in known:
                known[at, broker] = {"lastStats": {}, "bundles": []}
                data.reports.append((at, broker, known[at, broker]))
            whole = known[at, broker]
            for bundle, stats in report.pop("lastStats").items():
                whole["lastStats"].setdefault(bundle, {}).update(stats)
            whole.update(report)
            whole["bundles"] = sorted(whole["lastStats"])
            whole.update(sums_of(whole["lastStats"].values()))
    for at, count in shed.items():
        data.shed_by_sample_time[at] = (data.shed_by_sample_time.get(at) or 0) + count
    if shed:
        data.kinds.add("counters")


STAMP = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[T ](?P<time>\d\d:\d\d:\d\d(?:[.,]\d+)?) ?"
    r"(?P<zone>Z|[+-]\d\d:?\d\d|(?<! )[+-]\d\d(?!\d))?"
)
HALF_DAY = re.compile(r"\s*[ap]\.?m\b", re.IGNORECASE)


def time_of(text: str) -> datetime | None:
    """Return the first date and time in a text; None without one, or if the time has AM or PM.

    A time without a zone is taken as UTC, and an integer as milliseconds since 1970.
    """
    if re.fullmatch(r"\d{12,14}", text.strip()):
        return datetime.fromtimestamp(int(text) / 1000, UTC)
    found = STAMP.search(text)
    if not found or HALF_DAY.match(text, found.end()):
        return None
    zone = (found["zone"] or "Z").replace("Z", "+00:00")
    zone = f"{zone}:00" if len(zone) == len("+01") else zone
    whole, _, digits = found["time"].replace(",", ".").partition(".")
    written = f"{found['day']}T{whole}.{(digits + '000000')[:6]}{zone}"
    with suppress(ValueError):
        return datetime.fromisoformat(written).astimezone(UTC)
    return None
