"""Brokers and bundles with the numbers and iteration order of a release."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pulsar_conformance.reference.cluster import RESOURCES
from pulsar_conformance.reference.context import MissingSetting, Settings, Value
from pulsar_conformance.reference.numbers import Fraction, parse_decimal
from pulsar_conformance.reference.released.java import TABLE, in_map_order, map_capacity, to_float32
from pulsar_conformance.reference.released.release import ReleasedWays
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS

Json = Mapping[str, Any]

PORT = ":8080"
"""Port that is assumed for a broker whose name has none; it affects the order of hash maps."""

PORTED = re.compile(r".+:[0-9]+")

SYSTEM = "pulsar/system"
"""Namespace of the transaction coordinator and of other system topics."""

MONITOR = "sla-monitor/"
"""Beginning of the namespaces in which an SLA monitor checks brokers."""

SPARED = {
    "none": re.compile(r"(?!)"),
    "own": re.compile(r"pulsar/(?:[^/]+/)?[^:]+:\d+|sla-monitor/[^/]+/[^:]+:\d+"),
    "own-and-system": re.compile(
        r"pulsar/system|pulsar/(?:[^/]+/)?[^:]+:\d+|sla-monitor/[^/]+/[^:]+:\d+"
    ),
    "own-without-cluster": re.compile(r"(?:pulsar|sla-monitor)/[^:/]+:\d+"),
}
"""Patterns of the brokers' own namespaces, such as those for heartbeats, that are never shed.

