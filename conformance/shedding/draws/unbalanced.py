"""Clusters whose brokers carry different amounts. [UNIFORM]"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st
from pulsar_conformance.conformance.drawing import loads
from pulsar_conformance.conformance.drawing.loads import SHARES, randoms
from pulsar_conformance.conformance.shedding.draws.amounts import Traffic
from pulsar_conformance.conformance.shedding.draws.clusters import Sketch, besides
from pulsar_conformance.conformance.shedding.draws.settings import (
    UNIFORM_RATE,
    UNIFORM_THROUGHPUT,
    graces,
)

FEWEST_OF_THE_BUSIEST = 8
"""Bundles, so that some are small enough to move."""

STRATEGY = "UniformLoadShedder"


class Carried(NamedTuple):
    """The traffic of a broker: messages and bytes per second."""

    messages: float
    size: float


ways = st.sampled_from(("any", "beside", "beside", "apart", "idle", "any"))
rate_thresholds = st.sampled_from((50, 50, 10, 400))
multipliers = st.sampled_from((4, 4, 1.5, 2))
in_percent = st.booleans()
off = st.sampled_from((0.02, -0.02, 0.1, -0.1, 0.5, 2))


@st.composite
def uniform(draw: st.DrawFn, fewest: int = 2) -> Sketch:
    """Brokers whose rates differ by slightly more or less than the thresholds, or arbitrarily.

    Sometimes the lowest broker is idle, or messages and bytes disagree on which carries the most.
    """
    size, way = draw(loads.sizes(fewest)), draw(ways)
    rate, factor = draw(rate_thresholds), draw(multipliers)
    settings: dict[str, Any] = {UNIFORM_RATE: rate, UNIFORM_THROUGHPUT: factor, **draw(graces)}
    if way == "any":
        return besides(_anyhow(draw(randoms), size, settings))
    percent, more, larger = draw(in_percent), draw(off), draw(off)
    random = draw(randoms)
    low = Carried(random.randrange(200, 2000), random.randrange(10, 200) * loads.MEGABYTE)
    apart = low.messages * rate / 100 if percent else rate
    high = Carried(low.messages + apart * (1 + more), low.size * factor * (1 + larger))
    between = [_between(random, low, high) for _ in range(size.brokers - 2)]
    carried = [Carried(0, 0) if way == "idle" else low, *between, high]
    if way == "apart":
        carried[0], carried[-1] = Carried(low.messages, high.size), Carried(high.messages, low.size)
    random.shuffle(carried)
    counts = loads.owned(random, *size)
    given = {
        place: _shared_out(random, whole, counts[place] + FEWEST_OF_THE_BUSIEST * (whole == high))
        for place, whole in enumerate(carried)
    }
    levels = [random.randrange(100) for _ in carried]
    return besides(Sketch(random, STRATEGY, levels, counts, settings=settings, given=given))


def _anyhow(random: Random, size: loads.Size, settings: dict[str, Any]) -> Sketch:
    levels, counts = (
        [random.randrange(100) for _ in range(size.brokers)],
        loads.owned(random, *size),
    )
    if random.random() < 0.5:
        counts[0] += size.brokers * 2
    awry = random.random() < 0.3
    return Sketch(random, STRATEGY, levels, counts, settings=settings, awry=awry)


def _between(random: Random, low: Carried, high: Carried) -> Carried:
    return Carried(
        random.uniform(*sorted((low.messages, high.messages))),
        random.uniform(*sorted((low.size, high.size))),
    )


def _shared_out(random: Random, whole: Carried, count: int) -> Traffic:
    """The traffic of a broker, and bundles that carry it together."""
    parts = [0.1 + random.random() for _ in range(count)]
    other = random.sample(parts, count) if random.random() < 0.3 else parts
    all_of_them, share = sum(parts), random.choice(SHARES)
    bundles = (
        loads.both_ways(
            whole.messages * part / all_of_them, whole.size * of_bytes / all_of_them, share
        )
        for part, of_bytes in zip(parts, other, strict=True)
    )
    stuck = random.choice((0, 0, 0, count // 2))
    return Traffic(loads.both_ways(*whole, share), tuple(bundles), stuck)
