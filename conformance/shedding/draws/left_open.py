"""Cycles of shedding that other draws leave out: a history that does not count, single bundles."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.shedding.draws.above_average import threshold
from pulsar_conformance.conformance.shedding.draws.clusters import Sketch
from pulsar_conformance.conformance.shedding.draws.settings import HISTORY, OVER_AVERAGE


@st.composite
def forgotten_history(draw: st.DrawFn, fewest: int) -> Sketch:
    """Brokers that were used otherwise before, which does not count."""
    sketch, random = draw(threshold(fewest)), draw(randoms)
    history = {
        place: [max(0, 100 - level), max(0, level - 50)]
        for place, level in enumerate(sketch.levels)
        if random.random() < 0.8
    }
    return replace(sketch, exact=False, settings={**sketch.settings, HISTORY: 0}, history=history)


@st.composite
def single_bundles(draw: st.DrawFn, fewest: int) -> Sketch:
    """A broker far above the average with a bundle or two, the others with one or none."""
    random = draw(randoms)
    count = max(fewest, 2, draw(st.integers(2, 6)))
    levels = [draw(st.sampled_from([60.0, 80.0, 95.0]))]
    levels += [random.choice((5.0, 10.0, 20.0)) for _ in range(count - 1)]
    counts = [draw(st.sampled_from([1, 1, 2])), *(random.choice((0, 1)) for _ in levels[1:])]
    settings = {OVER_AVERAGE: draw(st.sampled_from([5, 10]))}
    return Sketch(random, "ThresholdShedder", levels, counts, settings=settings, recent=0)
