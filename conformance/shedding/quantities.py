"""Quantities of a shedding cycle, with comparisons that allow for rounding.

A comparison returns None if rounding could decide it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from pulsar_conformance.conformance.common.check import SHARE, Expect, format_distinct, near, same
from pulsar_conformance.conformance.common.clusters import is_excluded
from pulsar_conformance.conformance.shedding.view import SheddingCycle, Unloading, usage_of
from pulsar_conformance.reference.cluster import MEGABYTE, Broker, Rates
from pulsar_conformance.reference.numbers import Fraction, Percent, Rate, total
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.threshold import (
    HISTORY_SHARE,
    LOWER_BOUNDARY,
    MIN_THROUGHPUT,
    SHEDDER_THRESHOLD,
)
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS

EXACT = frozenset(map(Fraction, (0, 25, 50, 75, 100)))
"""Percentages that are exact in any floating-point format, also as fractions of 1."""

EXACT_WEIGHTS = frozenset(Fraction(quarter, 4) for quarter in range(5))

FEWEST_BUNDLES = 2
"""Minimum number of bundles with which a broker sheds under OverloadShedder. [OVERLOAD-07]"""

FIVE_POINTS = Fraction(5)
"""Percentage points below the overload threshold, or below the average, to which a broker sheds.
[OVERLOAD-02, THRESHOLD-03]
"""

EXAMPLE_BOUNDARY = Fraction(10)
"""Points below the average in the documents' example of the lower boundary. [THRESHOLD-09]"""


def overload_threshold(cycle: SheddingCycle) -> Percent:
    """Return the usage above which a broker is overloaded."""
    return cycle.settings.number(OVERLOAD_THRESHOLD)


def is_overloaded(cycle: SheddingCycle, broker: Broker) -> bool | None:
    """True if a broker is overloaded; None if its usage is too close to the threshold to tell."""
    usage, threshold = usage_of(broker), overload_threshold(cycle)
    exact = EXACT.issuperset({*broker.percent.values(), threshold})
    if near(usage, threshold) and not exact:
        return None
    return usage > threshold or (
        usage == threshold and cycle.readings["overload-trigger"] == "reaches"
    )


def overload_need(cycle: SheddingCycle, broker: Broker) -> Rate:
    """Return the traffic that an overloaded broker must shed. [OVERLOAD-02]"""
    excess = usage_of(broker) - overload_threshold(cycle)
    return (excess + FIVE_POINTS) / 100 * cycle.traffic_of(broker)


