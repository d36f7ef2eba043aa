"""Clusters around the overload threshold. [OVERLOAD, SHED-08]"""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.drawing import loads
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.shedding.draws.amounts import Need, carrying
from pulsar_conformance.conformance.shedding.draws.clusters import Sketch, besides
from pulsar_conformance.conformance.shedding.draws.settings import NEEDED, OTHERS, OVERLOAD, graces
from pulsar_conformance.reference.overload import MARGIN

HALF_A_POINT = 0.5
"""The error of an amount that is only just wrong."""

ways = st.sampled_from(("beside", "exact", "amount", "amount", "beside"))
exact_thresholds = st.sampled_from((25, 50, 75))
thresholds = st.sampled_from((85, 60, 90.5))
left_out = st.booleans()
excesses = st.sampled_from((0.25, 0.4, 1, 2, 4.5, 10, 14))
defaults = st.sampled_from((84, 84.75, 85.25, 86, 95))


@st.composite
def overload(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Brokers on both sides of the threshold, exactly at it, or one with a decisive amount.

    The bundles of that broker distinguish the right amount from half a point more or less.
    """
    size, way = draw(loads.sizes(fewest)), draw(ways)
    random = draw(randoms)
    if way == "exact":
        return _at_the_threshold(random, size, draw(exact_thresholds), draw(graces))
    threshold = draw(thresholds)
    settings = {OVERLOAD: threshold, **draw(graces)}
    if threshold == 85 and draw(left_out):
        del settings[OVERLOAD]
    levels = [loads.near(random, threshold) for _ in range(size.brokers)]
    sketch = Sketch(
        random,
        "OverloadShedder",
        levels,
        loads.owned(random, *size),
        settings=settings,
        measured=False,
    )
    if way == "amount":
        place, excess = random.randrange(size.brokers), draw(excesses)
        levels[place] = min(threshold + excess, 100)
        margin = float(MARGIN)
        need = Need(levels[place] - threshold + margin, HALF_A_POINT)
        sketch.given = {place: carrying(random, need)}
    return besides(sketch)


def _at_the_threshold(
    random: Random, size: loads.Size, threshold: float, settings: dict[str, float]
) -> Sketch:
    """Exact usages, many of them equal to the threshold."""
    settings = {OVERLOAD: threshold, **settings}
    levels = [random.choice((threshold, *loads.EXACT)) for _ in range(size.brokers)]
    counts = loads.owned(random, *size)
    return Sketch(random, "OverloadShedder", levels, counts, exact=True, settings=settings)


@st.composite
def overload_by_default(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Brokers slightly above and below 85 %, with nothing set."""
    size, first = draw(loads.sizes(fewest)), draw(defaults)
    random = draw(randoms)
    levels = [random.choice((70, 84, 84.75, 85.25, 86, 95)) for _ in range(size.brokers)]
    levels[random.randrange(size.brokers)] = first
    return Sketch(random, "OverloadShedder", levels, loads.owned(random, *size), recent=0)


@st.composite
def overload_with_few_bundles(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Overloaded brokers with no bundle, one, or two."""
    size = draw(loads.sizes(fewest))
    random = draw(randoms)
    levels = [random.choice((90, 95, 100)) for _ in range(size.brokers)]
    counts = [random.choice((0, 1, 1, 2)) for _ in range(size.brokers)]
    counts[-1] += max(0, size.bundles - sum(counts))
    return Sketch(random, "OverloadShedder", levels, counts, recent=0)


@st.composite
def overloaded_under_others(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Overloaded brokers under a strategy other than OverloadShedder."""
    sketch = draw(overload(fewest))
    sketch.strategy = draw(OTHERS)
    sketch.settings = {**NEEDED, **sketch.settings}
    return sketch
