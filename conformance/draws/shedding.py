"""Cycles of the three shedding strategies, aimed at their rules."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import product
from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance.conformance.draws import loads
from pulsar_conformance.conformance.draws.clusters import (
    GRACE,
    STRATEGY,
    WEIGHTS,
    Sketch,
    owned,
)
from pulsar_conformance.conformance.draws.loads import Size
from pulsar_conformance.conformance.trial import Json, Trial
from pulsar_conformance.reference.cluster import RESOURCES
from pulsar_conformance.reference.ranges import FULL_UPPER, HashRange, namespace_of
from pulsar_conformance.reference.shedding import PACKAGE

OVERLOAD = "loadBalancerBrokerOverloadedThresholdPercentage"
OVER_AVERAGE = "loadBalancerBrokerThresholdShedderPercentage"
HISTORY = "loadBalancerHistoryResourcePercentage"
LOWER_BOUNDARY = "lowerBoundarySheddingEnabled"
UNIFORM_RATE = "loadBalancerMsgRateDifferenceShedderThreshold"
UNIFORM_THROUGHPUT = "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold"

NEEDED: dict[str, Any] = {OVER_AVERAGE: 10, UNIFORM_RATE: 50, UNIFORM_THROUGHPUT: 4}
"""Settings without a documented default that the strategies need."""

Sketcher = Callable[[Random, Size], Sketch]
Change = Callable[[Random, Json], Json]


def cycles(*sketchers: Sketcher, fewest: int = 2) -> st.SearchStrategy[Trial]:
    """One cycle of a cluster that one of the sketchers makes."""
    return cases(*sketchers, fewest=fewest).map(lambda case: Trial.of("shed.select", case))


def cases(*sketchers: Sketcher, fewest: int = 2) -> st.SearchStrategy[Json]:
    """The same without a trial around it."""
    return st.builds(
        lambda sketcher, size, random: sketcher(random, size).case(),
        st.sampled_from(sketchers),
        loads.sizes(fewest),
        st.randoms(use_true_random=True),
    )


def changed(change: Change, *sketchers: Sketcher) -> st.SearchStrategy[Trial]:
    """One cycle, after a change."""
    return st.builds(
        lambda case, random: Trial.of("shed.select", change(random, case)),
        cases(*sketchers),
        st.randoms(use_true_random=True),
    )


def pairs(other: Change, *sketchers: Sketcher) -> st.SearchStrategy[Trial]:
    """A cycle, and the same cluster after a change."""
    return st.builds(
        lambda case, random: Trial.of("shed.select", case, other(random, copy.deepcopy(case))),
        cases(*sketchers),
        st.randoms(use_true_random=True),
    )


def with_grace(random: Random, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings, now and then with another grace period."""
    if random.random() < 0.3:
        settings[GRACE] = random.choice((1, 10, 45))
    return settings


def overload(random: Random, size: Size) -> Sketch:
    """Brokers on both sides of the overload threshold, some exactly at it."""
    exact = random.random() < 0.4
    threshold = random.choice((25, 50, 75)) if exact else random.choice((85, 60, 90.5))
    settings = with_grace(random, {OVERLOAD: threshold})
    if threshold == 85 and random.random() < 0.5:
        del settings[OVERLOAD]
    levels = [
        random.choice((threshold, *loads.EXACT)) if exact else loads.near(random, threshold)
        for _ in range(size.brokers)
    ]
    counts = owned(random, size.brokers, size.bundles)
    return Sketch(random, "OverloadShedder", levels, counts, exact, settings, measured=exact)


def overload_by_default(random: Random, size: Size) -> Sketch:
    """Brokers around 85 %, with nothing set."""
    levels = [random.choice((70, 84, 84.9, 85.1, 86, 95)) for _ in range(size.brokers)]
    counts = owned(random, size.brokers, size.bundles)
    return Sketch(random, "OverloadShedder", levels, counts, recent=0)


def overload_with_few_bundles(random: Random, size: Size) -> Sketch:
    """Overloaded brokers with no bundle, one, or two."""
    levels = [random.choice((90, 95, 100)) for _ in range(size.brokers)]
    counts = [random.choice((0, 1, 1, 2)) for _ in range(size.brokers)]
    counts[-1] += max(0, size.bundles - sum(counts))
    return Sketch(random, "OverloadShedder", levels, counts, recent=0)


def _averaging_to_the_edge() -> list[tuple[int, ...]]:
    """Exact usages of two or four brokers, one of which stands 25 points above the average."""
    return [
        levels
        for count in (2, 4)
        for levels in product(loads.EXACT, repeat=count)
        if max(levels) * count == sum(levels) + 25 * count
    ]


MOST_EXACT = 16
"""So many brokers at most have an average that is exact in every floating point."""

