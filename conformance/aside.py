"""Where implementations are asked: at once, or aside, while others are judged."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
Asking = Callable[..., object]
"""Has work done with what it is given; the `submit` of a `ThreadPoolExecutor` has it done aside."""


def at_once(work: Callable[..., object], /, *given: Any) -> object:
    """Have work done then and there."""
    return work(*given)


def settle(promised: Future[T], work: Callable[..., T], /, *given: Any) -> None:
    """Keep a promise: with what comes of some work, or what it raises."""
    try:
        promised.set_result(work(*given))
    except Exception as error:
        promised.set_exception(error)
