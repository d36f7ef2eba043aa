"""Waiting for a state of another process that is signalled or must be polled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

GLANCE = 0.02
"""Seconds between two polls of a state that sends no notifications."""


class Unsettled(Exception):
    """Raised when a state was not reached in time; the message gives the state and the time."""


class Alarm:
    """Wakes all waiting threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._changes = 0

    def wake(self) -> None:
        """Wake all waiting threads, which then check their conditions again."""
        with self._changed:
            self._changes += 1
            self._changed.notify_all()

    def until(self, holds: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
        """Wait until a condition is true. Errors: `Unsettled`."""
        end = time.monotonic() + seconds
        while True:
            seen = self._changes
            if holds():
                return
            left = end - time.monotonic()
            if left <= 0:
                raise Unsettled(f"not reached within {seconds:g} s: {what}")
            with self._changed:
                if self._changes == seen:
                    self._changed.wait(min(GLANCE, left))
