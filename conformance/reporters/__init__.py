"""The outputs of a run: the terminal, the verdict stream, Allure results, a progress line."""

from __future__ import annotations

import sys

from pulsar_conformance.conformance.common.events import Event, VerdictReached
from pulsar_conformance.specs.text import WIDTH, printable


def overwrite(text: str) -> None:
    """Replace the current line with a text; an empty one clears it."""
    shown = printable(text, lines=False)[: WIDTH - 2]
    sys.stderr.write(f"\r{shown:<{WIDTH - 2}}" + ("" if text else "\r"))
    sys.stderr.flush()


def show_progress(text: str) -> None:
    """Show the current work on a terminal, and nothing anywhere else."""
    if sys.stderr.isatty():
        overwrite(text)


class Progress:
    """Overwrites one line with each event, if standard error is a terminal."""

    def __init__(self, show: bool) -> None:
        self._show = show

    def tell(self, event: Event) -> None:
        """Show the current work; pytest shows the verdicts."""
        if self._show:
            overwrite("" if isinstance(event, VerdictReached) else str(event))
