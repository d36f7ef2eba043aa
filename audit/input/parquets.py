"""Parquet files as lines of JSON, so that all formats are parsed in the same way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

from pulsar_conformance.audit.input.files import (
    PARQUET,
    FileSelection,
    Paths,
    Session,
    is_among,
    kind_column,
)
from pulsar_conformance.audit.input.paths import LOCAL, escape_pattern
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql import types as T

AS_TEXT = ("line", "value")
"""Names of columns that may hold a whole record as JSON text."""

ACCOMPANYING_COLUMNS = frozenset(
    {"key", "topic", "partition", "offset", "timestamp", "timestampType", "timestamp_type"}
    | {"headers", "date", "hour"}
)
"""Columns that may be beside a column with complete records.

Kafka connectors write such columns, and partitions by time are among them.
"""

NESTED = ("report", "data", "owners", "settings", "into", "members")
"""Fields of a record that may be JSON text instead of a structure."""

PARQUET_GLOB = "*" + "".join(f"[{one}{one.upper()}]" for one in PARQUET)
"""Glob pattern of the names of Parquet files, in upper or lower case."""

JSON_WRITER_OPTIONS = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
"""Option of the JSON writer that gives the format of times. Times without a zone count as UTC."""

TIME, CLUSTER = "at", "cluster"
NANOSECONDS = "spark.sql.legacy.parquet.nanosAsLong"
"""Setting of Spark that lets it read files with times in nanoseconds, as integers."""

EARLIEST_NANOSECONDS = 10**18
"""Smallest integer that is taken as nanoseconds since 1970: a time in 2001."""

CHECKED_FILE_COLUMNS = "file string, path string, schema string, rows bigint"
"""Columns about a checked file.