AT_THE_LIMIT = _averaging_to_the_edge()


def threshold(random: Random, size: Size) -> Sketch:
    """Some brokers well above the rest, some near the limit, some exactly at it."""
    settings = with_grace(random, {OVER_AVERAGE: 10})
    if random.random() < 0.3:
        return at_the_margin(random, size, settings)
    settings[OVER_AVERAGE] = random.choice((10, 10, 5, 20, 12.5))
    base = random.choice((5, 20, 40, 60))
    share = random.choice((0.1, 0.3, 0.6))
    levels: list[float] = [
        round(base + random.choice((8, 20, 35)) + random.random(), 2)
        if random.random() < share
        else round(base * random.random(), 2)
        for _ in range(size.brokers)
    ]
    levels[random.randrange(size.brokers)] = base + 38
    counts = owned(random, size.brokers, size.bundles)
    measured = random.random() < 0.5
    return Sketch(random, "ThresholdShedder", levels, counts, settings=settings, measured=measured)


def at_the_margin(random: Random, size: Size, settings: dict[str, Any]) -> Sketch:
    """Exact usages, one of them 25 points above the average; their number is a power of two."""
    levels: list[float] = list(random.choice(AT_THE_LIMIT))
    while len(levels) < size.brokers <= MOST_EXACT:
        levels *= 2
    random.shuffle(levels)
    counts = owned(random, len(levels), max(size.bundles, 2))
    settings = {**settings, OVER_AVERAGE: 25}
    return Sketch(random, "ThresholdShedder", levels, counts, True, settings)


def threshold_near_the_limit(random: Random, size: Size) -> Sketch:
    """One broker a little below or above average and limit, the others even."""
    others, above = random.choice((10, 20, 50)), random.choice((5, 10, 20))
    count = size.brokers
    at = others + above * count / (count - 1)
    step = random.choice((0.05, 0.5, 2)) * random.choice((1, -1))
    levels = [others] * (count - 1) + [max(0, round(at + step, 2))]
    random.shuffle(levels)
    counts = owned(random, count, size.bundles)
    settings = {OVER_AVERAGE: above}
    return Sketch(random, "ThresholdShedder", levels, counts, settings=settings)


