"""Small clusters to search, and the worlds in which they are simulated."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from pulsar_conformance.audit.simulation.worlds import (
    CAPACITY,
    MEGABYTE,
    SimulatedBroker,
    SimulatedBundle,
    SimulatedWorld,
    bundle_names,
    rates_carrying,
    usual_settings,
)

PERCENTS = 60
"""Maximum usage that one bundle causes, in percent; all usages are multiples of five."""

STEP = 5
BUSY = 80
"""Minimum usage, in percent, of brokers that are drawn as nearly full."""

CHANGE = 10
"""First cycle in which a changing load has its second value."""

Load = int | tuple[int, int]
"""The usage that a bundle causes, in percent: constant, or before and after `CHANGE`."""

Loads = tuple[tuple[Load, ...], ...]
"""For each broker, the loads of its bundles."""


def draw_loads(brokers: int, bundles: int, *, constant: bool) -> st.SearchStrategy[Loads]:
    """Draw a cluster of up to `brokers` brokers with up to `bundles` bundles each.

    No broker's usage exceeds 100 %, and some brokers are nearly full. If `constant` is false, loads
    may change.
    """
    percents = st.integers(1, PERCENTS // STEP).map(lambda steps: steps * STEP)
    changing = st.tuples(percents, percents).filter(lambda both: both[0] != both[1])
    load: st.SearchStrategy[Load] = percents if constant else st.one_of(percents, changing)
    broker = st.lists(load, max_size=bundles)
    full = st.builds(_with_filling_load, broker, st.integers(BUSY // STEP, 100 // STEP))
    fitting = st.one_of(broker, full).filter(_fits)
    return st.lists(fitting.map(tuple), min_size=2, max_size=brokers).map(tuple)


def _with_filling_load(loads: Sequence[Load], steps: int) -> Sequence[Load]:
    """Return a broker's loads with one more that raises its usage to `steps` times `STEP` percent.

    If no single bundle can do so, return the loads unchanged.
    """
    rest = steps * STEP - sum(usages_of(load)[0] for load in loads)
    return [*loads, rest] if 0 < rest <= PERCENTS else loads


def _fits(loads: Sequence[Load]) -> bool:
    return all(sum(usages_of(load)[phase] for load in loads) <= 100 for phase in (0, 1))


def usages_of(load: Load) -> tuple[int, int]:
    """Return two usages that a bundle causes, in percent: before and after `CHANGE`."""
    return (load, load) if isinstance(load, int) else (load[0], load[1])


def load_text(load: Load) -> str:
    """Return a bundle's load as text, such as `40` or `40 → 5`."""
    return " → ".join(map(str, dict.fromkeys(usages_of(load))))


def loads_text(drawn: Sequence[Sequence[Load]]) -> str:
    """Return the loads of a cluster as text, such as `5; 5 + 40 %`."""
    return "; ".join(" + ".join(map(load_text, loads)) or "0" for loads in drawn) + " %"


def cluster_of(drawn: Sequence[Sequence[Load]]) -> SimulatedWorld:
    """Return a world with these loads."""
    names = iter(bundle_names(sum(map(len, drawn))))
    capacity = CAPACITY * MEGABYTE
    brokers, bundles = [], []
    for number, loads in enumerate(drawn, 1):
        broker = SimulatedBroker(f"broker-{number}", {"cpu": (0, 100 / capacity)})
        brokers.append(broker)
        for load in loads:
            before, after = (
                rates_carrying(percent / 100 * capacity) for percent in usages_of(load)
            )
            recorded = () if before == after else (*[before] * CHANGE, after)
            bundles.append(
                SimulatedBundle(next(names), broker.name, before, recorded=recorded),
            )
    title = loads_text(drawn)
    return SimulatedWorld("smallest", title, tuple(brokers), tuple(bundles), usual_settings())
