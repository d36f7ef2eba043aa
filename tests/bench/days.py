"""The cost of one more day: an incremental audit against one that reads all days at once."""

from __future__ import annotations

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

HOURS = 24
"""Hours of a day."""


def measure(spark: Any, folder: Path, fleet: Fleet, tell: Tell) -> Iterator[Row]:
    """Yield the seconds of an audit to which the last day is added, and of one of all days."""
    plan, history = AuditPlan.of("documented-3.0"), folder / "history"
    tell(f"history of {fleet.brokers} brokers, {fleet.bundles} bundles each, {fleet.hours} h")
    days = _by_day(spark, fleet, folder / "days")
    history.mkdir()
    for day in days[:-1]:
        day.rename(history / day.name)
    audit = partial(build_audit_tables, spark, str(history), plan=plan, other=None)
    tell(f"audit of {len(days) - 1} days")
    audit(output=str(folder / "grown"))
    days[-1].rename(history / days[-1].name)
    tell("audit of one more day")
    more = seconds(partial(audit, output=str(folder / "grown")))
    tell(f"audit of {len(days)} days")
    whole = seconds(partial(audit, output=str(folder / "whole")))
    yield f"audit of {len(days)} days", f"{whole:.1f}", "1"
    yield "  of the last one after the others", f"{more:.1f}", f"{more / whole:.3f}"


def _by_day(spark: Any, fleet: Fleet, folder: Path) -> list[Path]:
    """Write a history with a folder for each day; return the folders."""
    write_history(spark, fleet, HistoryOptions("none", (), 0, "json"), str(folder / "lines"))
    lines = spark.read.text(str(folder / "lines"))
    day = F.regexp_extract("value", r'"at": ?"(\d{4}-\d\d-\d\d)', 1)
    split = lines.withColumn("day", day).repartition("day").write.partitionBy("day")
    split.text(str(folder / "each"))
    # The last records belong to the next day.
    return sorted((folder / "each").glob("day=*"))[: fleet.hours // HOURS]