Files with equal columns have an equal `schema`; it is null for a damaged file.
"""

DAMAGED = "damaged-parquet"


def parquet_lines(spark: Session, path: Paths, files: FileSelection = None) -> DataFrame:
    """Return the columns `file`, `line` and `damage` for all Parquet files at a path.

    If Spark can open all files together, they count as intact; otherwise each is checked.
    """
    spark.conf.set(NANOSECONDS, "true")
    try:
        return _json_lines(_open_together(spark, path).where(is_among(files)))
    except Exception as error:
        if not is_about_files(error):
            raise
        return checked_parquet_lines(spark, path, files)


def checked_parquet_lines(spark: Session, path: Paths, files: FileSelection = None) -> DataFrame:
    """Read each Parquet file to its end, and return the columns `file`, `line` and `damage`.

    A file that is damaged, or has columns that Spark cannot read, becomes one row with `damage`.
    """
    spark.conf.set(NANOSECONDS, "true")
    wanted = _parquet_files(spark, path).where(is_among(files))
    checked = wanted.mapInArrow(file_checker(), CHECKED_FILE_COLUMNS)
    by_schema: defaultdict[str | None, list[Row]] = defaultdict(list)
    for row in checked.toLocalIterator():
        by_schema[row["schema"]].append(row)
    unusable = [row["file"] for row in by_schema.pop(None, [])]
    parts = []
    for alike in by_schema.values():
        readable = _readable_paths(spark, alike)
        if readable:
            parts.append(_json_lines(spark.read.parquet(*map(escape_pattern, readable))))
        unusable += [row["file"] for row in alike if row["rows"] and row["path"] not in readable]
    if unusable or not parts:
        rows = [(file, "", DAMAGED) for file in unusable]
        parts.append(spark.createDataFrame(rows, "file string, line string, damage string"))
    return reduce(DataFrame.unionByName, parts)


NOT_FILES = (
    "OutOfMemoryError",
    "No space left",
    "UNAVAILABLE",
    "Py4JNetworkError",
    "stopped SparkContext",
)
"""Strings in the messages of errors that are not caused by a file."""


def is_about_files(error: Exception) -> bool:
    """True if an error is about a file that is damaged or has columns that Spark cannot read.

    False for any other error, such as a lost Java process, lack of memory or a bug.
    """
    of_spark = type(error).__module__.partition(".")[0] in ("pyspark", "py4j")
    text = f"{type(error).__name__}: {error}"
    return of_spark and not any(sign in text for sign in NOT_FILES)


def _parquet_files(spark: Session, path: Paths) -> DataFrame:
    """Return a row per Parquet file. It includes the file's content if only Spark can open the
    file.
    """
    rows = spark.read.format("binaryFile").option("recursiveFileLookup", True).load(path)
    file = F.col("_metadata.file_path")
    content = F.when(~file.startswith(LOCAL), F.col("content"))
    return rows.where(kind_column() == "parquet").select(
        file.alias("file"), "path", content.alias("content")
    )


def file_checker() -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a function that reads files to their end, given Arrow batches of their paths.

    Spark sends the function to its workers. This project need not be installed there, so the
    function uses none of its code.
    """
    local, names = LOCAL, ("file", "path", "schema", "rows")

    def check(batches: Iterator[Any]) -> Iterator[Any]:
        import io

        import pyarrow as pa
        import pyarrow.parquet as pq

        types = (pa.string(), pa.string(), pa.string(), pa.int64())
        for row in (row for batch in batches for row in batch.to_pylist()):
            path = row["path"].removeprefix(local)
            schema, count = None, 0
            try:
                source = path if row["content"] is None else io.BytesIO(row["content"])
                with pq.ParquetFile(source, page_checksum_verification=True) as file:
                    count = sum(batch.num_rows for batch in file.iter_batches())
                    schema = str(file.schema_arrow.remove_metadata())
            except (pa.ArrowException, OSError, ValueError):
                schema = None
            values = (row["file"], row["path"], schema, count)
            columns = [pa.array([one], type_) for one, type_ in zip(values, types, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, names)

    return check


def _readable_paths(spark: Session, files: Sequence[Row]) -> set[str]:
    """Return the paths of the files that Spark can read to their end.

    All these files must have the same columns.
    """
    reader = spark.read.option("ignoreCorruptFiles", True)
    try:
        lines = _json_lines(reader.parquet(*(escape_pattern(one["path"]) for one in files)))
        each = lines.groupBy("file").agg(
            F.count(F.lit(1)).alias("rows"), F.bit_xor(F.xxhash64("line")).alias("read")
        )
        read = {one["file"]: one["rows"] for one in each.collect()}
    except Exception as error:
        if not is_about_files(error):
            raise
        return set()
    return {one["path"] for one in files if read.get(one["file"]) == one["rows"]}


def _open_together(spark: Session, path: Paths) -> DataFrame:
    reader = spark.read.option("recursiveFileLookup", True).option("mergeSchema", True)
    paths = [path] if isinstance(path, str) else path
    return reader.option("pathGlobFilter", PARQUET_GLOB).parquet(*paths)


def _json_lines(frame: DataFrame) -> DataFrame:
    file, nothing = F.col("_metadata.file_path").alias("file"), F.lit(None).cast("string")
    return frame.select(file, _json_line(frame.schema).alias("line"), nothing.alias("damage"))


def _json_line(schema: T.StructType) -> Column:
    """Format a row as a line of JSON."""
    names = {field.name for field in schema}
    for name in AS_TEXT:
        if name in names and names - {name} <= ACCOMPANYING_COLUMNS:
            return F.col(name).cast("string")
    fields = [_json_field(field).alias(field.name) for field in schema]
    if CLUSTER not in [field.name for field in schema]:
        fields.append(F.nullif(_cluster_of_folder(), F.lit("")).alias(CLUSTER))
    return F.to_json(F.struct(*fields), JSON_WRITER_OPTIONS)


def _cluster_of_folder() -> Column:
    """Return the cluster that the path of a partitioned table names; empty if it names none."""
    return F.url_decode(F.regexp_extract("_metadata.file_path", rf"/{CLUSTER}=([^/]+)/", 1))


def _json_field(field: T.StructField) -> Column:
    value = F.col("`{}`".format(field.name.replace("`", "``")))
    if isinstance(field.dataType, T.TimestampNTZType):
        return value.cast("timestamp")
    if isinstance(field.dataType, T.BinaryType):
        return value.cast("string")
    if field.name == TIME and isinstance(field.dataType, T.LongType):
        time = F.timestamp_micros(F.floor(value / 1000))
        text = F.to_csv(F.struct(time), JSON_WRITER_OPTIONS)
        return F.when(value >= EARLIEST_NANOSECONDS, text).otherwise(value.cast("string"))
    if field.name in NESTED and isinstance(field.dataType, T.StringType):
        return F.coalesce(F.try_parse_json(value), value.cast("variant"))
    return value
