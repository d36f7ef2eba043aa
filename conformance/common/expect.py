"""What a check says: its assumptions, whether its guard was reached, and what is allowed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.numbers import Fraction, plain

POINTS = Fraction(1, 1000)
"""This close to a threshold, in points, either side passes: implementations compute in floats."""

SHARE = Fraction(1, 100_000)
"""Within this share of a rate either side passes."""


class Violated(Exception):
    """An answer that the rule does not allow."""

    def __init__(self, allowed: str, answered: str) -> None:
        super().__init__(f"allowed: {allowed}; answered: {answered}")
        self.allowed = allowed
        self.answered = answered


class LeftUnanswered(Violated):
    """A legal case without an answer: it failed, or was refused where no rule turns it down."""


class NotReached(Exception):
    """The rule does not apply to the case."""


class Expect:
    """The judgment of one trial by one rule.

    A check calls `given` for its assumptions, `reached` where the rule applies, and one of the
    other methods for what the document demands. A trial in which nothing was reached judges
    nothing.
    """

    __slots__ = ("_reached", "readings")

    def __init__(self, readings: Readings) -> None:
        self.readings = readings
        self._reached = False

    @property
    def was_reached(self) -> bool:
        """Whether the rule said anything about this trial."""
        return self._reached

    def given(self, holds: bool, why: str) -> None:
        """Assumes something about the case; if it does not hold, the rule says nothing."""
        if not holds:
            raise NotReached(f"not given: {why}")

    def reached(self, holds: bool = True) -> bool:
        """Notes that the rule applies here if `holds` is true, and returns `holds`."""
        self._reached = self._reached or holds
        return holds

    def that(self, holds: bool, allowed: str, answered: object) -> None:
        """Demands something."""
        if not holds:
            raise Violated(allowed, as_text(answered))

    def equal(self, answered: object, allowed: object, of: str) -> None:
        """Demands one value."""
        self.that(answered == allowed, f"{of}: {as_text(allowed)}", answered)

    def nothing(self, answered: Iterable[object], why: str) -> None:
        """Demands an empty answer."""
        found = list(answered)
        self.that(not found, f"nothing: {why}", ", ".join(map(str, found)))

    def at_least(
        self,
        answered: Fraction,
        bound: Fraction,
        of: str,
        written: Callable[[Fraction], str] = plain,
    ) -> None:
        """Demands at least an amount, allowing for rounding."""
        enough = answered >= bound * (1 - SHARE)
        self.that(enough, f"{of} at least {written(bound)}", written(answered))


def as_text(value: object) -> str:
    """A value in readable form: text and our own types as they are, JSON values as JSON."""
    plainly = value is None or isinstance(value, bool | list | tuple | dict)
    return json.dumps(value, ensure_ascii=False, default=str) if plainly else str(value)


def near(amount: Fraction, bound: Fraction) -> bool:
    """Whether two percentages are too close for floating point to tell apart."""
    return abs(amount - bound) <= POINTS


def same(amount: Fraction, other: Fraction) -> bool:
    """Whether two rates are equal, allowing for rounding."""
    return abs(amount - other) <= SHARE * max(abs(amount), abs(other))
