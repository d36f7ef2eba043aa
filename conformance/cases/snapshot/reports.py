"""Load reports of a real cluster, one file per broker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulsar_conformance.conformance.cases.snapshot.files import BadSnapshot, content, json_files
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference import reports
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES

KEPT = (*RESOURCES, *RATE_FIELDS, "bundles", "lastStats")
"""What decisions are made from."""

THROUGHPUTS = ("msgThroughputIn", "msgThroughputOut")


@dataclass(frozen=True)
class SavedReport:
    """A broker's saved report, and the broker in the case that it describes."""

    report: Any
    broker: Json
    without_limit: tuple[str, ...]
    """Resources that were used, but of nothing: they have no percentage and are left out."""


def read_reports(directory: Path) -> dict[str, SavedReport]:
    """The report in each file `BROKER.json` of a folder, by broker.

    Errors: `BadSnapshot` for a folder without reports, and for a file that is not a report.
    """
    found: dict[str, SavedReport] = {}
    for broker, path in json_files(directory, "*.json"):
        if broker in found:
            raise BadSnapshot(f"{path}: {broker} has a report already")
        found[broker] = _reported(path)
    return found


def _reported(path: Path) -> SavedReport:
    report = content(path)
    try:
        read = reports.read(report)
    except reports.Unreadable as wrong:
        raise BadSnapshot(f"{path}: it is not a load report: {wrong}") from None
    unlimited = tuple(
        name
        for name in RESOURCES
        if name in read.broker and read.broker[name]["usage"] and not read.broker[name]["limit"]
    )
    kept = [name for name in KEPT if name in read.broker and name not in unlimited]
    broker = {name: read.broker[name] for name in kept}
    return SavedReport(report, {**broker, **_totals(read)}, unlimited)


def _totals(read: reports.Report) -> dict[str, float]:
    """The broker's rates that its report lacks: the sums over its bundles.

    The simple load manager's report has no throughput; if it has such a field, the value is the
    message rate again.
    """
    stats = read.broker.get("lastStats", {}).values()
    absent = [name for name in RATE_FIELDS if name not in read.broker]
    wrong = THROUGHPUTS if read.manager == "simple" else ()
    names = dict.fromkeys((*absent, *wrong)) if stats else ()
    return {name: sum(one.get(name, 0) for one in stats) for name in names}
