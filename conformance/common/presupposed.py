"""Questions about a failing case by which a presupposed rule of another operation is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import Json, Question
from pulsar_conformance.reference import Readings

MakeQuestions = Callable[
    [specs.Rule, Question, Json, Mapping[str, Any], Readings], Iterable[Question]
]
"""Builds questions from the presupposed rule, the failing question and answer, and readings."""


@dataclass(frozen=True)
class DerivedQuestions:
    """Questions to ask about a failing case, for one presupposed rule or one failing operation."""

    questions: MakeQuestions
    operation: str | None = None
    """The failing operation; any presupposed rule of other operations is judged."""
    rule: str | None = None
    """The presupposed rule, whatever operation failed."""

    def concerns(self, presupposed: specs.Rule, failing: Question) -> bool:
        """True if there are questions about a failing one for a presupposed rule."""
        if self.rule is not None:
            return presupposed.id == self.rule
        return failing.operation == self.operation not in presupposed.operations
