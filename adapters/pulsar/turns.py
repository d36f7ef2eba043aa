"""Chance that can be repeated: of what a release may draw, each in its turn."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

FEWEST, EACH = 60, 25
"""A chooser is asked 25 times a choice, and never less than 60 times: one that draws evenly hides
a choice in less than one in a thousand million questions."""


class Turns:
    """Answers a question that is asked again at once with the next of its possible answers.

    The last question is all that is remembered, so that the same questions, alone or in a batch,
    get the same answers.
    """

    def __init__(self) -> None:
        self._last: Mapping[str, Any] | None = None
        self._asked = 0

    def take(
        self, question: Mapping[str, Any], choices: int, draw: Callable[[], str | None]
    ) -> str | None:
        """One of the answers that `draw` gives, which is asked often enough to give each."""
        asks = max(FEWEST, EACH * choices) if choices > 1 else 1
        possible = sorted({draw() for _ in range(asks)}, key=lambda name: (name is None, name))
        self._asked = self._asked + 1 if question == self._last else 0
        self._last = question
        return possible[(place_of(question, len(possible)) + self._asked) % len(possible)]


def place_of(question: Mapping[str, Any], choices: int) -> int:
    """One of so many places, by the question alone: any, and always the same."""
    text = json.dumps(question, sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()) % choices