@dataclass(frozen=True)
class UsageLevels:
    """The usage of each broker in a cycle, the average, and limits based on it, in percent."""

    cycle: SheddingCycle

    @cached_property
    def usage(self) -> dict[str, Percent]:
        """Each broker's usage, smoothed over its history. [THRESHOLD-06, THRESHOLD-07]"""
        return {name: self._smoothed_usage(broker) for name, broker in self.cycle.brokers.items()}

    def _smoothed_usage(self, broker: Broker) -> Percent:
        first, *later = *broker.history, self.cycle.weighted_usage[broker.name]
        mixed = first
        for now in later:
            mixed = self.history_share * mixed + (1 - self.history_share) * now
        return mixed

    @cached_property
    def history_share(self) -> Fraction:
        """The weight of earlier usage, from 0 to 1."""
        return self.cycle.settings.number(HISTORY_SHARE)

    @cached_property
    def average(self) -> Percent:
        """The mean usage of all brokers. [THRESHOLD-05]"""
        return total(self.usage.values()) / len(self.usage)

    @cached_property
    def threshold(self) -> Percent:
        """Points above the average at which a broker starts to shed."""
        return self.cycle.settings.number(SHEDDER_THRESHOLD)

    @property
    def limit(self) -> Percent:
        """The average plus the threshold, above which a broker sheds."""
        return self.average + self.threshold

    @property
    def bound(self) -> Percent:
        """The lower boundary: the usage below which a broker is idle, under the reading
        `lower-boundary`.
        """
        below = {
            "printed-sum": Fraction(0),
            "average-minus-threshold": self.threshold,
            "average-minus-10": EXAMPLE_BOUNDARY,
        }
        return self.average - below[self.cycle.readings["lower-boundary"]]

    def need_of(self, broker: Broker) -> Rate:
        """Return the traffic that a broker sheds to come below the average. [THRESHOLD-03]"""
        return self.share_of(broker) * self.cycle.traffic_of(broker)

    def share_of(self, broker: Broker) -> Fraction:
        """Return the fraction of its traffic that a broker sheds to come below the average.

        If the reading divides by the broker's usage and that is 0, the fraction is 0.
        """
        points = self.cycle.readings["threshold-target"] == "points"
        below = FIVE_POINTS if points else self.average * FIVE_POINTS / 100
        usage = self.usage[broker.name]
        whole = usage if self.cycle.readings["threshold-released"] == "usage" else Fraction(100)
        return (usage - self.average + below) / whole if whole else Fraction(0)

    @cached_property
    def _is_exact(self) -> bool:
        """True if usage and average are exact in floating point."""
        cycle, count = self.cycle, len(self.usage)
        used = {p for broker in cycle.brokers.values() for p in broker.percent.values()}
        weights = {cycle.settings.number(name) for name in WEIGHT_SETTINGS.values()}
        return (
            EXACT.issuperset({*used, *self.usage.values()})
            and EXACT_WEIGHTS.issuperset(weights)
            and count & (count - 1) == 0
            and not any(broker.history for broker in cycle.brokers.values())
        )

    def over(self, broker: Broker) -> bool | None:
        """True if a broker is above the limit and would shed enough; None if that is uncertain."""
        above = self.above(broker)
        return self.worthwhile(broker) if above else above

    def worthwhile(self, broker: Broker, share: Fraction | None = None) -> bool | None:
        """True if a broker would shed more than the minimum throughput. [THRESHOLD-20]

        `share` is the fraction of its traffic to shed, by default enough to come below the average.
        None if the result depends on the shed bundles, or on the size of a megabyte.
        """
        cycle = self.cycle
        if MIN_THROUGHPUT not in cycle.settings.defaults:
            return True
        most = total(cycle.rates(one).throughput for one in cycle.movable(broker))
        share = self.share_of(broker) if share is None else share
        needed = share * cycle.rates_of(broker).throughput
        least = cycle.settings.number(MIN_THROUGHPUT)
        if min(needed, most) > least * MEGABYTE["binary"] * (1 + SHARE):
            return True
        if has_excluded(cycle, broker):
            return None
        return False if max(needed, most) < least * MEGABYTE["decimal"] * (1 - SHARE) else None

    def above(self, broker: Broker) -> bool | None:
        """True if a broker's usage is above the limit; None if it is too close to tell."""
        usage = self.usage[broker.name]
        if near(usage, self.limit) and not (self.threshold in EXACT and self._is_exact):
            return None
        return usage > self.limit or (
            usage == self.limit and self.cycle.readings["threshold-trigger"] == "reaches"
        )

    def idle(self, usage: Percent) -> bool | None:
        """True if a usage is below the lower boundary; None if it is too close to tell."""
        exact = self.threshold in EXACT | {EXAMPLE_BOUNDARY} and self._is_exact
        return None if near(usage, self.bound) and not exact else usage < self.bound


@dataclass(frozen=True)
class Extremes:
    """The lowest and highest message rate and throughput among a cycle's brokers."""

    messages: tuple[Rate, Rate]
    throughput: tuple[Rate, Rate]

    @classmethod
    def of(cls, cycle: SheddingCycle) -> Extremes:
        """Return a cycle's extremes."""
        rates = [cycle.rates_of(broker) for broker in cycle.brokers.values()]
        by_rate, by_size = [one.messages for one in rates], [one.throughput for one in rates]
        return cls((min(by_rate), max(by_rate)), (min(by_size), max(by_size)))


def may_shed_for_overload(cycle: SheddingCycle, broker: Broker) -> bool:
    """True if a broker may shed because it is overloaded, under any strategy. [SHED-08]"""
    everywhere = cycle.readings["overload-scope"] == "all"
    return everywhere and is_overloaded(cycle, broker) is not False


def may_shed_its_most_expensive(cycle: SheddingCycle, broker: Broker) -> bool:
    """True if a broker may shed its most expensive bundle first, even if another is larger."""
    one = cycle.readings["overload-amount"] == "one"
    other = cycle.readings["expensive-measure"] != cycle.readings["shed-measure"]
    return one and other and may_shed_for_overload(cycle, broker)


def has_excluded(cycle: SheddingCycle, broker: Broker) -> bool:
    """True if a broker has a bundle of a namespace that is excluded from shedding."""
    return any(is_excluded(bundle, cycle.settings) for bundle in broker.bundles)


def surely_movable(cycle: SheddingCycle, broker: Broker) -> list[str]:
    """Return the bundles that a broker may shed, or none if some of its bundles are excluded.

    A strategy may choose an excluded bundle and then keep it; the documents do not say whether
    other bundles must then make up for it.
    """
    return [] if has_excluded(cycle, broker) else cycle.movable(broker)


def can_shed(cycle: SheddingCycle, broker: Broker) -> bool:
    """True if a broker has two or more bundles, and a bundle that surely may move has traffic."""
    enough = len(broker.bundles) >= FEWEST_BUNDLES
    return enough and cycle.carried(surely_movable(cycle, broker)) > 0


def can_shed_by_any_measure(cycle: SheddingCycle, broker: Broker) -> bool:
    """True if a broker has several bundles, and one that surely may move carries traffic."""
    return len(broker.bundles) >= FEWEST_BUNDLES and has_movable_load(cycle, broker)


