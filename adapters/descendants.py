"""The processes that a child has started, even outside its process group.

Each child has a mark in its environment, which its descendants inherit; descendants are also looked
up by parent while the child lives. Some processes are not found: those that cleared their
environment and were adopted by another parent, those of another user, and those in a container or
on another machine.
"""

import os
import uuid
from collections.abc import Iterable
from contextlib import suppress

import psutil

MARK_VARIABLE = "PULSAR_CONFORMANCE_CHILD"
"""Environment variable whose value marks the processes of one child."""

MAX_SEARCHES = 20
"""Maximum number of searches for remaining processes; new processes may start during a search."""


def new_mark() -> str:
    """Return the value of `MARK_VARIABLE` for a new child."""
    return uuid.uuid4().hex


def child_environment(mark: str) -> dict[str, str]:
    """Return the environment for a child with this mark."""
    return {**os.environ, MARK_VARIABLE: mark}


def descendants_of(parent: int) -> list[psutil.Process]:
    """Return all descendants of a process."""
    with suppress(psutil.Error):
        return psutil.Process(parent).children(recursive=True)
    return []


def processes_with_mark(mark: str) -> list[psutil.Process]:
    """Return the processes with this mark whose environments can be read, except this process."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK_VARIABLE) == mark and process.pid != os.getpid():
                found.append(process)
    return found


def kill_descendants(mark: str, known: Iterable[psutil.Process]) -> None:
    """Kill the known processes and all processes with the mark.

    If a known process has ended and an unrelated process has its ID, the latter is not killed.
    """
    left = list(known)
    for _ in range(MAX_SEARCHES):
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        left = processes_with_mark(mark)
        if not left:
            break
