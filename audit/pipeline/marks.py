"""Marks of complete tables: one line of JSON each, in a separate folder.

If this process can access the folder, it reads and writes the marks itself: for a single line, a
Spark job would take as long as for a small table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pulsar_conformance.audit.input.by_cluster import Renewal, time_from_micros
from pulsar_conformance.audit.input.paths import HIDDEN, LOCAL, is_here, literal
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
"""Names of the file that this process writes, once complete and while incomplete."""


@dataclass(frozen=True)
class Mark:
    """A complete table, with fingerprints of its input and its code.

    If only a part of it was rebuilt, `before` is its previous fingerprint, and `change` says from
    when on each cluster's rows may differ.
    """

    fingerprint: str
    rows: int
    seconds: float
    method: str = ""
    before: str = ""
    change: Renewal = field(default_factory=Renewal)

    @property
    def since(self) -> datetime:
        """The first time from which on rows may differ."""
        return self.change.since

    def as_json(self) -> dict[str, Any]:
        """Return the columns of `MARK`, except the table."""
        named = {name: _text(time) for name, time in self.change.named.items()}
        own = {name: value for name, value in vars(self).items() if name != "change"}
        return {**own, "since": _text(self.change.others), "clusters": json.dumps(named)}


def _text(time: datetime) -> str:
    return time.isoformat(timespec="microseconds")


def _mark_of(told: Mapping[str, Any]) -> Mark:
    """Return a mark from its columns."""
    since = told["since"]
    others = datetime.fromisoformat(since) if isinstance(since, str) else since
    named = json.loads(told["clusters"] or "{}")
    change = Renewal({name: datetime.fromisoformat(time) for name, time in named.items()}, others)
    before = told["before"] or ""
    return Mark(
        told["fingerprint"],
        told["rows"],
        told["seconds"],
        told["method"] or "",
        before,
        change if before else Renewal(),
    )


GONE = Mark("", 0, 0.0)
"""Mark of a table that is no longer complete."""


class Marks:
    """The marks of an audit's tables, in the folder `done` of its output."""

    def __init__(self, spark: Any, output: str) -> None:
        self._spark = spark
        self._path = f"{output}/{DONE}"
        own = Path(output.removeprefix(LOCAL)) / DONE
        self._here = own if is_here(spark, output) else None
        """The folder, or None if this process cannot reach it."""

    def read(self) -> Mapping[str, Mark]:
        """Return the marks of complete tables."""
        if self._here is not None:
            return _read_here(self._here)
        try:
            there = self._lines()
            # Under Spark Connect, the server checks the path only now.
            self._here = _found_here(there.inputFiles())
        except AnalysisException as error:
            if error.getCondition() != NO_PATH:
                raise
            return {}
        rows = there.withColumn("since", F.unix_micros("since")).collect()
        return {
            row["table"]: _mark_of({**row.asDict(), "since": time_from_micros(row["since"])})
            for row in rows
            if row["fingerprint"]
        }

    def begin(self, table: str, shards: int = 1) -> None:
        """Write the first mark, which belongs to no table; its row count is the number of
        shards.
        """
        first = Mark("-", shards, 0.0)
        if self._here is not None:
            self._here.mkdir(parents=True, exist_ok=True)
            self.put(table, first)
            return
        self._write(table, first)
        self._here = _found_here(self._lines().inputFiles())

    def put(self, table: str, mark: Mark | None) -> None:
        """Mark a table as complete or, if the mark is None, as incomplete."""
        if self._here is None:
            self._write(table, mark or GONE)
            return
        try:
            _write_here(self._here / f"table={table}", mark or GONE)
        except OSError:
            self._write(table, mark or GONE)

    def _lines(self) -> DataFrame:
        found: DataFrame = self._spark.read.schema(MARK).json(literal(self._path))
        return found

    def _write(self, table: str, mark: Mark) -> None:
        told = (F.lit(value).alias(name) for name, value in mark.as_json().items())
        row = self._spark.range(1, numPartitions=1).select(*told)
        row.write.mode("overwrite").json(f"{self._path}/table={table}")


def _found_here(files: list[str]) -> Path | None:
    """Return the folder of marks, if this process can access the files that Spark has written."""
    for address in files:
        file = Path(unquote(urlsplit(address).path))
        if address.startswith(LOCAL) and file.is_file():
            return file.parent.parent
    return None


def _read_here(folder: Path) -> Mapping[str, Mark]:
    """Return the marks in a folder, ignoring damaged ones."""
    found = {}
    for file in sorted(folder.glob("table=*/*.json")):
        if file.name.startswith(HIDDEN):
            continue
        try:
            mark = _mark_of(json.loads(file.read_text("utf-8")))
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
        if mark.fingerprint:
            found[file.parent.name.removeprefix("table=")] = mark
    return found


def _write_here(folder: Path, mark: Mark) -> None:
    """Replace a mark; a process killed meanwhile leaves no mark."""
    folder.mkdir(exist_ok=True)
    unfinished = folder / UNFINISHED
    unfinished.write_text(json.dumps(mark.as_json()) + "\n", "utf-8")
    for former in folder.iterdir():
        if former != unfinished:
            former.unlink()
    unfinished.replace(folder / LINE)