def expect_enough(answer: Unloading, broker: Broker, need: Rate, of: str, expect: Expect) -> None:
    """Demand that a broker sheds at least `need`, or else all bundles that may move."""
    movable = answer.cycle.carried(answer.cycle.movable(broker))
    which = of if movable >= need else f"{of}, all that it may move:"
    expect.at_least(answer.traffic_from(broker), min(need, movable), which, answer.cycle.written)


def expect_overload_need(answer: Unloading, broker: Broker, of: str, expect: Expect) -> None:
    """Demand that an overloaded broker sheds its need, or else all bundles but one."""
    cycle = answer.cycle
    need, movable = overload_need(cycle, broker), cycle.movable(broker)
    if len(movable) == len(set(broker.bundles)) and cycle.carried(movable) < need:
        need, of = cycle.carried(movable[:-1]), f"{of}, all but its smallest bundle:"
    expect_enough(answer, broker, need, of, expect)


def has_movable_load(cycle: SheddingCycle, broker: Broker) -> bool:
    """True if a broker and a bundle that surely may move carry traffic.

    They do if they have messages and bytes, or else by the measure of the reading `shed-measure`.
    """
    movable = surely_movable(cycle, broker)
    both = any(_has_both(cycle.rates(bundle)) for bundle in movable)
    if both and _has_both(broker.rates):
        return True
    return cycle.carried(movable) > 0 and cycle.measure(broker.rates) > 0


def _has_both(rates: Rates) -> bool:
    return rates.messages > 0 and rates.throughput > 0


def expect_busiest_first(
    cycle: SheddingCycle, broker: Broker, answer: Unloading, expect: Expect
) -> None:
    """Demand that a broker sheds no bundle while it keeps a busier bundle that may move."""
    given = [bundle for bundle in answer.owned_and_shed(broker) if not cycle.blocked(bundle)]
    kept = [bundle for bundle in cycle.movable(broker) if bundle not in given]
    if expect.reached(bool(given and kept)):
        most, least = max(kept, key=cycle.traffic), min(given, key=cycle.traffic)
        more, less = cycle.traffic(most), cycle.traffic(least)
        if less < more * (1 - SHARE):
            one, other = format_distinct(more, less, cycle.written)
            expect.that(False, f"{most} = {one} before {least} = {other}", answer)


def has_ties(cycle: SheddingCycle, broker: Broker) -> bool:
    """True if two of a broker's bundles that may move carry equal traffic."""
    return any_tie(map(cycle.traffic, cycle.movable(broker)))


def any_tie(rates: Iterable[Rate]) -> bool:
    """True if two rates are equal, or differ so little that rounding could make them equal."""
    return any(same(low, high) for low, high in pairwise(sorted(rates)))


def agree(first: Unloading, second: Unloading) -> bool:
    """True if two answers to the same question are consistent.

    They are if they unload the same bundles. If the documents do not determine the bundles, it is
    enough that both unload from the same brokers.
    """
    if _bundles_are_determined(first.cycle):
        return sorted(first.pairs) == sorted(second.pairs)
    return {broker for broker, _ in first.pairs} == {broker for broker, _ in second.pairs}


def determined_part(answer: Unloading) -> str:
    """Format the part of an answer that the documents determine."""
    if _bundles_are_determined(answer.cycle):
        return str(answer)
    brokers = dict.fromkeys(broker for broker, _ in answer.pairs)
    return f"some of {', '.join(brokers)}" if brokers else "nothing"


def _bundles_are_determined(cycle: SheddingCycle) -> bool:
    """True if the documents determine which bundles are shed, and not only how much traffic."""
    ordered = cycle.readings["threshold-order"] == "traffic"
    relief = LOWER_BOUNDARY in cycle.settings.given
    by_traffic = cycle.strategy == "ThresholdShedder" and ordered and not relief
    return cycle.strategy == "OverloadShedder" or by_traffic


def busiest_is_certain(cycle: SheddingCycle) -> bool:
    """True if it is clear which broker the strategy regards as the busiest."""
    if cycle.strategy == "ThresholdShedder":
        *_, second, first = sorted(UsageLevels(cycle).usage.values())
        return LOWER_BOUNDARY not in cycle.settings.given or not near(first, second)
    if cycle.strategy != "UniformLoadShedder":
        return True
    rates = {name: cycle.rates_of(broker) for name, broker in cycle.brokers.items()}
    spread = Extremes.of(cycle)
    return (
        sum(
            same(one.messages, spread.messages[1]) or same(one.throughput, spread.throughput[1])
            for one in rates.values()
        )
        == 1
    )


def sheds_by(cycle: SheddingCycle, strategy: str) -> bool:
    """True if shedding is enabled with this strategy."""
    return cycle.enabled and cycle.strategy == strategy
