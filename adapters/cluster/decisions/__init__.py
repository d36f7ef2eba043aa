"""Single decisions that a running cluster can be asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pulsar_conformance.adapters.cluster.decisions import (
    bundles,
    choosing,
    placing,
    reading,
    shedding,
    splitting,
)
from pulsar_conformance.adapters.cluster.decisions.leader import AskedLeader
from pulsar_conformance.adapters.pulsar.release import Answer, Case

Decision = Callable[[AskedLeader, Case], Answer]

ANY_MANAGER: Mapping[str, Decision] = {
    "bundles.create": bundles.create,
    "bundles.locate": bundles.locate,
    "bundles.split": bundles.split,
    "manager.choose": choosing.choose,
}
"""Decisions of brokers that do not depend on their load manager."""

MODULAR: Mapping[str, Decision] = {
    **ANY_MANAGER,
    "bundles.split_candidates": splitting.candidates,
    "shed.select": shedding.select,
    "place.select": placing.select,
    "place.anti_affinity": placing.place_in_group,
    "place.broker": placing.assigned,
    "report.read": reading.read,
    "usage.max": reading.maximum,
}
"""Further decisions of the modular load manager, the one whose load data the documents describe."""


QUICK = ("usage.max",)
"""Decisions that take less than a second."""


def deciders(manager: str) -> Mapping[str, Decision]:
    """Return the decisions of a cluster with this load manager, by operation."""
    return MODULAR if manager == "modular" else ANY_MANAGER
