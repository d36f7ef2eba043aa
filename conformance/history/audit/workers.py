"""Threads for what Spark does side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
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


def done(
    after: Mapping[str, Sequence[str]], work: Callable[[str], None], at_once: int
) -> Iterator[str]:
    """The names of works, each as soon as it is done.

    Each is begun after those that it is `after`, and of those that can be the first ones are.
    """
    waiting, running = dict(after), dict[Future[None], str]()
    with workers(at_once) as threads:
        while waiting or running:
            open_ones = {*waiting, *running.values()}
            ready = [name for name in waiting if open_ones.isdisjoint(waiting[name])]
            for name in ready[: at_once - len(running)]:
                del waiting[name]
                running[threads.submit(work, name)] = name
            for one in wait(running, return_when=FIRST_COMPLETED).done:
                one.result()
                yield running.pop(one)
