"""A line on standard error that shows the progress of long work on a terminal."""

from __future__ import annotations

import sys

from pulsar_conformance.conformance.engine.events import Event, VerdictReached
from pulsar_conformance.specs.text import WIDTH
from pulsar_conformance.specs.words import printable


def overwrite(text: str) -> None:
    """Puts a text in the place of the line before it; an empty one clears the line."""
    shown = printable(text, lines=False)[: WIDTH - 2]
    sys.stderr.write(f"\r{shown:<{WIDTH - 2}}" + ("" if text else "\r"))
    sys.stderr.flush()


def tell(text: str) -> None:
    """Shows what is being done on a terminal; anywhere else nothing is shown."""
    if sys.stderr.isatty():
        overwrite(text)


class Progress:
    """Overwrites one line with each event; prints nothing if standard error is not a terminal."""

    def __init__(self, show: bool) -> None:
        self._show = show

    def tell(self, event: Event) -> None:
        """Shows what is being done now; pytest shows the verdicts."""
        if self._show:
            overwrite("" if isinstance(event, VerdictReached) else str(event))
