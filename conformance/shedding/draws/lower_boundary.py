"""Clusters in which no broker is above the limit, and one may be idle. [THRESHOLD-08 … 10]"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance.conformance.drawing import loads
from pulsar_conformance.conformance.drawing.loads import Size, randoms
from pulsar_conformance.conformance.shedding.draws.clusters import Sketch
from pulsar_conformance.conformance.shedding.draws.settings import LOWER_BOUNDARY, OVER_AVERAGE
from pulsar_conformance.reference.threshold import LOWER_BOUNDARY_LOAD

BELOW: tuple[Callable[[float], float], ...] = (
    lambda _threshold: float(LOWER_BOUNDARY_LOAD),
    lambda threshold: threshold,
    lambda threshold: float(LOWER_BOUNDARY_LOAD) - threshold,
)
"""How far below the average the boundary lies, by the reading `lower-boundary`."""

bounds = st.sampled_from(BELOW)
beside = st.sampled_from((0.25, -0.25, 0.4, -0.4, 0.75, -0.75))
thresholds = st.sampled_from((10, 10, 10, 5, 20, 15))
busy_levels = st.sampled_from((80, 50, 90))
lows = st.sampled_from((0, 0.25, -8, -10, -13, None))
near_the_bound = st.sampled_from((True, True, False))
left_out = st.booleans()
level_counts = st.sampled_from((2, 4, 8, 16))
bundles_each = st.sampled_from((2, 3, 6))
level_usages = st.sampled_from(loads.EXACT)


@st.composite
def _idle_among_busy(draw: st.DrawFn, fewest: int, settings: dict[str, Any]) -> Sketch:
    """One broker near the lower boundary by some reading, or like the documents' idle one."""
    size, busy, limit = draw(loads.sizes(max(fewest, 3))), draw(busy_levels), draw(thresholds)
    if draw(near_the_bound):
        below = max(draw(bounds)(limit) + draw(beside), 0)
        random = draw(randoms)
        levels = _one_below_the_average(random, size, busy, below)
    else:
        low = draw(lows)
        random = draw(randoms)
        levels = _one_lower(random, size, busy, low)
    counts = [2 + more for more in loads.owned(random, *size)]
    settings = {OVER_AVERAGE: limit, **settings}
    return Sketch(random, "ThresholdShedder", levels, counts, settings=settings, recent=0)


def _even(random: Random, size: Size, busy: float) -> list[float]:
    return [busy + random.choice((0, 0, 1)) for _ in range(size.brokers)]


def _one_below_the_average(random: Random, size: Size, busy: float, below: float) -> list[float]:
    """One broker `below` points below the average of all."""
    levels, place = _even(random, size, busy), random.randrange(size.brokers)
    of_others = sum(levels) - levels[place]
    levels[place] = max(0, round((of_others - size.brokers * below) / (size.brokers - 1), 4))
    return levels


def _one_lower(random: Random, size: Size, busy: float, low: float | None) -> list[float]:
    """One broker below the others by some points, at a share of their usage, or equal to them."""
    levels, place = _even(random, size, busy), random.randrange(size.brokers)
    if low is not None:
        levels[place] = busy + low if low < 0 else busy * low
    return levels


@st.composite
def lower_boundary_on(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """A cluster with the lower boundary switched on."""
    return draw(_idle_among_busy(fewest, {LOWER_BOUNDARY: True}))


@st.composite
def lower_boundary_off(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """A cluster with the lower boundary switched off."""
    return draw(_idle_among_busy(fewest, {} if draw(left_out) else {LOWER_BOUNDARY: False}))


@st.composite
def level_cluster(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Brokers with equal usage, with the lower boundary switched on."""
    count, level, each = max(draw(level_counts), fewest), draw(level_usages), draw(bundles_each)
    random = draw(randoms)
    settings: dict[str, Any] = {OVER_AVERAGE: 10, LOWER_BOUNDARY: True}
    counts = loads.owned(random, count, count * each)
    return Sketch(random, "ThresholdShedder", [level] * count, counts, True, settings)
