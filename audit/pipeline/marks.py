"""Marks of completed tables: one line of JSON for each, in a folder of its own.

Spark writes the first mark. If this process can see that file, it writes all others itself: for a
single line, a Spark job would take as long as for a small table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pulsar_conformance.audit.input.changes import EPOCH, NEVER
from pulsar_conformance.audit.input.paths import LOCAL, literal
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

DONE = "done"
MARK = (
    "fingerprint string, rows bigint, seconds double, method string, before string, "
    "since timestamp, table string"
)
NO_PATH = "PATH_NOT_FOUND"
LINE, UNFINISHED = "part-0.json", "_part"
"""Names of the file that this process writes, once complete and while incomplete."""


@dataclass(frozen=True)
class Mark:
    """A complete table, with fingerprints of its input and of its code.

    If only a part of it was rebuilt, `before` is its previous fingerprint, and rows before `since`
    are unchanged.
    """

    fingerprint: str
    rows: int
    seconds: float
    method: str = ""
    before: str = ""
    since: datetime = NEVER


GONE = Mark("", 0, 0.0)
"""Mark of a table that is no longer complete."""


class Marks:
    """Marks of an audit's tables, in the folder `done` of its output."""

    def __init__(self, spark: Any, output: str) -> None:
        self._spark = spark
        self._path = f"{output}/{DONE}"
        self._here: Path | None = None
        """The folder, or None if this process cannot reach it."""

    def read(self) -> Mapping[str, Mark]:
        """Return the marks of complete tables."""
        try:
            there = self._lines()
            # Under Spark Connect, the server checks the path only now.
            self._here = _found_here(there.inputFiles())
        except AnalysisException as error:
            if error.getCondition() != NO_PATH:
                raise
            return {}
        rows = there.withColumn("micros", F.unix_micros("since")).collect()
        return {
            row["table"]: Mark(
                row["fingerprint"],
                row["rows"],
                row["seconds"],
                row["method"] or "",
                row["before"] or "",
                EPOCH + timedelta(microseconds=row["micros"]) if row["before"] else NEVER,
            )
            for row in rows
            if row["fingerprint"]
        }

    def begin(self, table: str) -> None:
        """Write the first mark, which belongs to no table."""
        self._write(table, Mark("-", 0, 0.0))
        self._here = _found_here(self._lines().inputFiles())

    def put(self, table: str, mark: Mark | None) -> None:
        """Mark a table as complete or, without a mark, as no longer complete."""
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
        told = (F.lit(value).alias(name) for name, value in vars(mark).items())
        row = self._spark.range(1, numPartitions=1).select(*told)
        row.write.mode("overwrite").json(f"{self._path}/table={table}")


def _found_here(files: list[str]) -> Path | None:
    """Return the folder of marks if this process can see the files that Spark has written."""
    for address in files:
        file = Path(unquote(urlsplit(address).path))
        if address.startswith(LOCAL) and file.is_file():
            return file.parent.parent
    return None


def _write_here(folder: Path, mark: Mark) -> None:
    """Replace a mark; a process that is killed meanwhile leaves no mark."""
    folder.mkdir(exist_ok=True)
    unfinished = folder / UNFINISHED
    told = {**vars(mark), "since": mark.since.isoformat(timespec="microseconds")}
    unfinished.write_text(json.dumps(told) + "\n", "utf-8")
    for former in folder.iterdir():
        if former != unfinished:
            former.unlink()
    unfinished.replace(folder / LINE)
