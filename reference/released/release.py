"""A release: the ways it takes, and its settings that no document names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pulsar_conformance import specs
from pulsar_conformance.reference.settings import Value

LARGEST = 2**31 - 1
"""The largest Java int."""

WHOLE = frozenset(
    {
        "loadBalancerBrokerOverloadedThresholdPercentage",
        "loadBalancerBrokerThresholdShedderPercentage",
        "loadBalancerSheddingGracePeriodMinutes",
        "loadBalancerNamespaceBundleMaxTopics",
        "loadBalancerNamespaceBundleMaxSessions",
        "loadBalancerNamespaceBundleMaxMsgRate",
        "loadBalancerNamespaceBundleMaxBandwidthMbytes",
        "loadBalancerNamespaceMaximumBundles",
    }
)
"""The settings that are whole numbers in every release."""


@dataclass(frozen=True)
class ReleasedWays:
    """A released profile's behaviour beyond rules and readings.

    Attributes:
        title: the profile's, which names the version.
        ways: for each way, the alternative that the release takes.
        hidden: the settings that no document names, each with the value it has where a case sets
            none.
    """

    title: str
    ways: Mapping[str, str]
    hidden: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def of(cls, profile: str, neutral: bool = False) -> ReleasedWays | None:
        """Return the release of a released profile, None for others. Errors: `specs.UnknownName`.

        With `neutral`, the hidden settings have values without effect.
        """
        bundled = specs.load()
        found = bundled.profile(profile)
        if found.kind != "released":
            return None
        undone = bundled.neutral if neutral else {}
        hidden = {name: undone.get(name, value) for name, value in found.hidden.items()}
        return cls(found.title, bundled.ways_of(profile), hidden)

    def why_unsupported(self, settings: Mapping[str, Value]) -> str | None:
        """Return why a release's broker.conf cannot hold these settings; None if it can."""
        for name, value in settings.items():
            if name in WHOLE and isinstance(value, int | float) and not _is_int(value):
                taken = f"whole numbers up to {LARGEST}"
                return f"'{self.title}': {name} takes {taken}, not {value}"
        return None

    def place(self, way: str) -> str:
        """Class and method of the behaviour in the release's source."""
        return specs.load().ways[way].alternatives[self.ways[way]].place


def _is_int(value: float) -> bool:
    """True if a Java int can hold the number."""
    return value == int(value) and abs(value) <= LARGEST
