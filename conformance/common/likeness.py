"""When two values in answers count as equal, allowing for floating point."""

from __future__ import annotations

from collections.abc import Callable
from math import isclose

from pulsar_conformance.conformance.common import expect
from pulsar_conformance.conformance.common.trial import Json

POINTS, SHARE = float(expect.POINTS), float(expect.SHARE)

RATES = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
FRAMES = ("shortTermData", "longTermData")


def same_field(name: str) -> Callable[[Json, Json], bool]:
    """A predicate: whether two answers have the same value in one field."""
    return lambda allowed, answer: bool(allowed[name] == answer.get(name))


def same_rates(allowed: Json, answer: Json) -> bool:
    """Whether rates are equal within `SHARE`; a missing rate is 0."""
    return all(isclose(allowed.get(name, 0), answer.get(name, 0), rel_tol=SHARE) for name in RATES)


def same_sums(allowed: Json, answer: Json) -> bool:
    """Whether the rates of both time frames are equal."""
    return all(same_rates(allowed[frame], answer[frame]) for frame in FRAMES)
