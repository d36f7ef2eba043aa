"""Processes that a child has started, also those that left its group: found by a mark, and ended.

Each child gets a mark in its environment, which whatever it starts inherits, and its descendants
are looked up while it lives. Neither finds a process that cleared its environment and was handed
over to another parent, one of another user, and one on another machine or in a container.
"""

import os
import uuid
from collections.abc import Iterable
from contextlib import suppress

import psutil

MARK = "PULSAR_CONFORMANCE_CHILD"
"""Environment variable whose value marks the processes of one child."""

ROUNDS = 20
"""Number of searches for remaining processes: new ones may start during each."""


def new_mark() -> str:
    """Return the value of `MARK` for a new child."""
    return uuid.uuid4().hex


def child_environment(mark: str) -> dict[str, str]:
    """Return the environment of a child with this mark."""
    return {**os.environ, MARK: mark}


def below(parent: int) -> list[psutil.Process]:
    """Return every process that a process started, that those started, and so on."""
    with suppress(psutil.Error):
        return psutil.Process(parent).children(recursive=True)
    return []


def marked(mark: str) -> list[psutil.Process]:
    """Return every other living process with this mark whose environment may be read."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark and process.pid != os.getpid():
                found.append(process)
    return found


def end(mark: str, known: Iterable[psutil.Process]) -> None:
    """Kill the processes that are known, and all that have the mark.

    A new process with the ID of one that ended is left alone.
    """
    left = list(known)
    for _ in range(ROUNDS):
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        left = marked(mark)
        if not left:
            break
