"""Where implementations are asked: at once, or aside, while others are judged."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

T = TypeVar("T")


class AtOnce(Executor):
    """Does what it is given then and there; a `ThreadPoolExecutor` does it aside."""

    def submit(self, work: Callable[..., T], /, *given: Any, **named: Any) -> Future[T]:
        """What comes of it, which is there already."""
        done: Future[T] = Future()
        settle(done, work, *given, **named)
        return done


def settle(promised: Future[T], work: Callable[..., T], /, *given: Any, **named: Any) -> None:
    """Keep a promise: with what comes of some work, or what it raises."""
    try:
        promised.set_result(work(*given, **named))
    except Exception as error:
        promised.set_exception(error)
