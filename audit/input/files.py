"""Files of a history: their kinds, and a fingerprint of all of them.

Folders are read recursively. Names that start with `_` or `.` are left out, as everywhere in Spark;
an empty file has no lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulsar_conformance.audit.input.paths import LOCAL
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

GZIP, BZIP2, ZSTD = ".gz", ".bz2", ".zst"
PARQUET = ".parquet"
ARCHIVES = (".tar", ".tgz", ".tar.gz")
FOREIGN = (
    *ARCHIVES,
    ".tar.bz2",
    ".tar.zst",
    ".xz",
    ".lz4",
    ".snappy",
    ".deflate",
    ".zip",
    ".7z",
    ".orc",
    ".avro",
)
"""Endings of unsupported formats; such a file becomes one line in the quarantine."""

COLON = ":"

Session = Any
"""A `pyspark.sql.SparkSession`, classic or of Spark Connect."""

Some = Sequence[str] | None
"""Paths of files, or None for all files."""


def among(of: Some) -> Column:
    """True if the file of a row is one of these, or if all are meant."""
    return F.lit(True) if of is None else F.col("_metadata.file_path").isin(*of)


def has_ending(name: Column, endings: tuple[str, ...]) -> Column:
    """True if a file's name has one of these endings."""
    found = F.lit(False)
    for ending in endings:
        found = found | F.lower(name).endswith(ending)
    return found


def kind() -> Column:
    """Return the kind of a row's file: `parquet`, `foreign` or `text`.

    A compressed file is `gzip` if it is local, and `distant-gzip` if Spark has to fetch it. A local
    text file with a colon in its name is `colon`: Spark cannot open it.
    """
    name, near = F.col("_metadata.file_name"), F.col("_metadata.file_path").startswith(LOCAL)
    return (
        F.when(has_ending(name, FOREIGN), "foreign")
        .when(has_ending(name, (GZIP, BZIP2, ZSTD)), F.when(near, "gzip").otherwise("distant-gzip"))
        .when(has_ending(name, (PARQUET,)), "parquet")
        .when(near & name.contains(COLON), "colon")
        .otherwise("text")
    )


def file_rows(spark: Session, path: str, of: Some = None) -> DataFrame:
    """Return a row for each file: `path` for opening it, `file` for naming it, `length`, `kind`."""
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
    """Number of files of each kind at a path, their bytes, and a fingerprint of all."""

    files: Mapping[str, int]
    length: int
    fingerprint: str

    @property
    def count(self) -> int:
        """Number of files."""
        return sum(self.files.values())


def current_files(spark: Session, path: str) -> InputFiles:
    """Return the current files; the fingerprint changes with any change of a file.

    Errors: Spark's `AnalysisException` if the path does not exist.
    """
    each = F.xxhash64("file", "length", F.col("modificationTime").cast("double"))
    rows = (
        file_rows(spark, path)
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


LOGS = ("_delta_log", "metadata")
ICEBERG = r"\.metadata\.json$"


def has_transaction_log(spark: Session, path: str) -> bool:
    """True if a path is a table of Delta Lake or Iceberg, or a local folder contains one."""
    local = Path(re.sub(r"\\(.)", r"\1", path.removeprefix(LOCAL)))
    if local.is_dir():
        deltas = local.rglob("_delta_log")
        icebergs = (one for one in local.rglob("*.metadata.json") if one.parent.name == "metadata")
        return next(deltas, None) is not None or next(icebergs, None) is not None
    return any(_is_log(spark, f"{path.rstrip('/')}/{folder}") for folder in LOGS)


def _is_log(spark: Session, folder: str) -> bool:
    try:
        names = spark.read.format("binaryFile").load(folder).select("path").limit(1000).collect()
    except AnalysisException:
        return False
    delta = folder.endswith(LOGS[0])
    return bool(names) and (delta or any(re.search(ICEBERG, row["path"]) for row in names))
