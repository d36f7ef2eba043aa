"""A simulated cluster: owners and traffic of bundles, and brokers' reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from pulsar_conformance.audit.fleet import shape
from pulsar_conformance.audit.fleet.events import Events
from pulsar_conformance.audit.fleet.shape import GROWN, PARTS, UNITS
from pulsar_conformance.audit.fleet.size import Fleet
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference.cluster import RATE_FIELDS
from pulsar_conformance.reference.ranges import HashRange, hex_of, namespace_of

Array = Any
"""A `numpy.ndarray`."""

NOBODY = -1
REPORTS_FROM, REPORTS_WITHIN = 0.3, 0.6
"""Start and length of the part of a period in which brokers report, as shares of the period."""


@dataclass
class BundleLoads:
    """The traffic of a cluster's bundles.

    `rates` is an array with the axes bundle, period and field.
    """

    names: list[str]
    rates: Array
    topics: list[int]


class SimulatedCluster:
    """The owners and traffic of a simulated cluster's bundles.

    Each bundle has an index; the parts of a split bundle get new indices.
    """

    def __init__(self, fleet: Fleet, number: int, events: Events, loads: BundleLoads) -> None:
        self.fleet, self.name, self.events = fleet, fleet.cluster(number), events
        self.names, self.rates, self._topics = list(loads.names), loads.rates, list(loads.topics)
        self.number = {name: place for place, name in enumerate(self.names)}
        self.brokers = [fleet.broker(one) for one in range(fleet.brokers)]
        self.owner = np.arange(len(self.names)) % fleet.brokers

    def up(self, period: int) -> list[int]:
        """Return the indices of the brokers that are up in a period."""
        down = {one.broker for one in self.events.restarts if one.covers(period)}
        return [broker for broker in range(self.fleet.brokers) if broker not in down]

    def owned_bundles(self, broker: int) -> Array:
        """Return the indices of the bundles that a broker owns."""
        return np.flatnonzero(self.owner == broker)

    def owners(self) -> dict[str, list[str]]:
        """Return the bundles of each broker that owns any. Brokers and bundles are given by
        name.
        """
        every = {
            name: self._bundle_names(self.owned_bundles(n)) for n, name in enumerate(self.brokers)
        }
        return {name: owned for name, owned in every.items() if owned}

    def _bundle_names(self, bundles: Array) -> list[str]:
        return sorted(self.names[one] for one in bundles)

    def split(self, bundle: int, middle: int | None = None) -> list[str]:
        """Split a bundle at `middle`, by default in half; return the names of the parts."""
        name = self.names[bundle]
        whole, space = HashRange.parse(name), namespace_of(name)
        cut = middle or (whole.lower + whole.upper + whole.last) // 2
        ranges = ((whole.lower, cut), (cut, whole.upper))
        names = [f"{space}/{hex_of(low)}_{hex_of(high)}" for low, high in ranges]
        units = np.array([UNITS[field] for field in RATE_FIELDS])
        first = np.floor(self.rates[bundle] * PARTS["first"] / units) * units
        parts = np.stack([first, self.rates[bundle] - first])
        self.rates = np.concatenate([self.rates, parts])
        for part in names:
            self.number[part] = len(self.names)
            self.names.append(part)
            self._topics.append(GROWN[1] // 2)
        self.owner = np.append(self.owner, [self.owner[bundle]] * 2)
        self.owner[bundle] = NOBODY
        return names

    def topic_count(self, bundle: int, period: int) -> int:
        """Return a bundle's number of topics, which exceeds the limit only in the last report
        before its split.
        """
        ends = self.events.splits.get(bundle)
        if ends is None:
            return self._topics[bundle]
        return GROWN[period >= ends - 1]

    def reported_at(self, broker: int, period: int) -> int:
        """Return the time of a broker's report in a period, in milliseconds since 1970."""
        place = (broker + 0.5) / self.fleet.brokers
        at = self.fleet.period_start(period) + int(
            self.fleet.period_seconds * (place * REPORTS_WITHIN + REPORTS_FROM)
        )
        if not self.fleet.jitter:
            return 1000 * at
        chance = Random(f"{self.fleet.seed}/{self.name}/late/{broker}/{period}")
        return 1000 * at + chance.randrange(1000 * self.fleet.jitter)

    def report(self, broker: int, period: int) -> Json:
        """Return a broker's load report in a period, in Pulsar's format."""
        bundles = self.owned_bundles(broker)
        rates = self.rates[bundles, period]
        sums = dict(zip(RATE_FIELDS, map(float, rates.sum(axis=0)), strict=True))
        topics = [self.topic_count(int(one), period) for one in bundles]
        stats = {
            self.names[one]: stats_of(each, count)
            for one, each, count in zip(bundles, rates.tolist(), topics, strict=True)
        }
        at = self.reported_at(broker, period)
        return simulated_report(
            self.fleet.bundles, broker + 1, sums, dict(sorted(stats.items())), at
        )


def stats_of(rates: Sequence[float], topics: int) -> Json:
    """Return the statistics of a bundle with these rates, in the format of a load report."""
    sessions = {"producerCount": topics * 3 // 5, "consumerCount": topics // 3}
    return {**dict(zip(RATE_FIELDS, rates, strict=True)), "topics": topics, **sessions}


def simulated_report(bundles: int, number: int, sums: Json, stats: Json, at: int) -> Json:
    """Return a load report of the modular load manager, in Pulsar's format.

    The broker has this `number`, from 1, and is sized for a number of `bundles`. `sums` are the
    broker's rates, and `stats` the statistics of its bundles. `at` is in milliseconds since 1970.
    """
    host = f"broker-{number}.example.com"
    used = shape.resource_percents(bundles, sums)
    usages = {
        name: {"usage": used[name] * (limit / 100), "limit": limit}
        for name, limit in shape.resource_limits(bundles).items()
    }
    return {
        "webServiceUrl": f"http://{host}:8080",
        "pulsarServiceUrl": f"pulsar://{host}:6650",
        "persistentTopicsEnabled": True,
        "nonPersistentTopicsEnabled": True,
        **usages,
        **sums,
        "lastUpdate": at,
        "lastStats": stats,
        "numTopics": sum(one["topics"] for one in stats.values()),
        "numBundles": len(stats),
        "numConsumers": sum(one["consumerCount"] for one in stats.values()),
        "numProducers": sum(one["producerCount"] for one in stats.values()),
        "bundles": list(stats),
        "lastBundleGains": [],
        "lastBundleLosses": [],
        "brokerVersionString": shape.VERSION,
        "loadReportType": "LocalBrokerData",
    }
