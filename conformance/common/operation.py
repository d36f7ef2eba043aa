"""Operations: the kinds of questions for load balancers, and how to handle cases and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar, cast

from pulsar_conformance.conformance.common.check import (
    Draws,
    JudgeQuestion,
    JudgeQuestions,
    LeftUnanswered,
    OneQuestion,
    SeveralQuestions,
    register,
)
from pulsar_conformance.conformance.common.events import AN_ANSWER
from pulsar_conformance.conformance.common.trial import Asked, Exchange, Json
from pulsar_conformance.reference import Readings, Settings

Case = TypeVar("Case")
Answer = TypeVar("Answer")

Problems = Iterator[str]
"""Problems of a case that its schema cannot express, each a text with the place in the case."""

Legality = Callable[[Json, Settings], Problems]
"""Function that yields the problems of a case. Errors: `MissingSetting`."""

Needs = Callable[[Json, Settings, Readings], None]
"""Function that looks up the settings needed to answer a case under given readings. Errors:
`MissingSetting`.
"""


class NamesUsed(NamedTuple):
    """Names of one kind that occur in an answer and in its case."""

    answered: Iterable[str]
    """The names that the answer uses."""
    known: Iterable[str]
    """The names in the case; an answer may use no other names."""


@dataclass(frozen=True)
class FlatCase:
    """A case with its settings, for operations whose checks need no special type."""

    case: Json
    settings: Settings

    def __getitem__(self, name: str) -> Any:
        return self.case[name]


def legal_by_schema(_case: Json, _settings: Settings) -> Problems:
    """Yield no problems; used for operations whose schema states all requirements."""
    return iter(())


def needs_nothing(_case: Json, _settings: Settings, _readings: Readings) -> None:
    """Look up nothing; used for operations that need the same settings under all readings."""


def same_field(name: str) -> Callable[[Json, Json], bool]:
    """Return a predicate: true if two answers have the same value in the field `name`."""
    return lambda allowed, answer: bool(allowed[name] == answer.get(name))


@dataclass(frozen=True)
class Operation(Generic[Case, Answer]):
    """A kind of question for load balancers, such as which bundles to unload.

    The schemas of case and answer are in `specs/schema/operations/<id>.json`. `Case` and `Answer`
    are the types that the operation's checks use.
    """

    id: str
    view: Callable[[Json, Settings, Readings], Case]
    """Function that converts a case to the type that checks use."""
    read: Callable[[Case, Json], Answer]
    """Function that converts an answer to the type that checks use.

    It is called for a refusal only if `refusable`. Errors: `Violated`, `NotReached`.
    """
    matches: Callable[[Json, Json], bool]
    """Predicate: true if the second answer agrees with the first, which was worked out by hand."""
    examples: tuple[Json, ...]
    """Small valid cases, with different answers if possible."""
    legal: Legality = legal_by_schema
    needs: Needs = needs_nothing
    refusable: bool = False
    """True if an answer may be a refusal; other operations must answer every valid case."""
    removable: frozenset[str] = frozenset()
    """Fields of a case whose entries may be removed when a failing case is reduced."""
    names: Callable[[Json, Json], list[NamesUsed]] | None = None
    """Function that returns the names in a case and in its answer, one entry per kind of name."""
    regardless_of_order: Callable[[Json, Json], object] | None = None
    """Function that returns the part of an answer that must stay the same if the names of a case
    are in another order; None if there is no such part.
    """
    determined: Callable[[Case, Readings], bool] = field(default=lambda _case, _readings: True)
    """Predicate that is true if the documents allow only one answer: there are no ties, and no
    value is near a threshold.
    """
    sequential: bool = False
    """True if a case is a sequence of steps, and answers depend on earlier steps."""
    under_transfer_shedder: Callable[[Json], Json] = field(default=lambda case: case)
    """Function that changes a case into one for TransferShedder of the extensible load manager."""
    of_modular_strategies: frozenset[str] = frozenset()
    """The rules that apply only to the shedding strategies of the modular load manager."""
    overridden_by: Mapping[str, str] = field(default_factory=dict)
    """For some settings: the field of the case that overrides the setting unless the field is
    null.
    """
    stands_for: Mapping[str, str] = field(default_factory=dict)
    """For some settings: the field of the case that holds the setting's value unless the field is
    null.
    """

    def check(
        self, *rules: str, draws: Draws
    ) -> Callable[[JudgeQuestion[Case, Answer]], JudgeQuestion[Case, Answer]]:
        """Return a decorator that registers a check of single questions for one or more rules."""

        def registered(function: JudgeQuestion[Case, Answer]) -> JudgeQuestion[Case, Answer]:
            register(rules, OneQuestion(self.id, function), draws)
            return function

        return registered

    def check_together(
        self, *rules: str, draws: Draws
    ) -> Callable[[JudgeQuestions[Case, Answer]], JudgeQuestions[Case, Answer]]:
        """Return a decorator that registers a check of several questions together."""

        def registered(function: JudgeQuestions[Case, Answer]) -> JudgeQuestions[Case, Answer]:
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
            raise LeftUnanswered(AN_ANSWER, reason)
        return Asked(cast(Case, exchange.view), cast(Answer, exchange.answered))


AnyOperation = Operation[Any, Any]
"""An operation whose case and answer have any types."""
