"""One line on standard error that says what long work is at, where a person looks at it."""

from __future__ import annotations

import sys

WIDTH = 78


class Progress:
    """Overwrites one line; silent where nobody looks."""

    def __init__(self, show: bool) -> None:
        self._show = show

    def tell(self, text: str) -> None:
        """Says what is being done now."""
        if self._show:
            sys.stderr.write(f"\r{text[:WIDTH]:<{WIDTH}}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Leaves the line empty."""
        if self._show:
            sys.stderr.write(f"\r{'':<{WIDTH}}\r")
            sys.stderr.flush()
