"""A leader's memory (averages, recent unloads, earlier usage), and the questions that it asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any

from pulsar_conformance.audit.simulation.worlds import BadWorld, Json, Rates, SimulatedBroker
from pulsar_conformance.reference.averages import WINDOWS
from pulsar_conformance.reference.cluster import (
    NEVER_MEASURED_MESSAGES,
    RATE_FIELDS,
    RESOURCES,
    Broker,
)
from pulsar_conformance.reference.context import MissingSetting, Settings
from pulsar_conformance.reference.numbers import ZERO, Fraction
from pulsar_conformance.reference.shedding import GRACE
from pulsar_conformance.reference.threshold import HISTORY_SHARE
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS, weighted_maximum, weights
from pulsar_conformance.specs.text import counted

UNMEASURED: Json = {
    "longTermData": dict.fromkeys(("msgRateIn", "msgRateOut"), float(NEVER_MEASURED_MESSAGES))
}
"""The load data that placement assumes for a bundle without averages."""

FINE = 1024
"""All averages are multiples of 1 / `FINE`, so that sums of them are exact."""


def weighted_usages(case: Json, defaults: Mapping[str, Any]) -> dict[str, float]:
    """Return the weighted usage of each broker in a case, in percent."""
    weight = weights(Settings(case["settings"], defaults))
    return {
        name: float(weighted_maximum(Broker.read(name, said), weight).percent)
        for name, said in case["brokers"].items()
    }


def counting_weights(
    settings: Json, defaults: Mapping[str, Any], without_heap: bool
) -> dict[str, Fraction]:
    """Return the weights of the resources whose usage counts as load: those with a weight other
    than 0.

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


def throughput_of(said: Json) -> float:
    """Return the bytes per second in a report or an average, in and out together."""
    return float(said["msgThroughputIn"] + said["msgThroughputOut"])


