"""Clusters for one shedding cycle: a sketch that strategies make, filled in at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.drawing import loads, names
from pulsar_conformance.conformance.shedding.draws.amounts import Traffic
from pulsar_conformance.reference.shedding import GRACE, PACKAGE
from pulsar_conformance.reference.threshold import HISTORY_SHARE
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS

DEFAULT_GRACE = 30
WEIGHTS = tuple(WEIGHT_SETTINGS.values())

ASSUMED = (49, 50, 51, 49.5, 50.5, 51.15, 51.25)
"""Messages and kilobytes per second each way, around what bundles without data count for."""

Load = Mapping[str, float]


@dataclass
class Sketch:
    """The sketch of a cluster: usages by broker, numbers of bundles, and the settings."""

    random: Random
    strategy: str | None
    levels: Sequence[float]
    """The busiest resource of each broker, in percent."""
    owned: Sequence[int]
    exact: bool = False
    """Whether usages are exact in every floating point; see `loads.usages`."""
    settings: dict[str, Any] = field(default_factory=dict)
    history: Mapping[int, Sequence[float]] = field(default_factory=dict)
    """Earlier usages by place of the broker, in percent."""
    recent: float = 0.25
    """Share of the bundles that were unloaded some time ago."""
    awry: bool = True
    """Whether bundles with more bytes have fewer messages."""
    traffic: str | None = None
    """How the traffic of bundles compares, any way if none; see `loads.weights_of_traffic`."""
    measured: bool = True
    """Whether every bundle was measured and broker rates are those of its bundles."""
    given: Mapping[int, Traffic] = field(default_factory=dict)
    """The traffic of some brokers, by place; it comes with their bundles."""

    def case(self) -> Json:
        """The case in the shapes of the protocol."""
        counts = [
            len(self.given[place].bundles) if place in self.given else count
            for place, count in enumerate(self.owned)
        ]
        bundles = names.bundles(self.random, sum(counts))
        waiting = iter(bundles)
        owned = [[next(waiting) for _ in range(count)] for count in counts]
        carried = dict(zip(bundles, self._loads(len(bundles)), strict=True))
        stuck: list[str] = []
        settled: set[str] = set()
        for place, traffic in self.given.items():
            carried |= zip(owned[place], traffic.bundles, strict=True)
            stuck += owned[place][: traffic.stuck]
            settled.update(owned[place])
        return {
            "strategy": self._strategy(),
            "settings": self._settings(),
            "brokers": {
                f"broker-{place + 1}": self._broker(place, level, mine, carried)
                for place, (level, mine) in enumerate(zip(self.levels, owned, strict=True))
            },
            "bundles": self._bundles(carried, settled),
            "recentlyUnloaded": self._recent(bundles, stuck, settled),
        }

    def _loads(self, count: int) -> list[dict[str, float]]:
        random = self.random
        if self.traffic == "assumed":
            around = [random.choice(ASSUMED) for _ in range(count)]
            return [loads.both_ways(2 * one, 2000 * one, 0.5) for one in around]
        sizes = loads.weights_of_traffic(random, count, self.traffic)
        return loads.rates(random, sizes, self.awry)

    def _settings(self) -> dict[str, Any]:
        """The settings; half of the time they include every weight explicitly."""
        spelled = self.random.random() < 0.5
        return {**(dict.fromkeys(WEIGHTS, 1.0) if spelled else {}), **self.settings}

    def _strategy(self) -> str | None:
        if self.strategy is None or "." in self.strategy:
            return self.strategy
        return self.random.choice(("", PACKAGE)) + self.strategy

    def _broker(
        self, place: int, level: float, mine: list[str], carried: Mapping[str, Load]
    ) -> Json:
        broker: Json = loads.usages(self.random, level, self.exact)
        if place in self.given:
            broker |= self.given[place].whole
        else:
            broker |= loads.total([carried[bundle] for bundle in mine])
            if not self.measured and self.random.random() < 0.5:
                broker["msgThroughputIn"] += self.random.randrange(50) * loads.MEGABYTE
        broker["bundles"] = mine
        if place in self.history:
            broker["usageHistory"] = list(self.history[place])
        return broker

    def _bundles(self, carried: Mapping[str, Load], settled: set[str]) -> Json:
        """Bundle data: some never measured, and sometimes one that nobody owns."""
        random, measured = self.random, self.measured
        data: Json = {}
        for bundle, load in carried.items():
            if not measured and bundle not in settled and random.random() < 0.2:
                if random.random() < 0.5:
                    data[bundle] = {"shortTermData": loads.average(load, 0, 10)}
                continue
            samples = 1 + int(random.random() * 1000)
            data[bundle] = {
                "shortTermData": loads.average(load, min(samples, 10), 10),
                "longTermData": loads.average(load, samples, 1000),
            }
        if random.random() < 0.3:
            stray = {"shortTermData": loads.average(loads.rates(random, [10**9])[0], 10, 10)}
            data["gone/away/0x00000000_0xffffffff"] = stray
        return data

    def _recent(
        self, bundles: Sequence[str], stuck: Sequence[str], settled: set[str]
    ) -> dict[str, float]:
        """Minutes since bundles were unloaded: around the grace period, a day, or almost none."""
        random, grace = self.random, self.settings.get(GRACE, DEFAULT_GRACE)
        within = (0, grace / 4, grace / 2, max(grace - 0.5, 0))
        around = (*within, max(grace - 1, 0), grace, grace + 0.5, grace + 1, grace * 3, 1440)
        share = random.choice((0, self.recent, self.recent))
        recent = {
            bundle: random.choice(around)
            for bundle in bundles
            if bundle not in settled and random.random() < share
        }
        return recent | {bundle: random.choice(within) for bundle in stuck}


def observed_before(random: Random, levels: Sequence[float]) -> dict[int, list[float]]:
    """Earlier usages of most brokers, in percent: steady, rising and falling."""
    return {
        place: [
            max(0, round(level + random.choice((0, 0, 1, -1, 30, -30)), 2))
            for _ in range(random.choice((1, 1, 3, 10)))
        ]
        for place, level in enumerate(levels)
        if random.random() < 0.7
    }


def besides(sketch: Sketch) -> Sketch:
    """The same sketch, sometimes with what its strategy has to ignore: weights and history."""
    random = sketch.random
    if random.random() < 0.15:
        sketch.settings |= {name: random.choice((0, 0.1, 0.5, 1.0)) for name in WEIGHTS}
    if random.random() < 0.15:
        sketch.settings[HISTORY_SHARE] = random.choice((0.9, 0.5, 0))
        sketch.history = observed_before(random, sketch.levels)
    return sketch
