"""TransferShedder as implemented in releases, with the state that UnloadScheduler keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import floor, sqrt
from typing import NamedTuple

from pulsar_conformance.reference.cluster import RESOURCES
from pulsar_conformance.reference.numbers import Fraction, Minutes, exact
from pulsar_conformance.reference.placement import Assignment
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.released.java import in_map_order, partly_sorted
from pulsar_conformance.reference.released.loads import SYSTEM, Leader, brokers_by_address, percent
from pulsar_conformance.reference.shedding import (
    DELAY,
    EXCLUDED,
    HITS,
    LIFETIME,
    MAX_REPORTED_BUNDLES,
    MAX_SHEDDING_BROKERS,
    TRANSFER_ENABLED,
    TRANSFER_TARGET,
    WITH_POLICIES,
    Cycle,
    excluded_namespaces,
)
from pulsar_conformance.reference.transfer import has_policies, too_soon_text

HISTORY_SHARE = "loadBalancerHistoryResourcePercentage"
OVERLOAD_THRESHOLD = "loadBalancerBrokerOverloadedThresholdPercentage"
DEBUG_MODE = "loadBalancerDebugModeEnabled"
MINUTE = 60
MAX_SHARE_AFTER_SWAP = 0.75
"""A swap must bring the busier broker's throughput below this fraction of its former value."""

STEPS = {"msgThroughputIn": 100_000.0, "msgThroughputOut": 100_000.0, "msgRate": 100.0}
"""Granularity of each rate in NamespaceBundleStats.compareTo, in the order of comparison."""


class Smoothed(NamedTuple):
    """A broker's smoothed load and smoothed throughput."""

    load: float
    throughput: float


@dataclass
class TransferMemory:
    """State kept between cycles: each broker's load and last unload, and the consecutive hits."""

    loads: dict[str, Smoothed] = field(default_factory=dict)
    hits: int = 0
    unloaded: dict[str, Minutes] = field(default_factory=dict)


class Unload(NamedTuple):
    """A bundle, the broker that unloads it, and the broker that gets it."""

    source: str
    bundle: str
    target: str
    swapped_for: str = ""
    """The bundle that goes the other way in exchange; empty for other moves."""


@dataclass
class LoadStats:
    """Statistics of the load, and the brokers not yet paired."""

    order: Sequence[str]
    loads: Mapping[str, Smoothed]
    squares: float
    count: int
    mean: float
    deviation: float
    low: int = 0
    shed: int = 0

    def __post_init__(self) -> None:
        self.high = len(self.order) - 1

    def offload(self, most: float, least: float, amount: float) -> None:
        """Update the statistics after a transfer, as LoadStats.offload does."""
        self.squares -= most * most + least * least
        less, more = max(0.0, most - amount), least + amount
        self.squares += less * less + more * more
        self.deviation = sqrt(abs(self.squares / self.count - self.mean * self.mean))
        self.shed += 1
        self.low += 1


