"""Tables as Parquet files; an interrupted run continues with the next table.

A table is overwritten, and then marked as complete with a fingerprint of its input. A table without
a mark is rebuilt, so no rows are duplicated. Spark writes all files, because the output may be in a
place to which only Spark can write.
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

from pulsar_conformance.audit.input.by_cluster import ClusterGroup, RebuildTimes
from pulsar_conformance.audit.input.changes import compare_tables
from pulsar_conformance.audit.input.files import InputFile, InputFiles
from pulsar_conformance.audit.input.paths import HIDDEN, LOCAL, can_open_path, escape_pattern
from pulsar_conformance.audit.input.records import shard_number
from pulsar_conformance.audit.pipeline.marks import DONE, Mark, Marks
from pulsar_conformance.audit.pipeline.tables import GOLD, TABLES
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

SETTLED_FILE_AGE = 1_000_000_000
"""Age in nanoseconds from which on a change of a file certainly alters its modification time."""

BYTES_READ_AT_ONCE = 1 << 22
"""Number of bytes of a file that are read at a time."""

Files = Mapping[str, tuple[int, int]]
"""Size and CRC-32 of each file of a table, by its path within the table."""


class Manifests:
    """The list of files of each table in a folder, which shows whether files were changed later."""

    def __init__(self, output: str) -> None:
        self._output = Path(output.removeprefix(LOCAL))
        self._seen: dict[tuple[str, int, int], tuple[int, int]] = {}
        """Size and checksum of each file, by its path, its size and the time of its last change."""

    @property
    def here(self) -> bool:
        """True if the output is on a local disk and has marks."""
        return (self._output / DONE).is_dir()

    def has(self, table: str) -> bool:
        """True if a table has a manifest."""
        return self._path(table).exists()

    def write(self, table: str) -> None:
        """Record the current files of a table."""
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
        """Return the first difference between a table's files and its manifest, or None."""
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
        return unknown and f"{self._output / table / unknown} is not one of its files"

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
                if time.time_ns() - known.st_mtime_ns > SETTLED_FILE_AGE:
                    self._seen[key] = found[str(name)]
        return found


def _checksum(path: Path) -> tuple[int, int]:
    size = crc = 0
    with path.open("rb") as file:
        while piece := file.read(BYTES_READ_AT_ONCE):
            size, crc = size + len(piece), zlib.crc32(piece, crc)
    return size, crc


PARTITION = "day"
"""Partition column: a table has a folder for each day.

With a folder for each cluster instead, an audit of 108 small clusters takes three times as long.
"""
SHARD = "shard"
"""Second partition column of the tables of a large history; each value stands for some of the
clusters.
"""

SHARDS = 64
"""Number of partitions of each day in a large history."""

NEW_PARTITIONS_FOLDER = "aside"
"""Folder of new partitions until they replace those of a table."""

RECORDS = "records"
SOURCES = "sources"
"""Folder of the list of files from which `records` was built."""

LINES_PER_PART = 2_000
"""Number of lines per file of the list of sources, if Spark writes it."""

NO_DAY = "__HIVE_DEFAULT_PARTITION__"
"""Spark's name for the folder of rows without a day."""

ASKED, DOCUMENTED = "asked-", "documented-"
"""Prefixes of the names of tables for other settings and for the documents of a release."""


def base_name(table: str) -> str:
    """Return the name of a table without its prefix."""
    return table.removeprefix(ASKED).removeprefix(DOCUMENTED)


