"""Repeatable chance: the possible choices of a release, each in its turn."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

FEWEST, EACH = 60, 25
"""A chooser is asked 60 times, and more until it was asked 25 times for each answer that it gave
and for one more: one that draws evenly hides an answer in less than one in a thousand million
questions."""


class NextAnswers:
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
        """Return the next of the answers that `draw` gives when asked often enough."""
        given = {draw()}
        asks = 1
        while choices > 1 and asks < max(FEWEST, EACH * min(choices, len(given) + 1)):
            given.add(draw())
            asks += 1
        possible = sorted(given, key=lambda name: (name is None, name))
        self._asked = self._asked + 1 if question == self._last else 0
        self._last = question
        return possible[(turn_of(question, len(possible)) + self._asked) % len(possible)]


def turn_of(question: Mapping[str, Any], choices: int) -> int:
    """Return one of several places, determined by the question alone."""
    text = json.dumps(question, sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()) % choices
