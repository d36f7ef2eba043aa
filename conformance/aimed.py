"""Cases that tell the alternatives of a reading apart, whatever the other readings are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st
from pulsar_conformance.conformance.core.trial import Trial
from pulsar_conformance.conformance.draws.readings import (
    averages,
    bundles,
    left_open,
    managers,
    placements,
    shedding,
    stories,
)

AREAS = (
    bundles.AIMED,
    averages.AIMED,
    shedding.AIMED,
    placements.AIMED,
    managers.AIMED,
    stories.AIMED,
    left_open.AIMED,
)


def _gathered() -> dict[str, list[st.SearchStrategy[Trial]]]:
    found: dict[str, list[st.SearchStrategy[Trial]]] = {}
    for area in AREAS:
        for reading, strategy in area.items():
            found.setdefault(reading, []).append(strategy)
    return found


AIMED: Mapping[str, Sequence[st.SearchStrategy[Trial]]] = _gathered()
"""For each reading that a question can decide, strategies whose cases do."""
