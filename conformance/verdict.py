"""What a run says of a rule and an implementation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

Word = Literal[
    "error",
    "fail",
    "unexpected_pass",
    "known_deviation",
    "unexercised",
    "pass",
    "not_applicable",
]

WORST_FIRST: tuple[Word, ...] = get_args(Word)


@dataclass(frozen=True)
class Failure:
    """The smallest case found on which a rule is broken."""

    case_file: str
    """Where the case was saved, empty where it is an example of the documents."""
    size: str
    derivation: tuple[str, ...]
    allowed: str
    answered: str
    again: str
    """The command that shows it again."""


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
        """Whether it is a failure of something that the documents do not demand."""
        return self.verdict == "fail" and self.level != "must"

    def exit_status(self, enough: bool) -> int:
        """What it makes of the run: 0 well, 1 a verdict against, 2 an unusable adapter.

        A rule that no case reached counts against it where cases `enough` were tried.
        """
        if self.verdict == "error":
            return 2
        if self.verdict == "fail":
            return 0 if self.warns else 1
        if self.verdict == "unexercised":
            return int(enough)
        return int(self.verdict == "unexpected_pass")

    def as_json(self) -> dict[str, Any]:
        """The line of the stream."""
        return {"kind": "verdict", **asdict(self)}

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Verdict:
        """The inverse of `as_json`."""
        fields = {name: value for name, value in line.items() if name != "kind"}
        failure = fields.pop("failure")
        if failure is not None:
            failure = Failure(**{**failure, "derivation": tuple(failure["derivation"])})
        return cls(**fields, failure=failure)
