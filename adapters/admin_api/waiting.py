"""Waiting for what happens elsewhere: something is watched for, and nothing is slept through."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

GLANCE = 0.02
"""Seconds after which a state is looked at again that nobody tells of."""


class Unsettled(Exception):
    """What was waited for did not come about; says what, and for how long it was waited."""


class Alarm:
    """Wakes those who wait whenever anything is told."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._told = 0

    def tell(self) -> None:
        """Something happened: whoever waits looks again."""
        with self._changed:
            self._told += 1
            self._changed.notify_all()

    def until(self, holds: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
        """Wait until it holds. Errors: `Unsettled`."""
        end = time.monotonic() + seconds
        while True:
            seen = self._told
            if holds():
                return
            left = end - time.monotonic()
            if left <= 0:
                raise Unsettled(f"{what}: not within {seconds:g} s")
            with self._changed:
                if self._told == seen:
                    self._changed.wait(min(GLANCE, left))
