"""How Spark is set up for a history: a small one is over before compiling what it takes pays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pulsar_conformance.adapters.spark.configuring import COMPILED, INTERPRETED

SMALL = 32 << 20
"""Bytes of a history for which compiling takes longer than it saves."""

TINY = 1 << 19
"""Bytes of a history of which a table is one part: no rows move between tasks, and each of these is
sent to a task with all that is planned for it. Measured on 393 lines: 102 tasks instead of 376, and
25 s of CPU time instead of 28; but 34 s instead of 29 on 3.2 MB.
"""

MODEST = 256 << 20
"""Bytes of a history that one of Java's compilers is over with before the other pays."""

PART = 32 << 20
"""Bytes of a history, at least, that tasks work on together, so that sorting them needs no disk."""

DAILY = 128 << 20
"""Bytes of a history, at most, for which a table is set up of which a part is made anew."""

PARTITIONS = "spark.sql.shuffle.partitions"

SUMMARIES: Mapping[str, str] = {"spark.driver.maxResultSize": "1m"}
"""They alone come to the driver."""

ROOMY: Mapping[str, str] = {**SUMMARIES, "spark.driver.memory": "2g"}
"""For a Java process with one compiler, as Spark is started elsewhere. Measured on 350,000 samples:
65 s instead of 81, and 91 s of CPU time instead of 149."""

LARGE: Mapping[str, str] = {
    **ROOMY,
    "spark.driver.extraJavaOptions": "-XX:-DontCompileHugeMethods -XX:+UseParallelGC",
}
"""For a Java process with both of its compilers. Measured on 700,000 samples: 152 s instead of 254,
as one projection tells why each bundle stays, and Java interprets what is longer than 8000 bytes.
Garbage is collected while all else waits, which takes a tenth less than beside it.
"""


def of_process(path: str) -> Mapping[str, str]:
    """Settings of a Spark that is started for the history of a path, if that is on this machine."""
    there = Path(path)
    files = there.rglob("*") if there.is_dir() else [there]
    length = sum(one.stat().st_size for one in files if one.is_file())
    if not 0 < length < MODEST:
        return LARGE
    return SUMMARIES if length < SMALL else ROOMY


AT_ONCE = 3
"""Tables of a small history that are made at a time: planning one takes longer than its rows do,
and that is the work of one core, which often waits."""

FEW = ("cycles", "broker_usage", "decisions", "findings")
"""Tables with a row a broker at most of what has a row a bundle: cycles, usages, rules."""

FEWER = 32
"""So many times as much of a history goes into a part of theirs."""


HEAVY = ("bundle_averages", "broker_decisions")
"""Tables that most is computed for: of a day, they alone take longer than compiling does. Measured
on one of 400,000 samples, they take 30 s interpreted and 13 s compiled, and all others 24 s and
30 s."""


def of_table(table: str, length: int, tasks: int) -> Mapping[str, str]:
    """Settings of a session that makes a table of so many bytes; `tasks` are at work at once.

    Measured on 2.9 million samples, `FEW` take 38 s compiled and in parts of the usual size, and
    18 s so.
    """
    few = table in FEW
    least = SMALL if table in HEAVY else DAILY + 1
    code = INTERPRETED if few or length < least else COMPILED
    parts = length // (PART * FEWER if few else PART)
    return {**code, PARTITIONS: "1" if in_one(length) else str(max(tasks, parts))}


def in_one(length: int) -> bool:
    """Whether tables of a history of so many bytes are one part each."""
    return length < TINY


def at_once(length: int) -> int:
    """How many tables of a history of so many bytes are made at a time, all set up alike."""
    return AT_ONCE if length < SMALL else 1


@contextmanager
def tasks_at_once(spark: Any) -> Iterator[int]:
    """How many tasks a session works on at once, which is as it was afterwards."""
    tasks = spark.conf.get(PARTITIONS)
    try:
        yield int(tasks)
    finally:
        spark.conf.set(PARTITIONS, tasks)
