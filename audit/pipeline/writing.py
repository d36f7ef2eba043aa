"""Tables as Parquet files; an interrupted run continues with the next table.

A table is overwritten, then marked as complete with a fingerprint of its input. A table without
such a mark is rebuilt, so that no rows are duplicated. Spark writes everything, because the output
may be in a place that only Spark can write to.
"""

from __future__ import annotations

import json
import re
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from pulsar_conformance.audit.input.by_cluster import ClusterGroup, Renewal
from pulsar_conformance.audit.input.changes import difference
from pulsar_conformance.audit.input.files import InputFile, InputFiles
from pulsar_conformance.audit.input.paths import HIDDEN, LOCAL, is_here, literal
from pulsar_conformance.audit.input.records import shard
from pulsar_conformance.audit.pipeline.marks import DONE, Mark, Marks
from pulsar_conformance.audit.pipeline.tables import TABLES
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

SETTLED = 1_000_000_000
"""Nanoseconds after a file's last change from which on another one has a different time."""

PIECE = 1 << 22
"""Number of bytes that are read at a time."""

Files = Mapping[str, tuple[int, int]]
"""Size and CRC-32 of each file, by its path within the table."""


class Manifests:
    """Manifests of the tables in a folder."""

    def __init__(self, output: str) -> None:
        self._output = Path(output.removeprefix(LOCAL))
        self._seen: dict[tuple[str, int, int], tuple[int, int]] = {}
        """Size and checksum of each file by path, size and time of its last change."""

    @property
    def here(self) -> bool:
        """True if the output is on a local disk."""
        return (self._output / DONE).is_dir()

    def has(self, table: str) -> bool:
        """True if a table has a manifest."""
        return self._path(table).exists()

    def write(self, table: str) -> None:
        """Record a table's current files."""
        if self.here:
            text = json.dumps(self._files_of(table))
            path = self._path(table)
            unfinished = path.with_suffix(".new")
            unfinished.write_text(text, "utf-8")
            unfinished.replace(path)

    def remove(self, table: str) -> None:
        """Remove the manifest of a table that is about to be written."""
        self._path(table).unlink(missing_ok=True)

    def damage(self, table: str) -> str | None:
        """Return how a table's files differ from its manifest; None if they do not."""
        try:
            known = json.loads(self._path(table).read_text("utf-8"))
        except OSError:
            return None
        except ValueError:
            return f"{self._path(table)} is damaged"
        there = self._files_of(table)
        for name, expected in known.items():
            path = self._output / table / name
            if name not in there:
                return f"{path} is missing"
            if list(there[name]) != expected:
                return f"{path} has changed since it was written"
        unknown = next((name for name in there if name not in known), None)
        return unknown and f"{self._output / table / unknown} does not belong to it"

    def _path(self, table: str) -> Path:
        return self._output / DONE / f"_files-{table}.json"

    def _files_of(self, table: str) -> Files:
        found, folder = {}, self._output / table
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            if path.is_file() and not any(part.startswith(HIDDEN) for part in name.parts):
                known = path.stat()
                key = (str(path), known.st_size, known.st_mtime_ns)
                found[str(name)] = self._seen.get(key) or _checksum(path)
                if time.time_ns() - known.st_mtime_ns > SETTLED:
                    self._seen[key] = found[str(name)]
        return found


def _checksum(path: Path) -> tuple[int, int]:
    size = crc = 0
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            size, crc = size + len(piece), zlib.crc32(piece, crc)
    return size, crc


PARTITION = "day"
"""Partition column; a history has a folder for each day. Measured, an audit of 108 small clusters
takes a third of the time that it would take with a folder for each cluster.
"""
SHARD = "shard"
"""Second partition column of a large history: each file of a day holds some of the clusters."""

SHARDS = 64
"""Number of such partitions of a day."""

ASIDE = "aside"
"""Folder for partitions that are about to replace those of a table."""

RECORDS = "records"
SOURCES = "sources"
"""Folder for the list of files that were read."""

PER_PART = 2_000
"""Number of files in a part of that list where Spark writes it."""

NO_DAY = "__HIVE_DEFAULT_PARTITION__"
"""Spark's name of the folder of rows without a day."""

ASKED, DOCUMENTED = "asked-", "documented-"
"""Prefixes for names of tables: for other settings, and for the documents of a release."""


def base_name(table: str) -> str:
    """Return a table's name without prefix."""
    return table.removeprefix(ASKED).removeprefix(DOCUMENTED)


