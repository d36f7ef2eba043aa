"""Whether a case leaves nothing open: no equals among which anything decides, nothing so near to a
threshold that floating point might.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate, pairwise

from pulsar_conformance.conformance.core.expect import POINTS, near, same
from pulsar_conformance.conformance.facts import shedding as facts
from pulsar_conformance.conformance.facts.growth import exceeds
from pulsar_conformance.conformance.facts.placing import allowed, with_usages
from pulsar_conformance.conformance.views import Locating, Placing, Plain, Spreading
from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.assignment import Assignment
from pulsar_conformance.reference.bundles import PARTITION
from pulsar_conformance.reference.candidates import Growth
from pulsar_conformance.reference.cluster import Broker, Rates
from pulsar_conformance.reference.numbers import Fraction, Percent, Rate
from pulsar_conformance.reference.overload import need_of
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.settings import Settings
from pulsar_conformance.reference.shedding import ENABLED, Cycle
from pulsar_conformance.reference.threshold import LOWER_BOUNDARY, Levels
from pulsar_conformance.reference.uniform import RATE_THRESHOLD, THROUGHPUT_THRESHOLD, Imbalance
from pulsar_conformance.reference.usage import (
    UNWEIGHTED,
    WEIGHT_SETTINGS,
    weighted_maximum,
    weights,
)


def locating_settled(case: Locating, readings: Readings) -> bool:
    """No document says how partitions are spread."""
    return readings["partitions"] == "hashed" or not any(map(PARTITION.search, case["topics"]))


def growth_settled(case: Growth, _readings: Readings) -> bool:
    """Each bundle certainly exceeds a threshold or none, and each namespace has enough room."""
    found = {bundle: [exceeds(case, bundle, name) for name in case.limits] for bundle in case.stats}
    growing = Counter(namespace_of(bundle) for bundle, over in found.items() if any(over))
    room = all(count <= case.room(space) for space, count in growing.items())
    return room and not any(None in over for over in found.values())


def usage_settled(case: Plain, _readings: Readings) -> bool:
    """A single resource is the busiest, or all are idle."""
    weight = weights(case.settings) if case["weighted"] else UNWEIGHTED
    percent = Broker.read("broker", case["broker"]).percent
    *_, second, most = sorted(used * weight[name] for name, used in percent.items())
    return most == 0 or most - second > POINTS


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


def placing_settled(case: Placing, _readings: Readings) -> bool:
    """At most one candidate may take the bundle, which nobody owns yet.

    It is the same one whether the weights of resources count or not: no document says that they do.
    """
    weighed = {name: _weighed(broker, case.settings) for name, broker in case.brokers.items()}
    either = allowed(case.placement) | allowed(with_usages(case.placement, weighed))
    return not case.owned and len(either) <= 1


def _weighed(broker: Broker, settings: Settings) -> Percent:
    """The usage of a broker by those weights that are known."""
    known = {*settings.given, *settings.defaults}
    weight = {
        name: settings.number(setting) if setting in known else Fraction(1)
        for name, setting in WEIGHT_SETTINGS.items()
    }
    return weighted_maximum(broker, weight).percent


def spreading_settled(case: Spreading, _readings: Readings) -> bool:
    """At most one candidate may take the namespace of a group, which nobody serves yet."""
    spread = case.spread
    served = Counter(one for names in case["owned"].values() for one in names)
    once = not served[spread.namespace] and max(served.values(), default=0) <= 1
    mixed = None in spread.in_domain and len(spread.in_domain) > 1
    return spread.group is not None and once and not mixed and len(spread.best) <= 1


def assigning_settled(case: Assignment, _readings: Readings) -> bool:
    """At most one broker may take the bundle: the documents leave open what comes first."""
    return len(case.permitted) <= 1


STRATEGIES: Mapping[str, Callable[[Cycle], bool]] = {
    "OverloadShedder": _overload,
    "ThresholdShedder": _threshold,
    "UniformLoadShedder": _uniform,
}
"""The strategies of which the documents say how they decide."""
