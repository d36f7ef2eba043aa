"""A line on standard error that shows the progress of long work on a terminal."""

from __future__ import annotations

import sys

from pulsar_conformance.conformance.engine.events import Event, VerdictReached
from pulsar_conformance.specs.words import printable

WIDTH = 78


class Progress:
    """Overwrites one line with each event; prints nothing if standard error is not a terminal."""

    def __init__(self, show: bool) -> None:
        self._show = show

    def tell(self, event: Event) -> None:
        """Shows what is being done now; pytest shows the verdicts."""
        if self._show:
            shown = printable(str(event), lines=False)[:WIDTH]
            text = "" if isinstance(event, VerdictReached) else shown
            end = "\r" if isinstance(event, VerdictReached) else ""
            sys.stderr.write(f"\r{text:<{WIDTH}}{end}")
            sys.stderr.flush()
