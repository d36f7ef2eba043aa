"""Search for the smallest cluster that never comes to rest under constant load."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from pulsar_conformance.audit.simulation.course import SimulatedCourse
from pulsar_conformance.audit.simulation.measures import average_usage, limit_of, measures_of
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

MOST_BROKERS, MOST_BUNDLES = 4, 6
PERCENTS = 60
"""Maximum usage of a broker by one bundle, in percent; all usages are multiples of five."""

STEP = 5

Loads = list[list[int]]
"""Usage of each broker by each of its bundles, in percent."""


def drawn_loads() -> st.SearchStrategy[Loads]:
    """Draw a small cluster without a broker above 100 %."""
    bundle = st.integers(1, PERCENTS // STEP).map(lambda steps: steps * STEP)
    broker = st.lists(bundle, max_size=MOST_BUNDLES).filter(lambda used: sum(used) <= 100)
    return st.lists(broker, min_size=2, max_size=MOST_BROKERS)


def cluster_of(drawn: Loads) -> SimulatedWorld:
    """Return the world with these loads."""
    names = iter(bundle_names(sum(map(len, drawn))))
    capacity = CAPACITY * MEGABYTE
    brokers, bundles = [], []
    for number, used in enumerate(drawn, 1):
        broker = SimulatedBroker(f"broker-{number}", {"cpu": (0, 100 / capacity)})
        brokers.append(broker)
        for percent in used:
            rates = rates_carrying(percent / 100 * capacity)
            bundles.append(SimulatedBundle(next(names), broker.name, rates))
    title = "; ".join(f"{' + '.join(map(str, used)) or 0} %" for used in drawn)
    return SimulatedWorld("restless", title, tuple(brokers), tuple(bundles), usual_settings())


def smallest_restless(
    simulate: Callable[[SimulatedWorld], SimulatedCourse], seed: int, examples: int
) -> SimulatedCourse | None:
    """Return the simulation of the smallest cluster found that repeats itself without end, or
    None.
    """

    def restless(drawn: Loads) -> bool:
        return measures_of(simulate(cluster_of(drawn))).period is not None

    chosen = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    try:
        found = find(drawn_loads(), restless, settings=chosen, random=Random(seed))
    except NoSuchExample:
        return None
    return simulate(cluster_of(found))


STORY = 8
"""Maximum number of cycles with unloads that are shown."""


def story_lines(course: SimulatedCourse) -> Iterator[str]:
    """Yield the first cycles with unloads: the usage before them, and each move."""
    shown = [cycle for cycle in course.cycles if cycle.sheds][:STORY]
    for cycle in shown:
        used = ", ".join(f"{name} {percent:g} %" for name, percent in cycle.usage.items())
        limit = limit_of(course, cycle)
        about = f"; average {average_usage(cycle):g} %" + (f", limit {limit:g} %" if limit else "")
        yield f"cycle {cycle.number}: {used}{about}"
        for move in cycle.sheds:
            yield f"  {move.bundle}: {move.source} → {move.target}"
