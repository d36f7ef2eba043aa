"""Tables as Parquet, each whole or to be made again: a run that was stopped goes on where it was.

A table is written in place of what is there, and then marked as done with a fingerprint of all
that it was made from. What has no such mark is made anew, so that nothing is there twice. A mark
is a partition of its own in the folder `done`, and everything is written by Spark: it is where
Spark is, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pulsar_conformance.conformance.history.audit.tables import TABLES
from pulsar_conformance.conformance.history.input.paths import literal
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

DONE = "done"
MARK = "fingerprint string, rows bigint, seconds double, table string"
PARTITION = "day"
"""What files are kept apart by: a fleet's history has as many folders as it has days. Measured, an
audit of 108 small clusters takes a third of the time that it takes with a folder for each.
"""
ASIDE = "aside"
"""Where partitions stand that are about to replace others."""

NO_PATH = "PATH_NOT_FOUND"

ASKED = "asked-"
"""How the names of tables begin that say what other settings would have done."""


@dataclass(frozen=True)
class Mark:
    """A table that is there, and of what it was made."""

    fingerprint: str
    rows: int
    seconds: float


@dataclass(frozen=True)
class Store:
    """The tables in a folder, as Spark sees it."""

    spark: Any
    path: str
    _known: dict[str, DataFrame] = field(default_factory=dict, compare=False, repr=False)
    """Tables of which it is known where their files are: finding them takes a while."""

    def read(self, table: str) -> DataFrame:
        """A table that is done."""
        if table not in self._known:
            schema = TABLES[table.removeprefix(ASKED)].schema
            reader = self.spark.read.schema(schema)
            self._known[table] = reader.parquet(literal(f"{self.path}/{table}"))
        return self._known[table]

    def write(self, table: str, frame: DataFrame) -> int:
        """Write a table in place of what is there; the number of its rows."""
        seen = Observation(table)
        rows = self.shaped(table, frame).observe(seen, F.count(F.lit(1)).alias("rows"))
        self._write(rows, table, "static")
        return int(seen.get["rows"])

    def replace(self, table: str, frame: DataFrame) -> None:
        """Write the partitions that a frame has in place of the same of a table.

        The frame may be made of the table: it is written aside first.
        """
        rows = self.shaped(table, frame)
        self._write(rows, ASIDE, "static")
        aside = self.spark.read.schema(rows.schema).parquet(literal(f"{self.path}/{ASIDE}"))
        self._write(aside, table, "dynamic")

    def _write(self, rows: DataFrame, folder: str, mode: str) -> None:
        self._known.pop(folder, None)
        ordered = rows.sortWithinPartitions(PARTITION, "cluster")
        writer = ordered.write.mode("overwrite").option("partitionOverwriteMode", mode)
        writer.partitionBy(PARTITION).parquet(f"{self.path}/{folder}")

    def shaped(self, table: str, frame: DataFrame) -> DataFrame:
        """A frame with the columns of a table in their order and types."""
        schema = TABLES[table.removeprefix(ASKED)].schema
        fields = self.spark.createDataFrame([], schema).schema
        return frame.select(*(F.col(one.name).cast(one.dataType) for one in fields))

    def marks(self) -> Mapping[str, Mark]:
        """What is done, by the tables' names."""
        try:
            rows = self.spark.read.schema(MARK).json(literal(f"{self.path}/{DONE}")).collect()
        except AnalysisException as error:
            if error.getCondition() != NO_PATH:
                raise
            return {}
        return {
            row["table"]: Mark(row["fingerprint"], row["rows"], row["seconds"])
            for row in rows
            if row["fingerprint"]
        }

    def mark(self, table: str, mark: Mark | None) -> None:
        """Say that a table is done; or, without a mark, that it is not any more."""
        one = mark or Mark("", 0, 0.0)
        row = [(one.fingerprint, one.rows, one.seconds, table)]
        writer = self.spark.createDataFrame(row, MARK).coalesce(1).write.mode("overwrite")
        writer = writer.option("partitionOverwriteMode", "dynamic")
        writer.partitionBy("table").json(f"{self.path}/{DONE}")