@dataclass(frozen=True)
class Store:
    """Reads and writes the tables in a folder with Spark."""

    spark: Any
    path: str
    in_one: bool = False
    """True if each table is one partition, which stays in memory after it was built."""

    shards: int = 1
    """Number of partitions of each day."""

    _known: dict[str, DataFrame] = field(default_factory=dict, compare=False, repr=False)
    """Data frames of tables, by name, kept so that rows or lists of files are not read again."""

    @cached_property
    def marks(self) -> Marks:
        """The marks of complete tables."""
        return Marks(self.spark, self.path)

    @cached_property
    def manifests(self) -> Manifests:
        """The manifests of complete tables."""
        return Manifests(self.path)

    def damage(self, table: str, mark: Mark) -> str | None:
        """Return how the files of a complete table are damaged; None if they are not.

        Without a manifest, only the number of rows is compared, or nothing after a partial build.
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
        """Return the rows of a complete table: of all clusters, or only of some clusters."""
        if part is None:
            return self._without_shard(self._with_partition_columns(table))
        return part.select(self._partitions_of(table, part))

    def _partitions_of(self, table: str, part: ClusterGroup) -> DataFrame:
        """Return the rows in all partitions that may contain rows of these clusters."""
        rows = self._with_partition_columns(table)
        if self.shards > 1 and not part.others:
            places = {zlib.crc32(name.encode()) % self.shards for name in part.clusters}
            rows = rows.where(F.isnull(SHARD) | F.col(SHARD).isin(*places))
        return self._without_shard(rows)

    def _without_shard(self, rows: DataFrame) -> DataFrame:
        """Return rows without the second partition column, which only a large history has."""
        return rows.drop(SHARD) if self.shards > 1 else rows

    def _with_partition_columns(self, table: str) -> DataFrame:
        """Return the rows of a table with their partition columns."""
        if table not in self._known:
            schema = TABLES[base_name(table)].schema
            reader = self.spark.read.schema(schema + (f", {SHARD} int" if self.shards > 1 else ""))
            rows = reader.parquet(escape_pattern(f"{self.path}/{table}"))
            self._known[table] = rows.coalesce(1) if self.in_one else rows
        return self._known[table]

    def forget(self, table: str) -> None:
        """Forget a table's list of files and its rows in memory, after the table was written."""
        self._known.pop(table, None)

    def keep(self, table: str, frame: DataFrame) -> DataFrame:
        """Return the new rows of a table with the table's columns.

        If all rows are one partition, they are computed only once, when first needed. From now on,
        `read` returns them from memory, even before they are written.
        """
        self.forget(table)
        rows = self.with_table_columns(table, frame)
        if self.in_one:
            rows = rows.coalesce(1).localCheckpoint(eager=False)
            self._known[table] = rows
        return rows

    def write(self, table: str, rows: DataFrame, *observed: Column) -> Mapping[str, Any]:
        """Overwrite a table with rows from `keep`; return their number and the values of other
        aggregates.
        """
        if self.shards > 1 and table != RECORDS:
            rows = self._with_few_tasks(rows)
        return self._write_observed(rows, table, "static", _row_count(), *observed)

    def _with_few_tasks(self, rows: DataFrame) -> DataFrame:
        """Spread the rows of each day over the tasks that run at a time.

        The rows of each shard of a day are spread over an equal number of tasks.
        """
        files = self._with_partition_columns(RECORDS).inputFiles()
        filled = len({place for file in files for place in re.findall(rf"/{SHARD}=(\w+)", file)})
        tasks = int(self.spark.conf.get("spark.sql.shuffle.partitions"))
        spread = F.pmod(F.xxhash64(*_plain_columns(rows)), F.lit(max(1, tasks // max(1, filled))))
        return rows.repartition(F.col(PARTITION), shard_number(self.shards), spread)

    def replace(self, table: str, frame: DataFrame) -> None:
        """Overwrite those partitions of a table for which the frame has rows.

        The frame may be computed from the same table, so it is first written to a separate folder.
        """
        rows = self._write_aside(table, self.with_table_columns(table, frame))
        self._write(rows, table, "dynamic")
        self.forget(table)

    def _write_aside(self, table: str, rows: DataFrame) -> DataFrame:
        """Write new rows of a table to a separate folder; return the rows as read from there."""
        folder = f"{NEW_PARTITIONS_FOLDER}/{table}"
        self._write(rows, folder, "static")
        there = self.spark.read.schema(rows.schema).parquet(escape_pattern(f"{self.path}/{folder}"))
        return there.drop(SHARD)

    def update(self, table: str, frame: DataFrame, change: RebuildTimes) -> int:
        """Rewrite the changed part of a table; return the number of rows on the rewritten days.

        `frame` has all rows of changed days and the rows without a day. For a table of cycles, it
        has only the rows from the time of the change on. It may be computed from the same table,
        because Spark removes old files last.
        """
        rows = self.with_table_columns(table, frame)
        time = "cycle" if "cycle" in rows.columns else PARTITION
        return self._rewrite_days(table, rows, change, time)

    def _rewrite_days(self, table: str, rows: DataFrame, change: RebuildTimes, time: str) -> int:
        """Rewrite the days on which rows change, and the rows without a day; return the number of
        rewritten rows.
        """
        own, folder = self._partitions_of(table, change.all_clusters), self._folder_column()
        there = change.from_day(own).select(folder.alias("folder")).distinct()
        before = {row["folder"] for row in there.collect()}
        folders = F.collect_set(folder).alias("folders")
        rows = rows.unionByName(change.unchanged_rows(own, time))
        told = self._write_observed(rows, table, "dynamic", _row_count(), folders)
        self.forget(table)
        emptied = before - set(told["folders"])
        if emptied:
            kept = self.read(table).where(~folder.isin(*emptied))
            self._write(self._write_aside(table, kept), table, "static")
            self.forget(table)
        return int(told["rows"])

    def update_compared(
        self, table: str, frame: DataFrame, own: DataFrame, ignored: Sequence[str]
    ) -> tuple[int, RebuildTimes]:
        """Rewrite all days from the first changed one on; return the number of rows and the first
        changes.

        `own` are the current rows of the same clusters. Changes in `ignored` columns are written,
        but do not count as first changes.
        """
        rows = self.with_table_columns(table, frame).localCheckpoint()
        found = compare_tables(rows, own, ignored)
        if not found.any:
            return 0, found.any
        count = self._rewrite_days(table, found.any.from_day(rows), found.any, PARTITION)
        return count, found.relevant

    def sources(self) -> InputFiles | None:
        """Return the files from which `records` was built; None if the list of them is damaged."""
        if not can_open_path(self.spark, self.path):
            rows = self.spark.read.text(escape_pattern(f"{self.path}/{SOURCES}")).toLocalIterator()
            return _parse_sources(row["value"] for row in rows)
        try:
            return _parse_sources(self._list_of_sources.read_text("utf-8").splitlines())
        except OSError:
            return None

    def store_sources(self, there: InputFiles) -> None:
        """Store the list of files from which `records` is built."""
        lines = [json.dumps(one) for one in there.kinds]
        lines.append(there.fingerprint)
        if not can_open_path(self.spark, self.path):
            rows = self.spark.createDataFrame([(line,) for line in lines], "line string")
            parts = rows.repartition(1 + len(lines) // LINES_PER_PART)
            parts.write.mode("overwrite").text(f"{self.path}/{SOURCES}")
            return
        self._list_of_sources.parent.mkdir(parents=True, exist_ok=True)
        self._list_of_sources.write_text("\n".join(lines), "utf-8")

    @property
    def _list_of_sources(self) -> Path:
        return Path(self.path.removeprefix(LOCAL)) / SOURCES / "files.jsonl"

    def _write_observed(
        self, rows: DataFrame, folder: str, mode: str, *aggregates: Column
    ) -> Mapping[str, Any]:
        """Write rows to a folder; return the values of aggregates over them."""
        seen = Observation(folder)
        self._write(rows.observe(seen, *aggregates), folder, mode)
        return dict(seen.get)

    def _write(self, rows: DataFrame, folder: str, mode: str) -> None:
        columns = [PARTITION]
        if self.shards > 1:
            columns.append(SHARD)
            rows = rows.withColumn(SHARD, shard_number(self.shards))
        ordered = rows.sortWithinPartitions(*columns, "cluster")
        writer = ordered.write.mode("overwrite").option("partitionOverwriteMode", mode)
        writer.partitionBy(*columns).parquet(f"{self.path}/{folder}")

    def _folder_column(self) -> Column:
        """Return a column with the path of the folder to which a row belongs."""
        own = F.coalesce(F.col(PARTITION).cast("string"), F.lit(NO_DAY))
        return F.concat_ws("/", own, shard_number(self.shards)) if self.shards > 1 else own

    def with_table_columns(self, table: str, frame: DataFrame) -> DataFrame:
        """Return a frame with the columns of a table, in their order and with their types.

        A row of a gold table belongs to the day of its cycle or, without a cycle, of its event.
        """
        own = base_name(table)
        fields = StructType.fromDDL(TABLES[own].schema)
        columns = {one.name: F.col(one.name).cast(one.dataType) for one in fields}
        if own in GOLD:
            time = F.coalesce("cycle", "at") if "at" in columns else F.col("cycle")
            columns[PARTITION] = F.to_date(time).alias(PARTITION)
        return frame.select(*columns.values())


def _parse_sources(lines: Iterable[str]) -> InputFiles | None:
    """Return the listed files; None if the list is damaged or has a fingerprint of other files."""
    try:
        *files, fingerprint = sorted(lines, key=lambda line: not line.startswith("["))
        found = InputFiles({InputFile(*json.loads(file)): "" for file in files})
    except (ValueError, TypeError):
        return None
    return found if found.fingerprint == fingerprint else None


def from_day(rows: DataFrame, since: datetime) -> DataFrame:
    """Return the rows on the day of `since` or later, and the rows without a day."""
    day = F.col(PARTITION)
    return rows.where(day.isNull() | (day >= F.lit(since.date())))


def _row_count() -> Column:
    return F.count(F.lit(1)).alias("rows")


def _plain_columns(rows: DataFrame) -> list[str]:
    """Return the columns that are not nested and that together identify a row within a cluster."""
    return [name for name in ("at", "cycle", "moment", "broker", "bundle") if name in rows.columns]
