"""The state of a user's cluster, as observed at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

EXTENSIBLE = "ExtensibleLoadManagerImpl"


@dataclass(frozen=True)
class ObservedState:
    """A cluster's state at one moment.

    Attributes:
        owners: each broker's bundles; if the broker did not answer, its last known bundles.
        silent: active brokers that did not answer.
        leader: the leading broker, or None if it is unknown.
        settings: the effective values of documented settings.
        domains: each failure domain's brokers.
        groups: each anti-affinity group's namespaces.
        shed: number of bundles that the leader has shed since its election; None if it is unknown.
        divided: bundles that have been split since the last observation, with their parts.
    """

    owners: Mapping[str, frozenset[str]] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()
    leader: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    domains: Mapping[str, frozenset[str]] = field(default_factory=dict)
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    shed: float | None = None
    divided: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_extensible(self) -> bool:
        """True if brokers run the extensible load manager, and therefore return no load reports."""
        return str(self.settings.get("loadManagerClassName", "")).endswith(EXTENSIBLE)

    def owner_by_bundle(self) -> dict[str, str]:
        """Return the owner of each owned bundle."""
        return {bundle: broker for broker, held in self.owners.items() for bundle in held}
