"""Placements that the alternatives of a reading decide differently."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing import Aim, aim, loads, names
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.placement.draw_placements import ASKS, OPERATION
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD


def _cluster(
    random: Random, threshold: float, usages: Sequence[float], rates: Sequence[float], more: float
) -> Json:
    """Brokers with one bundle each, in random order, and a bundle with `more` messages to place."""
    bundle, *others = names.bundles(random, len(usages) + 1)
    brokers = [f"broker-{place + 1}" for place in range(len(usages))]
    loads_of = dict(zip(others, rates, strict=True)) | {bundle: more}
    return {
        "settings": {OVERLOAD_THRESHOLD: threshold},
        "bundle": bundle,
        "candidates": random.sample(brokers, len(brokers)),
        "brokers": {
            name: {"cpu": {"usage": usage, "limit": 100}, "bundles": [mine]}
            for name, usage, mine in zip(brokers, usages, others, strict=True)
        },
        "bundles": {
            name: {"longTermData": loads.draw_average({"msgRateIn": rate}, 1000, 1000)}
            for name, rate in loads_of.items()
        },
        "preallocated": {},
    }


def a_best_one_each_way(random: Random) -> Json:
    """Three brokers: lowest rate, lowest score, and lowest score including the bundle."""
    few = random.choice((10, 100, 250))
    rates = (few, 2 * few, 10 * few)
    return _cluster(random, 85, (84, 45, 5), rates, more=100 * few)


@st.composite
def one_at_the_threshold(draw: st.DrawFn) -> Trial:
    """A broker exactly at the threshold, and others above it; the question is repeated.

    If that broker is eligible, it always takes the bundle; otherwise all are overloaded.
    """
    random, level = draw(randoms), draw(st.sampled_from([25, 50, 75]))
    above = random.sample([percent for percent in (50, 75, 100) if percent > level], 1)
    case = _cluster(random, level, (level, *above), (100, 10), more=100)
    return Trial.of(OPERATION, *[case] * ASKS)


def served_by_no_candidate(random: Random) -> Json:
    """A domain in which the only broker with namespaces of the group is no candidate."""
    served = random.choice((2, 3))
    groups = {f"shop/app-{number}": "blue" for number in range(served + 2)}
    owned = {
        "east-1": [f"shop/app-{number}" for number in range(1, served + 1)],
        "west-1": [f"shop/app-{served + 1}"],
    }
    return {
        "settings": {},
        "domains": {"east": ["east-1", "east-2"], "west": ["west-1", "west-2"]},
        "groups": groups,
        "owned": owned,
        "candidates": random.sample(["east-2", "west-1", "west-2"], 3),
        "namespace": "shop/app-0",
    }


AIMED = (
    aim("placement-score", OPERATION, a_best_one_each_way),
    Aim("placement-at-threshold", OPERATION, one_at_the_threshold()),
    aim("domain-counts", "place.anti_affinity", served_by_no_candidate),
)
