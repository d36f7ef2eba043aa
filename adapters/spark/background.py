"""Running work in a background thread."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

Made = TypeVar("Made")


def background(work: Callable[[], Made], name: str) -> Future[Made]:
    """Run work in a daemon thread; return the future of its result or error."""
    promised: Future[Made] = Future()

    def run() -> None:
        try:
            promised.set_result(work())
        except BaseException as error:
            promised.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return promised


def within(seconds: float, work: Callable[[], Made]) -> Made:
    """Return the result of work in another thread; raise TimeoutError if it takes too long.

    A Spark Connect client retries for minutes if its server has gone.
    """
    promised = background(work, "within")
    if not wait([promised], seconds).done:
        raise TimeoutError(f"no result within {seconds:g} s")
    return promised.result()


def collect_garbage(generation: int = 2) -> None:
    """Collect garbage, and so have Java free the objects that only garbage refers to.

    It is collected in a background thread: an interrupt that reached the main thread while one of
    thousands of finalizers runs there would be ignored. With generation 1, objects that an earlier
    collection spared are left out.
    """
    background(lambda: gc.collect(generation), "garbage").result()
