"""The events of a run, from drawing to verdicts, for reporters to listen to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pulsar_conformance.specs.text import counted

Word = Literal[
    "error",
    "fail",
    "unexpected_pass",
    "known_deviation",
    "unexercised",
    "undecided",
    "pass",
    "not_applicable",
]


@dataclass(frozen=True)
class Failure:
    """The smallest case found that violates a rule."""

    case_file: str
    """The file of the saved case, empty for an example of the documents."""
    size: str
    derivation: tuple[str, ...]
    allowed: str
    answered: str
    again: str
    """The command that reproduces the failure."""
    readings: tuple[str, ...] = ()
    """The readings that the failure depends on, each `name=value (how it is known)`."""
    passes_under: tuple[str, ...] = ()
    """Readings, `name=value`, each of which alone would let the case break no rule."""
    answers: tuple[str, ...] = ()
    """All answers, if several were compared or earlier questions matter."""
    settings: tuple[str, ...] = ()
    """The settings that the model's answer depends on, each `name=value (where it is from)`."""


@dataclass(frozen=True)
class Verdict:
    """One line of the verdict stream."""

    rule: str
    implementation: str
    profile: str
    level: str
    verdict: Word
    why: str = ""
    saved: int = 0
    examples: int = 0
    drawn: int = 0
    reached: int = 0
    failure: Failure | None = field(default=None)

    @property
    def warns(self) -> bool:
        """True if the verdict is a failed rule that is not a `must`."""
        return self.verdict == "fail" and self.level != "must"

    def exit_status(self, enough: bool) -> int:
        """Return the resulting exit status: 0 good, 1 bad, 2 for an unusable adapter.

        If `enough` cases were tried, a rule that no case exercised counts as bad.
        """
        if self.verdict == "error":
            return 2
        if self.verdict == "fail":
            return 0 if self.warns else 1
        if self.verdict == "unexercised":
            return int(enough)
        return int(self.verdict == "unexpected_pass")

    def as_json(self) -> dict[str, Any]:
        """Return the verdict in the format of the verdict stream."""
        return {"kind": "verdict", **asdict(self)}

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Verdict:
        """Parse a verdict from a line of the verdict stream."""
        fields = {name: value for name, value in line.items() if name != "kind"}
        failure = fields.pop("failure")
        if failure is not None:
            failure = Failure(**{name: _hashable(value) for name, value in failure.items()})
        return cls(**fields, failure=failure)


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@dataclass(frozen=True)
class Event:
    """A step of a run that concerns one `implementation` and has just started or ended."""

    implementation: str


@dataclass(frozen=True)
class RuleDrawn(Event):
    """Drawing of a rule's cases starts."""

    rule: str

    def __str__(self) -> str:
        return f"{self.implementation}: drawing {self.rule}"


@dataclass(frozen=True)
class OperationAsked(Event):
    """An operation's questions are about to be asked."""

    operation: str
    cases: int

    def __str__(self) -> str:
        return f"{self.implementation}: asking {self.operation}, {counted(self.cases, 'case')}"


@dataclass(frozen=True)
class ReadingFound(Event):
    """The value of a reading has been determined."""

    reading: str
    value: str
    how: str

    def __str__(self) -> str:
        return f"{self.implementation}: reads {self.reading} as {self.value} ({self.how})"


@dataclass(frozen=True)
class RuleJudged(Event):
    """Judging by a rule starts."""

    rule: str

    def __str__(self) -> str:
        return f"{self.implementation}: judging {self.rule}"


@dataclass(frozen=True)
class CaseReduced(Event):
    """A failing case is being reduced; `candidates` smaller cases are about to be asked."""

    rule: str
    candidates: int

    def __str__(self) -> str:
        cases = counted(self.candidates, "smaller case")
        return f"{self.implementation}: reducing a case of {self.rule}, asking {cases}"


@dataclass(frozen=True)
class VerdictReached(Event):
    """The verdict on a rule is final, known deviations included."""

    verdict: Verdict

    def __str__(self) -> str:
        return f"{self.implementation}: {self.verdict.rule} {self.verdict.verdict}"


Tell = Callable[[Event], None]
"""A listener; it may be called in any thread."""


def nobody(_event: Event) -> None:
    """Ignore the event."""
