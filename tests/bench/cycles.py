"""The cost of one leader's cycles: an audit of few cycles, and one of `LONGER` times as many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pulsar_conformance.adapters.spark.threshold import SHEDDER_THRESHOLD
from pulsar_conformance.audit.fleet.size import Fleet, HistoryOptions
from pulsar_conformance.audit.fleet.writing import write_history
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.report import build_audit_tables

from bench.audits import FAR, Row, Tell, seconds

LONGER = 16
"""Ratio of the number of cycles in the longer history to that in the shorter."""


def fleet_of(brokers: int, bundles: int, hours: int) -> Fleet:
    """Return a fleet of one cluster that reports and sheds every minute, under one leader."""
    return Fleet(1, brokers, bundles, hours, report=1, interval=1, given={SHEDDER_THRESHOLD: FAR})


def measure(spark: Any, folder: Path, fleet: Fleet, tell: Tell) -> Iterator[Row]:
    """Yield the measurements of a short and a long history, after an audit that is not counted."""
    longer = replace(fleet, hours=fleet.hours * LONGER)
    _audited(spark, folder / "first", fleet, tell)
    short, cycles = _audited(spark, folder / "short", fleet, tell)
    long, more = _audited(spark, folder / "long", longer, tell)
    yield f"audit of {cycles:,} cycles", f"{short:.1f}", "1"
    yield f"  of {more:,}", f"{long:.1f}", f"{long / short:.2f}"


def _audited(spark: Any, folder: Path, fleet: Fleet, tell: Tell) -> tuple[float, int]:
    """Return the seconds of an audit, and the number of cycles."""
    history, output = str(folder / "history"), str(folder / "audit")
    tell(f"history of {fleet.hours} h, a cycle a minute")
    write_history(spark, fleet, HistoryOptions("none", (), 0, "json"), history)
    tell("audit")
    took = seconds(
        partial(build_audit_tables, spark, history, output, AuditPlan.of("documented-3.0"), None)
    )
    return took, spark.read.parquet(f"{output}/cycles").count()
