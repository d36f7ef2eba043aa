"""Draws clusters for ThresholdShedder: near average plus threshold, and with idle brokers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st
from pulsar_conformance.conformance.drawing import composite, loads
from pulsar_conformance.conformance.drawing.loads import Size, randoms
from pulsar_conformance.conformance.shedding.draw_clusters import (
    WEIGHTS,
    Need,
    Sketch,
    Traffic,
    decisive_traffic,
    draw_earlier_usages,
    graces,
)
from pulsar_conformance.reference.threshold import (
    BELOW_AVERAGE,
    HISTORY_SHARE,
    LOWER_BOUNDARY,
    LOWER_BOUNDARY_LOAD,
    MIN_THROUGHPUT,
    SHEDDER_THRESHOLD,
)


def _averaging_to_the_edge() -> list[tuple[int, ...]]:
    """Return exact usages of two or four brokers; the highest is 25 points above their average."""
    return [
        levels
        for count in (2, 4)
        for levels in product(loads.EXACT_PERCENTS, repeat=count)
        if max(levels) * count == sum(levels) + 25 * count
    ]


MAX_EXACT = 16
"""Maximum number of brokers whose average is exact in floating point of any precision."""

HALF_A_POINT = 0.5
"""Smallest error of a target that cases detect, in points or in percent of the average."""

Amount = Callable[[float, float, float], float]
"""Function that returns the percent to shed, given usage, average and a distance below it."""

AMOUNTS: Mapping[str, Amount] = {
    "points of traffic": lambda usage, average, below: usage - average + below,
    "points of usage": lambda usage, average, below: 100 * (usage - average + below) / usage,
    "percent of traffic": lambda usage, average, below: usage - average * (100 - below) / 100,
    "percent of usage": lambda usage, average, below: (
        100 * (usage - average * (100 - below) / 100) / usage
    ),
}
"""Percent to shed, by combination of `threshold-target` and `threshold-released`."""

levels_at_the_limit = st.sampled_from(_averaging_to_the_edge())
cluster_kinds = st.sampled_from(("above", "amount", "edge", "amount", "amount"))
amount_functions = st.sampled_from(tuple(AMOUNTS.values()))
thresholds = st.sampled_from((10, 10, 5, 20, 12.5, 35, 0))
base_levels = st.sampled_from((5, 20, 40, 60))
limit_offsets = st.sampled_from((0.05, -0.05, 0.25, -0.25, 0.4, -0.4, 2, -2))
points_above = st.sampled_from((5, 10, 20))
other_levels = st.sampled_from((10, 20, 50))
weights_beside = st.sampled_from((False, False, True))
idle_shares = st.floats(0, 0.5)
history_weights = st.sampled_from((0.9, 0.5, 0.99, 0, 1))


@composite
def threshold(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Draw brokers well above the rest, exactly at the limit, or with a decisive amount to shed.

    Under some reading, a target that is wrong by half a point or percent leads to other unloads.
    """
    size, way = draw(loads.sizes(fewest)), draw(cluster_kinds)
    random = draw(randoms)
    if way == "edge":
        return _at_the_edge(random, size, draw(levels_at_the_limit), draw(graces))
    settings = {SHEDDER_THRESHOLD: draw(thresholds), **draw(graces)}
    base, amount = draw(base_levels), draw(amount_functions) if way == "amount" else None
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
        loads.bundles_per_broker(random, *size),
        settings=settings,
        measured=random.random() < 0.5,
    )
    if amount:
        need = _need(amount, levels[busiest], sum(levels) / len(levels))
        sketch.given = {busiest: decisive_traffic(random, need)} if need.possible else {}
    elif random.random() < 0.1:
        sketch.owned = [min(count, 1) for count in sketch.owned]
    return sketch


def _need(amount: Amount, usage: float, average: float) -> Need:
    below = float(BELOW_AVERAGE)
    right = amount(usage, average, below)
    return Need(right, amount(usage, average, below + HALF_A_POINT) - right)


def _at_the_edge(
    random: Random, size: Size, edge: tuple[int, ...], settings: dict[str, Any]
) -> Sketch:
    """Return a cluster of 2, 4, 8 … brokers with exact usage, the busiest exactly at the limit."""
    levels = list(edge)
    while len(levels) < size.brokers <= MAX_EXACT:
        levels *= 2
    random.shuffle(levels)
    counts = loads.bundles_per_broker(random, len(levels), max(size.bundles, 2))
    settings = {**settings, SHEDDER_THRESHOLD: 25}
    return Sketch(random, "ThresholdShedder", levels, counts, exact=True, settings=settings)