@dataclass
class ReleasedTransfer:
    """One cycle of a release's UnloadScheduler with TransferShedder."""

    known: Leader
    cycle: Cycle
    memory: TransferMemory
    minute: Minutes
    """Minutes since the first cycle."""
    hits: int = 0
    """Number of consecutive cycles that called for unloads, since the last unload."""
    skipped: str = ""
    """The reason why the cycle is skipped; empty if it is not."""

    @cached_property
    def brokers(self) -> list[str]:
        """The brokers in the iteration order of the load data map."""
        names = brokers_by_address(self.known.case["brokers"], self.known.release.addresses)
        return [names[one] for one in in_map_order(names, concurrent=True)]

    def update(self) -> None:
        """Mix this cycle's reports into the smoothed loads; drop brokers that have left."""
        self.memory.loads = {name: self._smoothed(name) for name in self.brokers}

    def decide(self) -> list[Unload]:
        """Return the unloads of the cycle, and record them."""
        stats = self.stats
        if stats is None:
            self.hits = self.memory.hits
            return []
        if self.calls_for_unloads(stats):
            self.memory.hits += 1
        else:
            self.memory.hits = 0
        self.hits = self.memory.hits
        if self.hits <= int(self.known.number(HITS)):
            return []
        found = self.unloads_called_for(stats)
        if found:
            self.memory.hits = 0
        for one in found:
            self.memory.unloaded[one.source] = self.minute
        return found

    def unloads_called_for(self, stats: LoadStats) -> list[Unload]:
        """Return the unloads that the statistics call for, even with too few hits."""
        return list(self._unloads(replace(stats)))

    def weighted_usage(self, name: str) -> dict[str, float]:
        """Return the usage of each of a broker's resources in percent, times its weight."""
        report = self.known.report(name)
        return {one: percent(report.get(one)) * self.known.weight(one) for one in RESOURCES}

    def _smoothed(self, name: str) -> Smoothed:
        """Return the smoothed load after this report, as computed by BrokerLoadData.update."""
        report, kept = self.known.report(name), self.known.number(HISTORY_SHARE)
        used = self.weighted_usage(name).values()
        now = Smoothed(max(used) / 100, self.known.carries(name, "msgThroughput"))
        found = self.memory.loads.get(name)
        past = [float(one) / 100 for one in report.get("usageHistory", ())]
        for one in (*(Smoothed(load, now.throughput) for load in past), now):
            if found is not None:
                pairs = zip(found, one, strict=True)
                one = Smoothed(*(old * kept + (1 - kept) * new for old, new in pairs))
            found = one
        return found or now

    def _age(self, name: str) -> Fraction:
        return exact(self.known.report(name).get("age", 0))

    @cached_property
    def stats(self) -> LoadStats | None:
        """The statistics before any unload, or None if the cycle is skipped."""
        total = squares = 0.0
        count = 0
        for name in self.brokers:
            if self._age(name) > self.known.number(LIFETIME):
                continue
            before = self.memory.unloaded.get(name)
            if before is not None:
                passed = (self.minute - before) * MINUTE - self._age(name)
                if passed < self.known.number(DELAY):
                    delay = exact(self.known.number(DELAY))
                    self.skipped = too_soon_text(name, passed, delay)
                    return None
                del self.memory.unloaded[name]
            load = self.memory.loads[name].load
            total += load
            squares += load * load
            count += 1
        if missing := self.known.case.get("withoutData"):
            self.skipped = f"no load data of {', '.join(missing)}"
        elif not count:
            self.skipped = "no load data that are recent enough"
        if self.skipped:
            return None
        mean = total / count
        variance = squares / count - mean * mean
        deviation = sqrt(variance) if variance >= 0 else float("nan")
        loads = self.memory.loads
        order = sorted(self.brokers, key=lambda name: loads[name].load)
        return LoadStats(order, loads, squares, count, mean, deviation)

    def calls_for_unloads(self, stats: LoadStats) -> bool:
        """True if the deviation exceeds the target, or a broker is underloaded or overloaded."""
        return (
            stats.deviation > self.known.number(TRANSFER_TARGET)
            or self.underloaded(stats)
            or self.overloaded(stats)
        )

    @property
    def share(self) -> float:
        """Fraction of the mean load, and of the busiest broker's traffic, below which a broker is
        underloaded.
        """
        return min(0.5, max(0.0, self.known.number(TRANSFER_TARGET) / 2.0))

    def underloaded(self, stats: LoadStats) -> bool:
        """True if the least loaded broker has a small load or little traffic."""
        least = stats.loads[stats.order[stats.low]]
        most = stats.loads[stats.order[stats.high]]
        low = stats.mean * self.share
        return least.load < low or least.throughput < most.throughput * self.share

    def overloaded(self, stats: LoadStats) -> bool:
        """True if the most loaded broker is over the threshold, and far above the mean."""
        load = stats.loads[stats.order[stats.high]].load
        far = load > stats.mean + self.known.number(TRANSFER_TARGET)
        return load > self.known.number(OVERLOAD_THRESHOLD) / 100.0 and far

    def _unloads(self, stats: LoadStats) -> Iterator[Unload]:
        for source, target in self.pairs(stats):
            most, least = stats.loads[source].load, stats.loads[target].load
            whole = self.known.carries(source, "msgThroughput")
            amount = whole * ((most - least) / 2) / most if most else float("nan")
            top = self.top_bundles(source)
            if len(top) > 1:
                unloads = list(self._unloads_between(source, target, top, amount))
                yield from unloads
                marked, gained = (self._unloaded_traffic(unloads, one) for one in (source, target))
                if marked > 0:
                    moved = marked - self._gain_in_debug_mode(gained)
                    stats.offload(most, least, moved * most / whole if whole else float("nan"))

    def pairs(self, stats: LoadStats) -> Iterator[tuple[str, str]]:
        """Yield each busy broker and the broker that may take its bundles, until the loads are even
        enough or as many brokers as allowed have unloaded.
        """
        limit = int(self.known.number(MAX_SHEDDING_BROKERS))
        while stats.shed < limit and stats.low < stats.high and self.calls_for_unloads(stats):
            stats.high -= 1
            yield stats.order[stats.high + 1], stats.order[stats.low]

    def _unloaded_traffic(self, unloads: Iterable[Unload], source: str) -> float:
        return sum(self.carried(one.bundle) for one in unloads if one.source == source)

    def _gain_in_debug_mode(self, gained: float) -> float:
        """Return `gained`, the bytes per second sent back by swaps, in debug mode; otherwise 0."""
        return gained if self.known.settings.flag(DEBUG_MODE) else 0.0

    def _unloads_between(
        self, source: str, target: str, top: Sequence[str], amount: float
    ) -> Iterator[Unload]:
        """Yield the unloads between two brokers: bundles that fit, and swaps for larger bundles."""
        whole, other = (self.known.carries(one, "msgThroughput") for one in (source, target))
        back = iter(self.top_bundles(target))
        moved, left = 0.0, len(top)
        for bundle in top:
            recent = bundle in self.cycle.recent
            if recent or not self.transferable(bundle, source, target):
                continue
            if left <= 1:
                break
            carried = self.carried(bundle)
            if carried == 0 and not self.takes_unused:
                continue
            if moved + carried > amount:
                after = (whole - moved - carried, other + moved + carried)
                swapped = self._swapped_back(source, target, back, after, whole)
                if not swapped:
                    break
                yield from (one._replace(swapped_for=bundle) for one in swapped)
                moved -= self._gain_in_debug_mode(self._unloaded_traffic(swapped, target))
            yield Unload(source, bundle, target)
            moved += carried
            left -= 1

    def _swapped_back(
        self,
        source: str,
        target: str,
        back: Iterator[str],
        after: tuple[float, float],
        whole: float,
    ) -> list[Unload]:
        """Return the bundles that come back in a swap for a large bundle; empty if none helps."""
        if not self.known.settings.flag(TRANSFER_ENABLED):
            return []
        high, low = after
        found = []
        for bundle in back:
            carried = self.carried(bundle)
            unmoved = carried == 0 and not self.takes_unused
            if unmoved or not self.transferable(bundle, target, source):
                continue
            if high + carried < whole and low - carried < whole:
                found.append(Unload(target, bundle, source))
                high, low = high + carried, low - carried
                if low <= high < whole * MAX_SHARE_AFTER_SWAP:
                    return found
        return []

    @property
    def takes_unused(self) -> bool:
        """True for 3.0, which also reports and unloads bundles without traffic."""
        return self.known.release.version < (4,)

    def carried(self, bundle: str) -> float:
        """Return a bundle's throughput in bytes per second."""
        return self.known.traffic(bundle, "msgThroughput")

    def transferable(self, bundle: str, source: str, target: str) -> bool:
        """True if policies allow a bundle to leave its broker and the target to take it."""
        case = self.known.case
        if not (case.get("isolation") or case.get("groups")):
            return True
        if has_policies(case, namespace_of(bundle)) and not self.known.settings.flag(WITH_POLICIES):
            return False
        none: dict[str, object] = {"isolation": (), "groups": {}, "domains": {}}
        asked = {**none, **case, "preallocated": {}, "bundle": bundle}
        permitted = Assignment(asked, self.known.settings, self.cycle.readings).permitted
        return target in permitted and source != target

    def top_bundles(self, broker: str) -> list[str]:
        """Return a broker's top bundles in the order of TopKBundles: smallest first."""
        known = [bundle for bundle in self.known.owned(broker) if not self.left_out(bundle)]
        most = min(int(self.known.number(MAX_REPORTED_BUNDLES)), len(known))
        return partly_sorted(known, most, self._compare_bundles)[:most][::-1] if known else []

    def left_out(self, bundle: str) -> str:
        """Return the reason why a bundle is never among the top bundles; empty if it may be."""
        settings, case, namespace = self.known.settings, self.known.case, namespace_of(bundle)
        if not case["bundles"].get(bundle, {}).get("shortTermData", {}).get("numSamples"):
            return "it has no samples"
        if not (self.carried(bundle) or self.takes_unused):
            return "it has no traffic"
        if namespace in excluded_namespaces(settings.given.get(EXCLUDED, "")):
            return f"its namespace is excluded ({EXCLUDED})"
        if namespace == SYSTEM or self.known.is_in_own_namespace(bundle):
            return f"{namespace} is a namespace of the system"
        if has_policies(case, namespace) and not settings.flag(WITH_POLICIES):
            return f"its namespace has policies, and {WITH_POLICIES} is off"
        return ""

    def _compare_bundles(self, one: str, other: str) -> int:
        """Compare two bundles as NamespaceBundleStats.compareTo does."""
        whole = self.known.release.version >= (4,)
        for name, step in STEPS.items():
            first, second = (self._rate(bundle, name) for bundle in (one, other))
            if whole:
                first, second = floor(first / step + 0.5), floor(second / step + 0.5)
            if first != second and (whole or abs(first - second) > step):
                return 1 if first > second else -1
        return 0

    def _rate(self, bundle: str, name: str) -> float:
        data = self.known.case["bundles"][bundle]["shortTermData"]
        if name in data or name.startswith("msgThroughput"):
            return float(data.get(name, 0))
        return float(data.get(f"{name}In", 0)) + float(data.get(f"{name}Out", 0))


def place_in_answer(known: Leader, unload: Unload) -> tuple[int, float, str]:
    """Return the sort key of an unload in an answer: by broker, then smallest bundle first."""
    place = list(known.case["brokers"]).index(unload.source)
    return place, known.traffic(unload.bundle, "msgThroughput"), unload.bundle
