"""UniformLoadShedder: the busiest and the idlest broker are brought together. [UNIFORM]"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import Rate, messages, plain, throughput
from pulsar_conformance.reference.shedding import Cycle, Unloads, walk

RATE_THRESHOLD = "loadBalancerMsgRateDifferenceShedderThreshold"
THROUGHPUT_THRESHOLD = "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold"

RATE_DIFFERS: Mapping[str, Callable[[Rate, Rate, Fraction], bool]] = {
    "percent": lambda most, least, threshold: (most - least) * 100 > threshold * least,
    "messages": lambda most, least, threshold: most - least > threshold,
}
"""By the reading `uniform-difference`. [UNIFORM-01]"""

TRIGGERED: Mapping[str, Callable[[bool, bool], bool]] = {
    "both": lambda rate, throughput: rate and throughput,
    "either": lambda rate, throughput: rate or throughput,
}
"""By the reading `uniform-trigger`. [UNIFORM-01, UNIFORM-02]"""


@dataclass(frozen=True)
class Spread:
    """How far apart the brokers of a cycle are."""

    cycle: Cycle

    @property
    def messages(self) -> tuple[Rate, Rate]:
        """The lowest and the highest message rate of a broker."""
        rates = [broker.rates.messages for broker in self.cycle.brokers.values()]
        return min(rates), max(rates)

    @property
    def throughput(self) -> tuple[Rate, Rate]:
        """The lowest and the highest throughput of a broker."""
        rates = [broker.rates.throughput for broker in self.cycle.brokers.values()]
        return min(rates), max(rates)

    @property
    def rate_differs(self) -> bool:
        """Whether the message rates differ by more than their threshold."""
        least, most = self.messages
        threshold = self.cycle.settings.number(RATE_THRESHOLD)
        return RATE_DIFFERS[self.cycle.readings["uniform-difference"]](most, least, threshold)

    @property
    def throughput_differs(self) -> bool:
        """Whether the highest throughput is more than its threshold times the lowest."""
        least, most = self.throughput
        return most > self.cycle.settings.number(THROUGHPUT_THRESHOLD) * least

    @property
    def triggers(self) -> bool:
        """Whether the difference is higher than the thresholds. [UNIFORM-01, UNIFORM-02]"""
        triggered = TRIGGERED[self.cycle.readings["uniform-trigger"]]
        return triggered(self.rate_differs, self.throughput_differs)


def evening(cycle: Cycle, broker: Broker, gap: Rate) -> list[str]:
    """Bundles that fit into half of the gap, most traffic first. [UNIFORM-01, UNIFORM-03]"""
    taken, left = [], gap / 2
    for bundle in cycle.movable(broker):
        if 0 < cycle.traffic(bundle) <= left:
            taken.append(bundle)
            left -= cycle.traffic(bundle)
    return taken


def unloads(cycle: Cycle) -> Iterator[Unloads]:
    """What the most loaded broker gives up; the others keep all."""
    spread, brokers = Spread(cycle), list(cycle.brokers.values())
    most = max(brokers, key=cycle.traffic_of)
    gap = cycle.traffic_of(most) - min(map(cycle.traffic_of, brokers))
    for broker in brokers:
        sheds = broker is most and spread.triggers
        taken = evening(cycle, broker, gap) if sheds else []
        yield Unloads(broker.name, tuple(taken), partial(_steps, spread, broker, taken, gap))


def _steps(spread: Spread, broker: Broker, taken: list[str], gap: Rate) -> Iterator[Step]:
    cycle = spread.cycle
    for label, (least, most), written, name in (
        ("message rates", spread.messages, messages, RATE_THRESHOLD),
        ("throughputs", spread.throughput, throughput, THROUGHPUT_THRESHOLD),
    ):
        threshold = plain(cycle.settings.number(name))
        yield Step(label, f"{written(least)} to {written(most)}, threshold {threshold}")
    if not spread.triggers:
        yield Step("decision", "within the thresholds: nothing is moved")
        return
    if cycle.traffic_of(broker) < max(map(cycle.traffic_of, cycle.brokers.values())):
        yield Step("decision", "not the most loaded: it keeps all")
        return
    yield Step("to move", f"up to half of the gap, {cycle.written(gap / 2)}")
    yield from walk(cycle, broker, taken)
