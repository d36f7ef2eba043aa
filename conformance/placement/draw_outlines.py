"""Outlines of a cluster for a placement, filled in from usages and message rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Self

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.drawing import loads, names
from pulsar_conformance.reference.cluster import RESOURCES

RATES = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")


@dataclass
class Outline:
    """The outline of a cluster: each broker's usage and long-term message rate."""

    random: Random
    levels: Sequence[float]
    rates: Sequence[int]
    bundles: int
    settings: dict[str, Any] = field(default_factory=dict)
    exact: bool = False
    others: float = 0.8
    """How much the other resources are used, as a share of the busiest."""
    alike: bool = False
    """Whether two resources are used as much, so that either may be overlooked."""
    awry: bool = True
    """Whether the other measures of traffic go their own ways."""
    preallocated: float = 0.2
    """Share of the bundles that no report has yet."""
    unmeasured: float = 0.0
    """Share of the bundles that were never measured."""
    candidates: int | None = None
    """How many of the brokers may take the bundle; all, if none."""
    bundle_rate: int | None = None
    """What the bundle itself carries; any rate or none, if none."""

    def plainly(self) -> Self:
        """The same outline with nothing but usages and rates to decide by."""
        self.alike, self.awry = True, False
        self.preallocated, self.others = 0, 0.1
        return self

    def case(self) -> Json:
        """The case in the shapes of the protocol."""
        random, brokers = self.random, [f"broker-{n + 1}" for n in range(len(self.levels))]
        counts = [max(1, count) for count in loads.owned(random, len(brokers), self.bundles)]
        bundle, *rest = names.bundles(random, sum(counts) + 1)
        waiting = iter(rest)
        case: Json = {"settings": self.settings, "bundle": bundle}
        case["candidates"] = random.sample(brokers, self.candidates or len(brokers))
        case |= {"brokers": {}, "bundles": {}, "preallocated": {}}
        for name, level, rate, count in zip(brokers, self.levels, self.rates, counts, strict=True):
            mine = [next(waiting) for _ in range(count)]
            late = [one for one in mine if random.random() < self.preallocated]
            data = self._data(mine, rate)
            reported = [one for one in mine if one not in late]
            case["brokers"][name] = {**self._report(level, data, mine), "bundles": reported}
            case["bundles"] |= data
            if late:
                case["preallocated"][name] = late
        rate = random.choice((0, 10, 100)) if self.bundle_rate is None else self.bundle_rate
        if self.bundle_rate is not None or random.random() < 0.8:
            case["bundles"] |= self._data([bundle], rate)
        return case

    def _report(self, level: float, data: Json, mine: Sequence[str]) -> Json:
        """Usage and latest rates."""
        random = self.random
        report = loads.usages(random, level, self.exact, self.others)
        if self.alike:
            busiest = max(report, key=lambda one: report[one]["usage"] / report[one]["limit"])
            second = random.choice([one for one in RESOURCES if one != busiest])
            report[second] = dict(report[busiest])
        if self.awry:
            return report | self._load(random.choice((0, 100, 1000)))
        known = [data.get(one, {}).get("longTermData", {}) for one in mine]
        assumed: Json = {name: 50 if name in RATES[:2] else 50_000 for name in RATES}
        measured = [load if load.get("numSamples") else assumed for load in known]
        return report | loads.total(measured)

    def _data(self, bundles: Sequence[str], rate: int) -> Json:
        """Bundle data that add up to a long-term rate, with every bundle measured."""
        random = self.random
        data: Json = {}
        for bundle, part in zip(bundles, _parts(random, rate, len(bundles)), strict=True):
            if random.random() < self.unmeasured:
                stale = loads.average(self._load(random.choice((0, 1000))), 0, 1000)
                data |= random.choice(({}, {bundle: {}}, {bundle: {"longTermData": stale}}))
                continue
            long_term = self._load(part)
            other = self._load(random.choice((part, 0, 10 * part, random.randrange(1000))))
            short_term = other if self.awry else long_term
            data[bundle] = {
                "shortTermData": loads.average(short_term, random.randint(1, 10), 10),
                "longTermData": loads.average(long_term, random.randint(1, 1000), 1000),
            }
        return data

    def _load(self, messages: int) -> dict[str, float]:
        """A message rate in both directions, with as many kilobytes if the measures agree."""
        random = self.random
        if not self.awry:
            return dict(zip(RATES, [messages / 2] * 2 + [messages * 500] * 2, strict=True))
        came, size = random.choice((0, messages, messages // 2)), random.choice((10, 1000, 10**5))
        rates = (came, messages - came, came * size, random.randrange(size))
        return dict(zip(RATES, rates, strict=True))


def _parts(random: Random, whole: int, count: int) -> list[int]:
    """A number as a sum of `count` numbers."""
    cuts = sorted(random.randint(0, whole) for _ in range(count - 1))
    return [high - low for low, high in zip([0, *cuts], [*cuts, whole], strict=True)]
