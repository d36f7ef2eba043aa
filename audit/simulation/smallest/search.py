"""Search for the smallest cluster in which a rule about the long run is violated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.audit.simulation.course import SimulatedCourse, SimulatedCycle
from pulsar_conformance.audit.simulation.deciding import REFERENCE
from pulsar_conformance.audit.simulation.measures import period_of
from pulsar_conformance.audit.simulation.rules import (
    CONSTANT_LOAD,
    ENDLESS,
    LoopFault,
    fault_of_rule,
    loop_faults,
)
from pulsar_conformance.audit.simulation.smallest.clusters import (
    Loads,
    cluster_of,
    draw_loads,
    usages_of,
)
from pulsar_conformance.audit.simulation.variants import Offering, Variant, make_simulator
from pulsar_conformance.audit.simulation.worlds import Json, SimulatedWorld
from pulsar_conformance.reference.answers.shedding import SHED
from pulsar_conformance.reference.shedding import GRACE

SIZES = ((2, 2), (3, 2), (3, 3), (4, 4), (4, 6))
"""Maximum numbers of brokers and of bundles of each broker, the smallest first.

At each size, constant loads are searched before changing loads.
"""

CLUSTERS_PER_SEED = 200
"""Maximum number of clusters that are drawn with one seed.

A search may have several rounds with different seeds, since the reduction in one round may stop too
early.
"""


@dataclass(frozen=True)
class SmallestCluster:
    """The smallest cluster found in which a rule is violated, and its course.

    Attributes:
        fault: the violation of the rule.
        loads: usages that the bundles of each broker cause, in percent.
        course: the simulation of the cluster.
        questions: the `shed.select` case of each cycle.
    """

    fault: LoopFault
    loads: Loads
    course: SimulatedCourse
    questions: Sequence[Json]

    @property
    def length(self) -> int:
        """Number of cycles until the violation is complete.

        That is, until the owners of all bundles repeat, or up to the first cycle that violates the
        rule.
        """
        period = period_of(self.course)
        if self.fault.rule.id == ENDLESS and period is not None:
            return period
        return self.fault.cycle + 1

    @property
    def shedding(self) -> Sequence[SimulatedCycle]:
        """The cycles with unloads that show the violation."""
        again = int(self.fault.rule.id == ENDLESS)
        return [one for one in self.course.cycles[: self.length + again] if one.sheds]

    def as_json(self) -> dict[str, Any]:
        """Return the data that a test needs to repeat the simulation, and its results."""
        return {
            "variant": self.course.variant,
            "rule": self.fault.rule.id,
            "strategy": self.course.strategy,
            "settings": {GRACE: self.course.settings[GRACE]},
            "loads": self.loads,
            "cycle": self.fault.cycle,
            "period": period_of(self.course),
            "unloads": len(self.course.sheds),
            "rules": [fault.rule.id for fault in loop_faults(self.course)],
        }


class ShedQuestions:
    """A connection that forwards all questions and keeps the cases of `shed.select`."""

    def __init__(self, connection: Offering) -> None:
        self._connection = connection
        self.hello, self.adapter = connection.hello, connection.adapter
        self.kept: list[Json] = []

    def ask(self, operation: str, cases: Sequence[Json]) -> Sequence[Mapping[str, Any]]:
        """Return an answer for each case."""
        if operation == SHED:
            self.kept += cases
        return self._connection.ask(operation, cases)

    def in_turn(self) -> Callable[[Json, float], Json] | None:
        """Return the connection's leader, whose cases are not kept."""
        return self._connection.in_turn()


Simulated = tuple[SimulatedCourse, Sequence[Json]]
"""The simulation of a world, and the `shed.select` case of each cycle."""


def search_with_variant(
    rule: str,
    variant: Variant,
    readings: Mapping[str, str],
    cycles: int,
    seed: int,
    examples: int,
) -> SmallestCluster | None:
    """Return the smallest cluster found in which a variant violates a rule; None if none is found.

    The model is connected anew for each cluster, because it may choose another of several equal
    brokers when a question is repeated. Errors: those of `make_simulator`.
    """
    connected = partial(connect, variant.adapter, variant.profile, readings)

    def simulate_by(connection: Offering, world: SimulatedWorld) -> Simulated:
        asked = ShedQuestions(connection)
        return make_simulator(variant, asked, cycles)(world), asked.kept

    def simulate_anew(world: SimulatedWorld) -> Simulated:
        with connected() as connection:
            return simulate_by(connection, world)

    if variant.adapter == REFERENCE:
        return smallest_cluster(rule, simulate_anew, seed, examples)
    with connected() as connection:
        return smallest_cluster(rule, partial(simulate_by, connection), seed, examples)


def smallest_cluster(
    rule: str, simulate: Callable[[SimulatedWorld], Simulated], seed: int, examples: int
) -> SmallestCluster | None:
    """Return the smallest cluster found in which a rule is violated; None if none is found.

    No cluster is simulated twice, since an implementation may choose at random.
    """
    found: dict[Loads, SmallestCluster | None] = {}

    def violates(loads: Loads) -> bool:
        if loads not in found:
            course, questions = simulate(cluster_of(loads))
            fault = fault_of_rule(rule, course)
            found[loads] = SmallestCluster(fault, loads, course, questions) if fault else None
        return found[loads] is not None

    kinds = (True,) if rule in CONSTANT_LOAD else (True, False)
    draws = [draw_loads(*size, constant=kind) for size in SIZES for kind in kinds]
    ends = [examples * number // len(draws) for number in range(len(draws) + 1)]
    for drawn, (start, end) in zip(draws, pairwise(ends), strict=True):
        count = end - start
        rounds = [
            min(CLUSTERS_PER_SEED, count - drawn_before)
            for drawn_before in range(0, count, CLUSTERS_PER_SEED)
        ]
        reduced = (
            _reduce_loads(drawn, violates, seed + one, size) for one, size in enumerate(rounds)
        )
        violating = [loads for loads in reduced if loads is not None]
        if violating:
            return found[min(violating, key=_size)]
    return None


def _size(loads: Loads) -> tuple[int, int, int]:
    """Return the numbers of bundles and brokers and the sum of all loads, to compare clusters."""
    each = [usages_of(load) for broker in loads for load in broker]
    return len(each), len(loads), sum(map(sum, each))


def _reduce_loads(
    drawn: st.SearchStrategy[Loads], violates: Callable[[Loads], bool], seed: int, examples: int
) -> Loads | None:
    """Return the loads to which Hypothesis reduces the first drawn cluster that violates a rule."""
    chosen = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    try:
        return find(drawn, violates, settings=chosen, random=Random(seed))
    except NoSuchExample:
        return None
