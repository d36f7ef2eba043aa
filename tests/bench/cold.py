"""The cost of a whole audit as a user runs it: each command in its own process, page included."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from pulsar_conformance.audit.fleet.size import Fleet, HistoryOptions
from pulsar_conformance.audit.fleet.writing import write_history

from bench.audits import Rounds, Row, Tell, seconds

ENTRY = "from pulsar_conformance.conformance.commands.entry import entry"
AUDIT = (sys.executable, "-c", f"import sys; {ENTRY}; sys.exit(entry())", "audit")
"""The command `pulsar-conformance audit`."""

FLEET = Fleet(1, 20, 60, 24)
"""A cluster for a day: 346,605 samples of bundles."""

MULTIPLES = (1, 4, 8)
"""Numbers of such clusters."""


def measure(spark: Any, folder: Path, rounds: Rounds, tell: Tell) -> Iterator[Row]:
    """Yield the seconds of audit and command for each multiple, in turns."""
    for count in MULTIPLES:
        place = folder / str(count)
        options = HistoryOptions("none", (), 0, "json")
        write_history(spark, replace(FLEET, clusters=count), options, str(place / "fl"))
        tell(f"history of {count} clusters of {FLEET.brokers} brokers, {FLEET.hours} h")
        yield from _of_one(place, f"{count} x {FLEET.brokers} brokers", rounds)


def _of_one(place: Path, history: str, rounds: Rounds) -> Iterator[Row]:
    audits: list[float] = []
    besides: list[float] = []
    for number in range(rounds.count):
        words = ("--input", "fl", "--output", f"out-{number}")
        audits.append(seconds(partial(_run, (*AUDIT, *words), place)))
        if rounds.command:
            besides.append(seconds(partial(_run, rounds.command, place)))
    audit, beside = median(audits), median(besides or [0.0])
    if rounds.command:
        yield f"{Path(rounds.command[-1]).name}, {history}", f"{beside:.1f}", "1"
    yield f"  audit, cold, {history}", f"{audit:.1f}", f"{audit / beside:.2f}" if beside else ""


def _run(command: Sequence[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)
