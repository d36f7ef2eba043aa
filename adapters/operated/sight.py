"""One observation of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

EXTENSIBLE = "ExtensibleLoadManagerImpl"


@dataclass(frozen=True)
class ObservedState:
    """A cluster's state at one moment.

    Attributes:
        owners: each broker's bundles; the last known ones if it did not answer.
        silent: active brokers that did not answer.
        leader: the leading broker, if known.
        settings: the effective values of documented settings.
        domains: each failure domain's brokers.
        groups: each anti-affinity group's namespaces.
        shed: how many bundles the leader has shed since its election, if known.
        divided: bundles that no longer exist, with their parts.
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
        """True if the extensible load manager is set; its brokers return no load reports."""
        return str(self.settings.get("loadManagerClassName", "")).endswith(EXTENSIBLE)

    def owner_by_bundle(self) -> dict[str, str]:
        """Return the owner of each bundle that has one."""
        return {bundle: broker for broker, held in self.owners.items() for bundle in held}
