"""Types in which checks see cases and answers about shedding, with quantities computed from them.

The model computes the same quantities in `reference`. Checks do not use the model's functions, so
that an error in the model is not also an error in a check.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pulsar_conformance.conformance.common.check import POINTS, SHARE, near
from pulsar_conformance.conformance.common.clusters import (
    contains_bundle,
    is_excluded,
    keeps_bundles,
    named_in_policies,
    namespaces_under_policies,
)
from pulsar_conformance.reference import Readings, Settings
from pulsar_conformance.reference.cluster import RATE_FIELDS, Broker, Rates
from pulsar_conformance.reference.numbers import (
    ZERO,
    Fraction,
    Minutes,
    Percent,
    Rate,
    exact,
    messages,
    throughput,
    total,
)
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.shedding import (
    ENABLED,
    GRACE,
    IN_EXTENSIONS,
    LIFETIME,
    MANAGER,
    MAX_REPORTED_BUNDLES,
    PACKAGE,
    STRATEGY,
    TRANSFER_SHEDDER,
    TRANSFER_TARGET,
)
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS

AVERAGES = {"short-term": "shortTermData", "long-term": "longTermData"}
"""The average that counts as a bundle's traffic, for each alternative of `shed-window`."""

KILOBYTES = {"decimal": 1000, "binary": 1024}
UNMEASURED = 50
"""Messages and kilobytes per second in each direction, assumed for a bundle without samples."""


