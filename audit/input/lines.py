"""Every line of a history, whatever its files are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

from pulsar_conformance.audit.input.files import InputFiles, Session, Some, among, kind, listed
from pulsar_conformance.audit.input.gzipped import colon_lines, distant_gzip_lines, gzip_lines
from pulsar_conformance.audit.input.parquets import broken_parquet_lines, parquet_lines
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

FOREIGN = "foreign-file"


def text_lines(spark: Session, path: str, of: Some = None) -> DataFrame:
    """Lines of plain files: they end in a line feed, or one after a carriage return."""
    reader = spark.read.option("recursiveFileLookup", True).option("lineSep", "\n")
    lines = reader.text(path).where((kind() == "text") & among(of))
    file, none = F.col("_metadata.file_path").alias("file"), F.lit(None).cast("string")
    return lines.select(file, F.col("value").alias("line"), none.alias("damage"))


def foreign_lines(spark: Session, path: str, of: Some = None) -> DataFrame:
    """A row for each file of a format that is not read."""
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
"""By the kind of files."""


def lines(
    spark: Session, path: str, found: InputFiles, whole: bool = True, of: Some = None
) -> DataFrame:
    """`file`, `line` and `damage`: what a file could not give is a row with the reason.

    A line may hold any bytes. Parquet files are taken for whole, if they can be opened; where one
    turns out not to be, `whole` is to be false, and each is read twice. `of` are the files that are
    read, by their addresses, where it is not every one.
    """
    readers = READERS if whole else {**READERS, "parquet": broken_parquet_lines}
    parts = [read(spark, path, of) for one, read in readers.items() if found.files.get(one)]
    return reduce(DataFrame.unionByName, parts)
