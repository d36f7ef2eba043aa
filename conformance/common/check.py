"""Checks: for each rule, a predicate that judges answers, and strategies that draw cases."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

from hypothesis.strategies import SearchStrategy, one_of
from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import Asked, Exchange, Json, Question, Trial
from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.numbers import Fraction, places_apart, plain

POINTS = Fraction(1, 1000)
"""Tolerance, in percentage points, for percentages computed in floating point."""

SHARE = Fraction(1, 100_000)
"""Tolerance of rates, as a fraction of the rate."""


class Violated(Exception):
    """Raised for an answer that the rule does not allow."""

    def __init__(self, allowed: str, answered: str) -> None:
        super().__init__(f"allowed: {allowed}; answered: {answered}")
        self.allowed = allowed
        self.answered = answered


class LeftUnanswered(Violated):
    """Raised if a valid case has no answer: an error, or a refusal that no rule allows."""


class NotReached(Exception):
    """Raised if the rule does not apply to the case."""


class Expect:
    """The judgment of one trial by one rule.

    A check calls `given` for its assumptions, `reached` at the point where the rule applies, and
    one of the other methods for each requirement of the documents. A trial to which the rule does
    not apply counts neither for nor against the implementation.
    """

    __slots__ = ("_reached", "readings")

    def __init__(self, readings: Readings) -> None:
        self.readings = readings
        self._reached = False

    @property
    def was_reached(self) -> bool:
        """True if the rule applied to at least part of the trial."""
        return self._reached

    def given(self, holds: bool, why: str) -> None:
        """Assume a condition: if `holds` is false, the rule does not apply, because of `why`.

        Errors: `NotReached`.
        """
        if not holds:
            raise NotReached(f"the rule's assumption does not hold: {why}")

    def reached(self, holds: bool = True) -> bool:
        """Record that the rule applies to the trial if `holds` is true; return `holds`."""
        self._reached = self._reached or holds
        return holds

    def that(self, holds: bool, allowed: str | Callable[[], str], answered: object) -> None:
        """Require a condition; if it is false, raise `Violated`, which names what is allowed.

        `allowed` may be a function, which is called only if the condition is false: some texts take
        long to build.
        """
        if not holds:
            raise Violated(allowed if isinstance(allowed, str) else allowed(), readable(answered))

    def equal(self, answered: object, allowed: object, of: str) -> None:
        """Require that a part of the answer, named `of`, equals the allowed value."""
        self.that(answered == allowed, f"{of}: {readable(allowed)}", answered)

    def nothing(self, answered: Iterable[object], why: str | Callable[[], str]) -> None:
        """Require that `answered` is empty; `why` explains why no item is allowed."""
        found = list(answered)
        if found:
            reason = why if isinstance(why, str) else why()
            self.that(False, f"none of these: {reason}", ", ".join(map(str, found)))

    def at_least(
        self,
        answered: Fraction,
        bound: Fraction,
        of: str,
        shown: Callable[[Fraction, int], str] = plain,
    ) -> None:
        """Require that the quantity `of` is at least `bound`, within the tolerance `SHARE`.

        The message prints both numbers with enough decimal places to distinguish them.
        """
        if answered < bound * (1 - SHARE):
            given, least = format_distinct(answered, bound, shown)
            self.that(False, f"{of} at least {least}", given)


def format_distinct(
    first: Fraction, second: Fraction, shown: Callable[[Fraction, int], str]
) -> tuple[str, str]:
    """Format two numbers with as many decimal places as it takes to distinguish them."""
    places = places_apart(first, second, shown)
    return shown(first, places), shown(second, places)


def readable(value: object) -> str:
    """Format lists, sets, mappings, booleans and None as JSON, and other values as plain text.

    Sets are sorted, so that the same judgment always has the same message.
    """
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    is_json = value is None or isinstance(value, bool | list | tuple | dict)
    return json.dumps(value, ensure_ascii=False, default=str) if is_json else str(value)


def near(amount: Fraction, bound: Fraction) -> bool:
    """True if two percentages differ by at most `POINTS`."""
    return abs(amount - bound) <= POINTS


def same(amount: Fraction, other: Fraction) -> bool:
    """True if two rates differ by at most the fraction `SHARE` of the larger rate."""
    return abs(amount - other) <= SHARE * max(abs(amount), abs(other))


Case = TypeVar("Case")
Answer = TypeVar("Answer")

Strategies = SearchStrategy[Trial] | Sequence[SearchStrategy[Trial]]
"""A strategy for trials, or several strategies that each yield an equal number of trials."""

Draws = Strategies | Callable[[str], Strategies]
"""The strategies of a check, or a function that returns the strategies for a rule's ID."""

JudgeQuestion = Callable[[Case, Answer, Expect], None]
"""Function that judges the answer to one question."""

JudgeQuestions = Callable[[Sequence[Asked[Case, Answer]], Expect], None]
"""Function that judges the answers to several questions of one operation together."""

JudgeExchanges = Callable[[Sequence[Exchange], Expect], None]
"""Function that judges exchanges of any operations, including refused questions."""


