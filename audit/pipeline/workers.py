"""Thread pools that build tables in parallel, and progress reports in a fixed order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager

from pulsar_conformance.audit.pipeline.marks import Mark


@contextmanager
def thread_pool(count: int) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool of threads that starts jobs in the order in which they are submitted.

    After an interrupt, the pool does not wait for running jobs. They end together with Spark.
    """
    threads = ThreadPoolExecutor(count)
    try:
        yield threads
    except BaseException as error:
        threads.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
        raise
    threads.shutdown()


def run_jobs(
    after: Mapping[str, Sequence[str]], work: Callable[[str], None], at_once: int
) -> Iterator[str]:
    """Run jobs in parallel; yield the name of each job when it is complete.

    `after` lists, for each job, the jobs that must be complete before it starts.
    """
    waiting, running = dict(after), dict[Future[None], str]()
    with thread_pool(at_once) as threads:
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
"""A function that is called before a table is built, with its name and None, and afterwards, with
its name and mark.
"""


class TableProgress:
    """Reports complete tables in a fixed order, even if they are completed in another order."""

    def __init__(
        self, tables: Sequence[str], stale: Sequence[str], marks: Mapping[str, Mark], tell: Tell
    ) -> None:
        self._ahead, self._open = list(tables), set(stale)
        self._unannounced = set(stale)
        self._marks, self._tell = marks, tell
        self._report()

    def done(self, table: str) -> None:
        """Note that a table is complete; it is reported after all tables before it."""
        self._open.remove(table)
        self._report()

    def _report(self) -> None:
        while self._ahead:
            table = self._ahead[0]
            if table in self._unannounced:
                self._unannounced.remove(table)
                self._tell(table, None)
            if table in self._open:
                return
            self._tell(table, self._marks[table])
            del self._ahead[0]
