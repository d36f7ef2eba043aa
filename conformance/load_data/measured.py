"""Usage as checks see it."""

from __future__ import annotations

from dataclasses import dataclass

from pulsar_conformance.reference.numbers import Fraction


@dataclass(frozen=True)
class Measured:
    """A usage as answered."""

    percent: Fraction
    resource: str | None
