"""What the shedding checks know of a cycle: sure, or too close for floating point to tell."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

from pulsar_conformance.conformance.expect import near, same
from pulsar_conformance.conformance.views import Unloading
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.numbers import Percent, Rate
from pulsar_conformance.reference.overload import FEWEST_BUNDLES, is_overloaded, threshold_of
from pulsar_conformance.reference.shedding import Cycle
from pulsar_conformance.reference.threshold import Levels
from pulsar_conformance.reference.usage import maximum, weights

EXACT = frozenset(map(Fraction, (0, 25, 50, 75, 100)))
"""Percentages without rounding in any floating point, as shares and in percent."""

EXACT_WEIGHTS = frozenset(Fraction(quarter, 4) for quarter in range(5))


def overloaded(cycle: Cycle, broker: Broker) -> bool | None:
    """Whether a broker is overloaded; none where floating point might decide."""
    threshold = threshold_of(cycle)
    exact = EXACT.issuperset({*broker.percent.values(), threshold})
    if near(maximum(broker).percent, threshold) and not exact:
        return None
    return is_overloaded(cycle, broker)


def exact_everywhere(levels: Levels) -> bool:
    """Whether usages, average and limits come out the same in every floating point."""
    cycle, count = levels.cycle, len(levels.usage)
    used = {p for broker in cycle.brokers.values() for p in broker.percent.values()}
    return (
        EXACT.issuperset({*used, *levels.usage.values()})
        and EXACT_WEIGHTS.issuperset(weights(cycle.settings).values())
        and count & (count - 1) == 0
        and not any(broker.history for broker in cycle.brokers.values())
    )


def over(levels: Levels, broker: Broker) -> bool | None:
    """Whether a broker stands above average and threshold; none where floats might decide."""
    exact = exact_everywhere(levels) and levels.threshold in EXACT
    if near(levels.usage[broker.name], levels.limit) and not exact:
        return None
    return levels.is_over(broker)


def under(levels: Levels, usage: Percent) -> bool | None:
    """Whether a usage lies under the lower boundary; none where floats might decide."""
    exact = exact_everywhere(levels) and levels.threshold in EXACT | {Fraction(10)}
    if near(usage, levels.bound) and not exact:
        return None
    return usage < levels.bound


def sheds_under_85(cycle: Cycle, broker: Broker) -> bool:
    """Whether a broker may shed for its overload although another strategy is set. [SHED-08]"""
    everywhere = cycle.readings["overload-scope"] == "all"
    return everywhere and overloaded(cycle, broker) is not False


def able(cycle: Cycle, broker: Broker) -> bool:
    """Whether a broker has bundles enough, and one with traffic that may move."""
    return len(broker.bundles) >= FEWEST_BUNDLES and carried(cycle, cycle.movable(broker)) > 0


def loaded(cycle: Cycle, broker: Broker) -> bool:
    """Whether a broker can shed, however traffic is counted: it has messages and bytes."""
    movable = map(cycle.rates, cycle.movable(broker))
    both = any(rates.messages > 0 and rates.throughput > 0 for rates in movable)
    whole = broker.rates.messages > 0 and broker.rates.throughput > 0
    return len(broker.bundles) >= FEWEST_BUNDLES and both and whole


def carried(cycle: Cycle, bundles: Iterable[str]) -> Rate:
    """What bundles carry together."""
    return sum(map(cycle.traffic, bundles), Fraction(0))


def own(answer: Unloading, broker: Broker) -> list[str]:
    """What a broker gives up of its own bundles, each once, in the order of decision."""
    return [bundle for bundle in dict.fromkeys(answer.of(broker)) if bundle in broker.bundles]


def shed(answer: Unloading, broker: Broker) -> Rate:
    """What the bundles that a broker gives up carry together."""
    return carried(answer.cycle, own(answer, broker))


def tied(cycle: Cycle, broker: Broker) -> bool:
    """Whether two bundles that may move carry alike, so that either may go first."""
    traffic = sorted(map(cycle.traffic, cycle.movable(broker)))
    return any(same(low, high) for low, high in pairwise(traffic))


def strategy_is(cycle: Cycle, name: str) -> bool:
    """Whether shedding runs, under this strategy."""
    return cycle.enabled and cycle.strategy == name
