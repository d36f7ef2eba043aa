"""The order of Pulsar's versions, and comparisons with the first versions that have a change."""

from __future__ import annotations

import re
from collections.abc import Sequence

Version = tuple[int, int, int]


def precedes(version: str, firsts: Sequence[str]) -> bool:
    """True if a version is older than a change; `firsts` has each line's first version with the
    change.
    """
    wanted, known = numbers_of(version), [*map(numbers_of, firsts)]
    return wanted < max(known) and not any(one[:2] == wanted[:2] and one <= wanted for one in known)


def numbers_of(version: str) -> Version:
    """Return a version as numbers; zeros if the text does not start with a version."""
    found = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", version)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else (0, 0, 0)
