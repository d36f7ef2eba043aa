"""ThresholdShedder: brokers well above the cluster's average come down below it. [THRESHOLD]"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial

from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import ZERO, Percent, Rate, plain
from pulsar_conformance.reference.shedding import Cycle, Unloads, take, walk
from pulsar_conformance.reference.usage import weighted_maximum, weights

THRESHOLD = "loadBalancerBrokerThresholdShedderPercentage"
HISTORY_SHARE = "loadBalancerHistoryResourcePercentage"
LOWER_BOUNDARY = "lowerBoundarySheddingEnabled"

BELOW_AVERAGE = Fraction(5)
"""How far below the average a broker is brought: points, or percent of it. [THRESHOLD-03]"""

LOWER_BOUNDARY_LOAD = Fraction(10)
"""What the lower boundary's example takes off. [THRESHOLD-09]"""

OVER: Mapping[str, Callable[[Percent, Percent], bool]] = {
    "exceeds": lambda usage, limit: usage > limit,
    "reaches": lambda usage, limit: usage >= limit,
}
"""By the reading `threshold-trigger`. [THRESHOLD-01, THRESHOLD-02]"""

TARGET: Mapping[str, Callable[[Percent], Percent]] = {
    "points": lambda average: average - BELOW_AVERAGE,
    "percent": lambda average: average * (100 - BELOW_AVERAGE) / 100,
}
"""What a broker is brought down to, by the reading `threshold-target`. [THRESHOLD-03]"""

RELEASED: Mapping[str, Callable[[Percent, Percent], Fraction]] = {
    "traffic": lambda excess, _usage: excess / 100,
    "usage": lambda excess, usage: excess / usage,
}
"""Share of its traffic that points of usage stand for, by `threshold-released`. [THRESHOLD-03]"""

BOUND: Mapping[str, Callable[[Percent, Percent], Percent]] = {
    "printed-sum": lambda average, threshold: average + threshold - LOWER_BOUNDARY_LOAD,
    "average-minus-threshold": lambda average, threshold: average - threshold,
    "average-minus-10": lambda average, _threshold: average - LOWER_BOUNDARY_LOAD,
}
"""The usage under which a broker counts as idle, by the reading `lower-boundary`. [THRESHOLD-09]"""


@dataclass(frozen=True)
class Levels:
    """The usages of a cycle, their average, and the limits that follow from it, in percent."""

    cycle: Cycle

    @cached_property
    def usage(self) -> dict[str, Percent]:
        """Each broker's usage, with its history. [THRESHOLD-06, THRESHOLD-07]"""
        return {name: self._smoothed(broker) for name, broker in self.cycle.brokers.items()}

    @cached_property
    def present(self) -> dict[str, Percent]:
        """Each broker's usage now: the weighted maximum. [THRESHOLD-06]"""
        weight = weights(self.cycle.settings)
        brokers = self.cycle.brokers.items()
        return {name: weighted_maximum(broker, weight).percent for name, broker in brokers}

    def _smoothed(self, broker: Broker) -> Percent:
        """History mixed in: each new observation takes its share of what was. [THRESHOLD-07]"""
        present = self.present[broker.name]
        if not broker.history:
            return present
        kept = self.cycle.settings.number(HISTORY_SHARE)
        smoothed, *later = (*broker.history, present)
        for observed in later:
            smoothed = smoothed * kept + observed * (1 - kept)
        return smoothed

    @cached_property
    def average(self) -> Percent:
        """The mean over every broker of the cluster. [THRESHOLD-05]"""
        return sum(self.usage.values(), ZERO) / len(self.usage)

    @cached_property
    def threshold(self) -> Percent:
        """How far above the average a broker may be, in points."""
        return self.cycle.settings.number(THRESHOLD)

    @property
    def limit(self) -> Percent:
        """Average and threshold together."""
        return self.average + self.threshold

    @property
    def target(self) -> Percent:
        """What an unloaded broker is brought down to. [THRESHOLD-03]"""
        return TARGET[self.cycle.readings["threshold-target"]](self.average)

    @property
    def bound(self) -> Percent:
        """The lower boundary. [THRESHOLD-09]"""
        return BOUND[self.cycle.readings["lower-boundary"]](self.average, self.threshold)

    def is_over(self, broker: Broker) -> bool:
        """Whether a broker stands far enough above the average. [THRESHOLD-01]"""
        triggered = OVER[self.cycle.readings["threshold-trigger"]]
        return triggered(self.usage[broker.name], self.limit)

    def need_of(self, broker: Broker) -> Rate:
        """The traffic that a broker above the limit gives up. [THRESHOLD-03]

        At 40 % where the average is 20 %: 40 - (20 - 5) = 25 points, so 25 % of its traffic, or
        25/40 of it.
        """
        usage = self.usage[broker.name]
        share = RELEASED[self.cycle.readings["threshold-released"]](usage - self.target, usage)
        return share * self.cycle.traffic_of(broker)

    @property
    def idle(self) -> list[str]:
        """The brokers under the lower boundary, where that is switched on. [THRESHOLD-08 … 10]"""
        if not self.cycle.settings.flag(LOWER_BOUNDARY):
            return []
        return [name for name, usage in self.usage.items() if usage < self.bound]


def unloads(cycle: Cycle) -> Iterator[Unloads]:
    """What each broker gives up; the busiest one for the idle ones where nobody else does."""
    levels = Levels(cycle)
    taken = {
        name: take(cycle, broker, levels.need_of(broker)) if levels.is_over(broker) else []
        for name, broker in cycle.brokers.items()
    }
    busiest = None
    if levels.idle and not any(taken.values()):
        busiest = max(
            (broker for broker in cycle.brokers.values() if cycle.movable(broker)),
            key=lambda broker: levels.usage[broker.name],
            default=None,
        )
    for name, broker in cycle.brokers.items():
        relieved = cycle.movable(broker)[:1] if broker is busiest else taken[name]
        explain = partial(_steps, levels, broker, relieved, broker is busiest)
        yield Unloads(name, tuple(relieved), explain)


def _steps(levels: Levels, broker: Broker, taken: list[str], for_idle: bool) -> Iterator[Step]:
    average, threshold, limit = map(plain, (levels.average, levels.threshold, levels.limit))
    yield _usage_step(levels, broker)
    yield Step("average", f"{average} % over {len(levels.usage)} brokers")
    yield Step("limit", f"{average} + {threshold} = {limit} %")
    if for_idle:
        under = f"{', '.join(levels.idle)} under {plain(levels.bound)} %"
        yield Step("lower boundary", f"{under}: the busiest broker unloads")
    elif levels.is_over(broker):
        yield from _amount_steps(levels, broker)
    else:
        yield Step("decision", "not above the limit: it keeps all")
        return
    yield from walk(levels.cycle, broker, taken)


def _usage_step(levels: Levels, broker: Broker) -> Step:
    present, usage = plain(levels.present[broker.name]), plain(levels.usage[broker.name])
    if not broker.history:
        return Step("usage", f"{usage} %, weighted")
    seen = ", ".join(plain(percent) for percent in broker.history)
    return Step("usage", f"{present} %, weighted, after {seen}: {usage} %")


def _amount_steps(levels: Levels, broker: Broker) -> Iterator[Step]:
    usage, target = levels.usage[broker.name], levels.target
    written = levels.cycle.written
    need, traffic = levels.need_of(broker), levels.cycle.traffic_of(broker)
    points = f"{plain(usage)} - {plain(target)} = {plain(usage - target)} points"
    yield Step("target", f"{plain(target)} %, 5 below the average")
    yield Step("to shed", f"{points}: {written(need)} of {written(traffic)}")
