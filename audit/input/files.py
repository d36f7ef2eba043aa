"""The files of a history: which there are, of what kind each is, and a fingerprint of them all.

A folder is read with all folders below it. Names that begin with `_` or `.` are left out, as Spark
does everywhere; a file of no bytes has no lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulsar_conformance.audit.input.paths import LOCAL
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

GZIP = ".gz"
PARQUET = ".parquet"
FOREIGN = (".bz2", ".xz", ".zst", ".lz4", ".snappy", ".deflate", ".zip", ".7z", ".orc", ".avro")
"""Formats that are not read: such a file is one line of the quarantine."""

COLON = ":"

Session = Any
"""A `pyspark.sql.SparkSession`, classic or of Spark Connect."""

Some = Sequence[str] | None
"""Addresses of files, or None for every file that there is."""


def among(of: Some) -> Column:
    """Whether the file of a row is one of these."""
    return F.lit(True) if of is None else F.col("_metadata.file_path").isin(*of)


def named(name: Column, endings: tuple[str, ...]) -> Column:
    """Whether a file's name ends so."""
    found = F.lit(False)
    for ending in endings:
        found = found | F.lower(name).endswith(ending)
    return found


def kind() -> Column:
    """The kind of the file of a row: `parquet`, `foreign`, or else `text`.

    A gzip file is `gzip` where it can be opened, and `distant-gzip` where Spark has to fetch it.
    Text is `colon` where it can be opened and Spark cannot: its local files have none in a name.
    """
    name, near = F.col("_metadata.file_name"), F.col("_metadata.file_path").startswith(LOCAL)
    return (
        F.when(named(name, (GZIP,)), F.when(near, "gzip").otherwise("distant-gzip"))
        .when(named(name, (PARQUET,)), "parquet")
        .when(named(name, FOREIGN), "foreign")
        .when(near & name.contains(COLON), "colon")
        .otherwise("text")
    )


def listed(spark: Session, path: str, of: Some = None) -> DataFrame:
    """A row for each file: `path` as it is opened, `file` as it is told, `length`, `kind`."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", True)
    return (
        reader.load(path)
        .where(among(of))
        .select(
            "path",
            F.col("_metadata.file_path").alias("file"),
            "length",
            "modificationTime",
            kind().alias("kind"),
        )
    )


@dataclass(frozen=True)
class InputFiles:
    """What lies at a path: files and bytes of each kind, and a fingerprint of all."""

    files: Mapping[str, int]
    length: int
    fingerprint: str

    @property
    def count(self) -> int:
        """How many files there are."""
        return sum(self.files.values())


def found(spark: Session, path: str) -> InputFiles:
    """What lies there now; a file that is touched, grows, comes or goes changes the fingerprint.

    Errors: Spark's own `AnalysisException` where there is no such path.
    """
    each = F.xxhash64("file", "length", F.col("modificationTime").cast("double"))
    rows = (
        listed(spark, path)
        .groupBy("kind")
        .agg(
            F.count(F.lit(1)).alias("files"),
            F.sum("length").alias("length"),
            F.bit_xor(each).alias("xor"),
            F.sum(each.cast("decimal(38, 0)")).alias("sum"),
        )
        .collect()
    )
    ordered = sorted(rows, key=lambda row: str(row["kind"]))
    return InputFiles(
        {row["kind"]: row["files"] for row in ordered},
        sum(row["length"] for row in ordered),
        ";".join(f"{row['kind']}:{row['files']}:{row['xor']}:{row['sum']}" for row in ordered),
    )
