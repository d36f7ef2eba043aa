"""Runs of a Python function on many inputs, each in its own Spark task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from typing import Any

from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.spark.session import (
    acquire_in_background,
    last_cause,
    release_started,
    spark_acquired,
)

MAX_JOBS = 64
"""Maximum number of Spark jobs at a time; each has one task.

A task takes about a minute; its job adds 20 ms.
"""


@contextmanager
def start_in_background(place: str) -> Iterator[None]:
    """Start Spark in the background for tasks later in the block. Errors: `AdapterError`."""
    starting = acquire_in_background(place, "--spark")
    try:
        yield
    finally:
        starting.add_done_callback(partial(release_started, idle=True))


def results_of_tasks(
    place: str, work: Callable[[str], str], inputs: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield each input with its result, in the order in which results become known.

    Spark repeats the task of an executor that is lost. At most `MAX_JOBS` results are held at a
    time. Errors: `AdapterError` if Spark cannot be used or a task keeps failing.
    """

    with spark_acquired(place, "--spark") as spark, ThreadPoolExecutor(MAX_JOBS) as threads:

        def result(text: str) -> str:
            one_row = spark.session.range(0, 1, 1, 1)  # A row of data would need a second process.
            each = partial(_frames_of_result, work, text)
            [[found, error]] = one_row.mapInPandas(each, "text string, error string").collect()
            if error:
                raise AdapterError("answer", f"a task failed: {error}", "", "", "--spark")
            return str(found)

        waiting = list(inputs)
        running = {threads.submit(result, text): text for text in waiting[:MAX_JOBS]}
        del waiting[:MAX_JOBS]
        try:
            while running:
                done = next(as_completed(running))
                text = running.pop(done)
                if waiting:
                    further = waiting.pop(0)
                    running[threads.submit(result, further)] = further
                yield text, done.result()
        except BaseException as error:
            threads.shutdown(wait=False, cancel_futures=True)
            spark.interrupt()
            if isinstance(error, Exception) and not isinstance(error, AdapterError):
                problem = f"a task failed: {last_cause(error)}"
                raise AdapterError("answer", problem, "", spark.tail, "--spark") from None
            raise


def _frames_of_result(
    work: Callable[[str], str], text: str, frames: Iterator[Any]
) -> Iterator[Any]:
    """Yield each frame with its rows replaced by the result, or the error, of `work`."""
    for frame in frames:
        yield frame.assign(**_result_or_error(work, text))[["text", "error"]]


def _result_or_error(work: Callable[[str], str], text: str) -> dict[str, str]:
    """Return the result of `work`, or its error, so that Spark does not repeat the task."""
    try:
        return {"text": work(text), "error": ""}
    except Exception as error:
        return {"text": "", "error": f"{type(error).__name__}: {error}"}
