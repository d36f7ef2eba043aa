"""How checks state their assumptions, where a rule applies, and which answers it allows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.numbers import Fraction, plain

POINTS = Fraction(1, 1000)
"""Tolerance, in percentage points, of percentages that are computed in floating point."""

SHARE = Fraction(1, 100_000)
"""Tolerance of rates, as a fraction of the rate."""


class Violated(Exception):
    """Raised for an answer that the rule does not allow."""

    def __init__(self, allowed: str, answered: str) -> None:
        super().__init__(f"allowed: {allowed}; answered: {answered}")
        self.allowed = allowed
        self.answered = answered


class LeftUnanswered(Violated):
    """Raised if a valid case has no answer: it failed, or was refused and no rule allows that."""


class NotReached(Exception):
    """Raised if the rule does not apply to the case."""


class Expect:
    """The judgment of one trial by one rule.

    A check calls `given` for its assumptions, `reached` where the rule applies, and one of the
    other methods for what the documents demand. A trial to which the rule does not apply counts
    neither for nor against the implementation.
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
        """Assume a condition; if it does not hold, the rule does not apply.

        Errors: `NotReached`.
        """
        if not holds:
            raise NotReached(f"not given: {why}")

    def reached(self, holds: bool = True) -> bool:
        """Record that the rule applies to the trial if `holds` is true; return `holds`."""
        self._reached = self._reached or holds
        return holds

    def that(self, holds: bool, allowed: str, answered: object) -> None:
        """Demand that a condition holds; `allowed` and `answered` describe a violation."""
        if not holds:
            raise Violated(allowed, readable(answered))

    def equal(self, answered: object, allowed: object, of: str) -> None:
        """Demand that a part of the answer, named `of`, equals the allowed value."""
        self.that(answered == allowed, f"{of}: {readable(allowed)}", answered)

    def nothing(self, answered: Iterable[object], why: str) -> None:
        """Demand that the answer has none of the items for which `why` gives the reason."""
        found = list(answered)
        self.that(not found, f"nothing: {why}", ", ".join(map(str, found)))

    def at_least(
        self,
        answered: Fraction,
        bound: Fraction,
        of: str,
        shown: Callable[[Fraction], str] = plain,
    ) -> None:
        """Demand at least an amount of the quantity named `of`, within the tolerance `SHARE`."""
        enough = answered >= bound * (1 - SHARE)
        self.that(enough, f"{of} at least {shown(bound)}", shown(answered))


def readable(value: object) -> str:
    """Format a value: JSON values as JSON, all others as text."""
    is_json = value is None or isinstance(value, bool | list | tuple | dict)
    return json.dumps(value, ensure_ascii=False, default=str) if is_json else str(value)


def near(amount: Fraction, bound: Fraction) -> bool:
    """True if two percentages are equal within tolerance."""
    return abs(amount - bound) <= POINTS


def same(amount: Fraction, other: Fraction) -> bool:
    """True if two rates are equal within tolerance."""
    return abs(amount - other) <= SHARE * max(abs(amount), abs(other))
