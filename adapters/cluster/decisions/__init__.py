"""Functions that ask a running cluster for single decisions instead of a story."""

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
"""Functions that ask brokers for decisions that are the same for every load manager."""

MODULAR: Mapping[str, Decision] = {
    **ANY_MANAGER,
    "bundles.split_candidates": splitting.candidates,
    "shed.select": shedding.select,
    "place.select": placing.select,
    "place.anti_affinity": placing.place_in_group,
    "place.broker": placing.assign_bundle,
    "report.read": reading.read,
    "usage.max": reading.maximum,
}
"""Functions that ask the modular load manager, whose load data the documents describe."""

NOT_ASKABLE: Mapping[str, str] = {
    "channel.apply": "only brokers write to a cluster's channel, each in its own role, so a case "
    "cannot prescribe the order of changes (pulsar:VERSION calls the deciding class directly)",
    "report.due": "a running broker decides by its own load and clock "
    "(pulsar:VERSION calls the deciding class directly)",
    "report.bundles": "a running broker ranks the traffic that it measures "
    "(pulsar:VERSION calls the deciding class directly)",
    "policy.changed": "a running broker unloads bundles that have owners, not names of namespaces "
    "(pulsar:VERSION calls the deciding class directly)",
    "shed.cycles": "each cycle needs minutes of load data (pulsar:VERSION calls the strategy "
    "directly)",
}
"""Operations about which a running cluster cannot be asked, each with the reason."""

QUICK_DECISIONS = ("usage.max",)
"""Decisions that take less than a second."""


def decision_functions(manager: str) -> Mapping[str, Decision]:
    """Return the functions that ask a cluster for decisions, by operation, for one load manager."""
    return MODULAR if manager == "modular" else ANY_MANAGER
