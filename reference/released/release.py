"""A release as the model knows it: the ways it takes, and the settings that no document names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pulsar_conformance import specs
from pulsar_conformance.reference.settings import Value

LARGEST = 2**31 - 1
"""The largest of Java's int."""

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
    """What a released profile says beyond rules and readings.

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
        """The release of a released profile; none of another. Errors: `specs.UnknownName`.

        With `neutral`, the hidden settings stand where they do nothing.
        """
        bundled = specs.load()
        found = bundled.profile(profile)
        if found.kind != "released":
            return None
        undone = bundled.neutral if neutral else {}
        hidden = {name: undone.get(name, value) for name, value in found.hidden.items()}
        return cls(found.title, bundled.ways_of(profile), hidden)

    def why_unsupported(self, settings: Mapping[str, Value]) -> str | None:
        """Why no broker.conf of the release can hold these settings; none where it can."""
        for name, value in settings.items():
            if name in WHOLE and isinstance(value, int | float) and not _is_int(value):
                taken = f"whole numbers up to {LARGEST}"
                return f"'{self.title}': {name} takes {taken}, not {value}"
        return None

    def place(self, way: str) -> str:
        """Class and method that make it so, as a line of a derivation names them."""
        return specs.load().ways[way].alternatives[self.ways[way]].place


def _is_int(value: float) -> bool:
    """Whether Java's int holds a number."""
    return value == int(value) and abs(value) <= LARGEST
