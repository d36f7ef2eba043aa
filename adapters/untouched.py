"""Detection and repair of cases that an implementation in this process has changed."""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from pulsar_conformance.adapters.protocol import JSON


class Untouched:
    """Remembers cases, to find out later whether they were changed."""

    def __init__(self, cases: Sequence[JSON]) -> None:
        self._cases = cases
        # Thousands of cases are asked at once; this is several times faster than a deep copy.
        self._before = [marshal.dumps(case) for case in cases]

    def restore(self) -> dict[int, str]:
        """Restores every case; returns the indexes of those that had changed, and where in them."""
        changed = {}
        for place, (case, text) in enumerate(zip(self._cases, self._before, strict=True)):
            before: JSON = marshal.loads(text)
            if case != before:
                changed[place] = _difference(before, case, "case")
                case.clear()
                case.update(before)
        return changed


def _difference(before: Any, after: Any, path: str) -> str:
    """The first place where two values differ, as deep as both go."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in (*before, *after):
            if name not in before or name not in after or before[name] != after[name]:
                return _difference(before.get(name), after.get(name), f"{path}.{name}")
    if isinstance(before, list) and isinstance(after, list):
        for place, (old, new) in enumerate(zip_longest(before, after)):
            if old != new:
                return _difference(old, new, f"{path}[{place}]")
    return path
