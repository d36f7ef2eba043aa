"""Operation: a question for load balancers, and how its cases and answers are handled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar, cast

from pulsar_conformance.conformance.common.check import (
    Draws,
    OneQuestion,
    OnOne,
    OnSeveral,
    SeveralQuestions,
    register,
)
from pulsar_conformance.conformance.common.expect import LeftUnanswered
from pulsar_conformance.conformance.common.trial import Asked, Exchange, Json
from pulsar_conformance.reference import Readings, Settings

Case = TypeVar("Case")
Answer = TypeVar("Answer")

Problems = Iterator[str]
"""Problems of a case that its schema cannot express, each with its place."""

Legality = Callable[[Json, Settings], Problems]
"""Yields the problems that make a case illegal. Errors: `MissingSetting`."""

Needs = Callable[[Json, Settings, Readings], None]
"""Looks up the settings on which the answer depends under some readings only.

Errors: `MissingSetting`.
"""


class NamesUsed(NamedTuple):
    """Names of one kind that occur in an answer and in its case."""

    answered: Iterable[str]
    known: Iterable[str]


@dataclass(frozen=True)
class FlatCase:
    """The view of a case without a type of its own: its fields and settings."""

    case: Json
    settings: Settings

    def __getitem__(self, name: str) -> Any:
        return self.case[name]


def legal_by_schema(_case: Json, _settings: Settings) -> Problems:
    """Yield no problems: the schema states all requirements."""
    return iter(())


def needs_nothing(_case: Json, _settings: Settings, _readings: Readings) -> None:
    """Require no setting."""


def same_field(name: str) -> Callable[[Json, Json], bool]:
    """Return a predicate that compares one field of two answers."""
    return lambda allowed, answer: bool(allowed[name] == answer.get(name))


@dataclass(frozen=True)
class Operation(Generic[Case, Answer]):
    """A question for load balancers: its types, valid cases, and comparison of answers.

    The schemas of case and answer are in `specs/schema/operations/<id>.json`. `Case` and `Answer`
    are the types that its checks use.
    """

    id: str
    view: Callable[[Json, Settings, Readings], Case]
    """Returns the case in the type that checks see."""
    read: Callable[[Case, Json], Answer]
    """Returns the answer in the type that checks see; refusals are passed only if `refusable`.

    Errors: `Violated`, `NotReached`.
    """
    matches: Callable[[Json, Json], bool]
    """True if the second answer agrees with the first, which was worked out by hand."""
    examples: tuple[Json, ...]
    """Small legal cases; where the rules allow it, their answers differ."""
    legal: Legality = legal_by_schema
    needs: Needs = needs_nothing
    refusable: bool = False
    """True if a rule may require a refusal; other operations answer every legal case."""
    removable: frozenset[str] = frozenset()
    """Fields of a case whose entries may be left out to make it smaller."""
    names: Callable[[Json, Json], list[NamesUsed]] | None = None
    """Returns the names in an answer and in its case, by kind."""
    regardless_of_order: Callable[[Json, Json], object] | None = None
    """Returns the part of an answer that does not depend on the order of the case; None for all of
    it.
    """
    determined: Callable[[Case, Readings], bool] = field(default=lambda _case, _readings: True)
    """True if the documents allow only one answer: no ties, and no value near a threshold."""
    sequential: bool = False
    """True if a case is a sequence in which each answer depends on earlier parts."""
    overridden_by: Mapping[str, str] = field(default_factory=dict)
    """For some settings, the field of a case that overrides the setting unless the field is null.
    """

    def check(
        self, *rules: str, draws: Draws
    ) -> Callable[[OnOne[Case, Answer]], OnOne[Case, Answer]]:
        """Register a check of single questions for one or more rules."""

        def registered(function: OnOne[Case, Answer]) -> OnOne[Case, Answer]:
            register(rules, OneQuestion(self.id, function), draws)
            return function

        return registered

    def check_together(
        self, *rules: str, draws: Draws
    ) -> Callable[[OnSeveral[Case, Answer]], OnSeveral[Case, Answer]]:
        """Register a check of several questions together for one or more rules."""

        def registered(function: OnSeveral[Case, Answer]) -> OnSeveral[Case, Answer]:
            register(rules, SeveralQuestions(self.id, function), draws)
            return function

        return registered

    def why_unanswered(self, answer: Json) -> str | None:
        """Return the reason why a valid case got no answer, or None if it was answered.

        A refusal counts as an answer if the operation is `refusable`.
        """
        if "failed" in answer:
            return f"failed: {answer['failed']}"
        if "refused" in answer and not self.refusable:
            return f"refused: {answer['refused']}"
        return None

    def typed(self, exchange: Exchange) -> Asked[Case, Answer]:
        """Convert an exchange to the types that checks use.

        Errors: `LeftUnanswered` for a valid case without an answer.
        """
        reason = self.why_unanswered(exchange.answer)
        if reason is not None:
            raise LeftUnanswered("an answer", reason)
        return Asked(cast(Case, exchange.view), cast(Answer, exchange.answered))


AnyOperation = Operation[Any, Any]
"""An operation of any types."""
