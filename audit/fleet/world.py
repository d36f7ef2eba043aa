"""A cluster of a fleet: the owners of its bundles, and its brokers' reports in Pulsar's format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
from pulsar_conformance.audit.fleet import shape
from pulsar_conformance.audit.fleet.events import Events
from pulsar_conformance.audit.fleet.shape import PARTS, TOPICS_BEFORE_SPLIT, UNITS
from pulsar_conformance.audit.fleet.size import Fleet
from pulsar_conformance.audit.simulation.cluster.state import (
    SimulatedCluster,
    halves_of,
    total_rates,
)
from pulsar_conformance.audit.simulation.worlds import BrokerEvent, Rates, SimulatedBundle
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference.cluster import RATE_FIELDS

Array = Any
"""A `numpy.ndarray`."""

REPORTS_FROM, REPORTS_WITHIN = 0.3, 0.6
"""Start and length of the part of a period in which brokers report, as shares of the period."""


class FleetCluster(SimulatedCluster):
    """A simulated cluster with the traffic, the events and the reports of a fleet.

    `rates` is an array by bundle, period and field.
    """

    def __init__(
        self,
        fleet: Fleet,
        number: int,
        events: Events,
        bundles: Sequence[SimulatedBundle],
        rates: Array,
    ) -> None:
        self.fleet, self.name, self.events = fleet, fleet.cluster(number), events
        self.brokers = [fleet.broker(one) for one in range(fleet.brokers)]
        super().__init__(((one, True) for one in self.brokers), bundles)
        self._array, self._row = rates, {one: row for row, one in enumerate(self.bundles)}
        self.first = list(self.bundles)
        """The initial bundles, in the order of their numbers in `events`."""
        self._splits = {self.first[one]: period for one, period in events.splits.items()}
        self._restarts = [
            BrokerEvent(period, self.brokers[one.broker], up)
            for one in events.restarts
            for period, up in ((one.down, False), (one.up, True))
        ]

    def begin_period(self, period: int) -> None:
        """Let brokers come up and go down as planned; bundles keep their owners."""
        self.apply_events(self._restarts, period)

    def owners(self) -> dict[str, list[str]]:
        """Return the sorted names of each broker's bundles. Brokers without bundles are missing."""
        return {name: sorted(owned) for name, owned in self.owned_bundles().items() if owned}

    def rates(self, cycle: int) -> Mapping[str, Rates]:
        """Return the rates of all bundles in a period."""
        now = self._array[list(self._row.values()), cycle].tolist()
        return dict(zip(self._row, map(tuple, now), strict=True))

    def rates_of(self, name: str, cycle: int) -> Rates:
        """Return a bundle's rates in a period."""
        found: Rates = tuple(self._array[self._row[name], cycle].tolist())
        return found

    def traffic_of(self, bundle: str, period: int) -> float:
        """Return a bundle's bytes per second in a period, in + out."""
        _, _, bytes_in, bytes_out = self.rates_of(bundle, period)
        return bytes_in + bytes_out

    def split(self, bundle: str) -> list[str]:
        """Split a bundle in half; return the names of the parts."""
        whole = self._array[self._row.pop(bundle)]
        units = np.array([UNITS[field] for field in RATE_FIELDS])
        first = np.floor(whole * PARTS["first"] / units) * units
        names = halves_of(bundle)
        self._row.update({name: len(self._array) + place for place, name in enumerate(names)})
        self._array = np.concatenate([self._array, np.stack([first, whole - first])])
        self.halve(bundle, [fleet_bundle(name, TOPICS_BEFORE_SPLIT[1] // 2) for name in names])
        return list(names)

    def topic_count(self, bundle: str, period: int) -> int:
        """Return a bundle's number of topics; only just before its split, it exceeds the limit."""
        ends = self._splits.get(bundle)
        return (
            self.bundles[bundle].topics if ends is None else TOPICS_BEFORE_SPLIT[period >= ends - 1]
        )

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

    def reports(self, period: int) -> dict[str, Json]:
        """Return the load report of each running broker in a period, in Pulsar's format."""
        owned, rates, found = self.owned_bundles(), self.rates(period), {}
        for number, name in enumerate(self.brokers):
            if self.up[name]:
                stats = {
                    one: stats_of(rates[one], self.topic_count(one, period))
                    for one in sorted(owned[name])
                }
                sums = total_rates(rates[one] for one in owned[name])
                at = self.reported_at(number, period)
                found[name] = simulated_report(self.fleet.bundles, number + 1, sums, stats, at)
        return found


def fleet_bundle(name: str, topics: int, owner: str | None = None) -> SimulatedBundle:
    """Return a bundle with rates of 0; a `FleetCluster` has its actual rates in each period."""
    return SimulatedBundle(name, owner, (0.0, 0.0, 0.0, 0.0), topics)


def stats_of(rates: Sequence[float], topics: int) -> Json:
    """Return the statistics of a bundle with these rates, in the format of a load report."""
    sessions = {"producerCount": topics * 3 // 5, "consumerCount": topics // 3}
    return {**dict(zip(RATE_FIELDS, rates, strict=True)), "topics": topics, **sessions}


def rates_in_stats(stats: Mapping[str, Json]) -> dict[str, Rates]:
    """Return the rates in the statistics of bundles."""
    return {
        name: (
            said["msgRateIn"],
            said["msgRateOut"],
            said["msgThroughputIn"],
            said["msgThroughputOut"],
        )
        for name, said in stats.items()
    }


def simulated_report(bundles: int, number: int, sums: Json, stats: Json, at: int) -> Json:
    """Return a load report of the modular load manager, in Pulsar's format.

    `number` identifies the broker, from 1, and `bundles` is the number of bundles for which it is
    sized. `sums` are the broker's rates, and `stats` the statistics of its bundles. `at` is in
    milliseconds since 1970.
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
