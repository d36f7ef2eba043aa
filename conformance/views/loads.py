"""Usage as checks see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from pulsar_conformance.conformance.views.plain import AnswerView
from pulsar_conformance.reference.numbers import exact


@dataclass(frozen=True)
class Measured:
    """A usage as answered."""

    percent: Fraction
    resource: str | None


ANSWERS: Mapping[str, AnswerView] = {
    "usage.max": lambda _case, answer: Measured(exact(answer["percent"]), answer["resource"]),
    "usage.nic": lambda _case, answer: exact(answer["gbps"]),
}
