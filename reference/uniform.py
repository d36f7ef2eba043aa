"""UniformLoadShedder and AvgShedder, which balance the busiest and the least busy broker.

UniformLoadShedder compares traffic. AvgShedder compares usage, and acts after several consecutive
hits. [UNIFORM, AVERAGE]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import (
    ZERO,
    Fraction,
    Percent,
    Rate,
    messages,
    plain,
    quantity,
    throughput,
)
from pulsar_conformance.reference.placement import AVERAGE_SHEDDER, placer_name
from pulsar_conformance.reference.shedding import Cycle, Unloads
from pulsar_conformance.reference.usage import weighted_maximum, weights

RATE_THRESHOLD = "loadBalancerMsgRateDifferenceShedderThreshold"
THROUGHPUT_THRESHOLD = "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold"

AVERAGE_LOW = "loadBalancerAvgShedderLowThreshold"
AVERAGE_HIGH = "loadBalancerAvgShedderHighThreshold"
AVERAGE_LOW_HITS = "loadBalancerAvgShedderHitCountLowThreshold"
AVERAGE_HIGH_HITS = "loadBalancerAvgShedderHitCountHighThreshold"
MAX_SHARE = "maxUnloadPercentage"
MIN_MESSAGES = "minUnloadMessage"
MIN_BYTES = "minUnloadMessageThroughput"
MAX_UNLOADED_BUNDLES = "maxUnloadBundleNumPerShedding"
AVERAGE_HITS = {"low": (AVERAGE_LOW, AVERAGE_LOW_HITS), "high": (AVERAGE_HIGH, AVERAGE_HIGH_HITS)}
AVERAGE_SETTINGS = (*sum(AVERAGE_HITS.values(), ()), MAX_SHARE, MIN_MESSAGES, MIN_BYTES)
"""The settings of AvgShedder; UniformLoadShedder also uses the last three. [AVERAGE]"""

RATE_DIFFERS: Mapping[str, Callable[[Rate, Rate, Fraction], bool]] = {
    "percent": lambda most, least, threshold: (most - least) * 100 > threshold * least,
    "messages": lambda most, least, threshold: most - least > threshold,
}
"""Functions that are true if message rates differ enough, by alternative of `uniform-difference`.
[UNIFORM-01, -08]
"""

THROUGHPUT_DIFFERS: Mapping[str, Callable[[Rate, Rate, Fraction], bool]] = {
    "ratio": lambda most, least, threshold: most > threshold * least,
    "difference": lambda most, least, threshold: most - least > threshold * least,
}
"""Functions that are true if throughputs differ enough, by alternative of `uniform-multiplier`.
[UNIFORM-01, -08]
"""

TRIGGERED: Mapping[str, Callable[[bool, bool], bool]] = {
    "both": lambda rate, throughput: rate and throughput,
    "either": lambda rate, throughput: rate or throughput,
}
"""Functions that are true if differences trigger shedding, by alternative of `uniform-trigger`.
[UNIFORM-01, -02]
"""


@dataclass(frozen=True)
class Imbalance:
    """The differences between the brokers of a cycle."""

    cycle: Cycle

    @property
    def most_loaded(self) -> Broker:
        """The broker with the most traffic; on a tie, the first."""
        return max(self.cycle.brokers.values(), key=self.cycle.traffic_of)

    @property
    def messages(self) -> tuple[Rate, Rate]:
        """The lowest and highest message rate on a broker."""
        rates = [self.cycle.rates_of(broker).messages for broker in self.cycle.brokers.values()]
        return min(rates), max(rates)

    @property
    def throughput(self) -> tuple[Rate, Rate]:
        """The lowest and highest throughput on a broker."""
        rates = [self.cycle.rates_of(broker).throughput for broker in self.cycle.brokers.values()]
        return min(rates), max(rates)

    @property
    def rate_differs(self) -> bool:
        """True if message rates differ by more than the threshold."""
        least, most = self.messages
        threshold = self.cycle.settings.number(RATE_THRESHOLD)
        return RATE_DIFFERS[self.cycle.readings["uniform-difference"]](most, least, threshold)

    @property
    def throughput_differs(self) -> bool:
        """True if throughput differs by more than the threshold."""
        least, most = self.throughput
        threshold = self.cycle.settings.number(THROUGHPUT_THRESHOLD)
        return THROUGHPUT_DIFFERS[self.cycle.readings["uniform-multiplier"]](most, least, threshold)

    @property
    def triggers(self) -> bool:
        """True if the differences trigger shedding. [UNIFORM-01, UNIFORM-02]"""
        if not self.is_worthwhile:
            return False
        triggered = TRIGGERED[self.cycle.readings["uniform-trigger"]]
        return triggered(self.rate_differs, self.throughput_differs)

    @property
    def is_worthwhile(self) -> bool:
        """True if the amount to move reaches the minimum in either measure. [UNIFORM-06]

        Always true if the documents have no such minimums.
        """
        settings = self.cycle.settings
        if MIN_MESSAGES not in settings.defaults:
            return True
        share, ends = settings.number(MAX_SHARE), (self.messages, self.throughput)
        pairs = zip(ends, (MIN_MESSAGES, MIN_BYTES), strict=True)
        return any((most - least) * share >= settings.number(name) for (least, most), name in pairs)


def bundles_to_even_out(cycle: Cycle, broker: Broker, gap: Rate) -> list[str]:
    """Return the bundles that together fit into the amount to move, most traffic first.
    [UNIFORM-01, -03]
    """
    taken, left = [], movable_part(cycle, gap)
    for bundle in cycle.movable(broker):
        if 0 < cycle.traffic(bundle) <= left:
            taken.append(bundle)
            left -= cycle.traffic(bundle)
    return taken[: most_bundles(cycle)]


def movable_part(cycle: Cycle, gap: Rate) -> Rate:
    """Return the amount to move: half of the gap, limited to the documented share. [UNIFORM-05]"""
    if MAX_SHARE not in cycle.settings.defaults:
        return gap / 2
    return min(gap / 2, gap * cycle.settings.number(MAX_SHARE))


def most_bundles(cycle: Cycle) -> int | None:
    """Return the maximum number of bundles per cycle; None without a limit. [UNIFORM-07]"""
    if MAX_UNLOADED_BUNDLES not in cycle.settings.defaults:
        return None
    most = int(cycle.settings.number(MAX_UNLOADED_BUNDLES))
    return most if most >= 0 else None


def unloads(cycle: Cycle) -> Iterator[Unloads]:
    """Yield each broker's unloads; only the most loaded broker has any."""
    spread, brokers = Imbalance(cycle), list(cycle.brokers.values())
    most = spread.most_loaded
    gap = cycle.traffic_of(most) - min(map(cycle.traffic_of, brokers))
    for broker in brokers:
        sheds = broker is most and spread.triggers
        taken = bundles_to_even_out(cycle, broker, gap) if sheds else []
        explain = partial(_steps, spread, broker, taken, gap)
        yield Unloads(broker.name, tuple(taken), explain)