@composite
def near_the_limit(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Draw one broker slightly below or above the limit; the limit is average plus threshold."""
    size, even = draw(loads.sizes(fewest)), draw(other_levels)
    limit, step = draw(points_above), draw(limit_offsets)
    random, count = draw(randoms), size.brokers
    # A broker at this level is exactly `limit` points above the average of all brokers.
    at = even + limit * count / (count - 1)
    levels = [even] * (count - 1) + [max(0, round(at + step * count / (count - 1), 3))]
    random.shuffle(levels)
    counts = loads.bundles_per_broker(random, count, max(size.bundles, 2 * count))
    settings = {SHEDDER_THRESHOLD: limit}
    return Sketch(random, "ThresholdShedder", levels, counts, settings=settings)


least_steps = st.sampled_from((0.2, 0.6, 0.9, 1.3, 2))


@composite
def near_the_minimum_throughput(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Draw one broker far above the others; its bundles carry about the minimum throughput."""
    sketch, least = draw(near_the_limit(max(fewest, 3))), draw(st.sampled_from((1, 10, 40)))
    busiest = sketch.levels.index(max(sketch.levels))
    sketch.levels = [
        *sketch.levels[:busiest],
        max(sketch.levels) + 20,
        *sketch.levels[busiest + 1 :],
    ]
    sketch.settings[MIN_THROUGHPUT] = least
    sketch.recent, count = 0, max(2, sketch.owned[busiest])
    each = int(draw(least_steps) * least * loads.MEGABYTE / count)
    bundles = loads.draw_rates(sketch.random, [each] * count, ranks_differ=False)
    sketch.given = {busiest: Traffic(loads.total_traffic(bundles), tuple(bundles), stuck=0)}
    return sketch


@composite
def with_idle_brokers(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Draw idle brokers, which lower the average so that the busy brokers exceed the limit."""
    size, share = draw(loads.sizes(fewest)), draw(idle_shares)
    random = draw(randoms)
    idle = max(1, round(share * size.brokers))
    levels = [0.0] * idle + [random.choice((40, 55, 70))] * (size.brokers - idle)
    random.shuffle(levels)
    settings = {SHEDDER_THRESHOLD: random.choice((5, 10, 15))}
    counts = loads.bundles_per_broker(random, size.brokers, max(size.bundles, 2))
    return Sketch(random, "ThresholdShedder", levels, counts, settings=settings, recent=0)


@composite
def with_weights(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Draw the clusters of `threshold` with random weights of resources."""
    sketch = draw(threshold(fewest))
    chosen = (0, 0.25, 0.5, 1.0) if sketch.exact else (0, 0.1, 0.3, 0.5, 0.8, 1.0)
    sketch.settings |= {name: sketch.random.choice(chosen) for name in WEIGHTS}
    return sketch


@composite
def with_history(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Draw the clusters of `threshold` with usage histories and a weight of history."""
    sketch = draw(threshold(fewest))
    sketch.exact = False
    sketch.settings[HISTORY_SHARE] = draw(history_weights)
    if draw(weights_beside):
        sketch.settings |= {name: sketch.random.choice((0, 0.5, 1.0)) for name in WEIGHTS}
    sketch.history = draw_earlier_usages(sketch.random, sketch.levels)
    return sketch


BELOW: tuple[Callable[[float], float], ...] = (
    lambda _threshold: float(LOWER_BOUNDARY_LOAD),
    lambda threshold: threshold,
    lambda threshold: float(LOWER_BOUNDARY_LOAD) - threshold,
)
"""Points from the average down to the lower boundary, by alternative of `lower-boundary`."""

boundary_distances = st.sampled_from(BELOW)
boundary_offsets = st.sampled_from((0.25, -0.25, 0.02, -0.02, 0.75, -0.75))
boundary_thresholds = st.sampled_from((10, 10, 10, 5, 20, 15))
busy_levels = st.sampled_from((80, 50, 90))
low_levels = st.sampled_from((0, 0.25, -8, -10, -13, None))
near_the_boundary = st.sampled_from((True, True, False))
left_unset = st.booleans()
level_counts = st.sampled_from((2, 4, 8, 16))
bundles_each = st.sampled_from((2, 3, 6))
at_the_boundary = st.sampled_from((None, None, (75, 75, 50, 0), (100, 100, 75, 25)))
"""Usages; the lowest is 50 points below the average, the highest less than 50 above it."""

level_usages = st.sampled_from(loads.EXACT_PERCENTS)


@composite
def _idle_among_busy(draw: st.DrawFn, fewest: int, settings: dict[str, Any]) -> Sketch:
    """Draw busy brokers; one may be near the lower boundary of a reading, far below it, or idle."""
    size = draw(loads.sizes(max(fewest, 3)))
    busy, limit = draw(busy_levels), draw(boundary_thresholds)
    if draw(near_the_boundary):
        below = max(draw(boundary_distances)(limit) + draw(boundary_offsets), 0)
        random = draw(randoms)
        levels = loads.lowest_twice(random, _one_below_the_average(random, size, busy, below))
    else:
        low, random = draw(low_levels), draw(randoms)
        levels = loads.lowest_twice(random, _one_lower(random, size, busy, low))
    counts = [2 + more for more in loads.bundles_per_broker(random, *size)]
    settings = {SHEDDER_THRESHOLD: limit, **settings}
    recent = random.choice((0, 0, 0.3))
    sketch = Sketch(random, "ThresholdShedder", levels, counts, settings=settings, recent=recent)
    return _weighted_alike(sketch) if random.random() < LIGHTER else sketch


LIGHTER, WEIGHT = 0.2, 0.8
"""Share of clusters with one weight below 1 for all resources, and that weight."""


def _weighted_alike(sketch: Sketch) -> Sketch:
    levels = [round(level / WEIGHT, 6) for level in sketch.levels]
    settings = {**sketch.settings, **dict.fromkeys(WEIGHTS, WEIGHT)}
    return replace(sketch, levels=levels, settings=settings)


def _even_usages(random: Random, size: Size, busy: float) -> list[float]:
    return [busy + random.choice((0, 0, 1)) for _ in range(size.brokers)]


def _one_below_the_average(random: Random, size: Size, busy: float, below: float) -> list[float]:
    """Return the brokers' usage in percent; one of them is `below` points below the average."""
    levels, place = _even_usages(random, size, busy), random.randrange(size.brokers)
    of_all_others = sum(levels) - levels[place]
    levels[place] = max(0, round((of_all_others - size.brokers * below) / (size.brokers - 1), 4))
    return levels


def _one_lower(random: Random, size: Size, busy: float, low: float | None) -> list[float]:
    """Return nearly equal usages in percent; one is multiplied by `low`, or `low` < 0 is added."""
    levels, place = _even_usages(random, size, busy), random.randrange(size.brokers)
    if low is not None:
        levels[place] = busy + low if low < 0 else busy * low
    return levels


@composite
def lower_boundary_on(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Draw a cluster with the lower boundary enabled."""
    return draw(_idle_among_busy(fewest, {LOWER_BOUNDARY: True}))


def lower_boundary_with_small_bundles(fewest: int = 2) -> st.SearchStrategy[Sketch]:
    """Return a strategy for `lower_boundary_on`; brokers report 50 times their bundles' traffic."""
    return lower_boundary_on(fewest).map(_with_small_bundles)


def _with_small_bundles(sketch: Sketch) -> Sketch:
    return replace(sketch, given={n: _small(sketch, count) for n, count in enumerate(sketch.owned)})


def _small(sketch: Sketch, count: int) -> Traffic:
    different = sketch.random.sample(range(1, max(60, 2 * count)), count)
    sizes = [size * loads.MEGABYTE for size in different]
    bundles = loads.draw_rates(sketch.random, sizes, ranks_differ=False)
    whole = {name: 50 * rate for name, rate in loads.total_traffic(bundles).items()}
    return Traffic(whole, tuple(bundles), stuck=0)


@composite
def lower_boundary_off(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Draw a cluster with the lower boundary disabled."""
    return draw(_idle_among_busy(fewest, {} if draw(left_unset) else {LOWER_BOUNDARY: False}))


@composite
def none_below_the_boundary(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Draw usages none of which is below the lower boundary: all equal, or one exactly at it."""
    count, level, each = max(draw(level_counts), fewest), draw(level_usages), draw(bundles_each)
    at, random = draw(at_the_boundary), draw(randoms)
    levels = [level] * count if at is None or fewest > len(at) else random.sample(at, len(at))
    settings: dict[str, Any] = {SHEDDER_THRESHOLD: 10 if at is None else 50, LOWER_BOUNDARY: True}
    counts = loads.bundles_per_broker(random, len(levels), len(levels) * each)
    return Sketch(random, "ThresholdShedder", levels, counts, True, settings)


level_limits = st.sampled_from((5, 10, 20))
history_shares = st.sampled_from((0.9, 0.9, 0.99, 1, 0.75, 0.5, 0.25, 0.1))
past_is_high = st.booleans()


@composite
def with_lower_boundary(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Draw brokers above the limit and idle brokers, with the lower boundary enabled."""
    size, busy, limit = draw(loads.sizes(max(fewest, 3))), draw(busy_levels), draw(level_limits)
    random = draw(randoms)
    levels: list[float] = [random.choice((busy, busy - 1, 0)) for _ in range(size.brokers)]
    levels[:3] = [busy, 0, busy + limit]
    levels[2] += limit if busy + 2 * limit + 20 < 130 else 0
    random.shuffle(levels)
    counts = [2 + more for more in loads.bundles_per_broker(random, *size)]
    settings: dict[str, Any] = {SHEDDER_THRESHOLD: limit, LOWER_BOUNDARY: True}
    if random.random() < 0.3:
        settings |= {name: random.choice((1, 0.5)) for name in WEIGHTS}
    return Sketch(random, "ThresholdShedder", levels, counts, settings=settings, recent=0)


class DecisiveHistory(NamedTuple):
    """Usages, in percent, with which the weight of history decides whether a broker sheds."""

    share: float
    """The weight of history in the compared usage, from 0 to 1."""
    past: float
    present: float
    others: float
    threshold: float


def decisive_history(random: Random, brokers: int, share: float, past: bool) -> DecisiveHistory:
    """Return usages with which the weight of history alone decides whether a broker sheds.

    The broker's usage is high in earlier cycles if `past`, else in the current one. The smoothed
    usage is at least 1.5 thresholds above the average if the high usage has a weight of one half or
    more, otherwise at most 0.75 thresholds above it.
    """
    threshold, others = random.choice((5, 8, 10)), random.choice((0, 0, 5, 10, 20))
    weight = share if past else 1 - share
    times = 3.2 if weight >= 0.5 else 1.4
    high = round(others + times * threshold * brokers / (brokers - 1), 2)
    return DecisiveHistory(
        share, high if past else others, others if past else high, others, threshold
    )


@composite
def decided_by_history(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Draw a broker whose earlier and current usage differ, with a random weight of history."""
    size, share, past = draw(loads.sizes(fewest)), draw(history_shares), draw(past_is_high)
    random = draw(randoms)
    one = decisive_history(random, size.brokers, share, past)
    levels, place = [one.others] * size.brokers, random.randrange(size.brokers)
    levels[place] = one.present
    observed = {other: one.past if other == place else one.others for other in range(size.brokers)}
    history = {other: [usage] * random.choice((1, 2, 6)) for other, usage in observed.items()}
    counts = [count + 2 for count in loads.bundles_per_broker(random, *size)]
    settings = {SHEDDER_THRESHOLD: one.threshold, HISTORY_SHARE: one.share}
    return Sketch(
        random, "ThresholdShedder", levels, counts, settings=settings, history=history, recent=0
    )


@composite
def forgotten_history(draw: st.DrawFn, fewest: int) -> Sketch:
    """Draw brokers whose earlier usage differs from their current usage but has a weight of 0."""
    sketch, random = draw(threshold(fewest)), draw(randoms)
    history = {
        index: [max(0, 100 - level), max(0, level - 50)]
        for index, level in enumerate(sketch.levels)
        if random.random() < 0.8
    }
    return replace(
        sketch, exact=False, settings={**sketch.settings, HISTORY_SHARE: 0}, history=history
    )


@composite
def single_bundles(draw: st.DrawFn, fewest: int) -> Sketch:
    """Draw a broker far above the average with one or two bundles; others have one or none."""
    random = draw(randoms)
    count = max(fewest, 2, draw(st.integers(2, 6)))
    levels = [draw(st.sampled_from([60.0, 80.0, 95.0]))]
    levels += [random.choice((5.0, 10.0, 20.0)) for _ in range(count - 1)]
    counts = [draw(st.sampled_from([1, 1, 2])), *(random.choice((0, 1)) for _ in levels[1:])]
    settings = {SHEDDER_THRESHOLD: draw(st.sampled_from([5, 10]))}
    return Sketch(random, "ThresholdShedder", levels, counts, settings=settings, recent=0)