class Predicate(Protocol):
    """Decides whether the answers to a trial are allowed by a rule."""

    def judges(self, trial: Trial) -> bool:
        """True if the predicate applies to a trial's questions."""

    def demand(self, exchanges: Sequence[Exchange], expect: Expect) -> None:
        """Judge the exchanges. Errors: `Violated`, `NotReached`."""

    @property
    def sees_declined(self) -> bool:
        """True if the predicate also judges questions that the implementation declined to
        answer.
        """

    @property
    def function(self) -> Callable[..., None]:
        """The registered function, which states through `expect` which answers are allowed."""


@dataclass(frozen=True)
class OneQuestion(Generic[Case, Answer]):
    """A predicate for trials of a single question of one operation."""

    operation: str
    function: JudgeQuestion[Case, Answer]
    sees_declined = False

    def judges(self, trial: Trial) -> bool:
        """True if a trial is a single question of this operation."""
        asked = trial.questions
        return len(asked) == 1 and asked[0].operation == self.operation

    def demand(self, exchanges: Sequence[Exchange], expect: Expect) -> None:
        """Judge the exchange."""
        [exchange] = exchanges
        self.function(cast(Case, exchange.view), cast(Answer, exchange.answered), expect)


@dataclass(frozen=True)
class SeveralQuestions(Generic[Case, Answer]):
    """A predicate for trials of any number of questions of one operation."""

    operation: str
    function: JudgeQuestions[Case, Answer]
    sees_declined = False

    def judges(self, trial: Trial) -> bool:
        """True if all questions of a trial are of this operation."""
        return trial.operations == {self.operation}

    def demand(self, exchanges: Sequence[Exchange], expect: Expect) -> None:
        """Judge the exchanges."""
        asked = [Asked(cast(Case, one.view), cast(Answer, one.answered)) for one in exchanges]
        self.function(asked, expect)


@dataclass(frozen=True)
class AnyExchange:
    """A predicate for trials of questions of any operations in `operations`."""

    operations: frozenset[str]
    function: JudgeExchanges
    sees_declined = True

    def judges(self, trial: Trial) -> bool:
        """True if the operations of all questions of a trial are in `operations`."""
        return trial.operations <= self.operations

    def demand(self, exchanges: Sequence[Exchange], expect: Expect) -> None:
        """Judge the exchanges."""
        self.function(exchanges, expect)


@dataclass(frozen=True)
class Check:
    """A rule's predicate, and the strategies that draw its cases."""

    rule: str
    predicate: Predicate
    parts: tuple[SearchStrategy[Trial], ...]
    """Strategies, usually only one, that each draw an equal share of the rule's trials."""

    def judges(self, trial: Trial) -> bool:
        """True if the predicate applies to a trial's questions."""
        return self.predicate.judges(trial)

    @property
    def name(self) -> str:
        """The name of the registered function as words; it says what the rule requires."""
        function = self.predicate.function
        undecorated: Callable[..., None] = getattr(function, "func", function)  # unwraps a partial
        return undecorated.__name__.replace("_", " ")

    @property
    def draws(self) -> SearchStrategy[Trial]:
        """A strategy for the trials of all parts."""
        return one_of(self.parts)


CHECKS: dict[str, Check] = {}
"""The checks by rule ID; all are registered once `catalogue.checks` has imported all subjects."""


def register(rules: Sequence[str], predicate: Predicate, draws: Draws) -> None:
    """Register a predicate for a rule, or for several rules that differ only in data.

    Errors: `ValueError` for a rule that already has a predicate.
    """
    for rule in rules:
        if rule in CHECKS:
            raise ValueError(f"{rule} has two checks")
        strategies = draws(rule) if callable(draws) else draws
        parts = (strategies,) if isinstance(strategies, SearchStrategy) else tuple(strategies)
        CHECKS[rule] = Check(rule, predicate, parts)


def check_exchanges(*rules: str, draws: Draws) -> Callable[[JudgeExchanges], JudgeExchanges]:
    """Return a decorator that registers a check of exchanges of any operation that a rule names."""

    def registered(function: JudgeExchanges) -> JudgeExchanges:
        for rule in rules:
            operations = frozenset(specs.load().rules[rule].operations)
            register([rule], AnyExchange(operations, function), draws)
        return function

    return registered


MakeQuestions = Callable[
    [specs.Rule, Question, Json, Mapping[str, Any], Readings], Iterable[Question]
]
"""Function that builds questions to test a presupposed rule. Its arguments are the presupposed
rule, the failing question, the answer to the failing question, the profile's default settings, and
the readings.
"""


@dataclass(frozen=True)
class DerivedQuestions:
    """A function that derives questions from a failing case, to test a presupposed rule."""

    questions: MakeQuestions
    operation: str | None = None
    """The operation of the failing questions; None if `rule` is given."""
    rule: str | None = None
    """ID of the presupposed rule to test; None: every rule that is not about `operation`."""

    def concerns(self, presupposed: specs.Rule, failing: Question) -> bool:
        """True if questions derived from the question `failing` test the rule `presupposed`."""
        if self.rule is not None:
            return presupposed.id == self.rule
        return failing.operation == self.operation not in presupposed.operations