@dataclass(frozen=True)
class SheddingCycle:
    """A `shed.select` case: a cluster in one shedding cycle, with the settings and readings."""

    case: Mapping[str, Any]
    settings: Settings
    readings: Readings

    @cached_property
    def brokers(self) -> dict[str, Broker]:
        """The brokers with their load reports, by name."""
        return {name: Broker.read(name, data) for name, data in self.case["brokers"].items()}

    @cached_property
    def strategy(self) -> str:
        """Class name of the strategy, without Pulsar's package."""
        named = self.case["strategy"] or self.settings.given.get(STRATEGY)
        extensible = str(self.settings.given.get(MANAGER)).endswith(".ExtensibleLoadManagerImpl")
        left = named is None and extensible and TRANSFER_TARGET in self.settings.defaults
        if left or named == IN_EXTENSIONS:
            return TRANSFER_SHEDDER
        return str(named or self.settings.text(STRATEGY)).removeprefix(PACKAGE)

    @cached_property
    def enabled(self) -> bool:
        """True if shedding is enabled, and there is more than one broker.

        No document describes shedding in a cluster with one broker, so nothing is demanded of it.
        """
        return self.settings.flag(ENABLED) and len(self.case["brokers"]) > 1

    @cached_property
    def grace(self) -> Minutes:
        """Minutes during which a bundle that was unloaded is not unloaded again."""
        return self.settings.number(GRACE)

    @cached_property
    def in_grace(self) -> frozenset[str]:
        """Bundles unloaded within the grace period, by the names that they had at that time."""
        ages = {name: exact(ago) for name, ago in self.case["recentlyUnloaded"].items()}
        edge = self.readings["grace-edge"] == "blocked"
        return frozenset(b for b, ago in ages.items() if is_recent(ago, self.grace, edge))

    def moved_with(self, bundle: str) -> list[str]:
        """Return the recently unloaded bundles that block `bundle`, by the reading `grace-of`."""
        if self.readings["grace-of"] == "bundle":
            return [bundle] if bundle in self.in_grace else []
        return [moved for moved in self.in_grace if contains_bundle(moved, bundle)]

    def blocked(self, bundle: str) -> bool:
        """True if a bundle was unloaded too recently to move."""
        return bool(self.moved_with(bundle))

    def movable(self, broker: Broker) -> list[str]:
        """Return the bundles that a broker may shed, most traffic first."""
        free = (b for b in broker.bundles if not (self.blocked(b) or is_excluded(b, self.settings)))
        return sorted(free, key=lambda bundle: (-self.traffic(bundle), bundle))

    def measured(self, bundle: str) -> Rates | None:
        """Return a bundle's measured average traffic; None if it has no samples."""
        average = AVERAGES[self.readings["shed-window"]]
        data = self.case["bundles"].get(bundle, {}).get(average)
        return Rates.read(data) if data and data["numSamples"] else None

    def rates(self, bundle: str) -> Rates:
        """Return a bundle's average traffic, or the assumed traffic if it has no samples."""
        return self.measured(bundle) or self._unmeasured

    @cached_property
    def _unmeasured(self) -> Rates:
        each, kilobyte = Fraction(UNMEASURED), KILOBYTES[self.readings["kilobyte"]]
        return Rates(each, each, each * kilobyte, each * kilobyte)

    def rates_of(self, broker: Broker) -> Rates:
        """Return a broker's traffic, under the reading `broker-rates`."""
        if self.readings["broker-rates"] == "reported":
            return broker.rates
        each = [self.rates(bundle).each() for bundle in broker.bundles]
        return Rates(*map(total, zip(*each, strict=True))) if each else NO_TRAFFIC

    def measure(self, rates: Rates) -> Rate:
        """Return the rate by which traffic is compared, under the reading `shed-measure`."""
        by_bytes = self.readings["shed-measure"] == "throughput"
        return rates.throughput if by_bytes else rates.messages

    def traffic(self, bundle: str) -> Rate:
        """Return a bundle's traffic in the measure of the reading `shed-measure`."""
        if bundle not in self._traffic:
            self._traffic[bundle] = self.measure(self.rates(bundle))
        return self._traffic[bundle]

    @cached_property
    def _traffic(self) -> dict[str, Rate]:
        return {}

    def traffic_of(self, broker: Broker) -> Rate:
        """Return a broker's traffic in the measure of the reading `shed-measure`."""
        return self.measure(self.rates_of(broker))

    def carried(self, bundles: Iterable[str]) -> Rate:
        """Return the total traffic of bundles."""
        return total(map(self.traffic, bundles))

    def written(self, traffic: Rate, digits: int = 2) -> str:
        """Format traffic with its unit."""
        by_bytes = self.readings["shed-measure"] == "throughput"
        return (throughput if by_bytes else messages)(traffic, digits)

    @cached_property
    def weighted_usage(self) -> dict[str, Percent]:
        """Each broker's usage: the largest of its weighted resources."""
        weights = {one: self.settings.number(name) for one, name in WEIGHT_SETTINGS.items()}
        return {
            name: max(weights[one] * percent for one, percent in broker.percent.items())
            for name, broker in self.brokers.items()
        }


NO_TRAFFIC = Rates(*[ZERO] * len(RATE_FIELDS))


def usage_of(broker: Broker) -> Percent:
    """Return the usage of a broker's busiest resource."""
    return max(broker.percent.values())


def is_recent(ago: Minutes, grace: Minutes, edge: bool) -> bool:
    """True if `ago` is less than the grace period, or equal to it if `edge` is true."""
    return ago < grace or (edge and ago == grace)


@dataclass(frozen=True)
class Unloading:
    """An implementation's answer for one cycle: its unloads, in order."""

    cycle: SheddingCycle
    pairs: tuple[tuple[str, str], ...]
    """Source broker and bundle of each unload."""
    to: Mapping[str, str] = field(default_factory=dict)
    """The destination of each bundle; bundles whose unload names no destination are missing."""

    def of(self, broker: Broker | str) -> list[str]:
        """Return the bundles unloaded from a broker, in answer order."""
        name = broker if isinstance(broker, str) else broker.name
        return [bundle for owner, bundle in self.pairs if owner == name]

    def owned_and_shed(self, broker: Broker) -> list[str]:
        """Return the bundles that a broker both sheds and owns, once each, in answer order."""
        return [bundle for bundle in dict.fromkeys(self.of(broker)) if bundle in broker.bundles]

    def traffic_from(self, broker: Broker) -> Rate:
        """Return the traffic of the bundles that a broker both sheds and owns."""
        return self.cycle.carried(self.owned_and_shed(broker))

    def __iter__(self) -> Iterator[str]:
        return (f"{bundle} of {broker}" for broker, bundle in self.pairs)

    def __str__(self) -> str:
        return "; ".join(self) or "nothing"


