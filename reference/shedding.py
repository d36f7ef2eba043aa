"""A shedding cycle: brokers, bundles that may be unloaded, and their traffic. [SHED]"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pulsar_conformance.reference.averages import together
from pulsar_conformance.reference.cluster import Broker, Rates, average_of, unmeasured_rates
from pulsar_conformance.reference.context import Readings, Settings
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import (
    Fraction,
    Minutes,
    Rate,
    exact,
    messages,
    throughput,
)
from pulsar_conformance.reference.ranges import HashRange, namespace_of

ENABLED = "loadBalancerSheddingEnabled"
STRATEGY = "loadBalancerLoadSheddingStrategy"
GRACE = "loadBalancerSheddingGracePeriodMinutes"
PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."

TRANSFER_SHEDDER = "TransferShedder"
TRANSFER_TARGET = "loadBalancerBrokerLoadTargetStd"
"""A setting of TransferShedder; only documents that describe the strategy list it."""

HITS = "loadBalancerSheddingConditionHitCountThreshold"
TRANSFER_ENABLED = "loadBalancerTransferEnabled"
MAX_SHEDDING_BROKERS = "loadBalancerMaxNumberOfBrokerSheddingPerCycle"
DELAY = "loadBalanceSheddingDelayInSeconds"
LIFETIME = "loadBalancerBrokerLoadDataTTLInSeconds"
MAX_REPORTED_BUNDLES = "loadBalancerMaxNumberOfBundlesInBundleLoadReport"
WITH_POLICIES = "loadBalancerSheddingBundlesWithPoliciesEnabled"
EXCLUDED = "loadBalancerSheddingExcludedNamespaces"

IN_EXTENSIONS = "org.apache.pulsar.broker.loadbalance.extensions.scheduler.TransferShedder"
MANAGER = "loadManagerClassName"

MEASURE: Mapping[str, Callable[[Rates], Rate]] = {
    "throughput": lambda rates: rates.throughput,
    "message-rate": lambda rates: rates.messages,
}
"""The measure of traffic, for each alternative of the reading `shed-measure`. [SHED-07]"""

FRAME: Mapping[str, str] = {"short-term": "shortTermData", "long-term": "longTermData"}
"""The time frame of a bundle's traffic, for each alternative of the reading `shed-window`."""

CARRIES: Mapping[str, Callable[[Cycle, Broker], Rates]] = {
    "reported": lambda _cycle, broker: broker.rates,
    "bundles": lambda cycle, broker: together(map(cycle.rates, broker.bundles)),
}
"""A broker's rates, for each alternative of the reading `broker-rates`.

[OVERLOAD-02, THRESHOLD-03, UNIFORM-01]
"""

WRITTEN: Mapping[str, Callable[[Rate], str]] = {
    "throughput": throughput,
    "message-rate": messages,
}

RECENT: Mapping[str, Callable[[Minutes, Minutes], bool]] = {
    "blocked": lambda ago, grace: ago <= grace,
    "free": lambda ago, grace: ago < grace,
}
"""Functions that are true for a recent unload, by alternative of `grace-edge`. [SHED-04]"""


def excluded_namespaces(listed: object) -> frozenset[str]:
    """Return the namespaces in a setting with a list; spaces around them are ignored, as by a
    broker (FieldParser.stringToSet). [SHED-17, TRANSFER-16]
    """
    return frozenset(name for one in str(listed).split(",") if (name := one.strip()))


def short_name(strategy: str) -> str:
    """Return the name of a strategy's class, without Pulsar's package."""
    return TRANSFER_SHEDDER if strategy == IN_EXTENSIONS else strategy.removeprefix(PACKAGE)


def selects_extensible_manager(settings: Mapping[str, Any]) -> bool:
    """True if the settings select a class named ExtensibleLoadManagerImpl, in any package."""
    return str(settings.get(MANAGER)).endswith(".ExtensibleLoadManagerImpl")


