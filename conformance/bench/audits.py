"""What an audit costs: as a ratio to its floor, and as it grows.

The floor is the same lines read, and the same tables exchanged, sorted and written, with nothing
parsed and nothing computed. Audit and floor take turns, on the Spark that an audit runs on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from pulsar_conformance.conformance.audit.plan import Plan
from pulsar_conformance.conformance.audit.report import tables
from pulsar_conformance.conformance.audit.tables import TABLES
from pulsar_conformance.conformance.audit.writing import Store
from pulsar_conformance.conformance.fleet.size import SHEDDING, Fleet, Told
from pulsar_conformance.conformance.fleet.writing import write
from pyspark.sql import functions as F

Tell = Callable[[str], None]
Row = tuple[str, str, str]
"""What was measured, seconds and ratio."""

GROWN = 4
"""How many times the brokers, and so the rows, of the smaller history the larger one has."""


@dataclass(frozen=True)
class Measured:
    """Seconds of an audit and of its floor, the median of the rounds."""

    samples: int
    audit: float
    floor: float


def measure(spark: Any, folder: Path, fleet: Fleet, rounds: int, tell: Tell) -> list[Row]:
    """Both histories, a fleet's and a larger one's, audited in turns with their floors."""
    small = _of_one(spark, folder / "small", fleet, rounds, tell)
    grown = replace(fleet, brokers=fleet.brokers * GROWN)
    large = _of_one(spark, folder / "large", grown, rounds, tell)
    return [*_rows(small), *_rows(large), ("  to that of a quarter", "", _ratio(large, small))]


def _ratio(large: Measured, small: Measured) -> str:
    return f"{large.audit / small.audit:.2f}"


def _rows(measured: Measured) -> list[Row]:
    return [
        (f"floor, {measured.samples:,} bundle samples", f"{measured.floor:.1f}", "1"),
        ("  audit", f"{measured.audit:.1f}", f"{measured.audit / measured.floor:.2f}"),
    ]


def _of_one(spark: Any, folder: Path, fleet: Fleet, rounds: int, tell: Tell) -> Measured:
    history, plan = str(folder / "history"), Plan.of("documented-3.0")
    tell(f"history of {fleet.brokers} brokers, {fleet.bundles} bundles each, {fleet.hours} h")
    write(spark, fleet, Told("none", (), 0, "json"), history)
    taken: Mapping[str, list[float]] = {"audit": [], "floor": []}
    for number in range(rounds):
        made, bare = (str(folder / f"{name}-{number}") for name in taken)
        tell(f"round {number + 1} of {rounds}: audit")
        taken["audit"].append(_seconds(partial(tables, spark, history, made, plan, None)))
        tell(f"round {number + 1} of {rounds}: floor")
        of, to = Store(spark, made), Store(spark, bare)
        taken["floor"].append(_seconds(partial(floor, of, history, to)))
    samples = Store(spark, made).read("bundle_samples").count()
    return Measured(samples, median(taken["audit"]), median(taken["floor"]))


def floor(made: Store, history: str, to: Store) -> None:
    """The lines of a history read, and the tables of its audit written once more."""
    lines = made.spark.read.text(history).select("value", F.col("_metadata.file_path"))
    order = [F.xxhash64("value"), "value"]
    lines = lines.repartition(order[0]).sortWithinPartitions(*order)
    lines.write.format("noop").mode("overwrite").save()
    for name, table in TABLES.items():
        keys = table.identity or ("file", "line")
        rows = made.read(name).repartition(*keys[:2]).sortWithinPartitions(*keys)
        to.write(name, rows)


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def fleet_of(brokers: int, bundles: int, hours: int) -> Fleet:
    """A fleet of one cluster whose loads nobody shed."""
    return Fleet(1, brokers, bundles, hours, given={SHEDDING: False})
