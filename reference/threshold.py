"""ThresholdShedder: brokers far above the average shed until they are below it. [THRESHOLD]"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, chain, groupby, pairwise

from pulsar_conformance.reference.cluster import MEGABYTE, Broker
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import (
    ZERO,
    Fraction,
    Percent,
    Rate,
    places_apart,
    plain,
    quantity,
    throughput,
)
from pulsar_conformance.reference.shedding import Cycle, Unloads, select_movable
from pulsar_conformance.reference.usage import (
    WEIGHT_SETTINGS,
    busiest_text,
    weighted_maximum,
    weights,
)

SHEDDER_THRESHOLD = "loadBalancerBrokerThresholdShedderPercentage"
HISTORY_SHARE = "loadBalancerHistoryResourcePercentage"
LOWER_BOUNDARY = "lowerBoundarySheddingEnabled"
MIN_THROUGHPUT = "loadBalancerBundleUnloadMinThroughputThreshold"

BELOW_AVERAGE = Fraction(5)
"""Distance of the target below the average, in points or in percent of the average.

[THRESHOLD-03]
"""

LOWER_BOUNDARY_LOAD = Fraction(10)
"""Percentage points subtracted in the documents' example of the lower boundary. [THRESHOLD-09]"""

OVER: Mapping[str, Callable[[Percent, Percent], bool]] = {
    "exceeds": lambda usage, limit: usage > limit,
    "reaches": lambda usage, limit: usage >= limit,
}
"""The comparison of usage and limit, for each alternative of the reading `threshold-trigger`.

[THRESHOLD-01, THRESHOLD-02]
"""

TARGET: Mapping[str, Callable[[Percent], Percent]] = {
    "points": lambda average: average - BELOW_AVERAGE,
    "percent": lambda average: average * (100 - BELOW_AVERAGE) / 100,
}
"""The target usage, given the average, for each alternative of the reading `threshold-target`.

[THRESHOLD-03]
"""

BELOW_WRITTEN: Mapping[str, str] = {"points": "5 points", "percent": "5 % of it"}

RELEASED: Mapping[str, Callable[[Percent, Percent], Fraction]] = {
    "traffic": lambda excess, _usage: excess / 100,
    "usage": lambda excess, usage: excess / usage,
}
"""The share of traffic to shed, given excess and usage in percent.

The keys are the alternatives of the reading `threshold-released`. [THRESHOLD-03]
"""

SHARE_WRITTEN: Mapping[str, Callable[[Percent, Percent], str]] = {
    "traffic": lambda excess, _usage: f"{plain(excess)} %",
    "usage": lambda excess, usage: f"{plain(excess)} / {plain(usage)}",
}

BOUND: Mapping[str, Callable[[Percent, Percent], Percent]] = {
    "printed-sum": lambda average, threshold: (average + threshold) - threshold,
    "average-minus-threshold": lambda average, threshold: average - threshold,
    "average-minus-10": lambda average, _threshold: average - LOWER_BOUNDARY_LOAD,
}
"""The usage below which a broker is idle, for each alternative of the reading `lower-boundary`.

[THRESHOLD-09]
"""

BOUND_WRITTEN: Mapping[str, Callable[[str, str], str]] = {
    "printed-sum": lambda average, threshold: f"({average} + {threshold}) - {threshold}",
    "average-minus-threshold": lambda average, threshold: f"{average} - {threshold}",
    "average-minus-10": lambda average, _threshold: f"{average} - 10",
}

RELIEF: Mapping[str, Callable[[Levels, Broker], list[str]]] = {
    "some": lambda levels, broker: levels.cycle.movable(broker)[:1],
    "enough": lambda levels, broker: select_movable(levels.cycle, broker, levels.need_of(broker)),
}
"""The function that chooses bundles of the busiest broker to shed if another broker is idle.

The keys are the alternatives of the reading `lower-boundary-amount`. [THRESHOLD-09, 13]
"""

MAX_REPEATED_TERMS = 2
"""Maximum number of consecutive equal usages that a sum prints one by one."""