def preface(cycle: Cycle) -> Iterator[Step]:
    """Yield as steps the differences between brokers, with the thresholds for these differences."""
    from pulsar_conformance.reference.uniform_steps import uniform_differences

    yield from uniform_differences(cycle)


def _steps(spread: Imbalance, broker: Broker, taken: list[str], gap: Rate) -> Iterator[Step]:
    from pulsar_conformance.reference.uniform_steps import evening_steps

    yield from evening_steps(spread, broker, taken, gap)


EARLIER = "earlier"
"""Field of a cycle: each earlier cycle's usages, and whether it unloaded anything."""

AMOUNT_WRITTEN = {"messages": messages, "throughput": throughput}
MIN_BY_MEASURE = (("messages", MIN_MESSAGES), ("throughput", MIN_BYTES))
"""Setting with the minimum unload for each measure, preferred measure first. [AVERAGE-06]"""


@dataclass(frozen=True)
class ExtremePair:
    """The brokers of a cycle with the lowest and the highest usage."""

    cycle: Cycle

    @cached_property
    def usage(self) -> Mapping[str, Percent]:
        """Each broker's current weighted usage."""
        weight = weights(self.cycle.settings)
        brokers = self.cycle.brokers.items()
        return {name: weighted_maximum(broker, weight).percent for name, broker in brokers}

    @property
    def ends(self) -> tuple[str, str]:
        """The brokers with the lowest and the highest usage; on a tie, the first by name."""
        return least_and_most_used(self.usage)

    def hits(self, threshold: str) -> int:
        """Return the number of consecutive cycles over a threshold, up to this cycle. [AVERAGE-03]

        A cycle is over the threshold if the two usages differ by more than the setting `threshold`.
        Going back, the count ends at a cycle with another pair of brokers, or with unloads.
        """
        most = self.cycle.settings.number(threshold)
        past: Sequence[Any] = self.cycle.case.get(EARLIER, ())
        found = 0
        for usage, unloaded in [(self.usage, False), *reversed(past)]:
            idle, busy = least_and_most_used(usage)
            if unloaded or (idle, busy) != self.ends or usage[busy] - usage[idle] <= most:
                break
            found += 1
        return found

    @property
    def triggers(self) -> bool:
        """True if a threshold was exceeded in enough consecutive cycles. [AVERAGE-01 … 04]"""
        settings = self.cycle.settings
        each = AVERAGE_HITS.values()
        return any(0 < self.hits(one) >= settings.number(times) for one, times in each)

    @cached_property
    def amount(self) -> tuple[str, Rate]:
        """The measure in which traffic is moved, and the amount: messages or, if their amount is
        not above its minimum, bytes.

        If neither amount exceeds its minimum, the result is 0 messages. [AVERAGE-05, -06]
        """
        idle, busy = (self.cycle.rates_of(self.cycle.brokers[name]) for name in self.ends)
        share = self.cycle.settings.number(MAX_SHARE)
        for measure, least in MIN_BY_MEASURE:
            need: Rate = (getattr(busy, measure) - getattr(idle, measure)) * share
            if need > self.cycle.settings.number(least):
                return measure, need
        return "messages", ZERO

    def chosen(self, broker: Broker) -> list[str]:
        """Return the bundles that fit into the amount, most traffic first."""
        left, taken = self.amount[1], []
        for bundle in self.in_order(broker):
            if 0 < self.carried(bundle) <= left:
                taken.append(bundle)
                left -= self.carried(bundle)
        return taken

    def in_order(self, broker: Broker) -> list[str]:
        """Return the bundles that may be unloaded, by descending traffic in the chosen measure."""
        return sorted(self.cycle.movable(broker), key=lambda one: (-self.carried(one), one))

    def carried(self, bundle: str) -> Rate:
        """Return a bundle's traffic in the chosen measure."""
        rate: Rate = getattr(self.cycle.rates(bundle), self.amount[0])
        return rate


