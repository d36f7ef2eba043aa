"""Two clusters of the same kind, each of which answers half of a batch.

A cluster spends half of the time waiting for metadata or for a broker to start, so two clusters use
two cores better.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, zip_longest

from pulsar_conformance.adapters.connection import Connection
from pulsar_conformance.adapters.process import ProcessConnection
from pulsar_conformance.adapters.protocol import JSON

BATCH = 32
"""Number of cases that are asked together."""

MIN_SHARED_CASES = 8
"""Minimum number of cases in a batch for which a second cluster is started.

Starting one takes seconds.
"""


class ClusterPair(Connection):
    """A cluster, and a second one that is started at the first large batch.

    The position of a case in its batch decides which cluster answers it, so the same batches in the
    same order get the same answers.
    """

    def __init__(self, start: Callable[[], ProcessConnection]) -> None:
        self._start = start
        self._first = start()
        self._second: ProcessConnection | None = None
        self.adapter = self._first.adapter
        self.hello = replace(self._first.hello, batch=BATCH)

    @property
    def closed(self) -> bool:
        """True if one of the clusters can no longer answer questions."""
        return any(one.closed for one in self._both)

    @property
    def restarts(self) -> bool:
        """True if reconnecting starts new clusters, without earlier state."""
        return self._first.restarts

    @property
    def pid(self) -> int:
        """The first cluster's process ID."""
        return self._first.pid

    def exchange(self, operation: str, batch: Sequence[JSON]) -> list[JSON]:
        """Return one answer per case of a batch, not yet validated. Errors: `AdapterError`."""
        if len(batch) < MIN_SHARED_CASES:
            return _one_by_one(self._first, operation, batch)
        with ThreadPoolExecutor(1) as aside:
            others = aside.submit(self._ask_second_cluster, operation, batch[1::2])
            try:
                own = _one_by_one(self._first, operation, batch[::2])
            except BaseException:
                self.kill()
                raise
            both = zip_longest(own, others.result())
        return list(chain.from_iterable(both))[: len(batch)]

    def bye(self) -> None:
        """Say bye to both clusters. Errors: `AdapterError` if a cluster had to be killed."""
        with ThreadPoolExecutor(2) as aside:
            list(aside.map(lambda one: one.bye(), self._both))

    def close(self) -> None:
        """Say bye to both clusters, and kill remaining processes. Never raises an error."""
        with ThreadPoolExecutor(2) as aside:
            list(aside.map(lambda one: one.close(), self._both))

    def kill(self) -> None:
        """Kill the second cluster immediately."""
        if self._second is not None:
            self._second.kill()

    def remarks(self) -> list[str]:
        """Return both clusters' remarks about how they worked."""
        return [remark for one in self._both for remark in one.remarks()]

    def stderr_tail(self) -> str:
        """Return the last lines of the first cluster's standard error."""
        return self._first.stderr_tail()

    @property
    def _both(self) -> list[ProcessConnection]:
        return [self._first, *([self._second] if self._second is not None else [])]

    def _ask_second_cluster(self, operation: str, cases: Sequence[JSON]) -> list[JSON]:
        if self._second is None:
            self._second = self._start()
        return _one_by_one(self._second, operation, cases)


def _one_by_one(connection: ProcessConnection, operation: str, cases: Sequence[JSON]) -> list[JSON]:
    return [answer for case in cases for answer in connection.exchange(operation, [case])]
