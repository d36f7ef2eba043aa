"""The events of a run; everything that reports on a run listens to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pulsar_conformance.conformance.common.verdict import Verdict
from pulsar_conformance.specs.words import counted


@dataclass(frozen=True)
class Event:
    """Something that is about to happen or has just happened, at one `implementation`."""

    implementation: str


@dataclass(frozen=True)
class RuleDrawn(Event):
    """The cases of a rule are being drawn."""

    rule: str

    def __str__(self) -> str:
        return f"{self.implementation}: drawing {self.rule}"


@dataclass(frozen=True)
class OperationAsked(Event):
    """The questions of an operation are about to be asked."""

    operation: str
    cases: int

    def __str__(self) -> str:
        return f"{self.implementation}: asking {self.operation}, {counted(self.cases, 'case')}"


@dataclass(frozen=True)
class ReadingFound(Event):
    """The alternative of a reading that an implementation follows is known."""

    reading: str
    value: str
    how: str

    def __str__(self) -> str:
        return f"{self.implementation}: reads {self.reading} as {self.value} ({self.how})"


@dataclass(frozen=True)
class RuleJudged(Event):
    """The answers are being judged by a rule."""

    rule: str

    def __str__(self) -> str:
        return f"{self.implementation}: judging {self.rule}"


@dataclass(frozen=True)
class CaseReduced(Event):
    """A failing case is being reduced; `candidates` smaller cases are asked."""

    rule: str
    candidates: int

    def __str__(self) -> str:
        cases = counted(self.candidates, "smaller case")
        return f"{self.implementation}: reducing a case of {self.rule}, asking {cases}"


@dataclass(frozen=True)
class VerdictReached(Event):
    """The verdict on a rule, after known deviations were considered."""

    verdict: Verdict

    def __str__(self) -> str:
        return f"{self.implementation}: {self.verdict.rule} {self.verdict.verdict}"


Tell = Callable[[Event], None]
"""A listener; it may be called in a thread other than the one that judges."""


def nobody(_event: Event) -> None:
    """A listener that ignores every event."""
