"""Whether a case leaves nothing open: no equals among which anything decides, nothing so near to a
threshold that floating point might.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate, pairwise
from typing import Any

from pulsar_conformance.conformance.checks import facts
from pulsar_conformance.conformance.checks.placing import allowed
from pulsar_conformance.conformance.checks.split_candidates import exceeds
from pulsar_conformance.conformance.expect import POINTS, near, same
from pulsar_conformance.conformance.views import Locating, Placing, Plain, Spreading
from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.bundles import PARTITION
from pulsar_conformance.reference.candidates import Growth
from pulsar_conformance.reference.cluster import Broker, Rates
from pulsar_conformance.reference.numbers import Rate
from pulsar_conformance.reference.overload import need_of
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.shedding import ENABLED, Cycle
from pulsar_conformance.reference.threshold import LOWER_BOUNDARY, Levels
from pulsar_conformance.reference.uniform import RATE_THRESHOLD, THROUGHPUT_THRESHOLD, Spread
from pulsar_conformance.reference.usage import UNWEIGHTED, weights


def settled(operation: str, view: Any, readings: Readings) -> bool:
    """Whether the documents, under these readings, leave one answer to an implementation."""
    return SETTLED[operation](view, readings) if operation in SETTLED else True


def _topics(case: Locating, readings: Readings) -> bool:
    """Where partitions are spread, no document says how."""
    return readings["partitions"] == "hashed" or not any(map(PARTITION.search, case["topics"]))


def _candidates(case: Growth, _readings: Readings) -> bool:
    """Each bundle surely exceeds a threshold or none, and each namespace has room for its own."""
    found = {bundle: [exceeds(case, bundle, name) for name in case.limits] for bundle in case.stats}
    growing = Counter(namespace_of(bundle) for bundle, over in found.items() if any(over))
    room = all(count <= case.room(space) for space, count in growing.items())
    return room and not any(None in over for over in found.values())


def _usage(case: Plain, _readings: Readings) -> bool:
    """One resource alone is the busiest, or all are idle."""
    weight = weights(case.settings) if case["weighted"] else UNWEIGHTED
    percent = Broker.read("broker", case["broker"]).percent
    *_, second, most = sorted(used * weight[name] for name, used in percent.items())
    return most == 0 or most - second > POINTS


def _cycle(case: Cycle, _readings: Readings) -> bool:
    """No two bundles of a broker carry alike, and the strategy decides without doubt."""
    if not case.settings.flag(ENABLED):
        return True
    decides, brokers = STRATEGIES.get(case.strategy), case.brokers.values()
    if decides is None or len(brokers) < 2:
        return False
    bundles = all(_apart(map(case.rates, case.movable(broker))) for broker in brokers)
    return bundles and decides(case) and _everywhere(case)


def _apart(rates: Iterable[Rates]) -> bool:
    """Whether no two carry alike, by messages or by bytes."""
    known = list(rates)
    by_messages = sorted(one.messages for one in known)
    by_bytes = sorted(one.throughput for one in known)
    pairs = (*pairwise(by_messages), *pairwise(by_bytes))
    return not any(same(low, high) for low, high in pairs)


def _clear(case: Cycle, broker: Broker, need: Rate) -> bool:
    """Whether no number of a broker's bundles carries just what it has to give up."""
    carried = accumulate(map(case.traffic, case.movable(broker)))
    return not any(same(amount, need) for amount in carried)


def _overload(case: Cycle) -> bool:
    """Each broker is surely overloaded or not, and sheds clearly enough."""
    return all(
        facts.overloaded(case, broker) is not None and _clear(case, broker, need_of(case, broker))
        for broker in case.brokers.values()
    )


def _everywhere(case: Cycle) -> bool:
    """The same, where overloaded brokers shed under every strategy."""
    return case.readings["overload-scope"] != "all" or _overload(case)


def _threshold(case: Cycle) -> bool:
    """Each broker is surely above the limit or not, and sheds clearly enough."""
    levels = Levels(case)
    over = [(broker, facts.over(levels, broker)) for broker in case.brokers.values()]
    sure = all(above is not None for _, above in over)
    clear = all(_clear(case, broker, levels.need_of(broker)) for broker, above in over if above)
    return sure and clear and (not case.settings.flag(LOWER_BOUNDARY) or _boundary(levels))


def _boundary(levels: Levels) -> bool:
    """Each broker is surely under the boundary or not, and no two are used alike."""
    sure = all(facts.under(levels, usage) is not None for usage in levels.usage.values())
    pairs = pairwise(sorted(levels.usage.values()))
    return sure and not any(near(low, high) for low, high in pairs)


def _uniform(case: Cycle) -> bool:
    """No two brokers carry alike, thresholds are surely passed or not, and all rates are whole.

    The documents do not say which bundles even the load out. Whatever is added up to choose them
    comes out the same in any order where it is whole.
    """
    brokers, spread = case.brokers.values(), Spread(case)
    bundles = [case.rates(bundle) for broker in brokers for bundle in broker.bundles]
    own = [broker.rates for broker in brokers]
    numbers = (n for one in (*bundles, *own) for n in (one.messages, one.throughput))
    least, most = spread.messages
    threshold = case.settings.number(RATE_THRESHOLD)
    bounds = [(most, least + threshold), (most, least * (100 + threshold) / 100)]
    least, most = spread.throughput
    bounds.append((most, least * case.settings.number(THROUGHPUT_THRESHOLD)))
    unsure = any(same(amount, bound) for amount, bound in bounds)
    return _apart(own) and not unsure and all(number.denominator == 1 for number in numbers)


def _place(case: Placing, _readings: Readings) -> bool:
    """One candidate alone may take the bundle, or there is none; it belongs to nobody yet."""
    return not case.owned and len(allowed(case.placement)) <= 1


def _spread(case: Spreading, _readings: Readings) -> bool:
    """One candidate alone may take the namespace of a group, which nobody serves yet."""
    spread = case.spread
    served = Counter(one for names in case["owned"].values() for one in names)
    once = not served[spread.namespace] and max(served.values(), default=0) <= 1
    mixed = None in spread.in_domain and len(spread.in_domain) > 1
    return spread.group is not None and once and not mixed and len(spread.best) <= 1


STRATEGIES: Mapping[str, Callable[[Cycle], bool]] = {
    "OverloadShedder": _overload,
    "ThresholdShedder": _threshold,
    "UniformLoadShedder": _uniform,
}
"""The strategies of which the documents say how they decide."""

SETTLED: Mapping[str, Callable[[Any, Readings], bool]] = {
    "bundles.locate": _topics,
    "bundles.split_candidates": _candidates,
    "usage.max": _usage,
    "shed.select": _cycle,
    "place.select": _place,
    "place.anti_affinity": _spread,
}
"""Operations in which something can be left open."""
