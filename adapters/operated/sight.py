"""The state of a cluster in a single observation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

EXTENSIBLE = "ExtensibleLoadManagerImpl"


@dataclass(frozen=True)
class Sight:
    """State of a cluster at one time.

    Attributes:
        owners: broker to its bundles; those last known if it did not answer.
        silent: active brokers that did not answer.
        leader: the leading broker, if known.
        settings: the documented settings in force.
        domains: failure domain to its brokers.
        groups: anti-affinity group to its namespaces.
        shed: number of bundles that the leader has shed since its election, if known.
        divided: bundles that no longer exist, and their parts.
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
        """True if the extensible load manager is set, whose brokers answer no load report."""
        return str(self.settings.get("loadManagerClassName", "")).endswith(EXTENSIBLE)

    def holder(self) -> dict[str, str]:
        """Return the owner of each owned bundle."""
        return {bundle: broker for broker, held in self.owners.items() for bundle in held}
