"""Clusters around average and threshold. [THRESHOLD-01 … 07]"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance.conformance.drawing import loads
from pulsar_conformance.conformance.drawing.loads import Size, randoms
from pulsar_conformance.conformance.shedding.draws.amounts import Need, carrying
from pulsar_conformance.conformance.shedding.draws.clusters import WEIGHTS, Sketch, observed_before
from pulsar_conformance.conformance.shedding.draws.settings import HISTORY, OVER_AVERAGE, graces
from pulsar_conformance.reference.threshold import BELOW_AVERAGE


def _averaging_to_the_edge() -> list[tuple[int, ...]]:
    """Exact usages of two or four brokers, one of which is 25 points above the average."""
    return [
        levels
        for count in (2, 4)
        for levels in product(loads.EXACT, repeat=count)
        if max(levels) * count == sum(levels) + 25 * count
    ]


MOST_EXACT = 16
"""So many brokers at most have an average that is exact in every floating point."""

OFF = 0.5
"""So many points, or percent of the average, is a target off that is hardly wrong."""

Amount = Callable[[float, float, float], float]
"""Percent of its traffic that a broker sheds: by usage and average, so much below the average."""

AMOUNTS: Mapping[str, Amount] = {
    "points of traffic": lambda usage, average, below: usage - average + below,
    "points of usage": lambda usage, average, below: 100 * (usage - average + below) / usage,
    "percent of traffic": lambda usage, average, below: usage - average * (100 - below) / 100,
    "percent of usage": lambda usage, average, below: (
        100 * (usage - average * (100 - below) / 100) / usage
    ),
}
"""By the readings `threshold-target` and `threshold-released`."""

edges = st.sampled_from(_averaging_to_the_edge())
ways = st.sampled_from(("above", "amount", "edge", "amount", "amount"))
amounts = st.sampled_from(tuple(AMOUNTS.values()))
thresholds = st.sampled_from((10, 10, 5, 20, 12.5))
bases = st.sampled_from((5, 20, 40, 60))
steps = st.sampled_from((0.05, -0.05, 0.25, -0.25, 0.4, -0.4, 2, -2))
above = st.sampled_from((5, 10, 20))
others = st.sampled_from((10, 20, 50))
idle_shares = st.floats(0, 0.5)
shares = st.sampled_from((0.9, 0.5, 0.99, 0, 1))


@st.composite
def threshold(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Some brokers well above the rest, exactly at the limit, or one with a decisive amount.

    The bundles of that broker distinguish five points (or percent) below the average from half a
    point more or less, by one of the readings of the amount to shed.
    """
    size, way = draw(loads.sizes(fewest)), draw(ways)
    random = draw(randoms)
    if way == "edge":
        return _at_the_edge(random, size, draw(edges), draw(graces))
    settings = {OVER_AVERAGE: draw(thresholds), **draw(graces)}
    base, amount = draw(bases), draw(amounts) if way == "amount" else None
    share = random.choice((0.1, 0.3, 0.6))
    levels = [
        round(base + random.choice((8, 20, 35)) + random.random(), 2)
        if random.random() < share
        else round(base * random.random(), 2)
        for _ in range(size.brokers)
    ]
    busiest = random.randrange(size.brokers)
    levels[busiest] = base + 38
    sketch = Sketch(
        random,
        "ThresholdShedder",
        levels,
        loads.owned(random, *size),
        settings=settings,
        measured=random.random() < 0.5,
    )
    if amount:
        need = _need(amount, levels[busiest], sum(levels) / len(levels))
        sketch.given = {busiest: carrying(random, need)} if need.possible else {}
    elif random.random() < 0.1:
        sketch.owned = [min(count, 1) for count in sketch.owned]
    return sketch


def _need(amount: Amount, usage: float, average: float) -> Need:
    below = float(BELOW_AVERAGE)
    right = amount(usage, average, below)
    return Need(right, amount(usage, average, below + OFF) - right)


def _at_the_edge(
    random: Random, size: Size, edge: tuple[int, ...], settings: dict[str, Any]
) -> Sketch:
    """Exact usages, one of them 25 points above the average, of a power of two of brokers."""
    levels = list(edge)
    while len(levels) < size.brokers <= MOST_EXACT:
        levels *= 2
    random.shuffle(levels)
    counts = loads.owned(random, len(levels), max(size.bundles, 2))
    settings = {**settings, OVER_AVERAGE: 25}
    return Sketch(random, "ThresholdShedder", levels, counts, exact=True, settings=settings)


@st.composite
def threshold_near_the_limit(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """One broker slightly below or above average and limit, the others equal."""
    size, even, limit, step = draw(loads.sizes(fewest)), draw(others), draw(above), draw(steps)
    random, count = draw(randoms), size.brokers
    # One broker so far above the others is above their common average by the limit.
    at = even + limit * count / (count - 1)
    levels = [even] * (count - 1) + [max(0, round(at + step * count / (count - 1), 3))]
    random.shuffle(levels)
    counts = loads.owned(random, count, max(size.bundles, 2 * count))
    settings = {OVER_AVERAGE: limit}
    return Sketch(random, "ThresholdShedder", levels, counts, settings=settings)


@st.composite
def threshold_with_idle_brokers(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Idle brokers lower the average, so that the busy ones are above the limit."""
    size, share = draw(loads.sizes(fewest)), draw(idle_shares)
    random = draw(randoms)
    idle = max(1, round(share * size.brokers))
    levels = [0.0] * idle + [random.choice((40, 55, 70))] * (size.brokers - idle)
    random.shuffle(levels)
    settings = {OVER_AVERAGE: random.choice((5, 10, 15))}
    counts = loads.owned(random, size.brokers, max(size.bundles, 2))
    return Sketch(random, "ThresholdShedder", levels, counts, settings=settings, recent=0)


@st.composite
def threshold_weighted(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Weights decide which brokers are above the average."""
    sketch = draw(threshold(fewest))
    chosen = (0, 0.25, 0.5, 1.0) if sketch.exact else (0, 0.1, 0.3, 0.5, 0.8, 1.0)
    sketch.settings |= {name: sketch.random.choice(chosen) for name in WEIGHTS}
    return sketch


@st.composite
def threshold_with_history(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Brokers with earlier observations, steady, rising and falling."""
    sketch = draw(threshold(fewest))
    sketch.exact = False
    sketch.settings[HISTORY] = draw(shares)
    sketch.history = observed_before(sketch.random, sketch.levels)
    return sketch
