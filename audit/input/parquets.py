"""Parquet files, converted to lines of JSON so that all formats are parsed in the same way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

from pulsar_conformance.audit.input.files import PARQUET, Paths, Session, Some, among, kind
from pulsar_conformance.audit.input.paths import LOCAL, literal
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql import types as T

AS_TEXT = ("line", "value")
"""Names of the column of files that contain a record as JSON text in each row."""

BESIDE = frozenset(
    {"key", "topic", "partition", "offset", "timestamp", "timestampType", "timestamp_type"}
    | {"headers", "date", "hour"}
)
"""Further columns that Kafka connectors write, and columns of partitions by time."""

NESTED = ("report", "data", "owners", "settings", "into", "members")
"""Fields that a file may contain as JSON text."""

EVERY = "*" + "".join(f"[{one}{one.upper()}]" for one in PARQUET)
"""Pattern of the names of Parquet files."""

WRITTEN = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
"""Format of times as text; times without a zone are in UTC."""

TIME, CLUSTER = "at", "cluster"
NANOSECONDS = "spark.sql.legacy.parquet.nanosAsLong"
"""Spark's setting that makes files with times in nanoseconds readable."""

LEAST = 10**18
"""Smallest number that is read as nanoseconds since 1970; it is in 2001."""

CHECKED = "file string, path string, schema string, rows bigint"
"""`schema` groups files with equal columns; it is null for a damaged file."""

DAMAGED = "damaged-parquet"


def parquet_lines(spark: Session, path: Paths, of: Some = None) -> DataFrame:
    """Return `file`, `line` and `damage` of all Parquet files in a path.

    If all files can be opened together, they are assumed to be intact; otherwise each is checked.
    """
    spark.conf.set(NANOSECONDS, "true")
    try:
        return _lines(_together(spark, path).where(among(of)))
    except Exception as error:
        if not is_about_files(error):
            raise
        return checked_parquet_lines(spark, path, of)


def checked_parquet_lines(spark: Session, path: Paths, of: Some = None) -> DataFrame:
    """Return the same, after reading each file to the end.

    A file that is damaged, or has columns that Spark cannot read, becomes one row with `damage`.
    """
    spark.conf.set(NANOSECONDS, "true")
    files = _files(spark, path).where(among(of)).mapInArrow(checker(), CHECKED)
    by_schema: defaultdict[str | None, list[Row]] = defaultdict(list)
    for row in files.toLocalIterator():
        by_schema[row["schema"]].append(row)
    unusable = [row["file"] for row in by_schema.pop(None, [])]
    parts = []
    for alike in by_schema.values():
        readable = _readable(spark, alike)
        if readable:
            parts.append(_lines(spark.read.parquet(*map(literal, readable))))
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
"""Texts in errors that are not caused by files."""


def is_about_files(error: Exception) -> bool:
    """True for errors about files that are damaged or have columns that Spark cannot read.

    False for any other error, such as a lost Java process, lack of memory or a bug.
    """
    of_spark = type(error).__module__.partition(".")[0] in ("pyspark", "py4j")
    text = f"{type(error).__name__}: {error}"
    return of_spark and not any(sign in text for sign in NOT_FILES)


def _files(spark: Session, path: Paths) -> DataFrame:
    """Return the Parquet files, with their content if only Spark can open them."""
    rows = spark.read.format("binaryFile").option("recursiveFileLookup", True).load(path)
    file = F.col("_metadata.file_path")
    content = F.when(~file.startswith(LOCAL), F.col("content"))
    return rows.where(kind() == "parquet").select(
        file.alias("file"), "path", content.alias("content")
    )


def checker() -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a function that reads files to the end, for use on Arrow batches.

    It is sent to Spark's workers, where this project need not be installed.
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


def _readable(spark: Session, files: Sequence[Row]) -> set[str]:
    """Return the paths of intact files that Spark can read, all with the same columns."""
    reader = spark.read.option("ignoreCorruptFiles", True)
    try:
        lines = _lines(reader.parquet(*(literal(one["path"]) for one in files)))
        each = lines.groupBy("file").agg(
            F.count(F.lit(1)).alias("rows"), F.bit_xor(F.xxhash64("line")).alias("read")
        )
        read = {one["file"]: one["rows"] for one in each.collect()}
    except Exception as error:
        if not is_about_files(error):
            raise
        return set()
    return {one["path"] for one in files if read.get(one["file"]) == one["rows"]}


def _together(spark: Session, path: Paths) -> DataFrame:
    reader = spark.read.option("recursiveFileLookup", True).option("mergeSchema", True)
    paths = [path] if isinstance(path, str) else path
    return reader.option("pathGlobFilter", EVERY).parquet(*paths)


def _lines(frame: DataFrame) -> DataFrame:
    file, nothing = F.col("_metadata.file_path").alias("file"), F.lit(None).cast("string")
    return frame.select(file, _line(frame.schema).alias("line"), nothing.alias("damage"))


def _line(schema: T.StructType) -> Column:
    """Format a row as a line of JSON."""
    names = {field.name for field in schema}
    for name in AS_TEXT:
        if name in names and names - {name} <= BESIDE:
            return F.col(name).cast("string")
    fields = [_field(field).alias(field.name) for field in schema]
    if CLUSTER not in [field.name for field in schema]:
        fields.append(F.nullif(_cluster_of_folder(), F.lit("")).alias(CLUSTER))
    return F.to_json(F.struct(*fields), WRITTEN)


def _cluster_of_folder() -> Column:
    """Return the cluster named in the folder of a partitioned table."""
    return F.url_decode(F.regexp_extract("_metadata.file_path", rf"/{CLUSTER}=([^/]+)/", 1))


def _field(field: T.StructField) -> Column:
    value = F.col("`{}`".format(field.name.replace("`", "``")))
    if isinstance(field.dataType, T.TimestampNTZType):
        return value.cast("timestamp")
    if isinstance(field.dataType, T.BinaryType):
        return value.cast("string")
    if field.name == TIME and isinstance(field.dataType, T.LongType):
        time = F.timestamp_micros(F.floor(value / 1000))
        text = F.to_csv(F.struct(time), WRITTEN)
        return F.when(value >= LEAST, text).otherwise(value.cast("string"))
    if field.name in NESTED and isinstance(field.dataType, T.StringType):
        return F.coalesce(F.try_parse_json(value), value.cast("variant"))
    return value
