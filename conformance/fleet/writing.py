"""A fleet's history as files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulsar_conformance.conformance.fleet import bundles, events, undecided
from pulsar_conformance.conformance.fleet.damage import DAMAGED, with_damage
from pulsar_conformance.conformance.fleet.size import BadFleet, Fleet
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

FORMATS: Mapping[str, Callable[[DataFrame, str], None]] = {
    "json": lambda lines, path: lines.write.text(path),
    "gzip": lambda lines, path: lines.write.option("compression", "gzip").text(path),
    "parquet": lambda lines, path: lines.withColumnRenamed("value", "line").write.parquet(path),
}
"""JSON Lines, plain or compressed, and the same lines in a column of Parquet files."""

LOCAL = "file:"


@dataclass(frozen=True)
class Written:
    """How many lines there are, by kind of record, damaged ones by themselves."""

    counts: Mapping[str, int]

    @property
    def lines(self) -> int:
        """All of them."""
        return sum(self.counts.values())


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


def lines(session: Any, fleet: Fleet) -> DataFrame:
    """Every record as a line of JSON: rows of `kind` and `value`."""
    happen = session.createDataFrame(events.rows(fleet), events.COLUMNS)
    numbers = session.range(fleet.clusters * fleet.of_cluster)
    rows = bundles.whole(fleet, numbers).join(F.broadcast(happen), "cluster")
    return undecided.lines(fleet, rows, happen)


def write(session: Any, fleet: Fleet, path: str, format_: str, damaged: float) -> Written:
    """Write a history into a folder that is not there yet. Errors: `BadFleet`."""
    there = Path(path.removeprefix(LOCAL))
    if there.is_file() or (there.is_dir() and any(there.iterdir())):
        raise BadFleet(f"--output {path}: it is there already; name a folder that is not")
    there.rmdir() if there.is_dir() else None
    made = with_damage(lines(session, fleet), damaged, fleet.seed)
    counted = Observation("lines")
    kinds = (F.count(F.when(F.col("kind") == kind, 1)).alias(kind) for kind in KINDS)
    FORMATS[format_](made.observe(counted, *kinds).select("value"), path)
    return Written({kind: counted.get[kind] for kind in KINDS if counted.get[kind]})
