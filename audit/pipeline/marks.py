"""Marks of what is done: a line of JSON for each table, in a folder of its own.

Spark writes the first one. Where this process finds that, it writes the others: a job of Spark for
a line takes as long as the rows of a small table do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pulsar_conformance.audit.input.paths import LOCAL, literal
from pulsar_conformance.audit.input.sources import EPOCH, NEVER
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
"""How the file is named that this process writes, and while it is written."""


@dataclass(frozen=True)
class Mark:
    """A table that is there, of what it was made, and by which code.

    Where only a part of it was made anew, `before` is the fingerprint that it had, and nothing in
    it is another that is of a time before `since`.
    """

    fingerprint: str
    rows: int
    seconds: float
    method: str = ""
    before: str = ""
    since: datetime = NEVER


GONE = Mark("", 0, 0.0)
"""Of a table that is done no more."""


class Marks:
    """The marks of an audit, by the names of its tables, in the folder `done` of its own."""

    def __init__(self, spark: Any, output: str) -> None:
        self._spark = spark
        self._path = f"{output}/{DONE}"
        self._here: Path | None = None
        """The folder as this process finds it, if it is known to."""

    def read(self) -> Mapping[str, Mark]:
        """What is done."""
        try:
            there = self._lines()
            # A server of Spark Connect looks for the path no earlier.
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
        """Say that a table is done that has no rows, in a folder that has no marks yet."""
        self._write(table, Mark("-", 0, 0.0))
        self._here = _found_here(self._lines().inputFiles())

    def put(self, table: str, mark: Mark | None) -> None:
        """Say that a table is done; or, without a mark, that it is not any more."""
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
    """The folder of marks, if files that Spark has written there are found by this process."""
    for address in files:
        file = Path(unquote(urlsplit(address).path))
        if address.startswith(LOCAL) and file.is_file():
            return file.parent.parent
    return None


def _write_here(folder: Path, mark: Mark) -> None:
    """Write a mark in place of what is there. Stopped in between, there is none."""
    folder.mkdir(exist_ok=True)
    unfinished = folder / UNFINISHED
    told = {**vars(mark), "since": mark.since.isoformat(timespec="microseconds")}
    unfinished.write_text(json.dumps(told) + "\n", "utf-8")
    for former in folder.iterdir():
        if former != unfinished:
            former.unlink()
    unfinished.replace(folder / LINE)
