"""Tables as Parquet, each whole or to be made again: a run that was stopped goes on where it was.

A table is written in place of what is there, and then marked as done with a fingerprint of all
that it was made from. What has no such mark is made anew, so that nothing is there twice.
Everything is written by Spark: it is where Spark is, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from pulsar_conformance.conformance.history.audit.marks import Marks
from pulsar_conformance.conformance.history.audit.tables import TABLES
from pulsar_conformance.conformance.history.input.paths import literal
from pulsar_conformance.conformance.history.input.sources import SOURCE, first_of
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

PARTITION = "day"
"""What files are kept apart by: a fleet's history has as many folders as it has days. Measured, an
audit of 108 small clusters takes a third of the time that it takes with a folder for each.
"""
ASIDE = "aside"
"""Where partitions stand that are about to replace others."""

SOURCES, LISTING = "sources", "listing"
"""Where it is told which files were read, and which there are."""

NO_DAY = "__HIVE_DEFAULT_PARTITION__"
"""How Spark names the folder of rows without a day."""

ASKED = "asked-"
"""How the names of tables begin that say what other settings would have done."""


@dataclass(frozen=True)
class Store:
    """The tables in a folder, as Spark sees it."""

    spark: Any
    path: str
    _known: dict[str, DataFrame] = field(default_factory=dict, compare=False, repr=False)
    """Tables of which it is known where their files are: finding them takes a while."""

    @cached_property
    def marks(self) -> Marks:
        """What is done."""
        return Marks(self.spark, self.path)

    def read(self, table: str) -> DataFrame:
        """A table that is done."""
        if table not in self._known:
            schema = TABLES[table.removeprefix(ASKED)].schema
            reader = self.spark.read.schema(schema)
            self._known[table] = reader.parquet(literal(f"{self.path}/{table}"))
        return self._known[table]

    def write(self, table: str, frame: DataFrame) -> int:
        """Write a table in place of what is there; the number of its rows."""
        return self._counted(self.shaped(table, frame), table, "static")

    def replace(self, table: str, frame: DataFrame) -> None:
        """Write the partitions that a frame has in place of the same of a table.

        The frame may be made of the table: it is written aside first.
        """
        self._write(self.aside(self.shaped(table, frame)), table, "dynamic")

    def aside(self, rows: DataFrame) -> DataFrame:
        """The rows, written; it is there until it is used again."""
        self._write(rows, ASIDE, "static")
        return self.spark.read.schema(rows.schema).parquet(literal(f"{self.path}/{ASIDE}"))

    def update(self, table: str, frame: DataFrame, since: datetime) -> int:
        """Write what a table has from the day of a time on; the number of rows.

        The frame has all rows of these days, and of lines of which no day is known; but of a table
        that tells of cycles it has those from the time on. It may be made of the table, as Spark
        takes away what was there when all is written.
        """
        before = self._files(table)
        rows = self.shaped(table, frame)
        if "cycle" in rows.columns:
            day = self.read(table).where(F.col(PARTITION) == F.lit(since.date()))
            rows = rows.unionByName(day.where(F.col("cycle") < F.lit(since)))
        count = self._counted(rows, table, "dynamic")
        days = {_day_of(file) for file in before & self._files(table)}
        emptied = [day for day in days if day >= since.date().isoformat()]
        if emptied:
            kept = self.read(table).where(~_folder().isin(*emptied))
            self._write(self.aside(kept), table, "static")
        return count

    def _files(self, table: str) -> set[str]:
        return set(self.read(table).inputFiles())

    def compared(
        self, table: str, frame: DataFrame, passing: Sequence[str]
    ) -> tuple[int, datetime]:
        """Write a table in place of what is there; its rows, and since when it is another one.

        What stands in the columns that are `passing` makes no difference.
        """
        rows = self.aside(self.shaped(table, frame))
        kept = [name for name in rows.columns if name not in passing]
        times = [name for name in ("cycle", "at") if name in kept]
        time = F.least(*times) if len(times) > 1 else F.col(times[0])

        def told(of: DataFrame) -> DataFrame:
            return of.select(time.alias("time"), F.to_json(F.struct(*kept)).alias("told"))

        new, old = told(rows), told(self.read(table))
        other = new.exceptAll(old).union(old.exceptAll(new))
        since = first_of(other, "time")
        return self._counted(rows, table, "static"), since

    def sources(self) -> DataFrame:
        """The files that `records` were made of, as `sources.SOURCE`. Errors: Spark's own."""
        return self.spark.read.schema(SOURCE).parquet(literal(f"{self.path}/{SOURCES}"))

    def listing(self, files: DataFrame) -> DataFrame:
        """The files of a history as they are now, and stay in what is returned."""
        return self._kept(files, LISTING)

    def read_from(self, files: DataFrame) -> None:
        """Say which files `records` were made of."""
        self._kept(files, SOURCES)

    def _kept(self, files: DataFrame, folder: str) -> DataFrame:
        files.coalesce(1).write.mode("overwrite").parquet(f"{self.path}/{folder}")
        return self.spark.read.schema(SOURCE).parquet(literal(f"{self.path}/{folder}"))

    def _counted(self, rows: DataFrame, folder: str, mode: str) -> int:
        """Write rows, and tell how many there are."""
        seen = Observation(folder)
        self._write(rows.observe(seen, F.count(F.lit(1)).alias("rows")), folder, mode)
        return int(seen.get["rows"])

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


def _day_of(file: str) -> str:
    """What the folder of a file is named after."""
    return file.split("/")[-2].removeprefix(f"{PARTITION}=")


def _folder() -> Column:
    """What the folder of a row's partition is named after."""
    return F.coalesce(F.col(PARTITION).cast("string"), F.lit(NO_DAY))
