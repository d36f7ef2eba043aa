"""Trials from makers of cases."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing.loads import randoms

Maker = Callable[[Random], Json]


def made(operation: str, *makers: Maker) -> st.SearchStrategy[Trial]:
    """A case from one of the makers."""
    maker = st.sampled_from(makers)
    return st.builds(lambda make, random: Trial.of(operation, make(random)), maker, randoms)
