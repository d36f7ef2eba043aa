"""An operation: everything the suite knows about one question for a load balancer."""

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
"""Violations beyond the schema of a case, each with its place."""

Legality = Callable[[Json, Settings], Problems]
"""Yields what makes a case illegal. Errors: `MissingSetting` without a needed setting."""

Needs = Callable[[Json, Settings, Readings], None]
"""Asks for the settings that the answer depends on under some readings alone.

Errors: `MissingSetting`.
"""


class NamesUsed(NamedTuple):
    """The names of one kind in an answer, and those in its case."""

    answered: Iterable[str]
    known: Iterable[str]


@dataclass(frozen=True)
class FlatCase:
    """The view of a case without a shape of its own: its fields, and its settings."""

    case: Json
    settings: Settings

    def __getitem__(self, name: str) -> Any:
        return self.case[name]


def legal_by_schema(_case: Json, _settings: Settings) -> Problems:
    """Yield nothing: the schema says all that a case has to satisfy."""
    return iter(())


def needs_nothing(_case: Json, _settings: Settings, _readings: Readings) -> None:
    """Ask for no setting."""


def same_field(name: str) -> Callable[[Json, Json], bool]:
    """Return a predicate: true if two answers have the same value in one field."""
    return lambda allowed, answer: bool(allowed[name] == answer.get(name))


@dataclass(frozen=True)
class Operation(Generic[Case, Answer]):
    """One question: its types, which cases are legal, and how its answers are compared.

    The schemas of its case and answer are in `specs/schema/operations/<id>.json`. `Case` and
    `Answer` are the types in which checks see them.
    """

    id: str
    view: Callable[[Json, Settings, Readings], Case]
    """The case as its checks see it."""
    read: Callable[[Case, Json], Answer]
    """The answer as its checks see it; called for a refusal only if the operation is `refusable`.

    Errors: `Violated`, `NotReached`.
    """
    matches: Callable[[Json, Json], bool]
    """True if the second answer agrees with the first, which was worked by hand."""
    examples: tuple[Json, ...]
    """Small legal cases that have different answers under the rules, where there can be two."""
    legal: Legality = legal_by_schema
    needs: Needs = needs_nothing
    refusable: bool = False
    """True if a rule may require a refusal; other operations answer every legal case."""
    removable: frozenset[str] = frozenset()
    """Fields of a case with entries that a smaller case may leave out."""
    names: Callable[[Json, Json], list[NamesUsed]] | None = None
    """The names in an answer, and those in its case."""
    regardless_of_order: Callable[[Json, Json], object] | None = None
    """The part of an answer that does not depend on the order of the case; None means all of it."""
    determined: Callable[[Case, Readings], bool] = field(default=lambda _case, _readings: True)
    """True if the documents leave one answer to a case: no ties, nothing near a threshold."""
    sequential: bool = False
    """True if a case is a sequence in which each answer depends on those before it."""
    overridden_by: Mapping[str, str] = field(default_factory=dict)
    """Settings, each with the field of a case that overrides it unless that field is null."""

    def check(
        self, *rules: str, draws: Draws
    ) -> Callable[[OnOne[Case, Answer]], OnOne[Case, Answer]]:
        """Register a check of one question, for one rule or several."""

        def registered(function: OnOne[Case, Answer]) -> OnOne[Case, Answer]:
            register(rules, OneQuestion(self.id, function), draws)
            return function

        return registered

    def check_together(
        self, *rules: str, draws: Draws
    ) -> Callable[[OnSeveral[Case, Answer]], OnSeveral[Case, Answer]]:
        """Register a check of several questions of this operation together."""

        def registered(function: OnSeveral[Case, Answer]) -> OnSeveral[Case, Answer]:
            register(rules, SeveralQuestions(self.id, function), draws)
            return function

        return registered

    def why_unanswered(self, answer: Json) -> str | None:
        """Return the reason that was given instead of an answer to a legal case, or None.

        A refusal is an answer where rules refuse some requests.
        """
        if "failed" in answer:
            return f"failed: {answer['failed']}"
        if "refused" in answer and not self.refusable:
            return f"refused: {answer['refused']}"
        return None

    def typed(self, exchange: Exchange) -> Asked[Case, Answer]:
        """Return an exchange of this operation as its checks see it.

        Errors: `LeftUnanswered` for a legal case that has no answer.
        """
        reason = self.why_unanswered(exchange.answer)
        if reason is not None:
            raise LeftUnanswered("an answer", reason)
        return Asked(cast(Case, exchange.view), cast(Answer, exchange.answered))


AnyOperation = Operation[Any, Any]
"""An operation whose types do not matter."""
