"""Facts about a shedding cycle: certain, or too close for floating point to tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate, pairwise

from pulsar_conformance.conformance.common.expect import SHARE, Expect, near, same
from pulsar_conformance.conformance.shedding import quantities as facts
from pulsar_conformance.conformance.shedding.view import Unloading
from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.cluster import Broker, Rates
from pulsar_conformance.reference.numbers import Fraction, Percent, Rate, total
from pulsar_conformance.reference.overload import (
    FEWEST_BUNDLES,
    is_overloaded,
    need_of,
    threshold_of,
)
from pulsar_conformance.reference.shedding import ENABLED, MEASURE, Cycle
from pulsar_conformance.reference.threshold import LOWER_BOUNDARY, Levels
from pulsar_conformance.reference.uniform import RATE_THRESHOLD, THROUGHPUT_THRESHOLD, Imbalance
from pulsar_conformance.reference.usage import (
    maximum,
    weights,
)

EXACT = frozenset(map(Fraction, (0, 25, 50, 75, 100)))
"""Percentages without rounding in any floating point, as shares and in percent."""

EXACT_WEIGHTS = frozenset(Fraction(quarter, 4) for quarter in range(5))


def overloaded(cycle: Cycle, broker: Broker) -> bool | None:
    """Whether a broker is overloaded; None if floating point might decide."""
    threshold = threshold_of(cycle)
    exact = EXACT.issuperset({*broker.percent.values(), threshold})
    if near(maximum(broker).percent, threshold) and not exact:
        return None
    return is_overloaded(cycle, broker)


def exact_everywhere(levels: Levels) -> bool:
    """Whether usages, average and limits are the same in every floating point arithmetic."""
    cycle, count = levels.cycle, len(levels.usage)
    used = {p for broker in cycle.brokers.values() for p in broker.percent.values()}
    return (
        EXACT.issuperset({*used, *levels.usage.values()})
        and EXACT_WEIGHTS.issuperset(weights(cycle.settings).values())
        and count & (count - 1) == 0
        and not any(broker.history for broker in cycle.brokers.values())
    )


def over(levels: Levels, broker: Broker) -> bool | None:
    """Whether a broker is above average and threshold; None if floating point might decide."""
    exact = exact_everywhere(levels) and levels.threshold in EXACT
    if near(levels.usage[broker.name], levels.limit) and not exact:
        return None
    return levels.is_over(broker)


def under(levels: Levels, usage: Percent) -> bool | None:
    """Whether a usage is below the lower boundary; None if floating point might decide."""
    exact = exact_everywhere(levels) and levels.threshold in EXACT | {Fraction(10)}
    if near(usage, levels.bound) and not exact:
        return None
    return usage < levels.bound


def sheds_under_85(cycle: Cycle, broker: Broker) -> bool:
    """Whether a broker may shed for its overload although another strategy is set. [SHED-08]"""
    everywhere = cycle.readings["overload-scope"] == "all"
    return everywhere and overloaded(cycle, broker) is not False


def sheds_its_dearest(cycle: Cycle, broker: Broker) -> bool:
    """Whether it may so shed its most expensive bundle, by another measure than that of traffic."""
    one = cycle.readings["overload-amount"] == "one"
    other = cycle.readings["expensive-measure"] != cycle.readings["shed-measure"]
    return one and other and sheds_under_85(cycle, broker)


def able(cycle: Cycle, broker: Broker) -> bool:
    """Whether a broker has enough bundles, and one with traffic that may move."""
    return len(broker.bundles) >= FEWEST_BUNDLES and carried(cycle, cycle.movable(broker)) > 0


def loaded(cycle: Cycle, broker: Broker) -> bool:
    """Whether a broker of bundles enough can shed, however traffic is counted."""
    return len(broker.bundles) >= FEWEST_BUNDLES and laden(cycle, broker)


def laden(cycle: Cycle, broker: Broker) -> bool:
    """Whether a broker has messages and bytes, and a bundle with both that may move."""
    movable = map(cycle.rates, cycle.movable(broker))
    both = any(rates.messages > 0 and rates.throughput > 0 for rates in movable)
    return both and broker.rates.messages > 0 and broker.rates.throughput > 0


def carried(cycle: Cycle, bundles: Iterable[str]) -> Rate:
    """The traffic that bundles carry together."""
    return total(map(cycle.traffic, bundles))


def own(answer: Unloading, broker: Broker) -> list[str]:
    """The bundles that a broker gives up, each once, in the order of decision."""
    return [bundle for bundle in dict.fromkeys(answer.of(broker)) if bundle in broker.bundles]


def shed(answer: Unloading, broker: Broker) -> Rate:
    """The traffic of all bundles that a broker gives up."""
    return carried(answer.cycle, own(answer, broker))


def the_busiest_go_first(cycle: Cycle, broker: Broker, answer: Unloading, expect: Expect) -> None:
    """No bundle of a broker goes instead of another one that carries more."""
    given = [bundle for bundle in own(answer, broker) if not cycle.blocked(bundle)]
    kept = [bundle for bundle in cycle.movable(broker) if bundle not in given]
    if expect.reached(bool(given and kept)):
        most, least = max(kept, key=cycle.traffic), min(given, key=cycle.traffic)
        more, less = cycle.traffic(most), cycle.traffic(least)
        allowed = f"{most} = {cycle.written(more)} before {least} = {cycle.written(less)}"
        expect.that(less >= more * (1 - SHARE), allowed, answer)


def tied(cycle: Cycle, broker: Broker) -> bool:
    """Whether two movable bundles carry the same, so that either may go first."""
    traffic = sorted(map(cycle.traffic, cycle.movable(broker)))
    return any(same(low, high) for low, high in pairwise(traffic))


def alike(first: Unloading, second: Unloading) -> bool:
    """Whether two answers to the same question may both come from one balancer.

    Where the documents leave open which bundles go, the brokers that give up some have to be the
    same; else the bundles.
    """
    if settled(first.cycle):
        return sorted(first.pairs) == sorted(second.pairs)
    return {broker for broker, _ in first.pairs} == {broker for broker, _ in second.pairs}


def as_far_as_settled(answer: Unloading) -> str:
    """An answer in words, without what another one may have otherwise."""
    if settled(answer.cycle):
        return str(answer)
    brokers = dict.fromkeys(broker for broker, _ in answer.pairs)
    return f"some of {', '.join(brokers)}" if brokers else "nothing"


def settled(cycle: Cycle) -> bool:
    """Whether the documents say which bundles go, and not only how much has to go."""
    ordered = cycle.readings["threshold-order"] == "traffic"
    idle = LOWER_BOUNDARY in cycle.settings.given
    by_traffic = cycle.strategy == "ThresholdShedder" and ordered and not idle
    return cycle.strategy == "OverloadShedder" or by_traffic


def one_busiest(cycle: Cycle) -> bool:
    """Whether no two brokers can be taken for the one that has to unload for another's sake."""
    if cycle.strategy == "ThresholdShedder":
        *_, second, first = sorted(Levels(cycle).usage.values())
        return LOWER_BOUNDARY not in cycle.settings.given or not near(first, second)
    if cycle.strategy != "UniformLoadShedder":
        return True
    rates = {name: cycle.rates_of(broker) for name, broker in cycle.brokers.items()}
    most = set()
    for measure in MEASURE.values():
        top = max(map(measure, rates.values()))
        most |= {name for name, one in rates.items() if same(measure(one), top)}
    return len(most) == 1


