"""A leader's memory, and the case of each shedding cycle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from pulsar_conformance.audit.fleet.size import GRACE, HISTORY, MINUTE
from pulsar_conformance.audit.fleet.world import Array
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES

WINDOW = 10
"""Number of samples in the short-term data of a bundle. [DATA-03]"""

KNOWN = (*RESOURCES, *RATE_FIELDS, "bundles")


@dataclass
class ReceivedReport:
    """A broker's last report, and the time at which it was written, in milliseconds since 1970."""

    at: int
    said: Json


@dataclass
class Memory:
    """A leader's memory, from the start of its term on."""

    samples: dict[str, Array] = field(default_factory=dict)
    """The latest samples of each bundle, one per row, in no particular order."""
    taken: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    unloaded: dict[str, int] = field(default_factory=dict)
    """Time of the last unload of each bundle, in milliseconds since 1970."""
    used: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Weighted usages of each broker in earlier cycles, in percent, oldest first."""

    def sample(self, stats: Mapping[str, Json]) -> None:
        """Store a sample of each bundle in a report, given the report's statistics by bundle.
        [DATA-01]
        """
        for bundle, said in stats.items():
            kept = self.samples.setdefault(bundle, np.zeros((WINDOW, len(RATE_FIELDS))))
            kept[self.taken[bundle] % WINDOW] = [said[name] for name in RATE_FIELDS]
            self.taken[bundle] += 1

    def short_term_data(self, bundle: str) -> Json:
        """Return a bundle's averages over its latest samples, in the format of the load data."""
        count = min(self.taken[bundle], WINDOW)
        means = self.samples[bundle].sum(axis=0) / count
        rates = dict(zip(RATE_FIELDS, means.tolist(), strict=True))
        return {"shortTermData": {**rates, "numSamples": count, "maxSamples": WINDOW}}

    def recent_unloads(self, now: int, settings: Json) -> dict[str, float]:
        """Return the minutes since a bundle's last unload, for bundles unloaded within the grace
        period.
        """
        ago = {name: (now - at) / (1000 * MINUTE) for name, at in self.unloaded.items()}
        return {name: passed for name, passed in ago.items() if passed <= settings.get(GRACE, 30)}


def shedding_case(now: int, settings: Json, reports: Mapping[str, Json], memory: Memory) -> Json:
    """Return the `shed.select` case of a cycle, built from the reports of running brokers."""
    brokers = {name: {each: said[each] for each in KNOWN} for name, said in reports.items()}
    if settings.get(HISTORY):
        for name, broker in brokers.items():
            broker["usageHistory"] = list(memory.used[name])
    owned = (bundle for said in reports.values() for bundle in said["bundles"])
    return {
        "strategy": None,
        "settings": settings,
        "brokers": brokers,
        "bundles": {name: memory.short_term_data(name) for name in owned if memory.taken[name]},
        "recentlyUnloaded": memory.recent_unloads(now, settings),
    }
