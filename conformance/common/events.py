"""The events of a run, which are passed to reporters, and the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pulsar_conformance.specs.text import counted

AN_ANSWER = "an answer"
"""Text of `Failure.allowed` for a case that the implementation did not answer."""

ANSWERING = "ANSWER-05"
"""ID of the rule that requires an answer to every legal case."""

EXAMPLE_PREFIX = "worked example "
"""Beginning of `Failure.size` for a worked example; the example's ID follows."""

VerdictWord = Literal[
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
    """A violation of a rule, with the smallest case found that shows it."""

    case_file: str
    """The path of the saved case, or the file and line of the worked example."""
    size: str
    """The size of the case, such as "2 brokers, 3 bundles"."""
    derivation: tuple[str, ...]
    """The lines of the model's derivation of its own answer."""
    allowed: str
    """The answer that the rule allows."""
    answered: str
    """The answer that was given."""
    again: str
    """The command that reproduces the failure."""
    readings: tuple[str, ...] = ()
    """The readings on which the failure depends, each as `name=value (how it is known)`."""
    passes_under: tuple[str, ...] = ()
    """Alternatives of readings, as `name=value`; under any one of them, the answer would be
    allowed.

    Alternatives that other answers of the run exclude are left out.
    """
    answers: tuple[str, ...] = ()
    """The answers as text, each with a label if there are several; empty for a single long answer.
    """
    settings: tuple[str, ...] = ()
    """The settings that affect the model's answer, each as `name=value (source)`."""

    def settings_about(self, concerned: Collection[str]) -> str:
        """Return the settings that a failed rule concerns, as text.

        These are the settings of the case, and the defaults that are `concerned` or named in the
        derivation; other defaults are only counted. If no setting is `concerned`, all are returned.
        """
        named = " ".join(self.derivation)
        kept = [
            one
            for one in self.settings
            if not concerned
            or "(default of " not in one
            or (name := one.partition("=")[0]) in concerned
            or name in named
        ]
        left = len(self.settings) - len(kept)
        defaults = [f"{counted(left, 'other')} by default"] if left else []
        return ", ".join([*kept, *defaults])


@dataclass(frozen=True)
class Verdict:
    """One line of the verdict stream."""

    rule: str
    implementation: str
    profile: str
    level: str
    """The rule's level: must, should, may or advice."""
    verdict: VerdictWord
    why: str = ""
    """The reason for the verdict, if it is neither a plain pass nor a failure."""
    saved: int = 0
    """Number of saved cases that were asked."""
    examples: int = 0
    """Number of worked examples that were asked."""
    drawn: int = 0
    """Number of drawn cases that were asked."""
    reached: int = 0
    """Number of cases to which the rule applied."""
    failure: Failure | None = field(default=None)

    @property
    def warns(self) -> bool:
        """True if the rule failed, but its level is not `must`."""
        return self.verdict == "fail" and self.level != "must"

    @property
    def unanswered(self) -> bool:
        """True if the rule failed because a case got no answer.

        Always false for the rule that requires answers.
        """
        known = self.failure is not None and self.failure.allowed == AN_ANSWER
        return known and self.rule != ANSWERING

    @property
    def by_example(self) -> bool:
        """True if a worked example got a wrong answer, but no check rejects that answer."""
        return self.failure is not None and self.failure.size.startswith(EXAMPLE_PREFIX)

    @property
    def explain_words(self) -> tuple[str, ...]:
        """The command and options that explain the worked example; empty for other failures."""
        if self.failure is None or not self.by_example:
            return ()
        example = self.failure.size.removeprefix(EXAMPLE_PREFIX)
        return ("explain", example, "--judge-by", self.profile)

    def headline(self, name: str) -> str:
        """Return a sentence that says how the implementation called `name` broke the rule."""
        if self.failure is not None and self.by_example:
            return (
                f"{name} does not give the expected answer to {self.failure.size}, which counts "
                f"against {self.rule}"
            )
        if self.failure is None or not self.unanswered:
            return f"{self.rule} violated by {name}"
        how = "refused" if self.failure.answered.startswith("refused") else "failed on"
        return f"{name} {how} a case, which counts against {self.rule}"

    def exit_status(self, enough: bool) -> int:
        """Return the exit status for this verdict: 0, 1 for a failed run, 2 for an error.

        If no case reached the rule, the run fails only if `enough` cases were tried.
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
            failure = Failure(**{name: _as_hashable(value) for name, value in failure.items()})
        return cls(**fields, failure=failure)


def _as_hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@dataclass(frozen=True)
class Event:
    """The start or the end of a step in judging the implementation named `implementation`."""

    implementation: str


@dataclass(frozen=True)
class RuleDrawn(Event):
    """The start of drawing a rule's cases."""

    rule: str

    def __str__(self) -> str:
        return f"{self.implementation}: drawing {self.rule}"


@dataclass(frozen=True)
class OperationAsked(Event):
    """The start of asking an operation's questions."""

    operation: str
    cases: int

    def __str__(self) -> str:
        return f"{self.implementation}: asking {self.operation}, {counted(self.cases, 'case')}"


@dataclass(frozen=True)
class ReadingFound(Event):
    """The result of finding out which alternative of a reading the implementation follows."""

    reading: str
    value: str
    how: str

    def __str__(self) -> str:
        return f"{self.implementation}: reads {self.reading} as {self.value} ({self.how})"


@dataclass(frozen=True)
class RuleJudged(Event):
    """The start of judging answers by a rule."""

    rule: str

    def __str__(self) -> str:
        return f"{self.implementation}: judging {self.rule}"


@dataclass(frozen=True)
class CaseReduced(Event):
    """A step in reducing a failing case: `candidates` smaller cases are about to be asked."""

    rule: str
    candidates: int

    def __str__(self) -> str:
        cases = counted(self.candidates, "smaller case")
        return f"{self.implementation}: reducing a case of {self.rule}, asking {cases}"


@dataclass(frozen=True)
class VerdictReached(Event):
    """The end of judging a rule, with the final verdict, which considers known deviations."""

    verdict: Verdict

    def __str__(self) -> str:
        return f"{self.implementation}: {self.verdict.rule} {self.verdict.verdict}"


Listener = Callable[[Event], None]
"""Function that is called with each event, possibly in a background thread."""


def ignore_event(_event: Event) -> None:
    """Ignore the event."""
