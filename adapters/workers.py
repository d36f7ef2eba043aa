"""Processes that apply one function to many inputs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack
from multiprocessing import get_context
from multiprocessing.util import Finalize

from pulsar_conformance.adapters.errors import AdapterError

PROCESSES = 2
"""Number of processes, each of which connects to all implementations and may start Java."""

Work = Callable[[str], str]

Begin = Callable[[], AbstractContextManager[Work]]
"""Function that is called once in each process and returns a context manager.

Entering the context gives the function to apply to inputs; the context ends after the last input.
"""


def results_here(begin: Begin, inputs: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each input with its result, in order, computed by this process."""
    with begin() as work:
        yield from ((text, work(text)) for text in inputs)


def results_of_processes(begin: Begin, inputs: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each input with its result, in order.

    `begin` must be picklable. Errors: `AdapterError` if a process fails.
    """
    pool = ProcessPoolExecutor(PROCESSES, get_context("spawn"), _begin, (begin,))
    try:
        yield from zip(inputs, pool.map(_apply, inputs), strict=True)
    except BrokenProcessPool:
        problem = "a worker process ended before it had answered"
        raise AdapterError("answer", problem, "add --resume to continue", "", "run") from None
    finally:
        pool.shutdown(cancel_futures=True)


_work: list[Work] = []
"""The function to apply, in a list; the list is empty except in a process of the pool."""


def _begin(begin: Begin) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # The parent tells users about an interruption.
    until_end = ExitStack()
    _work.append(until_end.enter_context(begin()))
    Finalize(None, until_end.close, exitpriority=1)


def _apply(text: str) -> str:
    return _work[0](text)
