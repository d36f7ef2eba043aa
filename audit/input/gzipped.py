"""Reading compressed files up to the first damage.

If a file is truncated, Spark's own reader either fails or silently loses the rest of the file. This
reader returns the lines before the damage, and a row that describes the damage.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pulsar_conformance.audit.input.files import (
    BZIP2,
    GZIP,
    ZSTD,
    FileSelection,
    Paths,
    Session,
    is_among,
    kind_column,
)
from pulsar_conformance.audit.input.paths import LOCAL
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

SHAPE = "file string, line binary, damage string"
DAMAGED = "damaged-gzip"


MAX_INSPECTED_BYTES = 1 << 27
"""Maximum number of decompressed bytes that are inspected."""


def is_intact_gzip(path: str) -> bool:
    """True if a file consists of complete gzip members and every reader reads the same lines from
    it.

    The decompressed size must be below `MAX_INSPECTED_BYTES`.
    """
    if not path.endswith(GZIP):
        return False
    try:
        given, room = Path(path).read_bytes(), MAX_INSPECTED_BYTES
        while given:
            engine = zlib.decompressobj(31)
            room -= len(engine.decompress(given, room))
            if not engine.eof or not room:
                return False
            given = engine.unused_data
    except (OSError, zlib.error):
        return False
    return True


def compressed_lines(spark: Session, path: Paths, files: FileSelection = None) -> DataFrame:
    """Return the columns `file`, `line` and `damage` for all local compressed files at a path."""
    return _read_files(spark, path, files, "gzip", F.lit(None).cast("binary"))


def distant_compressed_lines(spark: Session, path: Paths, files: FileSelection = None) -> DataFrame:
    """Return the columns `file`, `line` and `damage` for compressed files that Spark must fetch, of
    up to 2 GB each.
    """
    return _read_files(spark, path, files, "distant-gzip", F.col("content"))


def colon_lines(spark: Session, path: Paths, files: FileSelection = None) -> DataFrame:
    """Return the columns `file`, `line` and `damage` for plain files with names that Spark cannot
    open.
    """
    return _read_files(spark, path, files, "colon", F.lit(None).cast("binary"))


def _read_files(
    spark: Session, path: Paths, files: FileSelection, kind: str, content: Column
) -> DataFrame:
    every = spark.read.format("binaryFile").option("recursiveFileLookup", True).load(path)
    file = F.col("_metadata.file_path").alias("file")
    wanted = every.where((kind_column() == kind) & is_among(files))
    rows = wanted.select(file, "path", content.alias("content"))
    lines = rows.mapInArrow(arrow_reader(), SHAPE)
    return lines.withColumn("line", F.col("line").cast("string"))


def arrow_reader() -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a function that reads files, given Arrow batches of their paths or contents.

    Spark sends the function to its workers. This project need not be installed there, so the
    function uses none of its code.
    """
    damaged, local, gzip, bzip2, zstd = DAMAGED, LOCAL, GZIP, BZIP2, ZSTD
    piece, batch, longest = 1 << 20, 1 << 22, 1 << 28

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        import bz2
        import io
        import zlib
        from pathlib import Path

        import pyarrow as pa

        names = ("file", "line", "damage")
        types = (pa.string(), pa.binary(), pa.string())

        def unzipped(stream: Any) -> Iterator[bytes]:
            """Yield decompressed chunks of a gzip file; raise an error where it is damaged or
            truncated.
            """
            engine, given, begun = zlib.decompressobj(31), b"", False
            while given or (given := stream.read(piece)):
                if not begun and not given.strip(b"\0"):
                    given = b""
                    continue
                begun, before = True, engine.copy()
                try:
                    yield engine.decompress(given, batch)
                except zlib.error:
                    for byte in given:
                        yield before.decompress(bytes((byte,)))
                given = engine.unconsumed_tail
                if engine.eof:
                    given = engine.unused_data
                    engine, begun = zlib.decompressobj(31), False
            if begun:
                raise EOFError

        def unpacked(stream: Any) -> Iterator[bytes]:
            """Yield decompressed chunks of a bzip2 file."""
            with bz2.BZ2File(stream) as content:
                yield from chunks_of(content)

        def inflated(stream: Any) -> Iterator[bytes]:
            """Yield decompressed chunks of a Zstandard file."""
            with pa.CompressedInputStream(stream, "zstd") as content:
                yield from chunks_of(content)

        def chunks_of(stream: Any) -> Iterator[bytes]:
            """Yield the content of a stream in chunks."""
            while given := stream.read(piece):
                yield given

        def lines(contents: Iterator[bytes]) -> Iterator[tuple[list[bytes], str | None]]:
            """Yield lists of lines, each with a description of damage.

            The description is None, except in the last pair of a damaged file.
            """
            rest, mark = b"", b"\xef\xbb\xbf"
            try:
                for content in contents:
                    content, mark = content.removeprefix(mark), b""
                    whole, newline, after = content.rpartition(b"\n")
                    if newline:
                        yield (rest + whole).split(b"\n"), None
                        rest = after
                    else:
                        rest += after
                    if len(rest) > longest:
                        raise EOFError
            except (zlib.error, EOFError, OSError):
                yield [rest[:batch]], damaged
            else:
                if rest:
                    yield [rest], None

        for files in batches:
            for row in files.to_pylist():
                near = row["content"] is None
                path = Path(row["path"].removeprefix(local))
                with path.open("rb") if near else io.BytesIO(row["content"]) as stream:
                    packed = {gzip: unzipped, bzip2: unpacked, zstd: inflated}
                    pieces = packed.get(path.suffix.lower(), chunks_of)
                    for texts, damage in lines(pieces(stream)):
                        filled = ([row["file"]] * len(texts), texts, [damage] * len(texts))
                        columns = [pa.array(x, t) for x, t in zip(filled, types, strict=True)]
                        yield pa.RecordBatch.from_arrays(columns, names)

    return read
