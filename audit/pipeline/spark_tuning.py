"""Spark's settings, chosen by the size of a history.

For a small history, compiling code in Java or Spark takes longer than the compiled code saves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pulsar_conformance.adapters.spark.configuring import COMPILED, INTERPRETED, PARTITIONS

SMALL_BYTES = 32 << 20
"""Size of a history in bytes below which compiling code takes longer than compiled code saves."""

TINY_BYTES = 1 << 19
"""Size of a history in bytes below which each table is one partition.

Spark's tasks then exchange no rows. Measured on 393 lines: 102 tasks instead of 376, and 25 s of
CPU time instead of 28. On 3.2 MB, however, a single partition takes 34 s instead of 29.
"""

MODEST_BYTES = 256 << 20
"""Size of a history in bytes below which only the first of Java's two compilers pays off."""

PARTITION_BYTES = 32 << 20
"""Bytes of the history per partition: few enough to sort a partition in memory."""

MAX_INTERPRETED_BYTES = 128 << 20
"""Size of a history in bytes up to which Spark generates no code for most tables."""

MIN_SHARDED_BYTES = 1 << 30
"""Size of a history in bytes above which a day of a table has several partitions, by cluster."""

SUMMARIES: Mapping[str, str] = {"spark.driver.maxResultSize": "1m"}
"""Limit on the size of results that Spark returns to the driver. Audits fetch only summaries."""

LARGE_HEAP_SETTINGS: Mapping[str, str] = {**SUMMARIES, "spark.driver.memory": "2g"}
"""Settings of a Java process with one compiler. Measured on 350,000 samples: 65 s instead of 81,
and 91 s of CPU time instead of 149.
"""

LARGE_HISTORY_SETTINGS: Mapping[str, str] = {
    **LARGE_HEAP_SETTINGS,
    "spark.driver.extraJavaOptions": "-XX:-DontCompileHugeMethods -XX:+UseParallelGC",
}
"""Settings of a Java process with both compilers. By default, Java only interprets methods above
8000 bytes, such as the one that explains why each bundle stays. If Java compiles them, an audit of
700,000 samples takes 152 s instead of 254. The parallel garbage collector takes a tenth less time
than the default one.
"""


def process_settings(path: str) -> Mapping[str, str]:
    """Return the settings of a Spark process, given the path of the history.

    A history that is not local is treated as large.
    """
    there = Path(path)
    files = there.rglob("*") if there.is_dir() else [there]
    length = sum(one.stat().st_size for one in files if one.is_file())
    if not 0 < length < MODEST_BYTES:
        return LARGE_HISTORY_SETTINGS
    return SUMMARIES if length < SMALL_BYTES else LARGE_HEAP_SETTINGS


def keeps_objects(settings: Mapping[str, str]) -> bool:
    """True if a process with these `process_settings` can keep all Java objects of an audit in
    memory.

    Half of all messages to Java free objects: see `adapters.spark.messages`. In a small audit, Java
    keeps 25,000 objects, 60 MB in all.
    """
    return settings == SUMMARIES


PARALLEL_TABLES = 3
"""Number of tables of a small history that are built in parallel.

Planning a table takes longer than processing its rows. Planning uses one core, which is often idle.
"""

SMALL_TABLES = ("cycles", "last_reports", "broker_usage", "decisions", "findings")
"""Tables with at most one row for each broker and cycle. The others have a row for each bundle."""

SMALL_FACTOR = 32
"""Bytes of the history per partition of `SMALL_TABLES`, relative to other tables."""

HEAVY_TABLES = ("bundle_averages", "broker_decisions")
"""The most expensive tables. In a history of one day, compiling saves time only for these.

Measured on 400,000 samples, they take 30 s interpreted and 13 s compiled. All other tables take 24
s interpreted and 30 s compiled.
"""


def table_settings(table: str, length: int, tasks: int) -> Mapping[str, str]:
    """Return the settings of a session that builds a table.

    `length` is the size of the history in bytes, and `tasks` the number of tasks that run at a
    time. For 2.9 million samples, `SMALL_TABLES` take 18 s with their own settings, and 38 s with
    the settings of other tables.
    """
    small = table in SMALL_TABLES
    least = SMALL_BYTES if table in HEAVY_TABLES else MAX_INTERPRETED_BYTES + 1
    code = INTERPRETED if small or length < least else COMPILED
    parts = length // (PARTITION_BYTES * SMALL_FACTOR if small else PARTITION_BYTES)
    if is_single_partition(length):
        return {**code, **WITHOUT_BROADCASTS, PARTITIONS: "1"}
    return {**code, **WITH_BROADCASTS, PARTITIONS: str(max(tasks, parts))}


WITHOUT_BROADCASTS, WITH_BROADCASTS = (
    {"spark.sql.optimizer.disableHints": off, "spark.sql.autoBroadcastJoinThreshold": limit}
    for off, limit in (("true", "-1"), ("false", "32k"))
)
"""Settings that prevent broadcasts, and settings that permit small ones only.

A broadcast takes a separate job and saves an exchange. A single partition needs no exchange.
Broadcast tables come to the driver first, where they take many times the space of their files;
`SUMMARIES` limits that space.
"""


def is_single_partition(length: int) -> bool:
    """True if each table of a history of `length` bytes is a single partition."""
    return length < TINY_BYTES


def parallel_tables(length: int) -> tuple[int, bool]:
    """Return the number of tables built in parallel, and whether their settings are equal."""
    if length < SMALL_BYTES:
        return PARALLEL_TABLES, True
    return (2 if length < MODEST_BYTES else 1), False


@contextmanager
def tasks_at_once(spark: Any) -> Iterator[int]:
    """Yield the number of tasks that a session runs in parallel; restore the setting afterwards."""
    tasks = spark.conf.get(PARTITIONS)
    try:
        yield int(tasks)
    finally:
        spark.conf.set(PARTITIONS, tasks)
