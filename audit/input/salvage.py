"""What can still be read of Parquet files that are damaged, and which files those are.

Spark gives up a file, or a whole run, where one page is damaged, or a column is of a kind that it
does not know. Here every row is told: those that can be read as lines of JSON, and a row of damage
for each that cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pulsar_conformance.audit.input.files import Session, kind
from pulsar_conformance.audit.input.paths import LOCAL
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

FILES = "file string, path string, schema string, rows bigint"
"""`schema` tells files of the same columns; it is null where a file is damaged."""

LINES = "file string, line string, damage string"
DAMAGED = "damaged-parquet"


def looked_at(spark: Session, path: str) -> DataFrame:
    """`FILES` of every Parquet file below a path, each read to its end."""
    return _files(spark, path).mapInArrow(checker(), FILES)


def salvaged(spark: Session, path: str, odd: Sequence[str]) -> DataFrame:
    """`LINES` of those that are damaged, and of those whole ones that Spark cannot read."""
    is_odd = F.col("path").isin(*odd) if odd else F.lit(False)
    files = _files(spark, path).withColumn("odd", is_odd)
    return files.mapInArrow(salvager(), LINES)


def _files(spark: Session, path: str) -> DataFrame:
    """The files, with what they hold where only Spark can fetch them."""
    rows = spark.read.format("binaryFile").option("recursiveFileLookup", True).load(path)
    file = F.col("_metadata.file_path")
    content = F.when(~file.startswith(LOCAL), F.col("content"))
    return rows.where(kind() == "parquet").select(
        file.alias("file"), "path", content.alias("content")
    )


def checker() -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What looks at files, Arrow to Arrow. It stands alone: it is sent to where Spark runs."""
    local = LOCAL

    def check(batches: Iterator[Any]) -> Iterator[Any]:
        import io

        import pyarrow as pa
        import pyarrow.parquet as pq

        for files in batches:
            for row in files.to_pylist():
                path = row["path"].removeprefix(local)
                schema, count = None, 0
                try:
                    source = path if row["content"] is None else io.BytesIO(row["content"])
                    with pq.ParquetFile(source, page_checksum_verification=True) as file:
                        count = sum(batch.num_rows for batch in file.iter_batches())
                        schema = str(file.schema_arrow.remove_metadata())
                except (pa.ArrowException, OSError, ValueError):
                    schema = None
                columns = [
                    pa.array([one], pa.string()) for one in (row["file"], row["path"], schema)
                ]
                columns.append(pa.array([count], pa.int64()))
                yield pa.RecordBatch.from_arrays(columns, ["file", "path", "schema", "rows"])

    return check


def salvager() -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What reads damaged files as far as that goes, Arrow to Arrow; it stands alone, too."""
    local, damaged = LOCAL, DAMAGED
    texts, nested = ("line", "value"), ("report", "data", "owners", "settings", "into", "members")
    least = 10**18

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        import datetime
        import decimal
        import io
        import json
        import math

        import pyarrow as pa
        import pyarrow.parquet as pq

        broken = (pa.ArrowException, OSError, ValueError, OverflowError)

        def plain(value: Any, of: Any) -> Any:
            """A value as JSON has it."""
            if value is None:
                return None
            if pa.types.is_map(of):
                return {str(key): plain(one, of.item_type) for key, one in value}
            if pa.types.is_struct(of):
                kept = ((one.name, plain(value[one.name], one.type)) for one in of)
                return {name: one for name, one in kept if one is not None}
            if pa.types.is_list(of) or pa.types.is_large_list(of):
                return [plain(one, of.value_type) for one in value]
            if isinstance(value, datetime.datetime):
                zoned = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
                return zoned.isoformat()
            if isinstance(value, float) and not math.isfinite(value):
                return str(value)
            if isinstance(value, bytes):
                return value.decode("utf-8", "replace")
            return float(value) if isinstance(value, decimal.Decimal) else value

        def field(name: str, value: Any, of: Any) -> Any:
            if name == "at" and pa.types.is_integer(of) and value is not None and value >= least:
                return datetime.datetime.fromtimestamp(value / 1e9, datetime.UTC).isoformat()
            if name in nested and isinstance(value, str):
                try:
                    return json.loads(value)
                except ValueError:
                    return value
            return plain(value, of)

        def line(record: dict[str, Any], schema: Any) -> str | None:
            if schema.names in ([texts[0]], [texts[1]]):
                text = record[schema.names[0]]
                return text.decode("utf-8", "replace") if isinstance(text, bytes) else text
            told = ((one.name, field(one.name, record[one.name], one.type)) for one in schema)
            pairs = (
                f"{json.dumps(name)}: {json.dumps(value, default=str)}"
                for name, value in told
                if value is not None
            )
            return f"{{{', '.join(pairs)}}}"

        def rows_of(file: Any, group: int) -> Iterator[str | None]:
            """The lines of a row group, up to where it is damaged."""
            given = 0
            for size in (1024, 1):
                seen = 0
                try:
                    for batch in file.iter_batches(batch_size=size, row_groups=[group]):
                        for record in batch.to_pylist():
                            seen += 1
                            if seen > given:
                                given += 1
                                yield line(record, file.schema_arrow)
                    return
                except broken:
                    continue

        def told(row: dict[str, Any]) -> Iterator[tuple[str | None, str | None]]:
            """Lines, and one damage for each row that cannot be read."""
            path = row["path"].removeprefix(local)
            source = path if row["content"] is None else io.BytesIO(row["content"])
            try:
                file = pq.ParquetFile(source, page_checksum_verification=True)
                groups = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
            except broken:
                yield "", damaged
                return
            with file:
                try:
                    whole = sum(1 for batch in file.iter_batches() for _ in range(batch.num_rows))
                    if whole == sum(groups) and not row["odd"]:
                        return
                except broken:
                    pass
                for group, count in enumerate(groups):
                    lines = 0
                    for one in rows_of(file, group):
                        lines += 1
                        yield one, None
                    for _ in range(count - lines):
                        yield "", damaged

        names = ["file", "line", "damage"]
        for files in batches:
            for row in files.to_pylist():
                pairs, ended = told(row), False
                while not ended:
                    part = [one for _, one in zip(range(10_000), pairs, strict=False)]
                    ended = len(part) < 10_000
                    columns = [
                        pa.array([row["file"]] * len(part), pa.string()),
                        pa.array([one for one, _ in part], pa.string()),
                        pa.array([one for _, one in part], pa.string()),
                    ]
                    yield pa.RecordBatch.from_arrays(columns, names)

    return read
