"""A replacement for a release's random choice: the possible choices in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pulsar_conformance.reference.choosing import index_for_question

MIN_DRAWS, DRAWS_PER_ANSWER = 60, 25
"""Minimum numbers of calls of a random chooser: 60, and 25 × (n + 1).

Here, n is the number of different answers so far. A uniform chooser then misses a possible answer
in fewer than one of 1e9 questions.
"""


class NextAnswers:
    """The possible answers to a question, of which each immediate repetition gets the next.

    Only the last question is remembered, so that a question gets the same answer alone and in a
    batch.
    """

    def __init__(self) -> None:
        self._last: Mapping[str, Any] | None = None
        self._asked = 0

    def next_answer(
        self, question: Mapping[str, Any], choices: int, draw: Callable[[], str | None]
    ) -> str | None:
        """Return the next possible answer to a question, from those that `draw` returns at random.

        `draw` is called until all of its answers are known; there are at most `choices` of them.
        """
        given = {draw()}
        asks = 1
        while choices > 1 and asks < max(
            MIN_DRAWS, DRAWS_PER_ANSWER * min(choices, len(given) + 1)
        ):
            given.add(draw())
            asks += 1
        possible = sorted(given, key=lambda name: (name is None, name))
        self._asked = self._asked + 1 if question == self._last else 0
        self._last = question
        return possible[(index_for_question(question, len(possible)) + self._asked) % len(possible)]