@dataclass(frozen=True)
class Levels:
    """The usage of each broker in a cycle, the average, and limits based on it, in percent."""

    cycle: Cycle

    @cached_property
    def usage(self) -> dict[str, Percent]:
        """Each broker's usage, smoothed over its history. [THRESHOLD-06, THRESHOLD-07]"""
        return {
            name: self.smoothed_usages(broker)[-1] for name, broker in self.cycle.brokers.items()
        }

    @cached_property
    def present(self) -> dict[str, Percent]:
        """Each broker's current usage: the weighted maximum. [THRESHOLD-06]"""
        weight = weights(self.cycle.settings)
        brokers = self.cycle.brokers.items()
        return {name: weighted_maximum(broker, weight).percent for name, broker in brokers}

    def smoothed_usages(self, broker: Broker) -> list[Percent]:
        """Return a broker's smoothed usage after each observation. [THRESHOLD-07]"""
        observed = (*broker.history, self.present[broker.name])
        return list(accumulate(observed, self._mix))

    def _mix(self, before: Percent, now: Percent) -> Percent:
        return before * self.kept + now * (1 - self.kept)

    @cached_property
    def kept(self) -> Fraction:
        """The weight of earlier observations."""
        return self.cycle.settings.number(HISTORY_SHARE)

    @cached_property
    def average(self) -> Percent:
        """The mean usage of all brokers. [THRESHOLD-05]"""
        return sum(self.usage.values(), ZERO) / len(self.usage)

    @cached_property
    def threshold(self) -> Percent:
        """Percentage points by which a broker may exceed the average."""
        return self.cycle.settings.number(SHEDDER_THRESHOLD)

    @property
    def limit(self) -> Percent:
        """The usage above which a broker sheds: the average plus the threshold."""
        return self.average + self.threshold

    @cached_property
    def places(self) -> int:
        """Decimal places needed to show each usage as different from the limit."""
        return max(places_apart(usage, self.limit) for usage in self.usage.values())

    @property
    def target(self) -> Percent:
        """The usage that a broker above the limit has after shedding. [THRESHOLD-03]"""
        return TARGET[self.cycle.readings["threshold-target"]](self.average)

    @property
    def looks_for_idle(self) -> bool:
        """True if the lower boundary is enabled. [THRESHOLD-08]"""
        return self.cycle.settings.flag(LOWER_BOUNDARY)

    @property
    def bound(self) -> Percent:
        """The lower boundary: the usage below which a broker is idle. [THRESHOLD-09]"""
        return BOUND[self.cycle.readings["lower-boundary"]](self.average, self.threshold)

    def is_over(self, broker: Broker) -> bool:
        """True if a broker is far enough above the average and would shed enough.

        [THRESHOLD-01, -20]
        """
        triggered = OVER[self.cycle.readings["threshold-trigger"]]
        over = triggered(self.usage[broker.name], self.limit)
        return over and self.is_worthwhile(broker)

    def is_worthwhile(self, broker: Broker) -> bool:
        """True if a broker would shed more than the minimum throughput. [THRESHOLD-20]

        Always true if the documents have no such minimum.
        """
        if MIN_THROUGHPUT not in self.cycle.settings.defaults:
            return True
        return min(self.throughput_to_shed(broker), self.movable_throughput(broker)) > self.least

    def throughput_to_shed(self, broker: Broker) -> Rate:
        """Return the bytes per second that a broker would shed. [THRESHOLD-20]"""
        share = self.share_of(broker) if self.usage[broker.name] else ZERO
        return share * self.cycle.rates_of(broker).throughput

    def movable_throughput(self, broker: Broker) -> Rate:
        """Return the bytes per second of the bundles that a broker may shed. [THRESHOLD-20]"""
        movable = (self.cycle.rates(one).throughput for one in self.cycle.movable(broker))
        return sum(movable, ZERO)

    @cached_property
    def least(self) -> Rate:
        """Bytes per second that an unload must exceed. [THRESHOLD-20]"""
        megabyte = MEGABYTE[self.cycle.readings["megabyte"]]
        return self.cycle.settings.number(MIN_THROUGHPUT) * megabyte

    def need_of(self, broker: Broker) -> Rate:
        """Return the traffic that a broker above the limit sheds. [THRESHOLD-03]

        At 40 % with an average of 20 %, the excess is 40 - (20 - 5) = 25 points: the broker sheds
        25 % or 25/40 of its traffic, depending on the reading `threshold-released`.
        """
        return self.share_of(broker) * self.cycle.traffic_of(broker)

    def share_of(self, broker: Broker) -> Fraction:
        """Return the fraction of its traffic that a broker above the limit sheds. [THRESHOLD-03]"""
        usage = self.usage[broker.name]
        return RELEASED[self.cycle.readings["threshold-released"]](usage - self.target, usage)

    @property
    def idle(self) -> list[str]:
        """The brokers below the lower boundary, if it is enabled. [THRESHOLD-08 … 10]"""
        if not self.looks_for_idle:
            return []
        return [name for name, usage in self.usage.items() if usage < self.bound]


