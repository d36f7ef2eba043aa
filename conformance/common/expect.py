"""Expectations: the assumptions of a check, where its rule applies, and the answers it allows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.numbers import Fraction, plain

POINTS = Fraction(1, 1000)
"""Tolerance of percentages, in points, since implementations compute in floating point."""

SHARE = Fraction(1, 100_000)
"""Tolerance of rates, relative to the rate."""


class Violated(Exception):
    """An answer that the rule does not allow."""

    def __init__(self, allowed: str, answered: str) -> None:
        super().__init__(f"allowed: {allowed}; answered: {answered}")
        self.allowed = allowed
        self.answered = answered


class LeftUnanswered(Violated):
    """A legal case without an answer: it failed, or was refused although no rule allows that."""


class NotReached(Exception):
    """The rule does not apply to the case."""


class Expect:
    """The judgment of one trial by one rule.

    A check calls `given` for its assumptions, `reached` where the rule applies, and one of the
    other methods for what the document demands. A trial in which the rule applies nowhere counts
    neither for nor against the implementation.
    """

    __slots__ = ("_reached", "readings")

    def __init__(self, readings: Readings) -> None:
        self.readings = readings
        self._reached = False

    @property
    def was_reached(self) -> bool:
        """True if the rule applied somewhere in this trial."""
        return self._reached

    def given(self, holds: bool, why: str) -> None:
        """Assume that a condition on the case holds; if not, the rule does not apply.

        Errors: `NotReached`.
        """
        if not holds:
            raise NotReached(f"not given: {why}")

    def reached(self, holds: bool = True) -> bool:
        """Record that the rule applies if `holds` is true; return `holds`."""
        self._reached = self._reached or holds
        return holds

    def that(self, holds: bool, allowed: str, answered: object) -> None:
        """Demand that a condition holds."""
        if not holds:
            raise Violated(allowed, readable(answered))

    def equal(self, answered: object, allowed: object, of: str) -> None:
        """Demand a certain value."""
        self.that(answered == allowed, f"{of}: {readable(allowed)}", answered)

    def nothing(self, answered: Iterable[object], why: str) -> None:
        """Demand that nothing was answered."""
        found = list(answered)
        self.that(not found, f"nothing: {why}", ", ".join(map(str, found)))

    def at_least(
        self,
        answered: Fraction,
        bound: Fraction,
        of: str,
        shown: Callable[[Fraction], str] = plain,
    ) -> None:
        """Demand at least an amount, within the tolerance of rounding."""
        enough = answered >= bound * (1 - SHARE)
        self.that(enough, f"{of} at least {shown(bound)}", shown(answered))


def readable(value: object) -> str:
    """Return a value in readable form: JSON values as JSON, all others as text."""
    is_json = value is None or isinstance(value, bool | list | tuple | dict)
    return json.dumps(value, ensure_ascii=False, default=str) if is_json else str(value)


def near(amount: Fraction, bound: Fraction) -> bool:
    """Return whether two percentages are equal within the tolerance."""
    return abs(amount - bound) <= POINTS


def same(amount: Fraction, other: Fraction) -> bool:
    """Return whether two rates are equal within the tolerance."""
    return abs(amount - other) <= SHARE * max(abs(amount), abs(other))
