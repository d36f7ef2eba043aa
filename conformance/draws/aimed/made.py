"""A trial from a maker of cases."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.draws.namespaces import randoms
from pulsar_conformance.conformance.trial import Json, Trial

Maker = Callable[[Random], Json]


def made(*makers: Maker, operation: str = "shed.select") -> st.SearchStrategy[Trial]:
    """A case from one of the makers."""
    maker = st.sampled_from(makers)
    return st.builds(lambda make, random: Trial.of(operation, make(random)), maker, randoms)
