"""The files of a history: their kinds, and a fingerprint of all.

Folders are read recursively. Names that start with `_` or `.` are ignored, as usual in Spark; an
empty file has no lines.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pulsar_conformance.audit.input.paths import HIDDEN, LOCAL, can_open_path, unescape_pattern
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
"""Suffixes of unsupported formats; a file with such a suffix is one line in the quarantine."""

COLON = ":"

Session = Any
"""A `pyspark.sql.SparkSession`, of classic Spark or of Spark Connect."""

Paths = str | list[str]
"""A path that Spark resolves and that may be a pattern, or the paths of individual files."""

FileSelection = Sequence[str] | None
"""Paths of the files to read, or None for all files."""


def is_among(files: FileSelection) -> Column:
    """True if a row comes from one of `files`; always true if `files` is None."""
    return F.lit(True) if files is None else F.col("_metadata.file_path").isin(*files)


def has_ending(name: Column, endings: tuple[str, ...]) -> Column:
    """True if a file name ends with one of these suffixes, in upper or lower case."""
    found = F.lit(False)
    for ending in endings:
        found = found | F.lower(name).endswith(ending)
    return found


def kind_column() -> Column:
    """Return a column with the kind of a row's file: `parquet`, `foreign`, `text` or a special
    kind.

    A compressed file is `gzip` if it is local, and `distant-gzip` if Spark must fetch it. A local
    text file with a colon in its name is `colon`, because Spark cannot open it.
    """
    name, near = F.col("_metadata.file_name"), F.col("_metadata.file_path").startswith(LOCAL)
    return (
        F.when(has_ending(name, FOREIGN), "foreign")
        .when(has_ending(name, (GZIP, BZIP2, ZSTD)), F.when(near, "gzip").otherwise("distant-gzip"))
        .when(has_ending(name, (PARQUET,)), "parquet")
        .when(near & name.contains(COLON), "colon")
        .otherwise("text")
    )


def file_rows(spark: Session, path: Paths, files: FileSelection = None) -> DataFrame:
    """Return a row per file.

    Columns: `path` (to open the file), `file` (its address), `length` in bytes, `modificationTime`
    and `kind`.
    """
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", True)
    return (
        reader.load(path)
        .where(is_among(files))
        .select(
            "path",
            F.col("_metadata.file_path").alias("file"),
            "length",
            "modificationTime",
            kind_column().alias("kind"),
        )
    )


class InputFile(NamedTuple):
    """A file: its address as Spark writes it, its size in bytes, and the time of its last
    change.
    """

    file: str
    length: int
    modified: float


@dataclass(frozen=True)
class InputFiles:
    """The files at a path, each with its kind.

    `here` is true if this process listed the files itself, so that it can open them by their paths.
    """

    kinds: Mapping[InputFile, str]
    here: bool = False

    @property
    def files(self) -> Mapping[str, int]:
        """Number of files of each kind."""
        return Counter(self.kinds.values())

    @property
    def count(self) -> int:
        """Number of files."""
        return len(self.kinds)

    @property
    def length(self) -> int:
        """Total size in bytes."""
        return sum(one.length for one in self.kinds)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the addresses, sizes and modification times of all files."""
        told = "\n".join(f"{one.file} {one.length} {one.modified}" for one in sorted(self.kinds))
        return hashlib.sha256(told.encode()).hexdigest()


def current_files(spark: Session, path: str) -> InputFiles:
    """Return the files at a path. Errors: Spark's `AnalysisException` if the path does not
    exist.
    """
    listed = _list_local_files(path) if can_open_path(spark, path) else None
    if listed is not None:
        return InputFiles({one: _kind_of(one.file) for one in listed}, here=True)
    modified = F.col("modificationTime").cast("double").alias("modified")
    rows = file_rows(spark, path).select("file", "length", modified, "kind").toLocalIterator()
    return InputFiles({InputFile(*row[:3]): row["kind"] for row in rows})


PLAIN = re.compile(r"[\w./=,+@-]+", re.ASCII)
"""Pattern of paths in which Spark escapes no character."""

SPECIAL = re.compile(r"_.*=|_metadata|_common_metadata|.*\._COPYING_$")
"""Pattern of names that Spark may treat specially, by reading or ignoring the file."""


def _list_local_files(path: str) -> list[InputFile] | None:
    """Return the files in a folder, or None if only Spark can resolve the path.

    This process lists them because Spark would start a job and take 2 ms of CPU time per file.
    """
    given = unescape_pattern(path.removeprefix(LOCAL))
    # Spark does not resolve links either.
    root = "/" + os.path.abspath(given).lstrip("/")  # noqa: PTH100
    try:
        folder = Path(root)
        found = list(_walk_files(root)) if folder.is_dir() else [(root, folder.stat())]
    except OSError:
        return None
    names = (name for file, _ in found for name in file.removeprefix(root).split("/"))
    plain = PLAIN.fullmatch(root) and all(PLAIN.fullmatch(file) for file, _ in found)
    if not plain or any(map(SPECIAL.match, names)):
        return None
    return [
        InputFile(f"{LOCAL}{file}", known.st_size, known.st_mtime_ns // 1_000_000 / 1000)
        for file, known in found
        if known.st_size
    ]


def _walk_files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(HIDDEN) and not SPECIAL.match(entry.name):
                continue
            if entry.is_dir():
                yield from _walk_files(entry.path)
            elif entry.is_file():
                yield entry.path, entry.stat()


def _kind_of(file: str) -> str:
    """Return the kind of a local file, as `kind_column` gives it."""
    name = file.rpartition("/")[2].lower()
    endings = {"foreign": FOREIGN, "gzip": (GZIP, BZIP2, ZSTD), "parquet": (PARQUET,)}
    return next((one for one, ends in endings.items() if name.endswith(ends)), "text")


LOGS = ("_delta_log", "metadata")
ICEBERG = r"\.metadata\.json$"


def has_transaction_log(spark: Session, path: str) -> bool:
    """True if the path is a table of Delta Lake or Iceberg, or a local folder that contains one."""
    local = Path(unescape_pattern(path.removeprefix(LOCAL)))
    if local.is_dir():
        deltas = local.rglob("_delta_log")
        icebergs = (one for one in local.rglob("*.metadata.json") if one.parent.name == "metadata")
        return next(deltas, None) is not None or next(icebergs, None) is not None
    return any(_has_log_files(spark, f"{path.rstrip('/')}/{folder}") for folder in LOGS)


def _has_log_files(spark: Session, folder: str) -> bool:
    try:
        names = spark.read.format("binaryFile").load(folder).select("path").limit(1000).collect()
    except AnalysisException:
        return False
    delta = folder.endswith(LOGS[0])
    return bool(names) and (delta or any(re.search(ICEBERG, row["path"]) for row in names))
