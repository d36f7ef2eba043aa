"""The cost of one more file: for one cluster among many, and one report among many files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pulsar_conformance.audit.fleet.size import Fleet, HistoryOptions
from pulsar_conformance.audit.fleet.writing import write_history
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.report import build_audit_tables
from pyspark.sql import functions as F

from bench.audits import Row, Tell, seconds

PLAN = "documented-3.0"
LATE = "late.jsonl"
LAST = -1
"""Index of the report that comes late: the last report of its cluster."""


def measure(spark: Any, folder: Path, fleet: Fleet, files: int, tell: Tell) -> Iterator[Row]:
    """Yield the seconds of whole audits, and of audits of one more file."""
    clusters = folder / "clusters"
    tell(f"history of {fleet.clusters} clusters of {fleet.brokers} brokers, {fleet.hours} h")
    history = _by_cluster(spark, fleet, clusters)
    first = next(history.rglob("part-*"))
    lines = first.read_text("utf-8").splitlines(keepends=True)
    reports = [line for line in lines if '"load_report"' in line]
    late = reports[LAST]
    first.write_text("".join(line for line in lines if line is not late), "utf-8")
    first.with_name(f".{first.name}.crc").unlink(missing_ok=True)  # that of the former content
    yield from _of_one(spark, clusters, history, late, f"{fleet.clusters} clusters", tell)
    small, singles = folder / "files", folder / "files" / "history"
    singles.mkdir(parents=True)
    tell(f"history of {files} files of one report")
    for number, line in enumerate(_reports(reports, files)):
        (singles / f"{number}.json").write_text(line, "utf-8")
    yield from _of_one(spark, small, singles, late, f"{files:,} files", tell)


def _of_one(
    spark: Any, folder: Path, history: Path, late: str, told: str, tell: Tell
) -> Iterator[Row]:
    audit = partial(
        build_audit_tables,
        spark,
        str(history),
        str(folder / "out"),
        AuditPlan.of(PLAN),
        None,
        quiet=True,
    )
    tell(f"audit of {told}")
    whole = seconds(audit)
    (history / LATE).write_text(late, "utf-8")
    tell("audit of one more file")
    more = seconds(audit)
    yield f"audit of {told}", f"{whole:.1f}", "1"
    yield "  of one more file", f"{more:.1f}", f"{more / whole:.3f}"


def _by_cluster(spark: Any, fleet: Fleet, folder: Path) -> Path:
    """Return a history with a file for each cluster."""
    write_history(spark, fleet, HistoryOptions("none", (), 0, "json"), str(folder / "lines"))
    lines = spark.read.text(str(folder / "lines"))
    cluster = F.regexp_extract("value", r'"cluster": ?"([^"]+)"', 1)
    split = lines.withColumn("of", cluster).repartition("of").write.partitionBy("of")
    split.text(str(folder / "history"))
    return folder / "history"


def _reports(reports: list[str], count: int) -> Iterator[str]:
    """Yield `count` reports, each of another broker."""
    for number in range(count):
        record = json.loads(reports[number % len(reports)])
        yield json.dumps({**record, "broker": f"b{number // len(reports)}-{record['broker']}"})
