"""Records from a broker's log: unloads, shedding cycles, elections, settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pulsar_conformance.adapters.operated.log_lines import read_log_lines
from pulsar_conformance.audit.collect.log_times import READ_TIMES, LogTimes
from pulsar_conformance.audit.collect.sources import (
    BadSource,
    ImportedData,
    json_object,
    open_source,
)
from pulsar_conformance.conformance.cases.settings_files import read_logged_line
from pulsar_conformance.specs.errors import LOG_HINT, hint_at_file
from pulsar_conformance.specs.text import counted

IMPORT_HINT = "give load reports, results of Prometheus range queries, broker logs or histories"


class WrittenLine(NamedTuple):
    """A kind of log line that names a bundle and its broker; releases write it in two forms."""

    pattern: re.Pattern[str]
    """Pattern of a line with both names in its text; its groups are the bundle and the broker."""
    message: str
    """Text of a line of Pulsar 5.0, which gives both names as attributes."""
    broker: str
    """Name of the attribute that holds the broker's name."""


UNLOADING = WrittenLine(
    re.compile(r"\[\w+\] Unloading bundle: (\S+) from broker (\S+)"),
    "Unloading bundle from source broker to dest broker",
    "sourceBroker",
)
FAILED = WrittenLine(
    re.compile(r"Error when trying to perform load shedding on (\S+) for broker (\S+)"),
    "Error when trying to perform load shedding on for broker",
    "broker",
)
UNLOAD_EVENT = re.compile(
    r"Unloading bundle\b.*\bUnload\[sourceBroker=([^,\s]+), serviceUnit=([^,\s]+),"
)
"""Pattern of an unload by the extensible load manager; its groups are the broker and the bundle.

Pulsar 5.0 gives the part from `Unload[` on as the attribute `bundle`.
"""

ELECTED = re.compile(r"This broker (\S+ )?was elected leader")
CYCLE_MESSAGES = re.compile(
    r"Attempting to shed load on|is planning to shed|No broker is below the lower bound|"
    r"no load shedding will be performed|sorted broker list|Found bundle to unload with|"
    r"Sole namespace bundle|Unloading bundle|trying to perform load shedding"
)
"""Texts in log lines that are written only during a shedding cycle."""

SPLITTING = re.compile(r"Load-manager splitting bundle (\S+)")


def read_log(data: ImportedData, file: Path, lines: Iterable[str], date: datetime | None) -> None:
    """Add the records in a log. Errors: `BadSource` if no line of the log is about load
    balancing, or if the times of such lines cannot be read.
    """
    times, split, known = LogTimes(date), 0, len(data.records) + len(data.logged)
    unread: list[int] = []
    for line in read_log_lines(lines):
        message, attributes = line.message, line.attributes
        at = times.time_of(line)
        split += SPLITTING.search(message) is not None
        unload = _bundle_and_broker(UNLOADING, message, attributes)
        if event := UNLOAD_EVENT.search(f"{message} {attributes.get('bundle', '')}"):
            unload = event[2], event[1]
        failed = _bundle_and_broker(FAILED, message, attributes)
        elected, cycle = ELECTED.search(message), CYCLE_MESSAGES.search(message)
        settings = read_logged_line(f"{file}:{line.number}", message)
        if at is None:
            if unload or failed or elected or cycle or settings:
                if refused := times.why_refused(line):
                    raise BadSource(f"{file}:{line.number}: {refused}")
                unread.append(line.number)
            continue
        if unload:
            bundle, broker = unload
            told = {"kind": "unloaded", "bundle": bundle, "broker": broker, "cause": "shedding"}
            data.records.append((at, told))
        if failed:
            _drop_failed_unload(data, file, *failed)
        if elected:
            broker = (elected[1] or "").strip() or attributes.get("brokerId", "") or file.stem
            data.records.append((at, {"kind": "leader", "broker": broker}))
        if cycle:
            data.logged.append(at)
        if settings:
            data.records.append((at, {"kind": "settings", "settings": settings}))
    imported = len(data.records) + len(data.logged) > known
    if unread:
        _report_unread(data, file, unread, imported=imported)
    if not imported:
        _check_history(file, lines)
        with open_source(file) as stream:
            hint = hint_at_file(stream.peek(), IMPORT_HINT, beside=LOG_HINT)
        problem = "it has no load report, no metric and no log line about load balancing"
        raise BadSource(f"{file}: {problem}{hint}")
    if split:
        data.notes.append(
            f"{file}: {counted(split, 'split')} not imported, as logs do not name the new bundles"
        )
    data.kinds.add("log")


def _report_unread(
    data: ImportedData, file: Path, numbers: Sequence[int], *, imported: bool
) -> None:
    """Add a note on the lines about load balancing whose times cannot be read.

    The note lists the numbers of these lines. Errors: `BadSource` if no other line is imported.
    """
    lines = f"{counted(len(numbers), 'line')} about load balancing, of which this is the first"
    many = f"in {lines}, so they are not imported"
    one = "in this line about load balancing, so it is not imported"
    problem = f"no time can be read {many if numbers[1:] else one}; {READ_TIMES}"
    if not imported:
        raise BadSource(f"{file}:{numbers[0]}: {problem}")
    data.notes.append(f"{file}:{numbers[0]}: {problem}")


def _check_history(file: Path, lines: Iterable[str]) -> None:
    """Raise `BadSource` if the file is a history with a line that is not a JSON object."""
    records = {number: json_object(line) for number, line in enumerate(lines, 1) if line.strip()}
    broken = next((number for number, one in records.items() if one is None), None)
    if broken and any(one and {"kind", "at"} <= one.keys() for one in records.values()):
        problem = (
            "this line of a history is not a JSON object; remove it (audit --input ignores it)"
        )
        raise BadSource(f"{file}:{broken}: {problem}")


def _bundle_and_broker(
    written: WrittenLine, message: str, attributes: Mapping[str, str]
) -> tuple[str, str] | None:
    """Return the bundle and the broker that a log line names; None if it is not of the kind
    `written`.
    """
    if found := written.pattern.search(message):
        return found[1], found[2]
    if written.message in message and {"bundle", written.broker} <= attributes.keys():
        return attributes["bundle"], attributes[written.broker]
    return None


def _drop_failed_unload(data: ImportedData, file: Path, bundle: str, broker: str) -> None:
    """Remove the record of a bundle's last unload, because the unload failed.

    A release writes the line of an unload before it attempts the unload.
    """
    planned = {"kind": "unloaded", "bundle": bundle, "broker": broker, "cause": "shedding"}
    for place, (_at, told) in reversed([*enumerate(data.records)]):
        if planned.items() <= told.items():
            del data.records[place]
            break
    data.notes.append(
        f"{file}: the unload of {bundle} from {broker} failed, so it is not imported; the leader "
        "does not count the bundle as unloaded"
    )
