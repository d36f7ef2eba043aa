"""A load manager's periodic tasks, run by the story's clock.

A broker schedules its periodic work in one thread pool. Each task is intercepted when it is
scheduled, and runs when the story's clock reaches its time. The broker itself then schedules the
task again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from pulsar_conformance.adapters.pulsar.jvm import Java, field, java_class

PACKAGE = "org.apache.pulsar.broker.loadbalance."
KINDS = (
    "LoadReportUpdaterTask",
    "LoadSheddingTask",
    "LoadResourceQuotaUpdaterTask",
    "ExtensibleLoadManagerImpl",
    "UnloadScheduler",
    "SplitScheduler",
    "ServiceUnitStateChannelImpl",
)
"""Kinds of tasks that run in a story; tasks that are due at the same time run in this order.

A kind is the task's class, or the class that contains its lambda.
"""

NANOS = 1_000_000_000
MINUTE = 60 * NANOS
ROUNDING_NANOS = 30 * NANOS
"""Multiple, in nanoseconds, to which a delay is rounded up.

When a delay is read, a part of it has already elapsed.
"""

NEVER_NANOS = 100 * 365 * 24 * 60 * MINUTE
"""Delay in nanoseconds of an intercepted task: a century, so that it never runs by itself."""


@dataclass(frozen=True)
class Timer:
    """An intercepted task of a broker.

    Attributes:
        task: the Java object, or its number in another JVM.
        kind: a name in `KINDS` if the task is to be run.
        due: the minute of the story at which it is due.
    """

    task: Java
    kind: str
    due: float


class Timers:
    """The scheduled tasks of one broker's executor, run when the story's clock reaches them."""

    def __init__(self, executor: Java) -> None:
        self._pool = field(executor, "e").get(executor)
        self._known: dict[Java, Timer] = {}

    def set_aside(self, clock: float) -> None:
        """Intercept all tasks scheduled since the last call; `clock` is the story's minute."""
        self.run_pending_tasks()
        now = int(java_class("java.lang.System").nanoTime())
        queue = self._pool.getQueue()
        present = list(queue.toArray())
        self._known = {java: self._known[java] for java in present if java in self._known}
        for java in present:
            if java in self._known:
                continue
            time = field(java, "time")
            left = math.ceil((int(time.getLong(java)) - now) / ROUNDING_NANOS) * ROUNDING_NANOS
            self._known[java] = Timer(java, _task_class(java), clock + left / MINUTE)
            self._set_time(java, now + NEVER_NANOS)

    def due(self, minute: float) -> Iterator[Timer]:
        """Yield the tasks that are due by `minute` of the story."""
        for timer in self._known.values():
            if timer.kind in KINDS and timer.due <= minute:
                yield timer

    def run(self, timer: Timer) -> None:
        """Run a task and wait until it is complete."""
        self._known.pop(timer.task)
        self._set_time(timer.task, int(java_class("java.lang.System").nanoTime()))
        self.run_pending_tasks()

    def run_pending_tasks(self) -> None:
        """Wait until the thread pool of the timers has run its pending tasks."""
        if not self._pool.isShutdown():
            self._pool.submit(idle_task()).get(
                30, java_class("java.util.concurrent.TimeUnit").SECONDS
            )

    def _set_time(self, java: Java, nanos: int) -> None:
        queue = self._pool.getQueue()
        queue.remove(java)
        field(java, "time").setLong(java, nanos)
        queue.add(java)


def _task_class(java: Java) -> str:
    """Return the simple name of a task's class, or of the class that contains its lambda."""
    inner = java
    for name in ("callable", "task", "runnable"):
        within = field(inner, name)
        held = None if within is None else within.get(inner)
        inner = inner if held is None else held
    return str(inner.getClass().getName()).partition("$$")[0].rpartition(".")[2]


@cache
def idle_task() -> Java:
    """Return a task that does nothing: a thread that is never started, used as a Runnable."""
    return java_class("java.util.concurrent.Executors").callable(java_class("java.lang.Thread")())
