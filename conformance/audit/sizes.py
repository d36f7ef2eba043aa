"""How Spark is set up for a history: a small one is over before compiling what it takes pays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

SMALL = 32 << 20
"""Bytes of a history for which compiling takes longer than it saves."""

PART = 32 << 20
"""Bytes of a history, at least, that tasks work on together, so that sorting them needs no disk."""

SUMMARIES: Mapping[str, str] = {"spark.driver.maxResultSize": "1m"}
"""They alone come to the driver."""

LARGE: Mapping[str, str] = {
    **SUMMARIES,
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": "-XX:-DontCompileHugeMethods",
}
"""For a Java process with both of its compilers. Measured on 700,000 samples: 152 s instead of 254,
as one projection tells why each bundle stays, and Java interprets what is longer than 8000 bytes.
"""

COMPILED, INTERPRETED = (
    {"spark.sql.codegen.wholeStage": whole, "spark.sql.codegen.factoryMode": mode}
    for whole, mode in (("true", "FALLBACK"), ("false", "NO_CODEGEN"))
)
"""Settings of a session. Measured on 264 lines: 54 s of CPU time interpreted, 85 s compiled."""


def of_process(path: str) -> Mapping[str, str]:
    """Settings of a Spark that is started for the history of a path, if that is on this machine."""
    there = Path(path)
    files = there.rglob("*") if there.is_dir() else [there]
    length = sum(one.stat().st_size for one in files if one.is_file())
    return SUMMARIES if 0 < length < SMALL else LARGE


def of_session(length: int, tasks: int) -> Mapping[str, str]:
    """Settings of a session for a history of so many bytes; `tasks` are at work at once."""
    code = INTERPRETED if length < SMALL else COMPILED
    return {**code, "spark.sql.shuffle.partitions": str(max(tasks, length // PART))}
