"""Aims: strategies whose cases tell the alternatives of a reading apart."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing.loads import randoms

Maker = Callable[[Random], Json]
"""Builds a case of an operation."""


class Aim(NamedTuple):
    """A strategy whose trials are answered differently under the alternatives of a reading."""

    reading: str
    operation: str
    """The operation of every trial."""
    strategy: st.SearchStrategy[Trial]


def trials_of(operation: str, *makers: Maker) -> st.SearchStrategy[Trial]:
    """Return a strategy of trials with one case each, from any of the makers."""
    maker = st.sampled_from(makers)
    return st.builds(lambda make, random: Trial.of(operation, make(random)), maker, randoms)


def aim(reading: str, operation: str, *makers: Maker) -> Aim:
    """Return the aim at a reading whose cases come from any of the makers."""
    return Aim(reading, operation, trials_of(operation, *makers))
