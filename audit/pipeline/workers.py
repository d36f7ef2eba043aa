"""Threads for what Spark does side by side, and what is told of it in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager

from pulsar_conformance.audit.pipeline.marks import Mark


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


Tell = Callable[[str, Mark | None], None]
"""Is told the name of each table: before it is made, and with its mark when it is there."""


class TableProgress:
    """Tables, of which those that are `stale` have to be made; their marks are as they come."""

    def __init__(
        self, tables: Sequence[str], stale: Sequence[str], marks: Mapping[str, Mark], tell: Tell
    ) -> None:
        self._ahead, self._open = list(tables), set(stale)
        self._unsaid = set(stale)
        self._marks, self._tell = marks, tell
        self._go_on()

    def done(self, table: str) -> None:
        """It is there."""
        self._open.remove(table)
        self._go_on()

    def _go_on(self) -> None:
        while self._ahead:
            table = self._ahead[0]
            if table in self._unsaid:
                self._unsaid.remove(table)
                self._tell(table, None)
            if table in self._open:
                return
            self._tell(table, self._marks[table])
            del self._ahead[0]