@dataclass(frozen=True)
class Store:
    """The tables in a folder, accessed through Spark."""

    spark: Any
    path: str
    in_one: bool = False
    """True if a table is read as one partition."""

    shards: int = 1
    """Number of partitions of a day."""

    _known: dict[str, DataFrame] = field(default_factory=dict, compare=False, repr=False)
    """Tables whose files have been listed, which takes time."""

    @cached_property
    def marks(self) -> Marks:
        """The marks of complete tables."""
        return Marks(self.spark, self.path)

    @cached_property
    def manifests(self) -> Manifests:
        """The manifests of complete tables."""
        return Manifests(self.path)

    def damage(self, table: str, mark: Mark) -> str | None:
        """Return why a complete table cannot be trusted, or None.

        If this process has no list of its files, only its rows are counted.
        """
        if self.manifests.has(table):
            return self.manifests.damage(table)
        if mark.before:
            return None
        try:
            count = self.read(table).count()
        except PySparkException as error:
            return str(error.getCondition())
        return None if count == mark.rows else f"it has {count} rows instead of {mark.rows}"

    def read(self, table: str, part: ClusterGroup | None = None) -> DataFrame:
        """Return a complete table, or the rows of some clusters."""
        if part is None:
            return self._files(table).drop(SHARD)
        return part.of(self._around(table, part))

    def _around(self, table: str, part: ClusterGroup) -> DataFrame:
        """Return the rows in those partitions of each day that some clusters share with others."""
        rows = self._files(table)
        if self.shards > 1 and not part.others:
            places = {zlib.crc32(name.encode()) % self.shards for name in part.clusters}
            rows = rows.where(F.isnull(SHARD) | F.col(SHARD).isin(*places))
        return rows.drop(SHARD)

    def _files(self, table: str) -> DataFrame:
        """Return a table with its partition columns."""
        if table not in self._known:
            schema = TABLES[base_name(table)].schema
            reader = self.spark.read.schema(schema + (f", {SHARD} int" if self.shards > 1 else ""))
            rows = reader.parquet(literal(f"{self.path}/{table}"))
            self._known[table] = rows.coalesce(1) if self.in_one else rows
        return self._known[table]

    def forget(self, table: str) -> None:
        """Drop the cached file list of a table that was written."""
        self._known.pop(table, None)

    def write(self, table: str, frame: DataFrame, *observed: Column) -> Mapping[str, Any]:
        """Overwrite a table; return its number of `rows` and other aggregates."""
        rows = self.shaped(table, frame)
        if self.shards > 1 and table != RECORDS:
            rows = self._together(rows)
        return self._observed(rows, table, "static", _count(), *observed)

    def _together(self, rows: DataFrame) -> DataFrame:
        """Put each day partition's rows into no more tasks than are busy anyway."""
        files = self._files(RECORDS).inputFiles()
        filled = len({place for file in files for place in re.findall(rf"/{SHARD}=(\w+)", file)})
        tasks = int(self.spark.conf.get("spark.sql.shuffle.partitions"))
        spread = F.pmod(F.xxhash64(*_plain(rows)), F.lit(max(1, tasks // max(1, filled))))
        return rows.repartition(F.col(PARTITION), shard(self.shards), spread)

    def replace(self, table: str, frame: DataFrame) -> None:
        """Overwrite the partitions of a table that a frame contains.

        The frame may read the same table: it is first written to a separate folder.
        """
        self._write(self._aside(table, self.shaped(table, frame)), table, "dynamic")

    def _aside(self, table: str, rows: DataFrame) -> DataFrame:
        """Write a table's new rows to a separate folder; return them as read from there."""
        folder = f"{ASIDE}/{table}"
        self._write(rows, folder, "static")
        there = self.spark.read.schema(rows.schema).parquet(literal(f"{self.path}/{folder}"))
        return there.drop(SHARD)

    def update(self, table: str, frame: DataFrame, change: Renewal) -> int:
        """Rewrite the changed part of a table; return the number of rows in rewritten days.

        The frame has all rows of changed days, and the rows without a day; for a table of cycles,
        only rows from the time of the change on. It may read the same table, because Spark removes
        old files last.
        """
        rows = self.shaped(table, frame)
        time = "cycle" if "cycle" in rows.columns else PARTITION
        return self._renew(table, rows, change, time)

    def _renew(self, table: str, rows: DataFrame, change: Renewal, time: str) -> int:
        """Rewrite the days on which rows change, and the rows without a day."""
        own, folder = self._around(table, change.every), self._folder()
        there = change.from_day(own).select(folder.alias("folder")).distinct()
        before = {row["folder"] for row in there.collect()}
        folders = F.collect_set(folder).alias("folders")
        rows = rows.unionByName(change.kept(own, time))
        told = self._observed(rows, table, "dynamic", _count(), folders)
        emptied = before - set(told["folders"])
        if emptied:
            kept = self.read(table).where(~folder.isin(*emptied))
            self._write(self._aside(table, kept), table, "static")
        return int(told["rows"])

    def update_compared(
        self, table: str, frame: DataFrame, own: DataFrame, ignored: Sequence[str]
    ) -> tuple[int, Renewal]:
        """Rewrite all days from the first changed one; return their row count and the changes.

        `own` are the current rows of the same clusters. Changes in `ignored` columns are written,
        but do not count for the returned times.
        """
        rows = self.shaped(table, frame).localCheckpoint()
        found = difference(rows, own, ignored)
        if not found.any:
            return 0, found.any
        count = self._renew(table, found.any.from_day(rows), found.any, PARTITION)
        return count, found.relevant

    def sources(self) -> InputFiles | None:
        """Return the files from which `records` was read; None if the list is damaged."""
        if not is_here(self.spark, self.path):
            rows = self.spark.read.text(literal(f"{self.path}/{SOURCES}")).toLocalIterator()
            return _sources_of(row["value"] for row in rows)
        try:
            return _sources_of(self._list_of_sources.read_text("utf-8").splitlines())
        except OSError:
            return None

    def read_from(self, there: InputFiles) -> None:
        """Store the list of files from which `records` was read."""
        lines = [json.dumps(one) for one in there.kinds]
        lines.append(there.fingerprint)
        if not is_here(self.spark, self.path):
            rows = self.spark.createDataFrame([(line,) for line in lines], "line string")
            parts = rows.repartition(1 + len(lines) // PER_PART)
            parts.write.mode("overwrite").text(f"{self.path}/{SOURCES}")
            return
        self._list_of_sources.parent.mkdir(parents=True, exist_ok=True)
        self._list_of_sources.write_text("\n".join(lines), "utf-8")

    @property
    def _list_of_sources(self) -> Path:
        return Path(self.path.removeprefix(LOCAL)) / SOURCES / "files.jsonl"

    def _observed(
        self, rows: DataFrame, folder: str, mode: str, *aggregates: Column
    ) -> Mapping[str, Any]:
        """Write rows; return aggregates over them."""
        seen = Observation(folder)
        self._write(rows.observe(seen, *aggregates), folder, mode)
        return dict(seen.get)

    def _write(self, rows: DataFrame, folder: str, mode: str) -> None:
        self.forget(folder)
        columns = [PARTITION]
        if self.shards > 1:
            columns.append(SHARD)
            rows = rows.withColumn(SHARD, shard(self.shards))
        ordered = rows.sortWithinPartitions(*columns, "cluster")
        writer = ordered.write.mode("overwrite").option("partitionOverwriteMode", mode)
        writer.partitionBy(*columns).parquet(f"{self.path}/{folder}")

    def _folder(self) -> Column:
        """Return the names of a row's folders."""
        own = F.coalesce(F.col(PARTITION).cast("string"), F.lit(NO_DAY))
        return F.concat_ws("/", own, shard(self.shards)) if self.shards > 1 else own

    def shaped(self, table: str, frame: DataFrame) -> DataFrame:
        """Return a frame with a table's columns, in order and with their types."""
        schema = TABLES[base_name(table)].schema
        fields = StructType.fromDDL(schema)
        return frame.select(*(F.col(one.name).cast(one.dataType) for one in fields))


def _sources_of(lines: Iterable[str]) -> InputFiles | None:
    """Parse a list of files; None if its fingerprint belongs to other files."""
    try:
        *files, fingerprint = sorted(lines, key=lambda line: not line.startswith("["))
        found = InputFiles({InputFile(*json.loads(file)): "" for file in files})
    except (ValueError, TypeError):
        return None
    return found if found.fingerprint == fingerprint else None


def from_day(rows: DataFrame, since: datetime) -> DataFrame:
    """Return a table's rows from the day of a time on, and those without a day."""
    day = F.col(PARTITION)
    return rows.where(day.isNull() | (day >= F.lit(since.date())))


def _count() -> Column:
    return F.count(F.lit(1)).alias("rows")


def _plain(rows: DataFrame) -> list[str]:
    """Return the columns that distinguish a cluster's rows, except nested ones."""
    return [name for name in ("at", "cycle", "moment", "broker", "bundle") if name in rows.columns]
