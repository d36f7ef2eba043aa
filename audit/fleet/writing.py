"""Writing the history of a fleet to files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulsar_conformance.audit.fleet import bundles, simulated
from pulsar_conformance.audit.fleet.plants.damage import DAMAGED, with_damage
from pulsar_conformance.audit.fleet.plants.planting import PLANTED
from pulsar_conformance.audit.fleet.size import BadFleet, Fleet, HistoryOptions
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

FORMATS: Mapping[str, Callable[[DataFrame, str], None]] = {
    "json": lambda lines, path: lines.write.text(path),
    "gzip": lambda lines, path: lines.write.option("compression", "gzip").text(path),
    "parquet": lambda lines, path: lines.withColumnRenamed("value", "line").write.parquet(path),
}
"""Functions that write lines, by the name of the format."""

LOCAL = "file:"

ERROR_LINE = re.compile(r"pulsar_conformance[.\w]*: (.+)")
"""Pattern of the line of a traceback with the message of this project's error."""


KINDS = (
    "load_report",
    "owners",
    "unloaded",
    "assigned",
    "split",
    "leader",
    "cycle",
    "settings",
    DAMAGED,
)


@dataclass(frozen=True)
class WrittenHistory:
    """Summary of a written history: its number of lines, and where rules are violated."""

    counts: Mapping[str, int]
    """Number of lines of each kind of record. Damaged lines count as the kind `damaged` only."""
    planted: Mapping[str, Mapping[str, str]]
    """Cluster and time of each planted violation, by rule; a violation is in a cycle or a split."""

    @property
    def lines(self) -> int:
        """Total number of lines."""
        return sum(self.counts.values())


def record_lines(session: Any, fleet: Fleet, options: HistoryOptions) -> DataFrame:
    """Return every record as a line of JSON, in the columns `kind` and `value`.

    Further rows, whose `kind` begins with `PLANTED`, give the cluster and time of each violation.
    """
    rows = bundles.bundle_ranges(fleet, session.range(fleet.clusters * fleet.initial_bundles))
    made = simulated.simulated_lines(fleet, rows, options.decided_by, options.planted)
    return with_damage(made, options.damaged, fleet.seed)


def write_history(session: Any, fleet: Fleet, options: HistoryOptions, path: str) -> WrittenHistory:
    """Write a history to a new folder. Errors: `BadFleet`."""
    there = Path(path.removeprefix(LOCAL))
    if there.is_file() or (there.is_dir() and any(there.iterdir())):
        problem = "it is a file" if there.is_file() else "the folder is not empty"
        raise BadFleet(f"--output {path}: {problem}; give another folder")
    if any(one.exists() and not one.is_dir() for one in there.parents):
        raise BadFleet(f"--output {path}: one of its parent folders is a file; give another folder")
    if there.is_dir():
        there.rmdir()
    made, seen = record_lines(session, fleet, options), Observation("lines")
    kind = F.col("kind")
    counts = [F.count(F.when(kind == one, 1)).alias(one) for one in KINDS]
    notes = [F.max(F.when(kind == PLANTED + one, F.col("value"))) for one in options.planted]
    named = (note.alias(one) for note, one in zip(notes, options.planted, strict=True))
    observed = made.observe(seen, *counts, *named).where(~kind.startswith(PLANTED))
    try:
        FORMATS[options.format](observed.select("value"), path)
    except PySparkException as error:
        raise BadFleet(_task_message(error)) from None
    return _summarize(seen.get, options, path)


def _summarize(seen: Mapping[str, Any], options: HistoryOptions, path: str) -> WrittenHistory:
    """Return the number of lines, and where each planted rule is violated.

    Errors: `BadFleet` if a planted rule is violated nowhere.
    """
    missing = [rule for rule in options.planted if seen[rule] is None]
    if missing:
        problem = f"no cycle is suitable, so {path} does not contain the violation"
        raise BadFleet(f"--plant {missing[0]}: {problem}; give more --hours, and another --output")
    planted = {rule: json.loads(seen[rule]) for rule in options.planted}
    return WrittenHistory({kind: seen[kind] for kind in KINDS if seen[kind]}, planted)


def _task_message(error: Exception) -> str:
    """Return a task's error message without the traceback."""
    lines = [line.strip() for line in str(error).splitlines()]
    raised = [found[1] for line in lines if (found := ERROR_LINE.match(line))]
    return raised[-1] if raised else f"Spark says: {lines[0] if lines else type(error).__name__}"
