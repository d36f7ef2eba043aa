"""Automatic splits: the bundles that the leader splits. [SPLIT-01 … 09]"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pulsar_conformance.reference.cluster import (
    MEGABYTE,
    Broker,
    Rates,
    Stats,
    average_of,
    unmeasured_rates,
)
from pulsar_conformance.reference.context import Readings, Settings
from pulsar_conformance.reference.numbers import Fraction
from pulsar_conformance.reference.ranges import namespace_of

MAX_TOPICS = "loadBalancerNamespaceBundleMaxTopics"
MAX_SESSIONS = "loadBalancerNamespaceBundleMaxSessions"
MAX_MESSAGES = "loadBalancerNamespaceBundleMaxMsgRate"
MAX_MEGABYTES = "loadBalancerNamespaceBundleMaxBandwidthMbytes"
MAX_BUNDLES = "loadBalancerNamespaceMaximumBundles"
AUTO_SPLIT = "loadBalancerAutoBundleSplitEnabled"
AUTO_UNLOAD = "loadBalancerAutoUnloadSplitBundlesEnabled"

Measure = Callable[["Growth", str], Fraction]


@dataclass(frozen=True)
class Growth:
    """A `bundles.split_candidates` case: one run of the automatic split, with loads and limits."""

    case: Mapping[str, Any]
    settings: Settings
    readings: Readings

    @cached_property
    def brokers(self) -> tuple[Broker, ...]:
        """The brokers' load reports."""
        return tuple(Broker.read(name, data) for name, data in self.case["brokers"].items())

    @cached_property
    def stats(self) -> dict[str, Stats]:
        """The latest statistics of each bundle, from the broker that owns it."""
        return {
            bundle: broker.stats[bundle]
            for broker in self.brokers
            for bundle in broker.bundles
            if bundle in broker.stats
        }

    @cached_property
    def limits(self) -> dict[str, Fraction]:
        """The four thresholds; bandwidth in bytes per second."""
        megabyte = MEGABYTE[self.readings["megabyte"]]
        return {
            MAX_TOPICS: self.settings.number(MAX_TOPICS),
            MAX_SESSIONS: self.settings.limit(MAX_SESSIONS),
            MAX_MESSAGES: self.settings.number(MAX_MESSAGES),
            MAX_MEGABYTES: self.settings.number(MAX_MEGABYTES) * megabyte,
        }

    def rates(self, bundle: str) -> Rates:
        """Return a bundle's rates under the reading `split-rate-window`."""
        return RATES[self.readings["split-rate-window"]](self, bundle)

    def assumed(self, bundle: str) -> bool:
        """True if a bundle has no samples to average, so that its rates are assumed."""
        known = average_of(self.case["bundles"].get(bundle), "longTermData")
        return self.readings["split-rate-window"] == "long-term" and known is None

    def measured(self, bundle: str, limit: str) -> Fraction:
        """Return the quantity of a bundle that a limit applies to, such as its number of topics."""
        return MEASURES[limit](self, bundle)

    def exceeded(self, bundle: str) -> list[str]:
        """Return the thresholds that a bundle exceeds; one suffices for a split. [SPLIT-01 … 05]"""
        return [name for name, limit in self.limits.items() if self.measured(bundle, name) > limit]

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """Every bundle that exceeds a threshold, in the order of the reports."""
        return tuple(bundle for bundle in self.stats if self.exceeded(bundle))

    def room(self, namespace: str) -> int:
        """Return the number of bundles that a namespace may still gain. [SPLIT-06]"""
        most = self.settings.number(MAX_BUNDLES)
        return int(most) - int(self.case["namespaceBundles"].get(namespace, 0))

    @property
    def enabled(self) -> bool:
        """True if automatic splits are enabled and this broker is the leader. [SPLIT-07]

        No document says whether other brokers split bundles.
        """
        return bool(self.case["leader"]) and self.settings.flag(AUTO_SPLIT)

    @cached_property
    def split(self) -> tuple[str, ...]:
        """The bundles to split in this run: the candidates, in order, until their namespaces are
        full.

        [SPLIT-06]
        """
        if not self.enabled:
            return ()
        taken: Counter[str] = Counter()
        chosen = []
        for bundle in self.candidates:
            namespace = namespace_of(bundle)
            if taken[namespace] < self.room(namespace):
                taken[namespace] += 1
                chosen.append(bundle)
        return tuple(chosen)

    @property
    def unload(self) -> tuple[str, ...]:
        """The split bundles whose parts are unloaded immediately. [SPLIT-08, SPLIT-09]"""
        return self.split if self.settings.flag(AUTO_UNLOAD) else ()


def _long_term_rates(growth: Growth, bundle: str) -> Rates:
    """Return the long-term average, or the assumed rates if there are no samples."""
    average = average_of(growth.case["bundles"].get(bundle), "longTermData")
    return average or unmeasured_rates(growth.readings["kilobyte"])


def _latest_rates(growth: Growth, bundle: str) -> Rates:
    return growth.stats[bundle].rates


RATES: Mapping[str, Callable[[Growth, str], Rates]] = {
    "long-term": _long_term_rates,
    "latest": _latest_rates,
}
"""A bundle's rates, for each alternative of the reading `split-rate-window`."""

MEASURES: Mapping[str, Measure] = {
    MAX_TOPICS: lambda growth, bundle: Fraction(growth.stats[bundle].topics),
    MAX_SESSIONS: lambda growth, bundle: Fraction(growth.stats[bundle].sessions),
    MAX_MESSAGES: lambda growth, bundle: growth.rates(bundle).messages,
    MAX_MEGABYTES: lambda growth, bundle: growth.rates(bundle).throughput,
}
