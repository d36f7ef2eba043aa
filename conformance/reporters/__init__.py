"""Outputs of a run: terminal, verdict stream, Allure results, progress."""

from __future__ import annotations

import sys
import time
from threading import Event as Signal
from threading import Thread
from types import TracebackType

from pulsar_conformance.conformance.common.events import Event, VerdictReached
from pulsar_conformance.specs.text import WIDTH, counted, printable

SECONDS_BETWEEN_LINES = 10.0
"""Seconds between two lines of progress if standard error is not a terminal."""


def overwrite_line(text: str) -> None:
    """Replace the current terminal line with a text; an empty text clears the line."""
    shown = printable(text, lines=False)[: WIDTH - 2]
    sys.stderr.write(f"\r{shown:<{WIDTH - 2}}" + ("" if text else "\r"))
    sys.stderr.flush()


def show_progress(text: str) -> None:
    """Show a text if standard error is a terminal."""
    if sys.stderr.isatty():
        overwrite_line(text)


class OngoingWork:
    """Shows what a command is doing, and since when, until it is done.

    On a terminal, the text is on one line. Otherwise, a line is printed every
    `SECONDS_BETWEEN_LINES`, so that short work prints nothing.
    """

    def __init__(self) -> None:
        self._text, self._begun = "", time.monotonic()
        self._ended = Signal()
        self._thread = Thread(target=self._repeat, daemon=True)

    def __enter__(self) -> OngoingWork:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        self.show("")

    def show(self, text: str) -> None:
        """Show another text from now on; an empty text shows nothing."""
        self._text, self._begun = text, time.monotonic()
        show_progress(text)

    def _repeat(self) -> None:
        while not self._ended.wait(SECONDS_BETWEEN_LINES):
            text = f"{self._text}, {time.monotonic() - self._begun:.0f} s"
            if not self._text:
                continue
            if sys.stderr.isatty():
                overwrite_line(text)
            else:
                print(text, file=sys.stderr, flush=True)


class Progress:
    """Shows a run's latest event on one line, if standard error is a terminal."""

    def __init__(self, show: bool) -> None:
        self._show = show

    def notify(self, event: Event) -> None:
        """Show an event, except a verdict, which pytest shows."""
        if self._show:
            overwrite_line("" if isinstance(event, VerdictReached) else str(event))


class CountedProgress:
    """Reports how many parts of a task are complete, and the estimated remaining time."""

    def __init__(self, count: int, noun: str) -> None:
        self._count, self._noun = count, noun
        self._begun, self._first = time.monotonic(), -1
        self._reported = 0.0

    def show(self, done: int) -> None:
        """Print the number of completed parts; only occasionally if not on a terminal."""
        now = time.monotonic()
        self._first = done if self._first < 0 else self._first
        asked, left = done - self._first, self._count - done
        rest = f", {(now - self._begun) / asked * left / 60:.0f} min left" if asked else ""
        text = f"{done} of {counted(self._count, self._noun)}{rest}"
        if sys.stderr.isatty():
            overwrite_line(text if left else "")
        elif now - self._reported >= SECONDS_BETWEEN_LINES or not left:
            self._reported = now
            print(text, file=sys.stderr, flush=True)
