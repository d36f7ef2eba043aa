"""Reading all lines of a history, whatever the format of its files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial, reduce
from pathlib import Path

from pulsar_conformance.audit.input.files import (
    FileSelection,
    InputFiles,
    Paths,
    Session,
    file_rows,
    is_among,
    kind_column,
)
from pulsar_conformance.audit.input.gzipped import (
    colon_lines,
    compressed_lines,
    distant_compressed_lines,
    is_intact_gzip,
)
from pulsar_conformance.audit.input.parquets import checked_parquet_lines, parquet_lines
from pulsar_conformance.audit.input.paths import LOCAL, escape_pattern
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

FOREIGN = "foreign-file"


MAX_DOCUMENT_BYTES = 4 << 20
"""Maximum size in bytes of a file that may be a single JSON document: a record or a list of
records.
"""

MAX_DOCUMENTS = 2_000
"""Number of files above which an audit assumes that none is a single JSON document."""


def text_lines(
    spark: Session, path: Paths, files: FileSelection = None, *, kind: str = "text"
) -> DataFrame:
    """Return the lines of all files of a kind that Spark itself reads; line feeds end lines."""
    reader = spark.read.option("recursiveFileLookup", True).option("lineSep", "\n")
    lines = reader.text(path).where((kind_column() == kind) & is_among(files))
    return lines.select(*_line_columns(F.col("value")))


def document_lines(spark: Session, path: Paths, files: FileSelection = None) -> DataFrame:
    """Return the lines of plain files. A file that is a JSON document has a line per record.

    Such a document is a list of records, or one record that spans several lines.
    """
    reader = spark.read.option("recursiveFileLookup", True)
    small = (
        (kind_column() == "text")
        & (F.col("_metadata.file_size") <= MAX_DOCUMENT_BYTES)
        & is_among(files)
    )
    whole = reader.text(path, wholetext=True).where(
        small & F.col("value").rlike(r"^\s*(\[|\{\s*\n)")
    )
    # The document is parsed inside a list with a final element; this reveals text after the
    # document.
    text = F.concat(F.lit('{"one":['), "value", F.lit('],"end":1}'))
    parsed = whole.withColumn("in", F.when(F.is_valid_utf8("value"), F.try_parse_json(text)))
    one, more = (F.variant_get("in", f"$.one[{place}]", "variant") for place in (0, 1))
    alone = F.variant_get("in", "$.end", "int").isNotNull() & more.isNull()
    documents = parsed.withColumn("found", F.when(alone, one)).where("found is not null")
    listed = F.schema_of_variant(F.col("found")).startswith("ARRAY<")
    each = F.transform(F.col("found").cast("array<variant>"), lambda one: F.to_json(one))
    records = F.explode(F.when(listed, each).otherwise(F.array(F.to_json("found"))))
    found = documents.select(*_line_columns(records))
    documents_read = F.broadcast(documents.select(F.col("_metadata.file_path").alias("file")))
    return (
        text_lines(spark, path, files).join(documents_read, "file", "left_anti").unionByName(found)
    )


def _line_columns(line: Column) -> tuple[Column, ...]:
    file, none = F.col("_metadata.file_path").alias("file"), F.lit(None).cast("string")
    return file, line.alias("line"), none.alias("damage")


def foreign_lines(spark: Session, path: Paths, files: FileSelection = None) -> DataFrame:
    """Return a row for each file of an unsupported format, with `FOREIGN` as its `damage`."""
    foreign = file_rows(spark, path, files).where(F.col("kind") == "foreign")
    return foreign.select("file", F.lit("").alias("line"), F.lit(FOREIGN).alias("damage"))


Reader = Callable[[Session, Paths, FileSelection], DataFrame]
READERS: Mapping[str, Reader] = {
    "text": text_lines,
    "colon": colon_lines,
    "gzip": compressed_lines,
    "distant-gzip": distant_compressed_lines,
    "parquet": parquet_lines,
    "foreign": foreign_lines,
}
"""Functions that read lines, by kind of file."""


def read_lines(
    spark: Session, path: str, inputs: InputFiles, whole: bool = True, files: FileSelection = None
) -> DataFrame:
    """Return the columns `file`, `line` and `damage` of all lines.

    If content is lost, a row gives the reason in `damage`. A line may contain any bytes. `files`
    are the paths of the files to read, or None for all.

    Compressed files and Parquet files are checked for damage one by one. With `whole`, Spark reads
    them without this check if they are probably intact: Parquet files if Spark can open all of
    them, and compressed files if this process has found all of them small and intact.
    """
    wanted = None if files is None else set(files)
    every = {one.file: kind for one, kind in inputs.kinds.items()}
    kinds = {file: kind for file, kind in every.items() if wanted is None or file in wanted}
    if not kinds:
        return spark.createDataFrame([], LINES)
    readers = {**READERS, "text": _text_reader(inputs, kinds)}
    if whole:
        readers["gzip"] = _compressed_reader(inputs, kinds)
    else:
        readers["parquet"] = checked_parquet_lines
    paths: Paths = path
    if files is not None and inputs.here and len(files) <= MAX_OPENED_FILES:
        paths, files = [escape_pattern(file) for file in files], None
    parts = [read(spark, paths, files) for one, read in readers.items() if one in kinds.values()]
    return reduce(DataFrame.unionByName, parts)


LINES = "file string, line string, damage string"
MAX_INSPECTED_BYTES_IN_ALL = 1 << 20
"""Maximum total size in bytes of compressed files whose integrity this process checks.

The check decompresses the files. If all of them are intact, Spark reads them.
"""

MAX_OPENED_FILES = 1_000
"""Maximum number of files that are opened one by one; if there are more, the folder is opened."""

BEGINNING_BYTES = 4096
"""Number of bytes at the start of a file that show whether it may be a JSON document."""

MAY_BE_DOCUMENT = re.compile(rb"\s*(\[|\{\s*(\n|\Z)|\Z)")


def _text_reader(inputs: InputFiles, kinds: Mapping[str, str]) -> Reader:
    """Return the reader for plain files; it detects JSON documents if some file may be one."""
    if inputs.files.get("text", 0) > MAX_DOCUMENTS:
        return text_lines
    small = [
        one
        for one in inputs.kinds
        if one.length <= MAX_DOCUMENT_BYTES and kinds.get(one.file) == "text"
    ]
    some = not inputs.here or any(_may_be_document(one.file) for one in small)
    return document_lines if some else text_lines


def _compressed_reader(inputs: InputFiles, kinds: Mapping[str, str]) -> Reader:
    """Return the reader for compressed files: Spark's own if all of them are small and intact.

    Otherwise the files are read by a Python process, whose start takes longer than Spark takes to
    read small files.
    """
    packed = [one for one in inputs.kinds if kinds.get(one.file) == "gzip"]
    few = inputs.here and sum(one.length for one in packed) <= MAX_INSPECTED_BYTES_IN_ALL
    intact = few and all(is_intact_gzip(one.file.removeprefix(LOCAL)) for one in packed)
    return partial(text_lines, kind="gzip") if intact else compressed_lines


def _may_be_document(file: str) -> bool:
    try:
        with Path(file.removeprefix(LOCAL)).open("rb") as content:
            return MAY_BE_DOCUMENT.match(content.read(BEGINNING_BYTES)) is not None
    except OSError:
        return True
