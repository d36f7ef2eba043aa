"""Brokers to measure, and network interfaces."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing import loads
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.shedding.draw_clusters import WEIGHTS
from pulsar_conformance.reference.cluster import RESOURCES
from pulsar_conformance.reference.usage import NIC_SPEED

WEIGHT_VALUES = (0, 0.1, 0.25, 0.5, 0.8, 1, 1.0)


def measuring(broker: Json, weighted: bool, settings: Json) -> Json:
    """A case of `usage.max`."""
    return {"settings": settings, "weighted": weighted, "broker": broker}


def some_weights(random: Random) -> Json:
    """Every weight, set to different values."""
    return dict(zip(WEIGHTS, random.sample(WEIGHT_VALUES, len(WEIGHTS)), strict=True))


def _broker(random: Random) -> Json:
    kind = random.choice(("busiest", "busiest", "idle", "alike", "over", "even"))
    if kind == "idle":
        return {name: {"usage": 0, "limit": limit} for name, limit in loads.REAL_LIMITS.items()}
    if kind == "alike":
        level = random.choice(loads.EXACT)
        return {name: {"usage": level, "limit": 100} for name in RESOURCES}
    if kind == "even":
        return {name: {"usage": random.randrange(101), "limit": 100} for name in RESOURCES}
    return loads.usages(random, 130 if kind == "over" else random.randint(1, 100), exact=False)


@st.composite
def brokers(draw: st.DrawFn, weighted: bool) -> Trial:
    """A broker whose busiest resource is to be found."""
    random = draw(randoms)
    settings = some_weights(random) if weighted and random.random() < 0.8 else {}
    if not weighted and draw(st.booleans()):
        settings = some_weights(random)
    return Trial.of("usage.max", measuring(_broker(random), weighted, settings))


@st.composite
def any_broker(draw: st.DrawFn) -> Trial:
    """A broker whose busiest resource is to be found, weighted or not."""
    return draw(brokers(draw(st.booleans())))


@st.composite
def one_resource(draw: st.DrawFn) -> Trial:
    """A broker that uses only one resource, with five different weights."""
    random, resource = draw(randoms), draw(st.sampled_from(RESOURCES))
    used = {"usage": random.randint(1, 100), "limit": 100}
    return Trial.of("usage.max", measuring({resource: used}, True, some_weights(random)))


def nics(override: st.SearchStrategy[Json]) -> st.SearchStrategy[Trial]:
    """A network interface with its reported speed, and an override."""
    reported = st.sampled_from([0.5, 1, 10, 25, 100])
    return st.builds(
        lambda speed, settings: Trial.of(
            "usage.nic", {"settings": settings, "nics": [{"reportedGbps": speed}]}
        ),
        reported,
        override,
    )


def overridden() -> st.SearchStrategy[Trial]:
    """An override in whole Gbit/s."""
    return nics(st.sampled_from([1, 2, 10, 40, 100]).map(lambda speed: {NIC_SPEED: speed}))


def fractional() -> st.SearchStrategy[Trial]:
    """An override in fractions of a Gbit/s."""
    return nics(st.sampled_from([0.1, 0.5, 0.8, 1.5, 2.5]).map(lambda speed: {NIC_SPEED: speed}))


def not_overridden() -> st.SearchStrategy[Trial]:
    """No override, in every notation."""
    return nics(st.sampled_from([{}, {NIC_SPEED: ""}, {NIC_SPEED: None}]))