class LeaderMemory:
    """A leader's averages of bundles, last unloads, and smoothed usage of brokers.

    Once a window is full, each new sample has the weight 1 / (size of the window). A broker's
    earlier usage is kept as one number, which the history setting combines. A `usageHistory` with
    this number alone has the same effect as the full list. [THRESHOLD-07]
    """

    def __init__(
        self,
        settings: Json,
        defaults: Mapping[str, Any],
        minutes_at: Callable[[int], float],
        without_heap: bool = False,
    ) -> None:
        self.settings, self._defaults, self._minutes_at = settings, defaults, minutes_at
        self.weight = counting_weights(settings, defaults, without_heap)
        self.data: dict[str, Json] = {}
        self.unloaded: dict[str, int] = {}
        """Number of the cycle in which each bundle was last unloaded."""
        self.question: Json = {}
        """The last `shed.select` case."""
        self.decided: dict[str, float] = {}
        """The usage that ThresholdShedder compared in that case, with weights and smoothing. Empty
        under any other strategy.
        """
        self._mixed: dict[str, float] = {}

    def establish(self, bundle: str, rates: Rates) -> None:
        """Set a bundle's averages to these rates, as if its load had always been the same."""
        self.data[bundle] = {
            frame: {**_rates_by_name(rates), "numSamples": size, "maxSamples": size}
            for frame, size in WINDOWS.items()
        }

    def sample(self, bundle: str, rates: Rates) -> None:
        """Add a sample to the averages of a bundle. [DATA-01]"""
        known = self.data.get(bundle)
        if known is None:
            zero = {**_rates_by_name((0.0, 0.0, 0.0, 0.0)), "numSamples": 0}
            known = {frame: {**zero, "maxSamples": size} for frame, size in WINDOWS.items()}
        self.data[bundle] = {frame: _with_sample(data, rates) for frame, data in known.items()}

    def forget(self, bundle: str) -> None:
        """Remove the averages and the last unload of a bundle that was split."""
        self.data.pop(bundle, None)
        self.unloaded.pop(bundle, None)

    def is_tie(self, one: str | None, other: str, owners: Mapping[str, str | None]) -> bool:
        """True if the bundles of two brokers have the same long-term message rate.

        Placement compares this rate, so it may choose either broker.
        """
        rates = {one: 0.0, other: 0.0}
        for bundle, owner in owners.items():
            if owner in rates:
                data = self.data.get(bundle, UNMEASURED)["longTermData"]
                rates[owner] += data["msgRateIn"] + data["msgRateOut"]
        return one is not None and rates[one] == rates[other]

    def recent_unloads(self, cycle: int) -> dict[str, float]:
        """Return the minutes since each unload within the grace period, by bundle. [SHED-04]"""
        grace = self.settings.get(GRACE, self._defaults.get(GRACE, 0))
        now = self._minutes_at(cycle)
        ago = {name: now - self._minutes_at(at) for name, at in self.unloaded.items()}
        return {name: passed for name, passed in ago.items() if passed <= grace}

    def shedding_question(self, cycle: int, strategy: str | None, brokers: Json) -> Json:
        """Return the `shed.select` case of a cycle; then add the cycle's usage to the earlier
        usage.

        Errors: `BadWorld` if a broker's smoothed usage is infinite.
        """
        owned = (bundle for said in brokers.values() for bundle in said["bundles"])
        case = {
            "strategy": strategy,
            "settings": self.settings,
            "brokers": brokers,
            "bundles": {name: self.data[name] for name in owned if name in self.data},
            "recentlyUnloaded": self.recent_unloads(cycle),
        }
        share = self.settings.get(HISTORY_SHARE, self._defaults.get(HISTORY_SHARE)) or 0
        if not all(map(isfinite, self._mixed.values())):
            problem = (
                f"usage smoothed with it grows beyond all numbers in {counted(cycle, 'cycle')}"
            )
            hint = f"give a share between 0 and 1, or at most --cycles {cycle}"
            raise BadWorld(f"{HISTORY_SHARE}={share:g}: {problem}; {hint}")
        if share:
            weighted = self.weighted_usages(brokers)
            case["brokers"] = {
                name: {**said, "usageHistory": [self._mixed[name]]} if name in self._mixed else said
                for name, said in brokers.items()
            }
            for name, now in weighted.items():
                before = self._mixed.get(name, now)
                self._mixed[name] = round(before * share + now * (1 - share), 9)
        compares = strategy == "ThresholdShedder"
        self.decided = {
            name: self._mixed[name] if share else self._heaviest(said)
            for name, said in (brokers.items() if compares else ())
        }
        self.question = case
        return case

    def usage(self, broker: SimulatedBroker, throughput: float) -> float:
        """Return a broker's usage at this traffic, in bytes per second.

        The usage is the percentage of the busiest resource, of the resources that count as load.
        """
        used = broker.percents(throughput).items()
        return float(max((percent for name, percent in used if name in self.weight), default=0.0))

    def weighted_usages(self, brokers: Json) -> dict[str, float]:
        """Return the weighted usage of each broker in percent: the largest product of a resource's
        usage and weight.
        """
        weight = {**dict.fromkeys(RESOURCES, ZERO), **self.weight}
        return {
            name: float(weighted_maximum(Broker.read(name, said), weight).percent)
            for name, said in brokers.items()
        }

    def _heaviest(self, said: Json) -> float:
        """Return the weighted usage in a report as `weighted_usages` does, but faster and with
        rounding errors.
        """
        known = ((said[one]["usage"], weight) for one, weight in self.weight.items() if one in said)
        return max((float(used) * float(weight) for used, weight in known), default=0.0)

    def placing_question(
        self, bundle: str, candidates: Iterable[str], brokers: Json, assigned: Mapping[str, Any]
    ) -> Json:
        """Return the `place.select` case for a bundle.

        `assigned` are bundles that were placed since the reports, by their new broker.
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


def _rates_by_name(rates: Rates) -> dict[str, float]:
    return dict(zip(RATE_FIELDS, rates, strict=True))


def _with_sample(data: Json, rates: Rates) -> Json:
    """Return averages with one more sample.

    Return the same object if the sample changes nothing. Simulations spend most of their time here.
    Most bundles send out what they receive, so two of the four averages are usually equal.
    """
    count, most = data["numSamples"], data["maxSamples"]
    weight = count + 1 if count < most else most
    messages_in, messages_out = data["msgRateIn"], data["msgRateOut"]
    bytes_in, bytes_out = data["msgThroughputIn"], data["msgThroughputOut"]
    messages_in_now, messages_out_now, bytes_in_now, bytes_out_now = rates
    if weight == count and (messages_in, messages_out, bytes_in, bytes_out) == rates:
        return data
    messages = _mixed(messages_in, messages_in_now, weight)
    carried = _mixed(bytes_in, bytes_in_now, weight)
    same_messages = messages_in == messages_out and messages_in_now == messages_out_now
    same_bytes = bytes_in == bytes_out and bytes_in_now == bytes_out_now
    return {
        "msgRateIn": messages,
        "msgRateOut": messages if same_messages else _mixed(messages_out, messages_out_now, weight),
        "msgThroughputIn": carried,
        "msgThroughputOut": carried if same_bytes else _mixed(bytes_out, bytes_out_now, weight),
        "numSamples": weight,
        "maxSamples": most,
    }


def _mixed(average: float, now: float, weight: int) -> float:
    """Return an average with one more sample, which has the weight 1 / `weight`."""
    if average == now:
        return average
    return round((average * (weight - 1) + now) / weight * FINE) / FINE
