"""Threads for what Spark does side by side."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def workers(count: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that begin what they are given in its order.

    An interrupt does not wait for what they are at: that ends with Spark.
    """
    threads = ThreadPoolExecutor(count)
    try:
        yield threads
    except BaseException as error:
        threads.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
        raise
    threads.shutdown()
