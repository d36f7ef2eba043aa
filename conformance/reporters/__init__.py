"""Outputs of a run: terminal, verdict stream, Allure results, progress."""

from __future__ import annotations

import sys

from pulsar_conformance.conformance.common.events import Event, VerdictReached
from pulsar_conformance.specs.text import WIDTH, printable


def overwrite(text: str) -> None:
    """Replace the current terminal line with a text; an empty text clears the line."""
    shown = printable(text, lines=False)[: WIDTH - 2]
    sys.stderr.write(f"\r{shown:<{WIDTH - 2}}" + ("" if text else "\r"))
    sys.stderr.flush()


def show_progress(text: str) -> None:
    """Show a text if standard error is a terminal."""
    if sys.stderr.isatty():
        overwrite(text)


class Progress:
    """Shows a run's latest event on one line, if standard error is a terminal."""

    def __init__(self, show: bool) -> None:
        self._show = show

    def notify(self, event: Event) -> None:
        """Show an event, except a verdict, which pytest shows."""
        if self._show:
            overwrite("" if isinstance(event, VerdictReached) else str(event))
