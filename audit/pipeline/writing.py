"""Tables as Parquet, each whole or to be made again: a run that was stopped goes on where it was.

A table is written in place of what is there, and then marked as done with a fingerprint of all
that it was made from. What has no such mark is made anew, so that nothing is there twice.
Everything is written by Spark: it is where Spark is, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from pulsar_conformance.audit.input.differences import difference
from pulsar_conformance.audit.input.paths import literal
from pulsar_conformance.audit.input.sources import NEVER, SOURCE
from pulsar_conformance.audit.pipeline.marks import Marks
from pulsar_conformance.audit.pipeline.tables import TABLES
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

PARTITION = "day"
"""What files are kept apart by: a fleet's history has as many folders as it has days. Measured, an
audit of 108 small clusters takes a third of the time that it takes with a folder for each.
"""
ASIDE = "aside"
"""Where partitions of each table stand that are about to replace others."""

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
    in_one: bool = False
    """Whether a table is read as one part."""

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
            rows = reader.parquet(literal(f"{self.path}/{table}"))
            self._known[table] = rows.coalesce(1) if self.in_one else rows
        return self._known[table]

    def forget(self, table: str) -> None:
        """It has been written: where its files are has to be found anew."""
        self._known.pop(table, None)

    def write(self, table: str, frame: DataFrame) -> int:
        """Write a table in place of what is there; the number of its rows."""
        told = self._observed(self.shaped(table, frame), table, "static", _count())
        return int(told["rows"])

    def replace(self, table: str, frame: DataFrame) -> None:
        """Write the partitions that a frame has in place of the same of a table.

        The frame may be made of the table: it is written aside first.
        """
        self._write(self._aside(table, self.shaped(table, frame)), table, "dynamic")

    def _aside(self, table: str, rows: DataFrame) -> DataFrame:
        """Rows that are for a table, written; they are there until others are."""
        folder = f"{ASIDE}/{table}"
        self._write(rows, folder, "static")
        return self.spark.read.schema(rows.schema).parquet(literal(f"{self.path}/{folder}"))

    def update(self, table: str, frame: DataFrame, since: datetime) -> int:
        """Write what a table has from the day of a time on; the number of rows.

        The frame has all rows of these days, and of lines of which no day is known; but of a table
        that tells of cycles it has those from the time on. It may be made of the table, as Spark
        takes away what was there when all is written.
        """
        rows = self.shaped(table, frame)
        if "cycle" in rows.columns:
            day = self.read(table).where(F.col(PARTITION) == F.lit(since.date()))
            rows = rows.unionByName(day.where(F.col("cycle") < F.lit(since)))
        return self._renew(table, rows, since)

    def _renew(self, table: str, rows: DataFrame, since: datetime) -> int:
        """Write all rows of the days from that of a time on, and without a day; their number."""
        there = from_day(self.read(table), since).select(_folder().alias("folder")).distinct()
        before = {row["folder"] for row in there.collect()}
        folders = F.collect_set(_folder()).alias("folders")
        told = self._observed(rows, table, "dynamic", _count(), folders)
        emptied = before - set(told["folders"])
        if emptied:
            kept = self.read(table).where(~_folder().isin(*emptied))
            self._write(self._aside(table, kept), table, "static")
        return int(told["rows"])

    def compared(
        self, table: str, frame: DataFrame, passing: Sequence[str]
    ) -> tuple[int, datetime]:
        """Write the days of a table from the first on that is another one, and tell how many rows
        they have, and since when the table is another one.

        What stands in the columns that are `passing` is written, and makes no difference else.
        """
        rows = self.shaped(table, frame).localCheckpoint()
        found = difference(rows, self.read(table), passing)
        if found.any == NEVER:
            return 0, NEVER
        return self._renew(table, from_day(rows, found.any), found.any), found.telling

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

    def _observed(
        self, rows: DataFrame, folder: str, mode: str, *told: Column
    ) -> Mapping[str, Any]:
        """Write rows, and tell of them what is asked."""
        seen = Observation(folder)
        self._write(rows.observe(seen, *told), folder, mode)
        return dict(seen.get)

    def _write(self, rows: DataFrame, folder: str, mode: str) -> None:
        self.forget(folder)
        ordered = rows.sortWithinPartitions(PARTITION, "cluster")
        writer = ordered.write.mode("overwrite").option("partitionOverwriteMode", mode)
        writer.partitionBy(PARTITION).parquet(f"{self.path}/{folder}")

    def shaped(self, table: str, frame: DataFrame) -> DataFrame:
        """A frame with the columns of a table in their order and types."""
        schema = TABLES[table.removeprefix(ASKED)].schema
        fields = StructType.fromDDL(schema)
        return frame.select(*(F.col(one.name).cast(one.dataType) for one in fields))


def from_day(rows: DataFrame, since: datetime) -> DataFrame:
    """The rows of a table from the day of a time on, and those without a day."""
    day = F.col(PARTITION)
    return rows.where(day.isNull() | (day >= F.lit(since.date())))


def _count() -> Column:
    return F.count(F.lit(1)).alias("rows")


def _folder() -> Column:
    """What the folder of a row's partition is named after."""
    return F.coalesce(F.col(PARTITION).cast("string"), F.lit(NO_DAY))
