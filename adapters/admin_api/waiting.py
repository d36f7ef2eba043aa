"""Waiting for conditions that other processes make true, by their signals or by polling."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

POLL_SECONDS = 0.02
"""Seconds between two polls of a condition whose changes are not signalled."""


class ConditionTimeout(Exception):
    """Raised if a condition did not become true in time; the message gives condition and time."""


class ConditionWaiter:
    """Lets threads wait for conditions, and wakes them to check the conditions again."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._changes = 0

    def wake(self) -> None:
        """Wake all waiting threads, so that they check their conditions again."""
        with self._changed:
            self._changes += 1
            self._changed.notify_all()

    def wait_until(self, holds: Callable[[], bool], condition: str, seconds: float = 20.0) -> None:
        """Wait until `holds` returns true. Errors: `ConditionTimeout`, whose message contains
        `condition`.
        """
        end = time.monotonic() + seconds
        while True:
            seen = self._changes
            if holds():
                return
            left = end - time.monotonic()
            if left <= 0:
                raise ConditionTimeout(f"timed out after {seconds:g} s, waiting until {condition}")
            with self._changed:
                if self._changes == seen:
                    self._changed.wait(min(POLL_SECONDS, left))