def unloads(cycle: Cycle) -> Iterator[Unloads]:
    """Yield each broker's unloads; if no broker is above the limit, the busiest may shed for an
    idle broker.
    """
    levels = Levels(cycle)
    taken = {
        name: select_movable(cycle, broker, levels.need_of(broker))
        if levels.is_over(broker)
        else []
        for name, broker in cycle.brokers.items()
    }
    busiest, able = None, None
    if levels.idle and not any(taken.values()):
        able = [one for one in cycle.brokers.values() if cycle.movable(one)]
        busiest = max(
            filter(levels.is_worthwhile, able),
            key=lambda broker: levels.usage[broker.name],
            default=None,
        )
    for name, broker in cycle.brokers.items():
        relieved = taken[name]
        if broker is busiest:
            relieved = RELIEF[cycle.readings["lower-boundary-amount"]](levels, broker)
        explain = partial(_steps, levels, broker, relieved, able, broker is busiest)
        yield Unloads(name, tuple(relieved), explain)


def preface(cycle: Cycle) -> Iterator[Step]:
    """Yield as steps the average usage of the cluster and the limits derived from it."""
    levels = Levels(cycle)
    average, threshold = plain(levels.average, levels.places), plain(levels.threshold)
    count = len(levels.usage)
    yield Step("average", f"({_sum_text(levels.usage.values())}) / {count} = {average} %")
    yield Step("limit", f"{average} + {threshold} = {plain(levels.limit, levels.places)} %")
    if levels.looks_for_idle:
        bound = BOUND_WRITTEN[cycle.readings["lower-boundary"]](average, threshold)
        under = f"{', '.join(levels.idle) or 'no broker'} under it"
        yield Step("lower boundary", f"{bound} = {plain(levels.bound)} %, {under}")


def _sum_text(usages: Iterable[Percent]) -> str:
    """Format the terms of a sum; many equal terms are shortened, as in 80 x 10 + 0."""
    runs = [(plain(usage), len(list(equal))) for usage, equal in groupby(usages)]
    terms = (
        [f"{usage} x {count}"] if count > MAX_REPEATED_TERMS else [usage] * count
        for usage, count in runs
    )
    return " + ".join(chain.from_iterable(terms))


def _steps(
    levels: Levels,
    broker: Broker,
    taken: list[str],
    able: Sequence[Broker] | None,
    for_idle: bool,
) -> Iterator[Step]:
    from pulsar_conformance.reference.shedding_steps import (
        bundle_steps,
        enough_has_gone,
        keep_all_steps,
        under_text,
    )

    cycle = levels.cycle
    yield from _usage_steps(levels, broker)
    if for_idle and cycle.readings["lower-boundary-amount"] == "some":
        why = f"as {_busiest_text(levels, broker)}: {under_text(levels.idle, 'the lower boundary')}"
        yield Step("to shed", f"one bundle, {why}")
        yield from bundle_steps(cycle, broker, taken, lambda _bundle, _carried: "one is enough")
    elif for_idle:
        yield Step("relieves", f"{', '.join(levels.idle)}, as {_busiest_text(levels, broker)}")
        yield from _amount_steps(levels, broker)
        yield from bundle_steps(cycle, broker, taken, enough_has_gone, sums=True)
    elif levels.is_over(broker):
        yield from _amount_steps(levels, broker)
        yield from bundle_steps(cycle, broker, taken, enough_has_gone, sums=True)
    else:
        under = "not above" if cycle.readings["threshold-trigger"] == "exceeds" else "below"
        kept = f"is {under} {plain(levels.limit, levels.places)} %"
        usage = levels.usage[broker.name]
        used, current = (plain(one, levels.places) for one in (usage, levels.present[broker.name]))
        kept += "" if used == current else smoothed_text(used, current)
        over = OVER[cycle.readings["threshold-trigger"]](usage, levels.limit)
        most = max((levels.usage[one.name] for one in able or ()), default=ZERO)
        relieves = able is not None and bool(broker.bundles) and 0 < usage >= most
        if over or (relieves and not _may_shed(levels, broker)):
            yield from _amount_steps(levels, broker)
            for_whom = "" if over else f"{kept}, and for {', '.join(levels.idle)} "
            kept = f"{for_whom}{_why_too_little(levels, broker)}"
        yield from keep_all_steps(cycle, broker, kept)


