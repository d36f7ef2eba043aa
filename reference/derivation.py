"""How an answer came about: steps with their numbers, as one would write them on paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a derivation: what is worked out, and the arithmetic with its numbers."""

    label: str
    text: str

    def within(self) -> Step:
        """The same step, indented below a heading."""
        return Step(f"  {self.label}", self.text)


@dataclass(frozen=True)
class Derivation:
    """An answer, and the steps that lead to it.

    The steps are written only when somebody reads them: a model that answers thousands of cases
    pays for none of them.
    """

    answer: Mapping[str, Any]
    explain: Callable[[], Iterable[Step]]

    @property
    def steps(self) -> tuple[Step, ...]:
        """What was worked out, in order."""
        return tuple(self.explain())

    def lines(self) -> list[str]:
        """The steps as text, their labels in one column."""
        width = max((len(step.label) for step in self.steps), default=0)
        return [f"{step.label:<{width}}  {step.text}".rstrip() for step in self.steps]
