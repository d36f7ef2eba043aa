"""Runs each task in a new child process, so that no task can affect a later one."""

from __future__ import annotations

import multiprocessing
import resource
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar, cast

Task = TypeVar("Task")
Result = TypeVar("Result")

MEMORY = 4 << 30
"""Bytes of memory that a child may use in addition to its parent's memory."""

STATM = Path("/proc/self/statm")
"""Linux file about the memory of this process; its first number is the count of mapped pages."""


class OutOfTime(BaseException):
    """Raised for a task that exceeds its time. No `except Exception` in the task catches it."""


def run_tasks(
    tasks: Sequence[Task],
    work: Callable[[Task], Result],
    lost: Callable[[Task, int | None], Result],
    workers: int,
    seconds: int,
) -> Iterator[tuple[Task, Result]]:
    """Yield each task with its result as it finishes; `workers` tasks run at a time.

    A task may use `seconds` of CPU. For a child that ended without a result, `lost` makes the
    result from the exit status. Children are forks, so they have the state of this process. They
    are ended if the caller stops early.
    """
    context = multiprocessing.get_context("fork")
    waiting = list(reversed(tasks))
    running: dict[Pipe[Any, Any], tuple[Task, ForkProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                task = waiting.pop()
                mine, theirs = context.Pipe(duplex=False)
                child = context.Process(target=_child, args=(theirs, work, task, seconds))
                child.start()
                theirs.close()
                running[mine] = task, child
            for ready in wait(list(running)):
                pipe = cast("Pipe[Any, Any]", ready)
                task, child = running.pop(pipe)
                try:
                    result = pipe.recv()
                except EOFError:
                    child.join()
                    result = lost(task, child.exitcode)
                child.join()
                pipe.close()
                yield task, result
    finally:
        for _, child in running.values():
            child.kill()
            child.join()


def _child(pipe: Pipe, work: Callable[[Task], Result], task: Task, seconds: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    most = MEMORY + _mapped()
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    pipe.send(work(task))
    pipe.close()


def _mapped() -> int:
    """Return the bytes that this process has mapped, or 0 if the system does not say.

    A pytest worker that has run for an hour may have mapped more than `MEMORY` itself.
    """
    if not STATM.exists():
        return 0
    return int(STATM.read_text("ascii").split()[0]) * resource.getpagesize()


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise OutOfTime


class CpuLimit:
    """Context manager, for the main thread only, that raises `OutOfTime` after some CPU seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        self._before = signal.signal(signal.SIGPROF, _stop)
        signal.setitimer(signal.ITIMER_PROF, self._seconds)

    def __exit__(self, *_error: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, self._before)
