"""Shedding cycles of one cluster, and of the same cluster before and after a change."""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.shedding.draws.above_average import threshold
from pulsar_conformance.conformance.shedding.draws.clusters import Sketch
from pulsar_conformance.conformance.shedding.draws.overloaded import overload
from pulsar_conformance.conformance.shedding.draws.settings import NEEDED
from pulsar_conformance.conformance.shedding.draws.unbalanced import uniform
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.reference.shedding import ENABLED

Clusters = Callable[[int], st.SearchStrategy[Sketch]]
"""Makes a strategy of clusters with at least so many brokers."""

Change = Callable[[Random, Json], Json]


def cases(*clusters: Clusters, fewest: int = 2) -> st.SearchStrategy[Json]:
    """Cases of one shedding cycle, in clusters of any of these kinds."""
    return st.one_of([made(fewest) for made in clusters]).map(Sketch.case)


def cycles(*clusters: Clusters, fewest: int = 2) -> st.SearchStrategy[Trial]:
    """The same cases as trials."""
    return cases(*clusters, fewest=fewest).map(lambda case: Trial.of(SHED.id, case))


def changed(change: Change, *clusters: Clusters) -> st.SearchStrategy[Trial]:
    """One cycle, after a change."""
    return st.builds(
        lambda case, random: Trial.of(SHED.id, change(random, case)), cases(*clusters), randoms
    )


def pairs(change: Change, *clusters: Clusters) -> st.SearchStrategy[Trial]:
    """A cycle, and the same cluster after a change."""
    return st.builds(
        lambda case, random: Trial.of(SHED.id, case, change(random, copy.deepcopy(case))),
        cases(*clusters),
        randoms,
    )


def any_strategy(fewest: int = 2) -> st.SearchStrategy[Sketch]:
    """A cluster for one of the three strategies."""
    return st.one_of(overload(fewest), threshold(fewest), uniform(fewest))


def switched_off(fewest: int = 2) -> st.SearchStrategy[Sketch]:
    """A cluster that would shed, with shedding switched off."""
    return any_strategy(fewest).map(_without_shedding)


def _without_shedding(sketch: Sketch) -> Sketch:
    sketch.settings[ENABLED] = False
    return sketch


def lately_unloaded(fewest: int = 2) -> st.SearchStrategy[Sketch]:
    """A cluster with most bundles unloaded around the grace period ago."""
    return any_strategy(fewest).map(_lately_unloaded)


def _lately_unloaded(sketch: Sketch) -> Sketch:
    sketch.recent, sketch.given = 0.7, {}
    return sketch


def without_ties(fewest: int = 2) -> st.SearchStrategy[Sketch]:
    """A cluster for any strategy, with the settings of all of them."""
    return any_strategy(fewest).map(_without_ties)


def threshold_without_ties(fewest: int = 2) -> st.SearchStrategy[Sketch]:
    """A cluster for ThresholdShedder, with the settings of all strategies."""
    return threshold(fewest).map(_without_ties)


def others_without_ties(fewest: int = 2) -> st.SearchStrategy[Sketch]:
    """A cluster for a strategy other than OverloadShedder."""
    return st.one_of(threshold(fewest), uniform(fewest)).map(_without_ties)


def _without_ties(sketch: Sketch) -> Sketch:
    sketch.settings = {**NEEDED, **sketch.settings}
    sketch.traffic, sketch.recent = "different", 0
    return sketch
