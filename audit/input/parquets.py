"""Records in Parquet files as lines of JSON, so that they are read as all others are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import reduce

from pulsar_conformance.audit.input.files import PARQUET, Session, Some, among
from pulsar_conformance.audit.input.paths import literal
from pulsar_conformance.audit.input.salvage import looked_at, salvaged
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql import types as T

AS_TEXT = ("line", "value")
"""A file with one such column has a record as JSON text in each row."""

NESTED = ("report", "data", "owners", "settings", "into", "members")
"""Fields that a file may have as JSON text, too."""

EVERY = "*" + "".join(f"[{one}{one.upper()}]" for one in PARQUET)
"""The names of such files, as a pattern."""

WRITTEN = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
"""How times become text; one without a zone is taken for UTC."""

TIME, CLUSTER = "at", "cluster"
NANOSECONDS = "spark.sql.legacy.parquet.nanosAsLong"
"""A setting of Spark, without which it reads no file that has times in nanoseconds."""

LEAST = 10**18
"""A time that is a whole number is in nanoseconds since 1970, if it is as large: from 2001 on."""


def parquet_lines(spark: Session, path: str, of: Some = None) -> DataFrame:
    """`file`, `line` and `damage` of every Parquet file below a path.

    They are taken for whole, if they can be opened; where they cannot, or do not fit together, it
    is as of `broken_parquet_lines`.
    """
    spark.conf.set(NANOSECONDS, "true")
    try:
        return _lines(_together(spark, path).where(among(of)))
    except Exception:  # one of them is damaged, or their columns do not fit together
        return broken_parquet_lines(spark, path, of)


def broken_parquet_lines(spark: Session, path: str, of: Some = None) -> DataFrame:
    """The same, where a file can be opened and not be read to its end.

    What can be read of it is there, and a row with `damage` for each of its rows that cannot be.
    """
    spark.conf.set(NANOSECONDS, "true")
    alike: defaultdict[str | None, list[Row]] = defaultdict(list)
    for row in looked_at(spark, path).toLocalIterator():
        alike[row["schema"]].append(row)
    broken, parts, odd = alike.pop(None, None), [], []
    for files in alike.values():
        sound = set(_readable(spark, files))
        if sound:
            parts.append(_lines(spark.read.parquet(*map(literal, sound))))
        odd += [one["path"] for one in files if one["path"] not in sound]
    if broken or odd:
        parts.append(salvaged(spark, path, odd))
    every = reduce(DataFrame.unionByName, parts)
    return every if of is None else every.where(F.col("file").isin(*of))


def _readable(spark: Session, files: Sequence[Row]) -> list[str]:
    """The paths of those whole files of the same columns that Spark, too, reads to their end."""
    reader = spark.read.option("ignoreCorruptFiles", True)
    try:
        lines = _lines(reader.parquet(*(literal(one["path"]) for one in files)))
        each = lines.groupBy("file").agg(
            F.count(F.lit(1)).alias("rows"), F.bit_xor(F.xxhash64("line")).alias("read")
        )
        read = {one["file"]: one["rows"] for one in each.collect()}
    except Exception:  # a name stands there twice, or a type cannot be written as JSON
        return []
    return [one["path"] for one in files if read.get(one["file"]) == one["rows"]]


def _together(spark: Session, path: str) -> DataFrame:
    reader = spark.read.option("recursiveFileLookup", True).option("mergeSchema", True)
    return reader.option("pathGlobFilter", EVERY).parquet(path)


def _lines(frame: DataFrame) -> DataFrame:
    file, nothing = F.col("_metadata.file_path").alias("file"), F.lit(None).cast("string")
    return frame.select(file, _line(frame.schema).alias("line"), nothing.alias("damage"))


def _line(schema: T.StructType) -> Column:
    """A row as a line of JSON."""
    if [field.name for field in schema] in [[name] for name in AS_TEXT]:
        return F.col(schema[0].name).cast("string")
    fields = [_field(field).alias(field.name) for field in schema]
    if CLUSTER not in [field.name for field in schema]:
        fields.append(F.nullif(_of_folder(), F.lit("")).alias(CLUSTER))
    return F.to_json(F.struct(*fields), WRITTEN)


def _of_folder() -> Column:
    """The cluster that a folder of a partitioned table names."""
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
