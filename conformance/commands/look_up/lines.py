"""Prints what a look-up found."""

from collections.abc import Iterable


def show(lines: Iterable[str]) -> int:
    """Print what was looked up. Errors: `UserError` of the lines."""
    print("\n".join(lines))
    return 0
