"""How an answer came about: steps with their numbers, as one would write them on paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a derivation: what is worked out, and the arithmetic with its numbers."""

    label: str
    text: str
    detail: bool = False
    """Whether it is left out where a short account will do."""

    def within(self) -> Step:
        """The same step, indented below a heading."""
        return replace(self, label=f"  {self.label}")


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
        """A short account as text, the labels in one column."""
        steps = [step for step in self.steps if not step.detail]
        width = max((len(step.label) for step in steps), default=0)
        return [f"{step.label:<{width}}  {step.text}".rstrip() for step in steps]
