"""Marks of complete tables. Each mark is a line of JSON in a folder of its own.

If this process can access the folder, it reads and writes the marks without Spark, which would take
as long for a single line as for a small table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pulsar_conformance.audit.input.by_cluster import RebuildTimes, time_from_micros
from pulsar_conformance.audit.input.paths import HIDDEN, LOCAL, can_open_path, escape_pattern
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

DONE = "done"
MARK = (
    "fingerprint string, rows bigint, seconds double, method string, before string, "
    "since timestamp, clusters string, table string"
)
NO_PATH = "PATH_NOT_FOUND"
LINE, UNFINISHED = "part-0.json", "_part"
"""Names of a mark's file if this process writes it: when complete, and before."""


@dataclass(frozen=True)
class Mark:
    """The mark of a complete table, with fingerprints of its input and of the code that built it.

    If only a part of the table was rebuilt, `before` is its fingerprint before the rebuild.
    `change` gives the times from which rows may have changed.
    """

    fingerprint: str
    rows: int
    seconds: float
    method: str = ""
    before: str = ""
    change: RebuildTimes = field(default_factory=RebuildTimes)

    @property
    def since(self) -> datetime:
        """The earliest time from which rows may have changed in any cluster."""
        return self.change.since

    def as_json(self) -> dict[str, Any]:
        """Return the mark as a row of `MARK`, without the name of the table."""
        named = {name: _format_time(time) for name, time in self.change.named.items()}
        own = {name: value for name, value in vars(self).items() if name != "change"}
        return {**own, "since": _format_time(self.change.others), "clusters": json.dumps(named)}


def _format_time(time: datetime) -> str:
    return time.isoformat(timespec="microseconds")


def _parse_mark(columns: Mapping[str, Any]) -> Mark:
    """Return the mark that a row of `MARK` describes."""
    since = columns["since"]
    others = datetime.fromisoformat(since) if isinstance(since, str) else since
    named = json.loads(columns["clusters"] or "{}")
    change = RebuildTimes(
        {name: datetime.fromisoformat(time) for name, time in named.items()}, others
    )
    before = columns["before"] or ""
    return Mark(
        columns["fingerprint"],
        columns["rows"],
        columns["seconds"],
        columns["method"] or "",
        before,
        change if before else RebuildTimes(),
    )


REBUILDING = Mark("", 0, 0.0)
"""Mark of a table that is being rebuilt and is therefore not complete."""


class Marks:
    """The marks of an audit's tables, in the folder `done` of its output."""

    def __init__(self, spark: Any, output: str) -> None:
        self._spark = spark
        self._path = f"{output}/{DONE}"
        own = Path(output.removeprefix(LOCAL)) / DONE
        self._here = own if can_open_path(spark, output) else None
        """The local folder with the marks; None if this process cannot access it."""

    def read(self) -> Mapping[str, Mark]:
        """Return the marks of complete tables, by table."""
        if self._here is not None:
            return _read_marks(self._here)
        try:
            there = self._read_with_spark()
            # Under Spark Connect, the server checks the path only now.
            self._here = _local_folder(there.inputFiles())
        except AnalysisException as error:
            if error.getCondition() != NO_PATH:
                raise
            return {}
        rows = there.withColumn("since", F.unix_micros("since")).collect()
        return {
            row["table"]: _parse_mark({**row.asDict(), "since": time_from_micros(row["since"])})
            for row in rows
            if row["fingerprint"]
        }

    def begin(self, table: str, shards: int = 1) -> None:
        """Mark the folder as the output of an audit, before any table is written.

        Instead of a number of rows, this mark has the number of shards.
        """
        first = Mark("-", shards, 0.0)
        if self._here is not None:
            self._here.mkdir(parents=True, exist_ok=True)
            self.put(table, first)
            return
        self._write_with_spark(table, first)
        self._here = _local_folder(self._read_with_spark().inputFiles())

    def put(self, table: str, mark: Mark | None) -> None:
        """Mark a table as complete or, if `mark` is None, as incomplete."""
        if self._here is None:
            self._write_with_spark(table, mark or REBUILDING)
            return
        try:
            _replace_mark(self._here / f"table={table}", mark or REBUILDING)
        except OSError:
            self._write_with_spark(table, mark or REBUILDING)

    def _read_with_spark(self) -> DataFrame:
        found: DataFrame = self._spark.read.schema(MARK).json(escape_pattern(self._path))
        return found

    def _write_with_spark(self, table: str, mark: Mark) -> None:
        told = (F.lit(value).alias(name) for name, value in mark.as_json().items())
        row = self._spark.range(1, numPartitions=1).select(*told)
        row.write.mode("overwrite").json(f"{self._path}/table={table}")


def _local_folder(files: list[str]) -> Path | None:
    """Return the folder with the marks; None if this process cannot access files that Spark
    wrote.
    """
    for address in files:
        file = Path(unquote(urlsplit(address).path))
        if address.startswith(LOCAL) and file.is_file():
            return file.parent.parent
    return None


def _read_marks(folder: Path) -> Mapping[str, Mark]:
    """Return the marks in a local folder, by table. Damaged marks are ignored."""
    found = {}
    for file in sorted(folder.glob("table=*/*.json")):
        if file.name.startswith(HIDDEN):
            continue
        try:
            mark = _parse_mark(json.loads(file.read_text("utf-8")))
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
        if mark.fingerprint:
            found[file.parent.name.removeprefix("table=")] = mark
    return found


def _replace_mark(folder: Path, mark: Mark) -> None:
    """Write a mark over the former one in a local folder.

    If the process is killed while it writes, the table has no mark.
    """
    folder.mkdir(exist_ok=True)
    unfinished = folder / UNFINISHED
    unfinished.write_text(json.dumps(mark.as_json()) + "\n", "utf-8")
    for former in folder.iterdir():
        if former != unfinished:
            former.unlink()
    unfinished.replace(folder / LINE)