@dataclass(frozen=True)
class CyclesInARow:
    """A `shed.cycles` case: consecutive cycles of one load manager with one strategy."""

    case: Mapping[str, Any]
    settings: Settings
    readings: Readings

    def __len__(self) -> int:
        return len(self.case["cycles"])

    def alone(self, place: int) -> SheddingCycle:
        """Return the cycle with the index `place` as if there were no earlier cycles."""
        return self._cycle(self.case["cycles"][place])

    def after(self, unloads: Sequence[Iterable[str]]) -> SheddingCycle:
        """Return the cycle that follows the earlier cycles.

        `unloads` has the bundles that each earlier cycle unloaded. If the strategy keeps a history,
        usage in the earlier cycles becomes the brokers' history.
        """
        place = len(unloads)
        now = self.case["cycles"][place]
        brokers = now["brokers"]
        if self.alone(place).strategy == "ThresholdShedder":
            brokers = {
                name: {**report, "usageHistory": [past[name] for past in self._usages[:place]]}
                for name, report in brokers.items()
            }
        recent = self._unloaded_before(unloads)
        return self._cycle({**now, "brokers": brokers, "recentlyUnloaded": recent})

    def _unloaded_before(self, unloads: Sequence[Iterable[str]]) -> dict[str, Minutes]:
        """Return the minutes since each bundle's last unload, in `unloads` or listed in a cycle."""
        now = self._clocks[len(unloads)]
        found: dict[str, Minutes] = {}
        for index, clock in enumerate(self._clocks[: len(unloads) + 1]):
            reported = self.case["cycles"][index]["recentlyUnloaded"]
            ages = {bundle: now - clock + exact(ago) for bundle, ago in reported.items()}
            if index < len(unloads):
                ages |= dict.fromkeys(unloads[index], now - clock)
            for bundle, ago in ages.items():
                found[bundle] = min(ago, found.get(bundle, ago))
        return found

    @cached_property
    def _clocks(self) -> list[Minutes]:
        """The time of each cycle in minutes since the first."""
        passed = [exact(one["minutes"]) for one in self.case["cycles"]]
        return [total(passed[1 : index + 1]) for index in range(len(passed))]

    @cached_property
    def _usages(self) -> list[dict[str, Percent]]:
        return [self.alone(index).weighted_usage for index in range(len(self))]

    def _cycle(self, seen: Mapping[str, Any]) -> SheddingCycle:
        case = {name: value for name, value in seen.items() if name != "minutes"}
        whole = {"strategy": self.case["strategy"], **case}
        return SheddingCycle(whole, self.settings, self.readings)


@dataclass(frozen=True)
class UnloadingInARow:
    """An implementation's answer for several cycles: the unloads of each cycle."""

    cycles: tuple[Unloading, ...]

    def __iter__(self) -> Iterator[Unloading]:
        return iter(self.cycles)

    def __str__(self) -> str:
        return "; then ".join(map(str, self.cycles))