def _busiest_text(levels: Levels, broker: Broker) -> str:
    """Return text that calls a broker the busiest, or the busiest that can shed enough."""
    used = levels.usage[broker.name]
    passed_over = any(one > used for one in levels.usage.values())
    return f"the busiest broker{' that can shed enough' if passed_over else ''}"


def _may_shed(levels: Levels, broker: Broker) -> bool:
    return bool(levels.cycle.movable(broker)) and levels.is_worthwhile(broker)


def _why_too_little(levels: Levels, broker: Broker) -> str:
    """Return the first reason why a broker sheds nothing although its usage is high enough."""
    cycle = levels.cycle
    if not broker.bundles:
        return "has no bundles"
    if not cycle.movable(broker):
        grace = quantity(cycle.grace, "minute")
        reasons = [f"unloaded within the last {grace}"] * any(map(cycle.blocked, broker.bundles))
        reasons += ["of an excluded namespace"] * any(map(cycle.excluded, broker.bundles))
        return f"may move none of its bundles, each {' or '.join(reasons)}"
    least = f"no more than {throughput(levels.least)} ({MIN_THROUGHPUT})"
    needed, movable = levels.throughput_to_shed(broker), levels.movable_throughput(broker)
    if movable <= levels.least < needed:
        return f"may move only bundles with {throughput(movable)} together, {least}"
    in_bytes = cycle.readings["shed-measure"] == "throughput"
    return f"would shed {'' if in_bytes else f'{throughput(needed)}, '}{least}"


def smoothed_text(used: str, current: str) -> str:
    """Return a remark that a broker is compared by its smoothed usage, with this usage and the
    current usage in percent.
    """
    return f" (its smoothed usage is {used} %, now {current} %)"


def _usage_steps(levels: Levels, broker: Broker) -> Iterator[Step]:
    weight = weights(levels.cycle.settings)
    usage = weighted_maximum(broker, weight)
    share = weight[usage.resource] if usage.resource else Fraction(1)
    weighted = f", with its weight {plain(share)}" if share != 1 else ""
    yield Step("usage", f"{plain(usage.percent, levels.places)} % {busiest_text(usage)}{weighted}")
    for name, used in broker.percent.items():
        if weight[name] == 0 and used > usage.percent:
            counts = levels.cycle.settings.counts(WEIGHT_SETTINGS[name])
            why = "whose weight is 0" if counts else "which does not count (USAGE-09)"
            yield Step("except", f"{plain(used)} % of {name}, {why}")
    if broker.history:
        kept, new = plain(levels.kept), plain(1 - levels.kept)
        observed = (*broker.history[1:], usage.percent)
        for now, (before, mixed) in zip(
            observed, pairwise(levels.smoothed_usages(broker)), strict=True
        ):
            sum_ = f"{plain(before)} x {kept} + {plain(now)} x {new}"
            yield Step("history", f"{sum_} = {plain(mixed, levels.places)} %")


def _amount_steps(levels: Levels, broker: Broker) -> Iterator[Step]:
    cycle, usage, target = levels.cycle, levels.usage[broker.name], levels.target
    need, traffic = cycle.written(levels.need_of(broker)), cycle.written(cycle.traffic_of(broker))
    share = SHARE_WRITTEN[cycle.readings["threshold-released"]](usage - target, usage)
    points = f"{plain(usage)} - {plain(target)} = {quantity(usage - target, 'point')}"
    yield Step(
        "target",
        f"{plain(target)} %, {BELOW_WRITTEN[cycle.readings['threshold-target']]} below the average",
    )
    above = ""
    if MIN_THROUGHPUT in cycle.settings.defaults and levels.is_worthwhile(broker):
        in_bytes = cycle.readings["shed-measure"] == "throughput"
        above = "" if in_bytes else f", with {throughput(levels.throughput_to_shed(broker))}"
        above += f", over {throughput(levels.least)} ({MIN_THROUGHPUT})"
    yield Step("to shed", f"{points}: {share} of {traffic} = {need}{above}")