The keys are the alternatives of the way `spared-namespaces`.
"""

FRAMES = ("shortTermData", "longTermData")
AVERAGED = ("numSamples", "msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")

ASSUMED = {"msgRate": 50.0, "msgThroughput": 50_000.0}
"""Assumed rates, in each direction, of a bundle without samples."""

SHARE_OF_HEAP = "memory"


@dataclass(frozen=True)
class Leader:
    """The state of a release's leader, as given by a case."""

    case: Json
    settings: Settings
    release: ReleasedWays
    tables: dict[str, int] = field(default_factory=dict)
    """Capacities of the leader's hash maps by name; they grow from cycle to cycle."""

    def way(self, name: str) -> str:
        """Return the release's alternative on a point where releases differ; see `ReleasedWays`."""
        return self.release.ways[name]

    def value(self, name: str) -> Value:
        """Return a documented or hidden setting. Errors: `MissingSetting`."""
        if name in self.settings.given or name not in self.release.hidden:
            return self.settings.value(name)
        return self.release.hidden[name]

    def number(self, name: str) -> float:
        """Return a numeric setting as a double. Errors: `MissingSetting`."""
        value = self.value(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise MissingSetting(name)
        return float(value)

    @cached_property
    def brokers(self) -> list[str]:
        """The brokers in the release's iteration order."""
        names = brokers_by_address(self.case["brokers"], self.release.addresses)
        return [names[one] for one in self._in_table_order("brokers", list(names))]

    def report(self, broker: str) -> Json:
        """Return a broker's load report."""
        found: Json = self.case["brokers"][broker]
        return found

    def owned(self, broker: str) -> list[str]:
        """Return the bundles in a broker's report."""
        return list(self.report(broker).get("bundles", ()))

    def carries(self, broker: str, kind: str) -> float:
        """Return the `msgRate` or `msgThroughput` that a broker reports, in + out."""
        report = self.report(broker)
        return float(report.get(f"{kind}In", 0)) + float(report.get(f"{kind}Out", 0))

    @cached_property
    def bundles(self) -> list[str]:
        """The bundles that have data, in the leader's iteration order."""
        stored = self._in_table_order("bundles", self._bundles_with_data())
        if not self.release.copies_bundles:
            return stored
        return in_map_order(one for one in stored if not self.is_in_own_namespace(one))

    def is_in_own_namespace(self, bundle: str) -> bool:
        """True if a bundle belongs to one of the brokers' own namespaces."""
        spared = SPARED[self.way("spared-namespaces")]
        return spared.fullmatch(bundle.rpartition("/")[0]) is not None

    def grow_maps(self) -> None:
        """Grow the hash maps to hold all current brokers and bundles."""
        self._grown_capacity("brokers", self.case["brokers"])
        self._grown_capacity("bundles", self._bundles_with_data())

    def _bundles_with_data(self) -> list[str]:
        """Return the bundles that have data; a bundle just assigned has default data."""
        assigned = (bundle for name in self.case["brokers"] for bundle in self.owned(name))
        return [*assigned, *self.case["bundles"]]

    def _in_table_order(self, table: str, names: Sequence[str]) -> list[str]:
        """Return the names in the iteration order of the leader's hash map `table`."""
        return in_map_order(names, concurrent=True, size=self._grown_capacity(table, names))

    def _grown_capacity(self, table: str, names: Iterable[str]) -> int:
        """Grow a hash map to hold the names, if it is too small; return its capacity."""
        before = self.tables.get(table, TABLE)
        self.tables[table] = map_capacity(len(set(names)), concurrent=True, size=before)
        return self.tables[table]

    def averages(self, bundle: str) -> tuple[tuple[float, ...], ...]:
        """Return a bundle's number of samples and average rates as a key; bundles with equal data
        have equal keys.
        """
        found = self.case["bundles"].get(bundle, {})
        measured = (found.get(frame, {"numSamples": 0}) for frame in FRAMES)
        return tuple(
            tuple(float(one.get(name, 0)) for name in AVERAGED) if one["numSamples"] else ()
            for one in measured
        )

    def traffic(self, bundle: str, kind: str, frame: str = "shortTermData") -> float:
        """Return a bundle's average traffic, in + out; assumed if it has no samples."""
        data = self.case["bundles"].get(bundle, {}).get(frame)
        if not data or not data["numSamples"]:
            return 2 * ASSUMED[kind]
        return float(data.get(f"{kind}In", 0)) + float(data.get(f"{kind}Out", 0))

    def busiest_first(self, bundles: list[str], kind: str) -> list[str]:
        """Return bundles by descending traffic; equal bundles keep the map's order."""
        return sorted(bundles, key=lambda bundle: -self.traffic(bundle, kind))

    def percents(self, broker: str) -> dict[str, float]:
        """Return the usage of each resource in percent, as 32-bit `ResourceUsage.percentUsage`."""
        report = self.report(broker)
        return {name: percent(report.get(name)) for name in RESOURCES}

    def usage(self, broker: str, weighted: bool) -> tuple[float, str]:
        """Return a broker's usage as a fraction, and its busiest resource."""
        shares = (
            self.weighted_percents(broker) if weighted else self._counted_percents(broker, weighted)
        )
        busiest, largest = "cpu", float("-inf")
        for name, share in shares.items():
            if share > largest:
                busiest, largest = name, share
        most = largest / 100
        return (most if weighted else to_float32(most)), busiest

    def weighted_percents(self, broker: str) -> dict[str, float]:
        """Return the usage in percent of each resource that counts, times its weight."""
        counted = self._counted_percents(broker, weighted=True)
        return {name: used * self.weight(name) for name, used in counted.items()}

    def _counted_percents(self, broker: str, weighted: bool) -> dict[str, float]:
        """Return the usage in percent of each resource that the release takes into account."""
        used = self.percents(broker)
        if self.release.method_without_heap(weighted):
            del used[SHARE_OF_HEAP]
        return used

    def percents_with_weight_0(self, broker: str) -> dict[str, float]:
        """Return the unweighted usage in percent of each counted resource whose weight is 0."""
        counted = self._counted_percents(broker, weighted=True)
        return {name: used for name, used in counted.items() if self.weight(name) == 0}

    def exact_percent(self, broker: str, resource: str, weighted: bool) -> Fraction:
        """Return the usage of a resource in percent, computed without rounding."""
        report = self.report(broker).get(resource) or {}
        limit = exact_decimal(report.get("limit", 100))
        if limit <= 0:
            return Fraction(0)
        used = 100 * exact_decimal(report.get("usage", 0)) / limit
        return used * exact_decimal(self.weight(resource)) if weighted else used

    def weight(self, resource: str) -> float:
        """Return the weight of a resource. Errors: `MissingSetting`."""
        name = WEIGHT_SETTINGS[resource]
        newer = name.replace("Bandwith", "Bandwidth")
        if newer in self.settings.defaults and self.number(newer) != 1:
            return self.number(newer)
        return self.number(name)


def percent(usage: Json | None) -> float:
    """Return usage in percent of its limit, rounded to a 32-bit float; 0 without a limit."""
    if usage is None:
        return 0.0
    limit = to_float32(float(usage.get("limit", 100)))
    if not limit > 0:
        return 0.0
    return to_float32(to_float32(to_float32(float(usage.get("usage", 0))) / limit) * 100)


def exact_decimal(number: float) -> Fraction:
    """Return the exact value of a JSON number in decimal notation: 0.7 is 7/10."""
    return parse_decimal(str(number))  # exact(0.7) would be 0.699999999999999955591…


def as_percent(share: float) -> Fraction:
    """Convert a fraction to percent."""
    return Fraction(share) * 100


def brokers_by_address(names: Iterable[str], addresses: Mapping[str, str]) -> dict[str, str]:
    """Map each broker's lookup address, which ends with a port, to the broker's name.

    `addresses` maps the names of brokers to known addresses that differ from their names.
    """
    known = {name: addresses.get(name, name) for name in names}
    return {one if PORTED.fullmatch(one) else one + PORT: name for name, one in known.items()}
