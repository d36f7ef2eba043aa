"""A question and its answer, as checks are given them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

from pulsar_conformance.conformance.common.trial import Json

Case = TypeVar("Case")
Answer = TypeVar("Answer")

DECLINED = ("refused", "unsupported", "failed")
"""Ways to give no answer; the reason beside them is free text."""


class Asked(NamedTuple, Generic[Case, Answer]):
    """One question of a trial and its answer, in the types of its operation."""

    case: Case
    answer: Answer


@dataclass(frozen=True)
class Exchange:
    """One question of a trial, of any operation, with its answer as JSON and as checks see it."""

    operation: str
    case: Json
    answer: Json
    view: object
    """The case as the checks of its operation see it."""
    read: Callable[[object, Json], object]

    @property
    def declined(self) -> bool:
        """Whether the implementation gave a reason instead of an answer."""
        return any(name in self.answer for name in DECLINED)

    @cached_property
    def answered(self) -> object:
        """The answer as the checks of its operation see it.

        Errors: `Violated` or `NotReached` if it cannot be read that way.
        """
        return self.read(self.view, self.answer)