def threshold_with_idle_brokers(random: Random, size: Size) -> Sketch:
    """Idle brokers bring the average down: with them the busy ones stand above the limit."""
    idle = random.randint(1, max(1, size.brokers // 2))
    levels = [0.0] * idle + [random.choice((40, 55, 70))] * (size.brokers - idle)
    random.shuffle(levels)
    settings = {OVER_AVERAGE: random.choice((5, 10, 15))}
    counts = owned(random, size.brokers, max(size.bundles, 2))
    return Sketch(random, "ThresholdShedder", levels, counts, settings=settings, recent=0)


def threshold_weighted(random: Random, size: Size) -> Sketch:
    """Weights decide who stands above the average."""
    sketch = threshold(random, size)
    chosen = (0, 0.25, 0.5, 1.0) if sketch.exact else (0, 0.1, 0.3, 0.5, 0.8, 1.0)
    sketch.settings |= {name: random.choice(chosen) for name in WEIGHTS}
    return sketch


def threshold_with_history(random: Random, size: Size) -> Sketch:
    """Brokers with earlier observations, steady, rising and falling."""
    sketch = threshold(random, size)
    sketch.exact = False
    sketch.settings[HISTORY] = random.choice((0.9, 0.5, 0.99, 0, 1))
    sketch.history = {
        place: [
            max(0, round(level + random.choice((0, 0, 1, -1, 30, -30)), 2))
            for _ in range(random.choice((1, 1, 3, 10)))
        ]
        for place, level in enumerate(sketch.levels)
        if random.random() < 0.7
    }
    return sketch


def _idle_among_busy(random: Random, size: Size, lower_boundary: bool) -> Sketch:
    """The documents' eleven brokers and their like: nobody above the limit, some far below."""
    count = max(size.brokers, random.choice((3, 11)))
    busy = random.choice((50, 80, 90))
    low = random.choice((0, busy // 4, busy - 8, busy - 10, busy - 13, busy))
    levels: list[float] = [busy + random.choice((0, 0, 1)) for _ in range(count)]
    levels[random.randrange(count)] = low
    settings: dict[str, Any] = {OVER_AVERAGE: 10, LOWER_BOUNDARY: lower_boundary}
    if random.random() < 0.2:
        settings[OVER_AVERAGE] = random.choice((5, 20))
    if not lower_boundary and random.random() < 0.5:
        del settings[LOWER_BOUNDARY]
    counts = [2 + more for more in owned(random, count, size.bundles)]
    return Sketch(random, "ThresholdShedder", levels, counts, settings=settings, recent=0)


def lower_boundary_on(random: Random, size: Size) -> Sketch:
    """With the lower boundary."""
    return _idle_among_busy(random, size, True)


def lower_boundary_off(random: Random, size: Size) -> Sketch:
    """Without it."""
    return _idle_among_busy(random, size, False)


def level_cluster(random: Random, _size: Size) -> Sketch:
    """Every broker alike, with the lower boundary switched on."""
    count, level = random.choice((2, 4, 8)), random.choice(loads.EXACT)
    settings: dict[str, Any] = {OVER_AVERAGE: 10, LOWER_BOUNDARY: True}
    counts = owned(random, count, count * 2)
    return Sketch(random, "ThresholdShedder", [level] * count, counts, True, settings)


def uniform(random: Random, size: Size) -> Sketch:
    """Brokers whose rates differ, around the thresholds."""
    settings = with_grace(random, {})
    settings[UNIFORM_RATE] = random.choice((50, 50, 10, 400))
    settings[UNIFORM_THROUGHPUT] = random.choice((4, 4, 1.5, 2))
    levels = [random.randrange(100) for _ in range(size.brokers)]
    counts = owned(random, size.brokers, size.bundles)
    if random.random() < 0.5:
        counts[0] += size.brokers * 2
    return Sketch(
        random, "UniformLoadShedder", levels, counts, settings=settings, awry=random.random() < 0.3
    )


def any_strategy(random: Random, size: Size) -> Sketch:
    """A cluster for one of the three strategies."""
    return random.choice((overload, threshold, uniform))(random, size)


def switched_off(random: Random, size: Size) -> Sketch:
    """A cluster that would shed, with shedding switched off."""
    sketch = any_strategy(random, size)
    sketch.settings["loadBalancerSheddingEnabled"] = False
    return sketch


def lately_unloaded(random: Random, size: Size) -> Sketch:
    """A cluster most of whose bundles were unloaded around the grace period."""
    sketch = any_strategy(random, size)
    sketch.recent = 0.7
    return sketch


def _without_ties(sketch: Sketch) -> Sketch:
    sketch.settings = {**NEEDED, **sketch.settings}
    sketch.traffic, sketch.recent = "different", 0
    return sketch


def without_ties(random: Random, size: Size) -> Sketch:
    """A cluster for any strategy, with the settings of all of them."""
    return _without_ties(any_strategy(random, size))


def threshold_without_ties(random: Random, size: Size) -> Sketch:
    """A cluster for ThresholdShedder, with the settings of all strategies."""
    return _without_ties(threshold(random, size))


def others_without_ties(random: Random, size: Size) -> Sketch:
    """A cluster for a strategy other than OverloadShedder."""
    return _without_ties(random.choice((threshold, uniform))(random, size))


def overloaded_under_others(random: Random, size: Size) -> Sketch:
    """Overloaded brokers under a strategy other than OverloadShedder."""
    sketch = overload(random, size)
    sketch.strategy = random.choice(("ThresholdShedder", "UniformLoadShedder"))
    sketch.settings = {**NEEDED, **sketch.settings}
    return sketch


def after_splits(random: Random, case: Json) -> Json:
    """Some of what was unloaded has been split since: its name was that of both halves."""
    unloaded = case["recentlyUnloaded"]
    for name in list(unloaded):
        part = HashRange.parse(name)
        if random.random() < 0.5:
            whole = HashRange(part.lower, min(part.upper + part.width, FULL_UPPER))
            unloaded[f"{namespace_of(name)}/{whole.name}"] = unloaded.pop(name)
    return case


def by_settings(random: Random, case: Json) -> Json:
    """The same cycle with the strategy named by the setting instead of the case."""
    name = case["strategy"].removeprefix(PACKAGE)
    case["settings"] = {**case["settings"], STRATEGY: random.choice(("", PACKAGE)) + name}
    case["strategy"] = None
    return case


def unnamed(_random: Random, case: Json) -> Json:
    """The same cycle with no strategy named anywhere."""
    return {**case, "strategy": None}


def with_other_brokers_changed(random: Random, case: Json) -> Json:
    """The same cluster, but for the usage of all brokers save one."""
    brokers = list(case["brokers"])
    kept = random.choice(brokers)
    for name in brokers:
        if name != kept:
            level = random.choice((0, 5, 50, 80, 95, 100))
            case["brokers"][name] |= {r: {"usage": 0, "limit": 100} for r in RESOURCES}
            case["brokers"][name] |= loads.usages(random, level, exact=False)
    return case


def with_another_overload_threshold(random: Random, case: Json) -> Json:
    """The same cycle, the overload threshold set elsewhere."""
    case["settings"][OVERLOAD] = random.choice((1, 10, 30, 99))
    return case
