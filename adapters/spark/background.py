"""Work in background threads."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

Made = TypeVar("Made")


def run_in_background(work: Callable[[], Made], name: str) -> Future[Made]:
    """Run work in a daemon thread; return a future of its result."""
    promised: Future[Made] = Future()

    def run() -> None:
        try:
            promised.set_result(work())
        except BaseException as error:
            promised.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return promised


def run_within(seconds: float, work: Callable[[], Made]) -> Made:
    """Run work in another thread and return its result.

    Without a time limit, a Spark Connect client would retry for minutes if its server is gone.
    Errors: `TimeoutError` if the work takes too long.
    """
    promised = run_in_background(work, "within")
    if not wait([promised], seconds).done:
        raise TimeoutError(f"no result within {seconds:g} s")
    return promised.result()


def collect_garbage(generation: int = 2) -> None:
    """Collect Python's garbage, so that Java can free objects to which only this garbage refers.

    A background thread does this, because it runs thousands of finalizers: an interrupt that
    reaches a finalizer in the main thread is ignored. With generation 1, objects that survived an
    earlier collection are left out.
    """
    run_in_background(lambda: gc.collect(generation), "garbage").result()
