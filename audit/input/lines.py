"""Every line of a history, whatever the format of its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

from pulsar_conformance.audit.input.files import InputFiles, Session, Some, among, kind, listed
from pulsar_conformance.audit.input.gzipped import colon_lines, distant_gzip_lines, gzip_lines
from pulsar_conformance.audit.input.parquets import checked_parquet_lines, parquet_lines
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

FOREIGN = "foreign-file"


def text_lines(spark: Session, path: str, of: Some = None) -> DataFrame:
    """Return the lines of plain files; they end in a line feed."""
    reader = spark.read.option("recursiveFileLookup", True).option("lineSep", "\n")
    lines = reader.text(path).where((kind() == "text") & among(of))
    file, none = F.col("_metadata.file_path").alias("file"), F.lit(None).cast("string")
    return lines.select(file, F.col("value").alias("line"), none.alias("damage"))


def foreign_lines(spark: Session, path: str, of: Some = None) -> DataFrame:
    """Return a row for each file of a format that is not read."""
    files = listed(spark, path, of).where(F.col("kind") == "foreign")
    return files.select("file", F.lit("").alias("line"), F.lit(FOREIGN).alias("damage"))


READERS: Mapping[str, Callable[[Session, str, Some], DataFrame]] = {
    "text": text_lines,
    "colon": colon_lines,
    "gzip": gzip_lines,
    "distant-gzip": distant_gzip_lines,
    "parquet": parquet_lines,
    "foreign": foreign_lines,
}
"""Readers by kind of file."""


def lines(
    spark: Session, path: str, found: InputFiles, whole: bool = True, of: Some = None
) -> DataFrame:
    """Return `file`, `line` and `damage`; lost content is a row with the reason.

    A line may hold any bytes. Parquet files are assumed to be whole if they can be opened; with
    `whole` false, each is checked first. `of` are the addresses of the files to read, or None.
    """
    readers = READERS if whole else {**READERS, "parquet": checked_parquet_lines}
    parts = [read(spark, path, of) for one, read in readers.items() if found.files.get(one)]
    return reduce(DataFrame.unionByName, parts)
