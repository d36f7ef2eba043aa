"""Records in Parquet files as lines of JSON, so that they are read as all others are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import reduce

from pulsar_conformance.conformance.audit.files import PARQUET, Session, listed
from pulsar_conformance.conformance.audit.paths import literal
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

DAMAGED = "damaged-parquet"
SHAPE = "file string, line string, damage string"

AS_TEXT = ("line", "value")
"""A file with one such column has a record as JSON text in each row."""

NESTED = ("report", "data", "owners", "settings", "into", "members")
"""Fields that a file may have as JSON text, too."""

EVERY = "*" + "".join(f"[{one}{one.upper()}]" for one in PARQUET)
"""The names of such files, as a pattern."""

WRITTEN = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
"""How times become text; one without a zone is taken for UTC."""

TIME = "at"
NANOSECONDS = "spark.sql.legacy.parquet.nanosAsLong"
"""A setting of Spark, without which it reads no file that has times in nanoseconds."""

LEAST = 10**18
"""A time that is a whole number is in nanoseconds since 1970, if it is as large: from 2001 on."""


def parquet_lines(spark: Session, path: str) -> DataFrame:
    """`file`, `line` and `damage` of every Parquet file below a path.

    A file that cannot be opened is one row with `damage`.
    """
    spark.conf.set(NANOSECONDS, "true")
    try:
        return _lines(_together(spark, path))
    except Exception:  # one of them is damaged, or they do not fit together: each by itself
        return _each_by_itself(spark, path, lambda _path: True)


def broken_parquet_lines(spark: Session, path: str) -> DataFrame:
    """The same, where a file can be opened and not be read to its end.

    What comes before the damage is there, and a row with `damage`.
    """
    spark.conf.set(NANOSECONDS, "true")

    def whole(one: str) -> bool:
        try:
            _lines(spark.read.parquet(one)).write.format("noop").mode("overwrite").save()
        except Exception:
            return False
        return True

    return _each_by_itself(spark, path, whole)


def _together(spark: Session, path: str) -> DataFrame:
    reader = spark.read.option("recursiveFileLookup", True).option("mergeSchema", True)
    return reader.option("pathGlobFilter", EVERY).parquet(path)


def _each_by_itself(spark: Session, path: str, whole: Callable[[str], bool]) -> DataFrame:
    """Files of the same columns together; a file without columns is damaged."""
    files = listed(spark, path).where(F.col("kind") == "parquet").select("path", "file")
    damaged: list[str] = []
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for row in files.toLocalIterator():
        one = literal(row["path"])
        try:
            alike[spark.read.parquet(one).schema.json()].append(one)
        except Exception:
            damaged.append(row["file"])
        else:
            damaged += [] if whole(one) else [row["file"]]
    reader = spark.read.option("ignoreCorruptFiles", True) if damaged else spark.read
    parts = [_lines(reader.parquet(*paths)) for paths in alike.values()]
    return reduce(DataFrame.unionByName, [*parts, _damage(spark, damaged)])


def _damage(spark: Session, files: Iterable[str]) -> DataFrame:
    return spark.createDataFrame([(file, "", DAMAGED) for file in files], SHAPE)


def _lines(frame: DataFrame) -> DataFrame:
    file, nothing = F.col("_metadata.file_path").alias("file"), F.lit(None).cast("string")
    return frame.select(file, _line(frame.schema).alias("line"), nothing.alias("damage"))


def _line(schema: T.StructType) -> Column:
    """A row as a line of JSON."""
    if [field.name for field in schema] in [[name] for name in AS_TEXT]:
        return F.col(schema[0].name).cast("string")
    return F.to_json(F.struct(*(_field(field).alias(field.name) for field in schema)), WRITTEN)


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