@dataclass(frozen=True)
class Cycle:
    """A `shed.select` case: one shedding cycle of the load manager."""

    case: Mapping[str, Any]
    settings: Settings
    readings: Readings

    @cached_property
    def brokers(self) -> dict[str, Broker]:
        """The brokers with their load reports, by name."""
        return {name: Broker.read(name, data) for name, data in self.case["brokers"].items()}

    @property
    def strategy(self) -> str:
        """Class name of the strategy, without Pulsar's package. [SHED-05, SHED-06, TRANSFER-18]"""
        if TRANSFER_TARGET in self.settings.defaults and self.left_to_extensible:
            return TRANSFER_SHEDDER
        return short_name(self.case["strategy"] or self.settings.text(STRATEGY))

    @property
    def left_to_extensible(self) -> bool:
        """True if TransferShedder runs because no shedding strategy is set and the load manager is
        the extensible one. [TRANSFER-18]
        """
        named = self.case["strategy"] is not None or STRATEGY in self.settings.given
        return not named and selects_extensible_manager(self.settings.given)

    @property
    def enabled(self) -> bool:
        """True if shedding is enabled and there is more than one broker. [SHED-01]

        No document describes shedding in a cluster with a single broker.
        """
        return self.settings.flag(ENABLED) and len(self.brokers) > 1

    @cached_property
    def grace(self) -> Minutes:
        """Minutes after an unload during which a bundle may not be unloaded again."""
        return self.settings.number(GRACE)

    @cached_property
    def recent(self) -> frozenset[str]:
        """The bundles unloaded within the grace period. [SHED-04]"""
        recent = RECENT[self.readings["grace-edge"]]
        unloaded = self.case["recentlyUnloaded"].items()
        return frozenset(name for name, ago in unloaded if recent(exact(ago), self.grace))

    def blocked(self, bundle: str) -> bool:
        """True if a bundle may not be unloaded yet. [SHED-04]"""
        return bool(self.moved_with(bundle))

    def moved_with(self, bundle: str) -> Sequence[str]:
        """Return the recent unloads that block a bundle under the reading `grace-of`."""
        return MOVED_WITH[self.readings["grace-of"]](self, bundle) if self.recent else ()

    def excluded(self, bundle: str) -> bool:
        """True if a bundle's namespace is excluded from shedding. [SHED-17, TRANSFER-16]"""
        return namespace_of(bundle) in self.never_shed

    @cached_property
    def never_shed(self) -> frozenset[str]:
        """The excluded namespaces; none if the documents do not list the setting."""
        known = EXCLUDED in self.settings.defaults
        return excluded_namespaces(self.settings.value(EXCLUDED)) if known else frozenset()

    def rates(self, bundle: str) -> Rates:
        """Return a bundle's average rates, or the assumed rates if it has no samples.

        [DATA-04 … 06]
        """
        return self.measured(bundle) or self.unmeasured

    def measured(self, bundle: str) -> Rates | None:
        """Return a bundle's average rates; None if it has no samples."""
        return average_of(self.case["bundles"].get(bundle), FRAME[self.readings["shed-window"]])

    @cached_property
    def unmeasured(self) -> Rates:
        """The rates assumed for a bundle without samples."""
        return unmeasured_rates(self.readings["kilobyte"])

    def traffic(self, bundle: str) -> Rate:
        """Return a bundle's traffic in the measure that the readings choose."""
        known = self._traffic.get(bundle)
        if known is None:
            known = MEASURE[self.readings["shed-measure"]](self.rates(bundle))
            self._traffic[bundle] = known
        return known

    @cached_property
    def _traffic(self) -> dict[str, Rate]:
        return {}

    def traffic_of(self, broker: Broker) -> Rate:
        """Return a broker's traffic in the measure that the readings choose."""
        return MEASURE[self.readings["shed-measure"]](self.rates_of(broker))

    def rates_of(self, broker: Broker) -> Rates:
        """Return a broker's rates, as it reports them or summed over its bundles."""
        return CARRIES[self.readings["broker-rates"]](self, broker)

    def measured_by(self, measure: str) -> Cycle:
        """Return the cycle with traffic in `measure`, an alternative of `shed-measure`."""
        return replace(self, readings=self.readings.with_value("shed-measure", measure))

    def written(self, traffic: Rate) -> str:
        """Format traffic with its unit."""
        return WRITTEN[self.readings["shed-measure"]](traffic)

    def movable(self, broker: Broker) -> list[str]:
        """Return the bundles that a broker may shed, most traffic first.

        [SHED-02, SHED-04, SHED-07, SHED-17]
        """
        free = (bundle for bundle in broker.bundles if not self.blocked(bundle))
        return self.by_traffic(bundle for bundle in free if not self.excluded(bundle))

    def by_traffic(self, bundles: Iterable[str]) -> list[str]:
        """Return bundles in the order in which shedding considers them: most traffic first.

        [SHED-07]
        """
        return sorted(bundles, key=lambda bundle: (-self.traffic(bundle), bundle))


def _own_unload(cycle: Cycle, bundle: str) -> Sequence[str]:
    return (bundle,) if bundle in cycle.recent else ()


def _covering_unloads(cycle: Cycle, bundle: str) -> Sequence[str]:
    """Return recent unloads of bundles that contained a bundle's range, such as its parent."""
    part = HashRange.parse(bundle)
    return [
        moved
        for moved in cycle.recent
        if namespace_of(moved) == namespace_of(bundle) and HashRange.parse(moved).covers(part)
    ]


MOVED_WITH: Mapping[str, Callable[[Cycle, str], Sequence[str]]] = {
    "bundle": _own_unload,
    "topic": _covering_unloads,
}


@dataclass(frozen=True)
class Unloads:
    """The bundles that a broker sheds, in the order in which they were chosen, and the
    derivation.
    """

    broker: str
    bundles: tuple[str, ...]
    explain: Callable[[], Iterator[Step]]
    to: Mapping[str, str] = field(default_factory=dict)
    """The destination of each bundle, if the strategy chooses any. [TRANSFER-09, PLANNED-01]"""

    def __iter__(self) -> Iterator[str]:
        return iter(self.bundles)


def select_movable(cycle: Cycle, broker: Broker, need: Rate) -> list[str]:
    """Select bundles that a broker may shed, by descending traffic, until they carry `need`.

    If there is any such bundle, at least one is selected, even if it carries nothing. [SHED-07,
    OVERLOAD-01]
    """
    taken: list[str] = []
    carried = Fraction(0)
    for bundle in cycle.movable(broker):
        if carried >= need and taken:
            break
        taken.append(bundle)
        carried += cycle.traffic(bundle)
    return taken
