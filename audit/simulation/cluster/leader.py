"""A leader's memory (averages, recent unloads, earlier usage), and the questions that it asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import ceil, inf, isfinite, log
from typing import Any

from pulsar_conformance.audit.simulation.worlds import Json, SimulatedBroker
from pulsar_conformance.reference.cluster import (
    NEVER_MEASURED_MESSAGES,
    RESOURCES,
    percent_of,
)
from pulsar_conformance.reference.context import MissingSetting, Settings
from pulsar_conformance.reference.numbers import ZERO, Fraction
from pulsar_conformance.reference.released.threshold import MARGIN, MEBIBYTE
from pulsar_conformance.reference.shedding import GRACE
from pulsar_conformance.reference.threshold import (
    HISTORY_SHARE,
    LOWER_BOUNDARY,
    MIN_THROUGHPUT,
    SHEDDER_THRESHOLD,
)
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS

CONVERGED = 1e-6
"""Difference in percentage points within which smoothed usage counts as converged.

Reports have six digits.
"""

UNMEASURED: Json = {
    "longTermData": dict.fromkeys(("msgRateIn", "msgRateOut"), float(NEVER_MEASURED_MESSAGES))
}
"""The load data that placement assumes for a bundle without averages."""


def counting_weights(
    settings: Json, defaults: Mapping[str, Any], without_heap: bool
) -> dict[str, Fraction]:
    """Return the weights of the resources that count as load: those with a weight other than 0.

    Each resource has the weight 1 if the documents define no weights. [USAGE-02, USAGE-04]
    """
    read = Settings(settings, defaults)
    found = {}
    for name in RESOURCES:
        try:
            found[name] = read.number(WEIGHT_SETTINGS[name])
        except MissingSetting:
            found[name] = Fraction(1)
    if without_heap:
        found["memory"] = ZERO
    return {name: weight for name, weight in found.items() if weight}


def uncounted_resources(
    settings: Json, defaults: Mapping[str, Any], without_heap: bool
) -> dict[str, str]:
    """Return the resources that do not count as load, each with the reason."""
    counting = counting_weights(settings, defaults, without_heap)
    weighted = counting_weights(settings, defaults, False)
    return {
        name: "the release ignores heap memory"
        if name in weighted
        else f"{WEIGHT_SETTINGS[name]} is 0"
        for name in RESOURCES
        if name not in counting
    }


def throughput_of(said: Json) -> float:
    """Return the bytes per second in a report or an average, in and out together."""
    return float(said["msgThroughputIn"] + said["msgThroughputOut"])


class LeaderMemory:
    """A leader's memory: averages and last unloads of bundles, smoothed usage of brokers.

    Times are numbers, such as numbers of cycles, that `minutes_at` converts to minutes. If
    `whole_history` is false, a broker's earlier usages are combined into one smoothed number. A
    `usageHistory` of only this number leads to the same unloads as the full list. [THRESHOLD-07]
    With `smooths_twice`, usage is smoothed as by releases with a lower boundary; see
    `smooth_again`.
    """

    def __init__(
        self,
        settings: Json,
        defaults: Mapping[str, Any],
        minutes_at: Callable[[int], float],
        data: Mapping[str, Json],
        *,
        without_heap: bool = False,
        whole_history: bool = False,
        smooths_twice: bool = False,
    ) -> None:
        self.settings, self._defaults, self._minutes_at = settings, defaults, minutes_at
        self.weight = counting_weights(settings, defaults, without_heap)
        self.uncounted = uncounted_resources(settings, defaults, without_heap)
        self.data = data
        """The averages of each bundle."""
        self.unloaded: dict[str, int] = {}
        """Time at which each bundle was last unloaded."""
        self.question: Json = {}
        """The last `shed.select` case."""
        self.decided: dict[str, float] = {}
        """Weighted, smoothed usage of each broker that ThresholdShedder compared in the last case.

        Empty under any other strategy.
        """
        self._smoothed: dict[str, float] = {}
        self._usage_history: dict[str, list[float]] = {}
        self._whole_history, self._smooths_twice = whole_history, smooths_twice

    def is_tie(self, one: str | None, other: str, owners: Mapping[str, str | None]) -> bool:
        """True if the bundles of two brokers have the same long-term message rate in total.

        Placement compares these totals, so it may choose either broker.
        """
        rates = {one: 0.0, other: 0.0}
        for bundle, owner in owners.items():
            if owner in rates:
                data = self.data.get(bundle, UNMEASURED)["longTermData"]
                rates[owner] += data["msgRateIn"] + data["msgRateOut"]
        return one is not None and rates[one] == rates[other]

    def recent_unloads(self, now: int) -> dict[str, float]:
        """Return the minutes since unloads within the grace period, by bundle. [SHED-04]"""
        grace = self.settings.get(GRACE, self._defaults.get(GRACE, 0))
        minutes = self._minutes_at(now)
        ago = {name: minutes - self._minutes_at(at) for name, at in self.unloaded.items()}
        return {name: passed for name, passed in ago.items() if passed <= grace}

    @property
    def history_share(self) -> float:
        """The share of earlier usage in a broker's smoothed usage; 0 if usage is not smoothed."""
        return self.settings.get(HISTORY_SHARE, self._defaults.get(HISTORY_SHARE)) or 0

    @property
    def is_finite(self) -> bool:
        """True if every broker's smoothed usage is a finite number."""
        return all(map(isfinite, self._smoothed.values()))

    def cycles_until_converged(self) -> float:
        """Return in how many cycles the smoothed usage of all brokers will have converged, if ever.

        It has converged if it is within `CONVERGED` of the usage in the last case, which is assumed
        to stay as it is. Infinite if that never happens.
        """
        share, present = self.history_share, self.weighted_usages(self.question["brokers"])
        known = share and {name: abs(self._smoothed[name] - now) for name, now in present.items()}
        gap = max(known.values(), default=0.0) if known else 0.0
        if gap <= CONVERGED:
            return 0
        return ceil(log(CONVERGED / gap) / log(share)) if share < 1 and gap < inf else inf

    def shedding_question(self, now: int, strategy: str | None, brokers: Json) -> Json:
        """Return the `shed.select` case of a cycle, given the reports of the running brokers."""
        owned = (bundle for said in brokers.values() for bundle in said["bundles"])
        if self.history_share:
            brokers = {
                name: {**said, "usageHistory": list(self._usage_history[name])}
                if name in self._usage_history
                else said
                for name, said in brokers.items()
            }
        return {
            "strategy": strategy,
            "settings": self.settings,
            "brokers": brokers,
            "bundles": {name: self.data[name] for name in owned if name in self.data},
            "recentlyUnloaded": self.recent_unloads(now),
        }

    def remember_usage(self, case: Json) -> None:
        """Add the usage in a `shed.select` case to the brokers' smoothed usage. [THRESHOLD-07]"""
        brokers, share = case["brokers"], self.history_share
        for name, now in self.weighted_usages(brokers).items() if share else ():
            before = self._smoothed.get(name, now)
            self._smoothed[name] = round(before * share + now * (1 - share), 9)
            if self._whole_history:
                self._usage_history.setdefault(name, []).append(now)
            else:
                self._usage_history[name] = [self._smoothed[name]]
        compares = case["strategy"] == "ThresholdShedder"
        self.decided = {
            name: self._smoothed[name] if share else self._rounded_weighted_usage(said)
            for name, said in (brokers.items() if compares else ())
        }
        self.question = case

    def smooth_again(self, unloads: Iterable[Json]) -> None:
        """Smooth the usage in the last case a second time if the release does so.

        A release does so with lowerBoundarySheddingEnabled in cycles in which no broker sheds for
        being above the limit. `unloads` are the unloads of the cycle.
        """
        share, average = self.history_share, sum(self.decided.values()) / (len(self.decided) or 1)
        if not (self._smooths_twice and share and average and self._setting(LOWER_BOUNDARY)):
            return
        brokers = self.question["brokers"]
        if any(self._sheds_excess(one["broker"], brokers, average) for one in unloads):
            return
        for name, now in self.weighted_usages(brokers).items():
            smoothed = round(self._smoothed[name] * share + now * (1 - share), 9)
            self._smoothed[name] = self.decided[name] = smoothed
            self._usage_history[name] = [smoothed]

    def _sheds_excess(self, broker: str, brokers: Json, average: float) -> bool:
        """True if a broker that sheds does so because it is far enough above the limit."""
        if broker not in self.decided:
            return False
        excess = (self.decided[broker] - average - self._setting(SHEDDER_THRESHOLD)) / 100
        needed = throughput_of(brokers[broker]) * (excess + MARGIN)
        return bool(excess >= 0 and needed >= self._setting(MIN_THROUGHPUT) * MEBIBYTE)

    def _setting(self, name: str) -> Any:
        return self.settings.get(name, self._defaults.get(name)) or 0

    def usage(self, broker: SimulatedBroker, throughput: float) -> float:
        """Return a broker's usage in percent at a traffic of `throughput` bytes per second.

        It is the usage of the busiest resource that counts as load.
        """
        used = broker.percents(throughput).items()
        return float(max((percent for name, percent in used if name in self.weight), default=0.0))

    def weighted_usages(self, brokers: Json) -> dict[str, float]:
        """Return each broker's largest product of a resource's usage and weight, in percent."""
        found = {}
        for name, said in brokers.items():
            used = (percent_of(said.get(one)) * weight for one, weight in self.weight.items())
            found[name] = float(max(used, default=ZERO))
        return found

    def _rounded_weighted_usage(self, said: Json) -> float:
        """Return one broker's weighted usage, faster than `weighted_usages` but with rounding
        errors.
        """
        known = ((said[one]["usage"], weight) for one, weight in self.weight.items() if one in said)
        return max((float(used) * float(weight) for used, weight in known), default=0.0)

    def placing_question(
        self, bundle: str, candidates: Iterable[str], brokers: Json, assigned: Mapping[str, Any]
    ) -> Json:
        """Return the `place.select` case for a bundle.

        `assigned` maps brokers to the bundles that were placed on them since the reports.
        """
        there = {name: brokers[name] for name in candidates}
        names = {bundle, *(one for said in brokers.values() for one in said["bundles"])}
        names.update(one for ahead in assigned.values() for one in ahead)
        return {
            "settings": self.settings,
            "bundle": bundle,
            "candidates": list(there),
            "brokers": there,
            "bundles": {name: self.data[name] for name in sorted(names) if name in self.data},
            "preallocated": {
                name: list(ahead) for name, ahead in assigned.items() if name in there
            },
        }
