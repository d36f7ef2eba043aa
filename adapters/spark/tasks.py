"""Spark tasks that do other work than queries: each input is processed in a task of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from typing import Any

from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.spark.session import (
    acquire_soon,
    acquired,
    last_cause,
    release_started,
)

WAITING = 64
"""Number of jobs that are submitted to Spark at a time, each with one task.

A task takes a minute or so; a job adds some 20 ms to it.
"""


@contextmanager
def started_soon(place: str) -> Iterator[None]:
    """Start Spark in the background, for tasks that follow in the block. Raises AdapterError."""
    starting = acquire_soon(place, "--spark")
    try:
        yield
    finally:
        starting.add_done_callback(partial(release_started, idle=True))


def in_tasks(
    place: str, work: Callable[[str], str], inputs: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield each input with its result as soon as it is known, in any order.

    Spark repeats the task of an executor that is lost. At most `WAITING` results are held at a
    time. Raises AdapterError if Spark is unavailable or a task keeps failing.
    """

    def each(frames: Iterator[Any]) -> Iterator[Any]:
        for frame in frames:
            rows = [_result_or_error(work, text) for text in frame["text"]]
            yield frame.assign(**{name: [one[name] for one in rows] for name in ("text", "error")})

    with acquired(place, "--spark") as spark, ThreadPoolExecutor(WAITING) as threads:

        def result(text: str) -> str:
            rows = spark.session.createDataFrame([(text,)], "text string").mapInPandas(
                each, "text string, error string"
            )
            [[found, error]] = rows.collect()
            if error:
                raise AdapterError("answer", f"a task failed: {error}", "", "", "--spark")
            return str(found)

        waiting = list(inputs)
        running = {threads.submit(result, text): text for text in waiting[:WAITING]}
        del waiting[:WAITING]
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


def _result_or_error(work: Callable[[str], str], text: str) -> dict[str, str]:
    """Return the result, or an error that a retry would not avoid."""
    try:
        return {"text": work(text), "error": ""}
    except Exception as error:
        return {"text": "", "error": f"{type(error).__name__}: {error}"}
