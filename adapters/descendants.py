"""Processes that a child has started, also those that left its group: found by a mark, and ended.

Each child gets a mark in its environment, which whatever it starts inherits, and its descendants
are looked up while it lives. Both need `/proc`. What cannot be found is a process that cleared its
environment and was handed over to another parent, one of another user, and one on another machine
or in a container.
"""

import os
import signal
import uuid
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

MARK = "PULSAR_CONFORMANCE_CHILD"
"""The variable whose value tells the processes of one child from all others."""

PROC = Path("/proc")
ROUNDS = 20
"""How often what is left is looked for: each time, something new may have been started."""


def new_mark() -> str:
    """The value of `MARK` for a new child."""
    return uuid.uuid4().hex


def environment(mark: str) -> dict[str, str]:
    """The environment of a child that is marked so."""
    return {**os.environ, MARK: mark}


def below(parent: int) -> set[int]:
    """Every process that was started by a process, by those it started, and so on."""
    children: dict[int, set[int]] = defaultdict(set)
    for process in _processes():
        with suppress(OSError, ValueError, IndexError):
            # The name in brackets may hold anything, also blanks and brackets.
            stat = (PROC / str(process) / "stat").read_bytes().rpartition(b")")[2]
            state, started_by = stat.decode().split()[:2]
            if state not in "ZX":
                children[int(started_by)].add(process)
    found: set[int] = set()
    new = set(children[parent])
    while new:
        found |= new
        new = {one for process in new for one in children[process]} - found
    return found


def marked(mark: str) -> set[int]:
    """Every living process with this mark that we may look into, but for this one."""
    wanted = f"{MARK}={mark}".encode()
    found = set()
    for process in _processes():
        with suppress(OSError):
            if wanted in (PROC / str(process) / "environ").read_bytes().split(b"\0"):
                found.add(process)
    return found - {os.getpid()}


def end(mark: str, known: Iterable[int]) -> None:
    """Kills the processes that are known, and all that have the mark."""
    left = set(known)
    for _ in range(ROUNDS):
        for process in left:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        left = marked(mark)
        if not left:
            break


def _processes() -> list[int]:
    with suppress(OSError):
        return [int(one.name) for one in PROC.iterdir() if one.name.isdigit()]
    return []