def least_and_most_used(usage: Mapping[str, Percent]) -> tuple[str, str]:
    """Return the brokers with the lowest and the highest usage; on a tie, the first by name."""
    return (
        min(usage, key=lambda name: (usage[name], name)),
        min(usage, key=lambda name: (-usage[name], name)),
    )


def average_unloads(cycle: Cycle) -> Iterator[Unloads]:
    """Yield each broker's unloads; only the broker with the highest usage has any. [AVERAGE-07]"""
    pair = ExtremePair(cycle)
    for name, broker in cycle.brokers.items():
        sheds = pair.triggers and name == pair.ends[1]
        taken = pair.chosen(broker) if sheds else []
        explain = partial(_average_steps, pair, broker, taken)
        planned = taken if placer_name(cycle.settings, AVERAGE_SHEDDER) == AVERAGE_SHEDDER else ()
        yield Unloads(name, tuple(taken), explain, dict.fromkeys(planned, pair.ends[0]))


def average_preface(cycle: Cycle) -> Iterator[Step]:
    """Yield as steps the two brokers, the difference of their usages, and the hits."""
    pair = ExtremePair(cycle)
    idle, busy = pair.ends
    usage = pair.usage
    apart = f"{plain(usage[busy])} - {plain(usage[idle])} = {plain(usage[busy] - usage[idle])}"
    yield Step("pair", f"{busy} and {idle}: {apart} points apart")
    for name, both in AVERAGE_HITS.items():
        most, needed = (plain(cycle.settings.number(one)) for one in both)
        over, hits = f"over the {name} threshold of {most}", pair.hits(both[0])
        enough = f"{over} in {quantity(hits, 'cycle')} in a row, {needed} needed"
        yield Step("hits", enough if hits else f"none: the difference is not {over}")


def _average_steps(pair: ExtremePair, broker: Broker, taken: Sequence[str]) -> Iterator[Step]:
    from pulsar_conformance.reference.shedding_steps import EXCLUDED_TEXT, keep_all_steps

    if not pair.triggers or broker.name != pair.ends[1]:
        hits = any(pair.hits(one) for one, _ in AVERAGE_HITS.values())
        few = f"is in no pair {'with enough hits' if hits else 'over a threshold'}"
        why = "is not the most used broker" if pair.triggers else few
        yield from keep_all_steps(pair.cycle, broker, why)
        return
    cycle, (measure, need) = pair.cycle, pair.amount
    yield from _difference_steps(pair)
    if not need:
        yield from keep_all_steps(cycle, broker, "has too small a difference to move")
        return
    yield Step("destination", f"{pair.ends[0]}, the least used broker")
    left, written = need, AMOUNT_WRITTEN[measure]
    for bundle in pair.in_order(broker):
        rate = pair.carried(bundle)
        if bundle in taken:
            left -= rate
            yield Step("goes", f"{bundle} = {written(rate)}, leaves {written(left)}")
        else:
            yield Step("stays", f"{bundle} = {written(rate)}, more than the {written(left)} left")
    for bundle in broker.bundles:
        if cycle.excluded(bundle):
            yield Step("stays", f"{bundle}, {EXCLUDED_TEXT}")
        elif cycle.blocked(bundle):
            ago = quantity(cycle.grace, "minute")
            yield Step("stays", f"{bundle}, unloaded within the last {ago}")


def _difference_steps(pair: ExtremePair) -> Iterator[Step]:
    """Yield a step for each measure that was tried: the amount to move, and its minimum."""
    cycle, chosen = pair.cycle, pair.amount
    idle, busy = (cycle.rates_of(cycle.brokers[name]) for name in pair.ends)
    share = cycle.settings.number(MAX_SHARE)
    for measure, name in MIN_BY_MEASURE:
        written, most, least = AMOUNT_WRITTEN[measure], *(getattr(x, measure) for x in (busy, idle))
        need, apart = (most - least) * share, f"({written(most)} - {written(least)})"
        amount = f"{apart} x {plain(share)} ({MAX_SHARE}) = {written(need)}"
        worth = (measure, need) == chosen
        bound = f"{written(cycle.settings.number(name))} ({name})"
        yield Step("to shed", f"{amount}{'' if worth else f', not more than {bound}'}")
        if worth:
            return
