"""The checks, by the ID of the rule that each one judges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, cast

from hypothesis.strategies import SearchStrategy, one_of
from pulsar_conformance import specs
from pulsar_conformance.conformance.common.exchange import Asked, Exchange
from pulsar_conformance.conformance.common.expect import Expect
from pulsar_conformance.conformance.common.trial import Trial

Case = TypeVar("Case")
Answer = TypeVar("Answer")

Drawn = SearchStrategy[Trial] | Sequence[SearchStrategy[Trial]]
"""A strategy of trials, or several that share the trials of a rule evenly."""

Draws = Drawn | Callable[[str], Drawn]
"""The strategies of a check, or what makes them for a rule's ID."""

OfOne = Callable[[Case, Answer, Expect], None]
"""The predicate of one question."""

OfSeveral = Callable[[Sequence[Asked[Case, Answer]], Expect], None]
"""The predicate of several questions of one operation together."""

OfAny = Callable[[Sequence[Exchange], Expect], None]
"""The predicate of exchanges of any operations, refusals included."""


class Predicate(Protocol):
    """What a check demands: of one question, of several together, or of any exchange."""

    def judges(self, trial: Trial) -> bool:
        """Whether the predicate takes a trial of such questions."""

    def demand(self, exchanges: Sequence[Exchange], expect: Expect) -> None:
        """Tells `expect` what is allowed. Errors: `Violated`, `NotReached`."""

    @property
    def whole(self) -> bool:
        """Whether it also sees questions that the implementation declined."""

    @property
    def function(self) -> Callable[..., None]:
        """What says by `expect` what is allowed."""


@dataclass(frozen=True)
class OneQuestion(Generic[Case, Answer]):
    """Judges a trial of one question."""

    operation: str
    function: OfOne[Case, Answer]
    whole = False

    def judges(self, trial: Trial) -> bool:
        """Whether it is a single question of this operation."""
        return [one.operation for one in trial.questions] == [self.operation]

    def demand(self, exchanges: Sequence[Exchange], expect: Expect) -> None:
        """Calls the function."""
        [one] = exchanges
        self.function(cast(Case, one.view), cast(Answer, one.answered), expect)


@dataclass(frozen=True)
class SeveralQuestions(Generic[Case, Answer]):
    """Judges a trial of any number of questions of one operation."""

    operation: str
    function: OfSeveral[Case, Answer]
    whole = False

    def judges(self, trial: Trial) -> bool:
        """Whether all questions are of this operation."""
        return trial.operations == {self.operation}

    def demand(self, exchanges: Sequence[Exchange], expect: Expect) -> None:
        """Calls the function."""
        asked = [Asked(cast(Case, one.view), cast(Answer, one.answered)) for one in exchanges]
        self.function(asked, expect)


@dataclass(frozen=True)
class AnyExchange:
    """Judges a trial of any questions of a rule's operations."""

    operations: frozenset[str]
    function: OfAny
    whole = True

    def judges(self, trial: Trial) -> bool:
        """Whether all questions are of the rule's operations."""
        return trial.operations <= self.operations

    def demand(self, exchanges: Sequence[Exchange], expect: Expect) -> None:
        """Calls the function."""
        self.function(exchanges, expect)


@dataclass(frozen=True)
class Check:
    """A rule's predicate, and the strategies that aim at it."""

    rule: str
    predicate: Predicate
    parts: tuple[SearchStrategy[Trial], ...]
    """Each strategy draws a share of the trials; most rules have one."""

    def judges(self, trial: Trial) -> bool:
        """Whether the predicate takes a trial of such questions."""
        return self.predicate.judges(trial)

    @property
    def name(self) -> str:
        """What it demands, as a sentence."""
        function = self.predicate.function
        whole: Callable[..., None] = getattr(function, "func", function)  # of a partial one
        return whole.__name__.replace("_", " ")

    @property
    def draws(self) -> SearchStrategy[Trial]:
        """All strategies combined into one."""
        return one_of(self.parts)


CHECKS: dict[str, Check] = {}
"""The checks by rule; complete once the package of checks is imported."""


def register(rules: Sequence[str], predicate: Predicate, draws: Draws) -> None:
    """Registers a predicate for a rule, or for several rules that differ only in their data.

    Errors: `ValueError` for a rule that already has one.
    """
    for rule in rules:
        if rule in CHECKS:
            raise ValueError(f"{rule} has two checks")
        drawn = draws(rule) if callable(draws) else draws
        parts = (drawn,) if isinstance(drawn, SearchStrategy) else tuple(drawn)
        CHECKS[rule] = Check(rule, predicate, parts)


def check_exchanges(*rules: str, draws: Draws) -> Callable[[OfAny], OfAny]:
    """Registers a predicate that takes exchanges of any of the rule's operations."""

    def registered(function: OfAny) -> OfAny:
        for rule in rules:
            asked = frozenset(specs.load().rules[rule].operations)
            register([rule], AnyExchange(asked, function), draws)
        return function

    return registered