def strategy_is(cycle: Cycle, name: str) -> bool:
    """Whether shedding runs, under this strategy."""
    return cycle.enabled and cycle.strategy == name


def cycle_settled(case: Cycle, _readings: Readings) -> bool:
    """No two bundles of a broker carry the same, and the strategy decides without doubt."""
    if not case.settings.flag(ENABLED):
        return True
    decides, brokers = STRATEGIES.get(case.strategy), case.brokers.values()
    if decides is None or len(brokers) < 2:
        return False
    bundles = all(_apart(map(case.rates, case.movable(broker))) for broker in brokers)
    return bundles and decides(case) and _everywhere(case)


def _apart(rates: Iterable[Rates]) -> bool:
    """Whether no two rates are the same, by messages or by bytes."""
    known = list(rates)
    by_messages = sorted(one.messages for one in known)
    by_bytes = sorted(one.throughput for one in known)
    pairs = (*pairwise(by_messages), *pairwise(by_bytes))
    return not any(same(low, high) for low, high in pairs)


def _clear(case: Cycle, broker: Broker, need: Rate) -> bool:
    """Whether no sum of a broker's bundles is exactly what it has to give up."""
    carried = accumulate(map(case.traffic, case.movable(broker)))
    return not any(same(amount, need) for amount in carried)


def _overload(case: Cycle) -> bool:
    """Each broker is certainly overloaded or not, and sheds a clear amount."""
    return all(
        facts.overloaded(case, broker) is not None and _clear(case, broker, need_of(case, broker))
        for broker in case.brokers.values()
    )


def _everywhere(case: Cycle) -> bool:
    """The same, if overloaded brokers shed under every strategy."""
    return case.readings["overload-scope"] != "all" or _overload(case)


def _threshold(case: Cycle) -> bool:
    """Each broker is certainly above the limit or not, and sheds a clear amount."""
    levels = Levels(case)
    over = [(broker, facts.over(levels, broker)) for broker in case.brokers.values()]
    sure = all(above is not None for _, above in over)
    clear = all(_clear(case, broker, levels.need_of(broker)) for broker, above in over if above)
    return sure and clear and (not case.settings.flag(LOWER_BOUNDARY) or _boundary(levels))


def _boundary(levels: Levels) -> bool:
    """Each broker is certainly below the boundary or not, and no two usages are equal."""
    sure = all(facts.under(levels, usage) is not None for usage in levels.usage.values())
    pairs = pairwise(sorted(levels.usage.values()))
    return sure and not any(near(low, high) for low, high in pairs)


def _uniform(case: Cycle) -> bool:
    """No two brokers carry the same, no threshold is in doubt, and all rates are whole.

    The documents do not say which bundles even out the load. Sums of whole rates are the same in
    any order.
    """
    brokers, spread = case.brokers.values(), Imbalance(case)
    bundles = [case.rates(bundle) for broker in brokers for bundle in broker.bundles]
    own = list(map(case.rates_of, brokers))
    numbers = (n for one in (*bundles, *own) for n in (one.messages, one.throughput))
    least, most = spread.messages
    threshold = case.settings.number(RATE_THRESHOLD)
    bounds = [(most, least + threshold), (most, least * (100 + threshold) / 100)]
    least, most = spread.throughput
    multiple = case.settings.number(THROUGHPUT_THRESHOLD)
    bounds += [(most, least * multiple), (most, least * (multiple + 1))]
    unsure = any(same(amount, bound) for amount, bound in bounds)
    return _apart(own) and not unsure and all(number.denominator == 1 for number in numbers)


STRATEGIES: Mapping[str, Callable[[Cycle], bool]] = {
    "OverloadShedder": _overload,
    "ThresholdShedder": _threshold,
    "UniformLoadShedder": _uniform,
}
"""The strategies of which the documents say how they decide."""
