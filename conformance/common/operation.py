"""An operation: everything the suite knows about one question for a load balancer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar, cast

from pulsar_conformance.conformance.common.check import (
    Draws,
    OfOne,
    OfSeveral,
    OneQuestion,
    SeveralQuestions,
    register,
)
from pulsar_conformance.conformance.common.exchange import Asked, Exchange
from pulsar_conformance.conformance.common.expect import LeftUnanswered
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference import Readings, Settings

Case = TypeVar("Case")
Answer = TypeVar("Answer")

Problems = Iterator[str]
"""What is wrong with a case beyond its schema, each with the place."""

Legality = Callable[[Json, Settings], Problems]
"""Errors: `MissingSetting` for a setting without a default that the answer depends on."""

Needed = Callable[[Json, Settings, Readings], None]
"""Asks for a setting that the answer depends on under some readings alone.

Errors: `MissingSetting`.
"""


class Naming(NamedTuple):
    """The names of one kind that an answer uses, and those that its case has."""

    answered: Iterable[str]
    known: Iterable[str]


def legal_by_schema(_case: Json, _settings: Settings) -> Problems:
    """No case is illegal beyond what the schema says."""
    return iter(())


def needs_nothing(_case: Json, _settings: Settings, _readings: Readings) -> None:
    """No reading requires a setting."""


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
    """The answer as its checks see it; not called for one that declines, unless `refusable`.

    Errors: `Violated`, `NotReached`.
    """
    matches: Callable[[Json, Json], bool]
    """Whether an answer is the one that was worked by hand, the worked one first."""
    examples: tuple[Json, ...]
    """Small legal cases that answer differently under the rules, where there can be two."""
    legal: Legality = legal_by_schema
    needs: Needed = needs_nothing
    refusable: bool = False
    """Whether the rules turn some requests down; elsewhere a legal case has an answer."""
    names: frozenset[str] = frozenset()
    """Fields of a case under which names stand that a smaller case may leave out."""
    named: Callable[[Json, Json], list[Naming]] | None = None
    """The names in an answer, and those that its case has."""
    same: Callable[[Json, Json], object] | None = None
    """The part of an answer that does not depend on the order of the case; None means all of it."""
    settled: Callable[[Case, Readings], bool] = field(default=lambda _case, _readings: True)
    """Whether the documents leave one answer to a case: no ties, nothing near a threshold."""
    in_rows: bool = False
    """Whether a case is a row of questions, of which each depends on the answers before it."""
    said_by_case: Mapping[str, str] = field(default_factory=dict)
    """For a setting, the field of a case that overrides it unless it is null."""

    def check(
        self, *rules: str, draws: Draws
    ) -> Callable[[OfOne[Case, Answer]], OfOne[Case, Answer]]:
        """Registers a check of one question, for one rule or several."""

        def registered(function: OfOne[Case, Answer]) -> OfOne[Case, Answer]:
            register(rules, OneQuestion(self.id, function), draws)
            return function

        return registered

    def check_together(
        self, *rules: str, draws: Draws
    ) -> Callable[[OfSeveral[Case, Answer]], OfSeveral[Case, Answer]]:
        """Registers a check of several questions of this operation together."""

        def registered(function: OfSeveral[Case, Answer]) -> OfSeveral[Case, Answer]:
            register(rules, SeveralQuestions(self.id, function), draws)
            return function

        return registered

    def lacking_in(self, answer: Json) -> str | None:
        """What was said in place of an answer to a legal case, or None if it is one.

        A refusal is an answer where rules turn some requests down.
        """
        if "failed" in answer:
            return f"failed: {answer['failed']}"
        if "refused" in answer and not self.refusable:
            return f"refused: {answer['refused']}"
        return None

    def seen(self, exchange: Exchange) -> Asked[Case, Answer]:
        """An exchange of this operation, as its checks see it.

        Errors: `LeftUnanswered` for a legal case that has no answer.
        """
        lacking = self.lacking_in(exchange.answer)
        if lacking is not None:
            raise LeftUnanswered("an answer", lacking)
        return Asked(cast(Case, exchange.view), cast(Answer, exchange.answered))


AnyOperation = Operation[Any, Any]
"""An operation whose types do not matter."""