@dataclass(frozen=True)
class LoadsOfCycle:
    """The loads of brokers with current data, and TransferShedder's conditions for unloading.

    A condition is None if rounding could decide it, or if the documents leave it open.
    """

    cycle: SheddingCycle

    @cached_property
    def load(self) -> dict[str, Percent]:
        """The load, in percent, of each broker with current data."""
        usages = self.cycle.weighted_usage.items()
        return {name: usage for name, usage in usages if not self.outdated(name)}

    def outdated(self, broker: str) -> bool:
        """True if a broker's load data are too old to count."""
        return age_of(self.cycle, broker) > self.cycle.settings.number(LIFETIME)

    @cached_property
    def mean(self) -> Percent:
        """The mean load of the brokers, in percent."""
        return total(self.load.values()) / len(self.load)

    @cached_property
    def target(self) -> Percent:
        """The target for the standard deviation, in points."""
        return 100 * self.cycle.settings.number(TRANSFER_TARGET)

    @property
    def deviates(self) -> bool | None:
        """True if the deviation exceeds the target; None if it does only as that of a sample."""
        squares = total((one - self.mean) ** 2 for one in self.load.values())
        count = len(self.load)
        if squares / count > (self.target + POINTS) ** 2:
            return True
        least = max(self.target - POINTS, Fraction(0)) ** 2
        return False if count > 1 and squares / (count - 1) < least else None

    @property
    def idle(self) -> bool | None:
        """True if a broker has no traffic; None if one has only messages or only bytes."""
        rates = (self.cycle.rates_of(self.cycle.brokers[name]) for name in self.load)
        measures = {bool(one.messages) + bool(one.throughput) for one in rates}
        return True if 0 in measures else None if 1 in measures else False

    @property
    def underloaded(self) -> bool | None:
        """True if a broker's load is below the documented fraction of the mean."""
        bound = self.mean * min(Fraction(1, 2), self.target / 200)
        if any(near(one, bound) for one in self.load.values()):
            return None
        return any(one < bound for one in self.load.values())

    @property
    def overloaded(self) -> bool | None:
        """True if a broker is above the threshold, and above the mean by more than the target."""
        bounds = (self.cycle.settings.number(OVERLOAD_THRESHOLD), self.mean + self.target)
        if any(near(one, bound) for one in self.load.values() for bound in bounds):
            return None
        return any(one > max(bounds) for one in self.load.values())

    @property
    def uneven(self) -> bool | None:
        """True if at least one condition for unloading holds."""
        found = (self.deviates, self.idle, self.underloaded, self.overloaded)
        return True if True in found else None if None in found else False

    @cached_property
    def ends(self) -> tuple[Broker, Broker] | None:
        """The least and the most loaded broker; None if another broker's load is near either."""
        order = sorted(self.load, key=lambda name: self.load[name])
        if len(order) < 2:
            return None
        loads = [self.load[name] for name in order]
        apart = not (near(loads[0], loads[1]) or near(loads[-2], loads[-1]))
        low, high = (self.cycle.brokers[order[place]] for place in (0, -1))
        return (low, high) if apart else None

    @property
    def can_move(self) -> bool:
        """True if each most loaded broker has a bundle below half its gap to the least loaded."""
        if len(self.load) < 2 or keeps_bundles(self.cycle.case, self.cycle.settings):
            return False
        least, most = min(self.load.values()), max(self.load.values())
        share = (most - least) / 2 / most * (1 - SHARE) if most else ZERO
        takers = {name for name, one in self.load.items() if near(one, least)}
        busy = (self.cycle.brokers[name] for name, one in self.load.items() if near(one, most))
        return not takers & named_in_policies(self.cycle.case) and all(
            self._has_small_bundle(broker, share) for broker in busy
        )

    def _has_small_bundle(self, broker: Broker, share: Fraction) -> bool:
        """True if several bundles may leave a broker, and one is below `share` of its traffic."""
        top = self.cycle.settings.number(MAX_REPORTED_BUNDLES)
        under = namespaces_under_policies(self.cycle.case)
        movable = {one: self.cycle.measured(one) for one in self.cycle.movable(broker)}
        measured = {one: rates.throughput for one, rates in movable.items() if rates}
        free = [rate for one, rate in measured.items() if namespace_of(one) not in under]
        loaded = [one for one in free if one]
        several = len(loaded) > 1 and len(free) > 2 and len(measured) <= top
        return several and min(loaded) < share * self.cycle.rates_of(broker).throughput


def age_of(cycle: SheddingCycle, broker: str) -> Fraction:
    """Return the age of a broker's load data in seconds."""
    return exact(cycle.case["brokers"][broker].get("age", 0))
