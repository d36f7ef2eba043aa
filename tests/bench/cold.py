"""The cost of a whole audit as a user runs it: each command in its own process, page included."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from pulsar_conformance.audit.fleet.size import Fleet, HistoryOptions
from pulsar_conformance.audit.fleet.writing import write_history

from bench.audits import Rounds, Row, Tell, seconds

ENTRY = "from pulsar_conformance.conformance.__main__ import entry"
AUDIT = (sys.executable, "-c", f"import sys; {ENTRY}; sys.exit(entry() == 2)", "audit")
"""The command `pulsar-conformance audit`, with exit status 0 even if it finds faults."""

JOB = """
from pulsar_conformance.adapters.spark import session
with session.spark_acquired("local[*]", "bench") as spark:
    spark.session.range(1).count()
"""
SESSION = (sys.executable, "-c", JOB)
"""A command that starts Spark for a small job."""

SMALL = Path(__file__).parents[2] / "fixtures" / "history"
"""A history of 393 lines."""

FLEET = Fleet(1, 20, 60, 24)
"""A cluster for a day: 346,605 samples of bundles."""


def measure(
    spark: Any, folder: Path, multiples: Sequence[int], rounds: Rounds, tell: Tell
) -> Iterator[Row]:
    """Yield the seconds of audits and of programs to compare them with, which run in turns.

    An audit of a small history is compared with a session with a small job, and an audit of each
    multiple of the fleet with the command.
    """
    small = folder / "small"
    small.mkdir()
    (small / "fl").symlink_to(SMALL, target_is_directory=True)
    tell("a history of 393 lines")
    yield from _of_one(small, "393 lines", {"a session with a small job": SESSION}, rounds)
    beside = {Path(rounds.command[-1]).name: rounds.command} if rounds.command else {}
    for count in multiples:
        place = folder / str(count)
        options = HistoryOptions("none", (), 0, "json")
        write_history(spark, replace(FLEET, clusters=count), options, str(place / "fl"))
        tell(f"history of {count} clusters of {FLEET.brokers} brokers, {FLEET.hours} h")
        yield from _of_one(place, f"{count} x {FLEET.brokers} brokers", beside, rounds)


def _of_one(
    place: Path, history: str, beside: Mapping[str, Sequence[str]], rounds: Rounds
) -> Iterator[Row]:
    taken: dict[str, list[float]] = {name: [] for name in (*beside, "audit")}
    for number in range(rounds.count):
        audit = (*AUDIT, "--input", "fl", "--output", f"out-{number}")
        for name, command in {**beside, "audit": audit}.items():
            taken[name].append(seconds(partial(_run, command, place)))
    audited, others = median(taken.pop("audit")), {name: median(t) for name, t in taken.items()}
    for name, took in others.items():
        yield f"{name}, {history}", f"{took:.1f}", "1"
    ratio = f"{audited / median(others.values()):.2f}" if others else ""
    yield f"  audit, cold, {history}", f"{audited:.1f}", ratio


def _run(command: Sequence[str], folder: Path) -> None:
    subprocess.run(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
    )
