"""Clusters for one shedding cycle: the common parts, and a sketch that the strategies fill in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from pulsar_conformance.conformance.draws import loads, names
from pulsar_conformance.conformance.trial import Json
from pulsar_conformance.reference.shedding import PACKAGE
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS

GRACE = "loadBalancerSheddingGracePeriodMinutes"
STRATEGY = "loadBalancerLoadSheddingStrategy"
DEFAULT_GRACE = 30
WEIGHTS = tuple(WEIGHT_SETTINGS.values())


@dataclass
class Sketch:
    """A cluster to be: usages by broker, how many bundles each owns, and the settings."""

    random: Random
    strategy: str | None
    levels: Sequence[float]
    owned: Sequence[int]
    exact: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    history: Mapping[int, Sequence[float]] = field(default_factory=dict)
    recent: float = 0.25
    """Share of the bundles that were unloaded some time ago."""
    awry: bool = True
    """Whether bundles with more bytes have fewer messages."""
    traffic: str | None = None
    """How the traffic of bundles compares, any way if none; see `loads.weights_of_traffic`."""
    measured: bool = True
    """Whether every bundle was measured and broker rates are those of its bundles."""

    def case(self) -> Json:
        """The case in the shapes of the protocol."""
        random = self.random
        bundles = names.bundles(random, sum(self.owned))
        sizes = loads.weights_of_traffic(random, len(bundles), self.traffic)
        carried = dict(zip(bundles, loads.rates(random, sizes, self.awry), strict=True))
        waiting = iter(bundles)
        brokers = {}
        for place, (level, count) in enumerate(zip(self.levels, self.owned, strict=True)):
            mine = [next(waiting) for _ in range(count)]
            brokers[f"broker-{place + 1}"] = self._broker(place, level, mine, carried)
        return {
            "strategy": self._strategy(),
            "settings": self._settings(),
            "brokers": brokers,
            "bundles": self._bundles(carried),
            "recentlyUnloaded": self._recent(bundles),
        }

    def _settings(self) -> dict[str, Any]:
        """The settings; every weight in so many words, half of the time."""
        spelled = self.random.random() < 0.5
        return {**(dict.fromkeys(WEIGHTS, 1.0) if spelled else {}), **self.settings}

    def _strategy(self) -> str | None:
        if self.strategy is None or "." in self.strategy:
            return self.strategy
        return self.random.choice(("", PACKAGE)) + self.strategy

    def _broker(
        self, place: int, level: float, mine: list[str], carried: Mapping[str, dict[str, float]]
    ) -> Json:
        broker: Json = loads.usages(self.random, level, self.exact)
        broker |= loads.total([carried[bundle] for bundle in mine])
        if not self.measured and self.random.random() < 0.5:
            broker["msgThroughputIn"] += self.random.randrange(50) * loads.MEGABYTE
        broker["bundles"] = mine
        if place in self.history:
            broker["usageHistory"] = list(self.history[place])
        return broker

    def _bundles(self, carried: Mapping[str, dict[str, float]]) -> Json:
        """Bundle data: some never measured, and now and then one that nobody owns."""
        random = self.random
        data: Json = {}
        for bundle, load in carried.items():
            if not self.measured and random.random() < 0.2:
                if random.random() < 0.5:
                    data[bundle] = {"shortTermData": loads.average(load, 0, 10)}
                continue
            data[bundle] = {
                "shortTermData": loads.average(load, random.randint(1, 10), 10),
                "longTermData": loads.average(load, random.randint(1, 1000), 1000),
            }
        if random.random() < 0.3:
            stray = {"shortTermData": loads.average(loads.rates(random, [10**9])[0], 10, 10)}
            data["gone/away/0x00000000_0xffffffff"] = stray
        return data

    def _recent(self, bundles: Sequence[str]) -> dict[str, float]:
        """Bundles unloaded before, around the grace period, and parents of some that were split."""
        grace = self.settings.get(GRACE, DEFAULT_GRACE)
        around = (0, 1, grace / 2, max(grace - 1, 0), grace, grace + 1, grace * 3)
        share = self.random.choice((0, self.recent, self.recent))
        return {
            bundle: self.random.choice(around) for bundle in bundles if self.random.random() < share
        }


def owned(random: Random, brokers: int, bundles: int) -> list[int]:
    """How many bundles each broker owns: all of them shared out unevenly."""
    counts = [0] * brokers
    for _ in range(bundles):
        counts[random.randrange(brokers)] += 1
    return counts
