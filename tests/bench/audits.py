"""The cost of an audit: its ratio to a lower bound, the floor, and its growth with the history.

The floor reads, exchanges and sorts the same files and columns, and writes the same tables, but
computes nothing. Audit and floor run in turns on the same Spark. A command that does similar work
without Spark may also take part.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from pulsar_conformance.adapters.spark.configuring import configure
from pulsar_conformance.adapters.spark.threshold import SHEDDER_THRESHOLD
from pulsar_conformance.audit.fleet.size import Fleet, HistoryOptions
from pulsar_conformance.audit.fleet.writing import write_history
from pulsar_conformance.audit.input import files
from pulsar_conformance.audit.input.parsing import FIELDS, parsed_records
from pulsar_conformance.audit.input.records import part_of_day
from pulsar_conformance.audit.pipeline import spark_tuning
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.report import build_audit_tables
from pulsar_conformance.audit.pipeline.tables import SILVER, TABLES
from pulsar_conformance.audit.pipeline.writing import Store
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

Tell = Callable[[str], None]
Row = tuple[str, str, str]
"""A measurement: its name, the seconds, and the ratio."""

FAR = 100
"""Threshold in points above the average, so high that no broker sheds."""

GROWN = 4
"""Ratio of the brokers, and so of the rows, of the larger history to those of the smaller."""


@dataclass(frozen=True)
class Timing:
    """Medians over the rounds: the seconds of an audit, of its floor, and of a command."""

    samples: int
    audit: float
    floor: float
    beside: float


@dataclass(frozen=True)
class Rounds:
    """The number of rounds, and the command that takes part, if any.

    The command runs in a folder in which the history is named `fl`.
    """

    count: int
    command: Sequence[str] = ()


def measure(spark: Any, folder: Path, fleet: Fleet, rounds: Rounds, tell: Tell) -> list[Row]:
    """Return the measurements of a fleet's history and of a larger one, each with its floor.

    An audit and its floor are run once before the measurement, since Java then compiles the code.
    Errors: `subprocess.CalledProcessError` if the command fails.
    """
    _of_one(spark, folder / "first", fleet, Rounds(1), tell)
    small = _of_one(spark, folder / "small", fleet, rounds, tell)
    grown = replace(fleet, brokers=fleet.brokers * GROWN)
    large = _of_one(spark, folder / "large", grown, rounds, tell)
    of_both = (row for measured in (small, large) for row in _rows(measured, rounds))
    return [*of_both, ("  to that of a quarter", "", _ratio(large, small))]


def _ratio(large: Timing, small: Timing) -> str:
    return f"{large.audit / small.audit:.2f}"


def _rows(measured: Timing, rounds: Rounds) -> Iterator[Row]:
    took = {"floor": measured.floor}
    if rounds.command:
        took[Path(rounds.command[-1]).name] = measured.beside
    for name, yardstick in took.items():
        yield f"{name}, {measured.samples:,} bundle samples", f"{yardstick:.1f}", "1"
        yield "  audit", f"{measured.audit:.1f}", f"{measured.audit / yardstick:.2f}"


def _of_one(spark: Any, folder: Path, fleet: Fleet, rounds: Rounds, tell: Tell) -> Timing:
    history, plan = str(folder / "history"), AuditPlan.of("documented-3.0")
    tell(f"history of {fleet.brokers} brokers, {fleet.bundles} bundles each, {fleet.hours} h")
    write_history(spark, fleet, HistoryOptions("none", (), 0, "json"), history)
    length = files.current_files(spark, history).length
    taken: Mapping[str, list[float]] = {"audit": [], "floor": [], "beside": []}
    for number in range(rounds.count):
        made, bare, apart = (str(folder / f"{name}-{number}") for name in taken)
        tell(f"round {number + 1} of {rounds.count}: audit")
        taken["audit"].append(
            seconds(partial(build_audit_tables, spark, history, made, plan, None))
        )
        tell(f"round {number + 1} of {rounds.count}: floor")
        of, to = Store(spark, made), Store(spark, bare)
        with spark_tuning.tasks_at_once(spark) as tasks:
            configure(spark, spark_tuning.table_settings("records", length, tasks))
            taken["floor"].append(seconds(partial(floor, of, history, to)))
        if rounds.command:
            tell(f"round {number + 1} of {rounds.count}: {' '.join(rounds.command)}")
            taken["beside"].append(seconds(partial(_run, rounds.command, history, Path(apart))))
    samples = Store(spark, made).read("bundle_samples").count()
    return Timing(samples, *(median(each or [0.0]) for each in taken.values()))


def _run(command: Sequence[str], history: str, folder: Path) -> None:
    """Run a command in a new folder. Its output goes to standard error."""
    folder.mkdir()
    (folder / "fl").symlink_to(Path(history).resolve(), target_is_directory=True)
    subprocess.run(command, cwd=folder, stdout=sys.stderr, check=True)


BUNDLES, BROKERS = ("cluster", "bundle"), ("cluster", "broker")
MOMENT = ("cluster", "cycle", "moment")

READ: Mapping[str, Mapping[str, Sequence[str]]] = {
    **{name: {"records": ()} for name in ("quarantine", *SILVER)},
    "bundle_averages": {"bundle_samples": BUNDLES, "broker_samples": BROKERS},
    "last_reports": {"broker_samples": BROKERS},
    "broker_usage": {"last_reports": BROKERS},
    "broker_decisions": {"bundle_averages": MOMENT, "broker_usage": MOMENT},
    "decisions": {"broker_decisions": ()},
    "findings": {"broker_decisions": MOMENT, "broker_usage": MOMENT},
    "verdicts": {"findings": MOMENT},
}
"""The parents that each table needs, and the keys by which their rows are joined."""


def floor(made: Store, history: str, to: Store) -> None:
    """Read a history, sort the parents of the tables of its audit, and write the tables again."""
    lines = made.spark.read.text(history).select(
        F.col("_metadata.file_path").alias("file"),
        F.col("value").alias("line"),
        F.lit(None).cast("string").alias("damage"),
    )
    said = F.struct(*FIELDS).alias("said")
    rows = parsed_records(lines).select(
        "file", "line", "kind", "at", "cluster", said, F.to_date("at").alias("day")
    )
    rows = rows.withColumns({"used": F.lit(True), "reason": F.lit(None).cast("string")})
    ordered = _sorted(rows.withColumn("part", part_of_day()), ("cluster", "day", "part"))
    to.write("records", to.keep("records", ordered))
    for name in TABLES:
        for parent, keys in READ.get(name, {}).items():
            of = _sorted(made.read(parent), keys) if keys else made.read(parent)
            of.write.format("noop").mode("overwrite").save()
        if name != "records":
            to.write(name, to.keep(name, made.read(name)))


def _sorted(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return rows partitioned and sorted by these columns, and then sorted by time."""
    order = [one for one in ("at", "broker", "bundle") if one in rows.columns]
    return rows.repartition(*keys).sortWithinPartitions(*keys, *order)


def seconds(work: Callable[[], object]) -> float:
    """Run a function, and return the seconds that it took."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def fleet_of(brokers: int, bundles: int, hours: int) -> Fleet:
    """Return a fleet of one cluster that needs no unloads and has no undecided verdict."""
    return Fleet(1, brokers, bundles, hours, given={SHEDDER_THRESHOLD: FAR})
