"""UniformLoadShedder: the busiest and the idlest broker are brought together. [UNIFORM]"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import Fraction, Rate, messages, plain, throughput
from pulsar_conformance.reference.shedding import Cycle, Unloads
from pulsar_conformance.reference.shedding_steps import bundle_steps, keep_all_steps

RATE_THRESHOLD = "loadBalancerMsgRateDifferenceShedderThreshold"
THROUGHPUT_THRESHOLD = "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold"

RATE_DIFFERS: Mapping[str, Callable[[Rate, Rate, Fraction], bool]] = {
    "percent": lambda most, least, threshold: (most - least) * 100 > threshold * least,
    "messages": lambda most, least, threshold: most - least > threshold,
}
"""Comparison by alternative of the reading `uniform-difference`. [UNIFORM-01]"""

THROUGHPUT_DIFFERS: Mapping[str, Callable[[Rate, Rate, Fraction], bool]] = {
    "ratio": lambda most, least, threshold: most > threshold * least,
    "difference": lambda most, least, threshold: most - least > threshold * least,
}
"""Comparison by alternative of the reading `uniform-multiplier`. [UNIFORM-01]"""

MULTIPLE_WRITTEN: Mapping[str, Callable[[Rate, Rate], str]] = {
    "ratio": lambda most, least: f"{plain(most / least)} times as much",
    "difference": lambda most, least: f"{plain((most - least) / least)} times as much more",
}

DIFFERENCE_WRITTEN: Mapping[str, Callable[[Rate, Rate], str]] = {
    "percent": lambda most, least: f"{plain((most - least) * 100 / least)} % more",
    "messages": lambda most, least: f"{messages(most - least)} more",
}

TRIGGERED: Mapping[str, Callable[[bool, bool], bool]] = {
    "both": lambda rate, throughput: rate and throughput,
    "either": lambda rate, throughput: rate or throughput,
}
"""Function by alternative of the reading `uniform-trigger`. [UNIFORM-01, UNIFORM-02]"""

WHAT_DIFFERS: Mapping[str, str] = {
    "both": "both have to be over their thresholds",
    "either": "one of them has to be over its threshold",
}


@dataclass(frozen=True)
class Imbalance:
    """Differences between the brokers of a cycle."""

    cycle: Cycle

    @property
    def most_loaded(self) -> Broker:
        """The broker with the most traffic, the first of several."""
        return max(self.cycle.brokers.values(), key=self.cycle.traffic_of)

    @property
    def messages(self) -> tuple[Rate, Rate]:
        """The lowest and the highest message rate of a broker."""
        rates = [self.cycle.rates_of(broker).messages for broker in self.cycle.brokers.values()]
        return min(rates), max(rates)

    @property
    def throughput(self) -> tuple[Rate, Rate]:
        """The lowest and the highest throughput of a broker."""
        rates = [self.cycle.rates_of(broker).throughput for broker in self.cycle.brokers.values()]
        return min(rates), max(rates)

    @property
    def rate_differs(self) -> bool:
        """True if the message rates differ by more than their threshold."""
        least, most = self.messages
        threshold = self.cycle.settings.number(RATE_THRESHOLD)
        return RATE_DIFFERS[self.cycle.readings["uniform-difference"]](most, least, threshold)

    @property
    def throughput_differs(self) -> bool:
        """True if the throughputs differ by more than their threshold."""
        least, most = self.throughput
        threshold = self.cycle.settings.number(THROUGHPUT_THRESHOLD)
        return THROUGHPUT_DIFFERS[self.cycle.readings["uniform-multiplier"]](most, least, threshold)

    @property
    def triggers(self) -> bool:
        """True if the difference is higher than the thresholds. [UNIFORM-01, UNIFORM-02]"""
        triggered = TRIGGERED[self.cycle.readings["uniform-trigger"]]
        return triggered(self.rate_differs, self.throughput_differs)


def bundles_to_even_out(cycle: Cycle, broker: Broker, gap: Rate) -> list[str]:
    """Bundles that fit into half of the gap, most traffic first. [UNIFORM-01, UNIFORM-03]"""
    taken, left = [], gap / 2
    for bundle in cycle.movable(broker):
        if 0 < cycle.traffic(bundle) <= left:
            taken.append(bundle)
            left -= cycle.traffic(bundle)
    return taken


def unloads(cycle: Cycle) -> Iterator[Unloads]:
    """Unloads of the most loaded broker; the others keep all."""
    spread, brokers = Imbalance(cycle), list(cycle.brokers.values())
    most = spread.most_loaded
    gap = cycle.traffic_of(most) - min(map(cycle.traffic_of, brokers))
    for broker in brokers:
        sheds = broker is most and spread.triggers
        taken = bundles_to_even_out(cycle, broker, gap) if sheds else []
        explain = partial(_steps, spread, broker, taken, gap)
        yield Unloads(broker.name, tuple(taken), explain)


def preface(cycle: Cycle) -> Iterator[Step]:
    """Report the differences between the brokers, and whether they exceed the thresholds."""
    spread = Imbalance(cycle)
    yield _rates_step(spread)
    yield _throughputs_step(spread)
    if not spread.triggers:
        needed = WHAT_DIFFERS[cycle.readings["uniform-trigger"]]
        yield Step("decision", f"nothing is moved, as {needed}")


def _rates_step(spread: Imbalance) -> Step:
    least, most = spread.messages
    written = DIFFERENCE_WRITTEN[spread.cycle.readings["uniform-difference"]]
    apart = f", {written(most, least)}" if least else ""
    passed = _passed(spread, spread.rate_differs, RATE_THRESHOLD)
    return Step("message rates", f"{messages(least)} to {messages(most)}{apart}: {passed}")


def _throughputs_step(spread: Imbalance) -> Step:
    least, most = spread.throughput
    written = MULTIPLE_WRITTEN[spread.cycle.readings["uniform-multiplier"]]
    apart = f", {written(most, least)}" if least else ""
    passed = _passed(spread, spread.throughput_differs, THROUGHPUT_THRESHOLD)
    return Step("throughputs", f"{throughput(least)} to {throughput(most)}{apart}: {passed}")


def _passed(spread: Imbalance, differs: bool, name: str) -> str:
    threshold = plain(spread.cycle.settings.number(name))
    return f"over the threshold, {threshold}" if differs else f"not over the threshold, {threshold}"


def _steps(spread: Imbalance, broker: Broker, taken: list[str], gap: Rate) -> Iterator[Step]:
    cycle, half = spread.cycle, gap / 2
    if not spread.triggers:
        yield from keep_all_steps(cycle, broker, "need not shed any")
        return
    if broker is not spread.most_loaded:
        yield from keep_all_steps(cycle, broker, "is not the most loaded")
        return

    def stays(bundle: str, carried: Rate) -> str:
        left = cycle.written(half - carried)
        return f"more than the {left} left" if cycle.traffic(bundle) else "it carries nothing"

    halved = f"{cycle.written(gap)} / 2 = {cycle.written(half)}"
    yield Step("to move", f"up to half of what lies between most and least: {halved}")
    yield from bundle_steps(cycle, broker, taken, stays, half)
