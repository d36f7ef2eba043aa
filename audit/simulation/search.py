"""Search for the smallest cluster that never comes to rest under constant load."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from pulsar_conformance.audit.simulation.course import SimulatedCourse, SimulatedCycle
from pulsar_conformance.audit.simulation.measures import average_usage, limit_of, period_of
from pulsar_conformance.audit.simulation.reporting import markdown_table
from pulsar_conformance.audit.simulation.rules import loop_faults
from pulsar_conformance.audit.simulation.variants import Offering
from pulsar_conformance.audit.simulation.worlds import (
    CAPACITY,
    MEGABYTE,
    Json,
    SimulatedBroker,
    SimulatedBundle,
    SimulatedWorld,
    bundle_names,
    rates_carrying,
    usual_settings,
)
from pulsar_conformance.conformance.explain.focus import Focus
from pulsar_conformance.conformance.explain.paper import format_derivation
from pulsar_conformance.reference import Derivation, Model
from pulsar_conformance.reference.answers.shedding import SHED
from pulsar_conformance.reference.shedding import GRACE

LEGEND = """\
* `bundles of each broker`: the usage that each bundle causes, in percent; `;` separates brokers.
* `period`: the number of cycles after which the owners of all bundles repeat themselves, once they
  do. Before that, a history of usage that still changes can delay unloads, so that the first round
  takes longer.
* `unloads in the first period`: unloads in as many cycles from the start. The texts below show
  these cycles, eight at most; in those that are left out, nothing is unloaded.
* `broken`: the rules about the long run that this breaks, such as LOOP-03 (a bundle that was shed
  does not return with its next unload) and LOOP-07 (under constant load, unloads come to an end);
  `pulsar-conformance rule ID` prints one.
* OverloadShedder of a release sheds its margin from a broker exactly at the threshold, too.
""".splitlines()
"""Explanation of the table's columns and of the texts below it."""

EXAMPLES = 200
"""Number of clusters drawn in search of one that never comes to rest."""

MAX_BROKERS, MAX_BUNDLES = 4, 6
PERCENTS = 60
"""Maximum usage that one bundle causes, in percent. All usages are multiples of five."""

STEP = 5

Loads = list[list[int]]
"""The usages that the bundles of each broker cause, in percent."""


def drawn_loads() -> st.SearchStrategy[Loads]:
    """Draw a small cluster without a broker above 100 %."""
    bundle = st.integers(1, PERCENTS // STEP).map(lambda steps: steps * STEP)
    broker = st.lists(bundle, max_size=MAX_BUNDLES).filter(lambda used: sum(used) <= 100)
    return st.lists(broker, min_size=2, max_size=MAX_BROKERS)


def cluster_of(drawn: Loads) -> SimulatedWorld:
    """Return a world with these loads."""
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


@dataclass(frozen=True)
class UnsettledCluster:
    """The smallest cluster found that never comes to rest, and its course.

    Attributes:
        loads: usages that the bundles of each broker cause at first, in percent.
        course: the simulation of the cluster.
        questions: the `shed.select` case of each cycle.
    """

    loads: Loads
    course: SimulatedCourse
    questions: Sequence[Json]

    @property
    def period(self) -> int:
        """Number of cycles after which the owners of all bundles repeat."""
        found = period_of(self.course)
        assert found is not None, "only a cluster whose owners repeat is restless"
        return found

    def as_json(self) -> dict[str, Any]:
        """Return the data that a test needs to repeat the simulation, and the results of it."""
        return {
            "variant": self.course.variant,
            "strategy": self.course.strategy,
            "settings": {GRACE: self.course.settings[GRACE]},
            "loads": self.loads,
            "period": self.period,
            "unloads": len(self.course.sheds),
            "rules": [fault.rule.id for fault in loop_faults(self.course)],
        }


class ShedQuestions:
    """A connection that passes on all questions, and keeps the cases of `shed.select`."""

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
        """Return the connection's leader. The cases that it is asked are not kept."""
        return self._connection.in_turn()


def smallest_unsettled_cluster(
    simulate: Callable[[SimulatedWorld], SimulatedCourse], asked: ShedQuestions, seed: int
) -> UnsettledCluster | None:
    """Return the smallest cluster found whose owners repeat for ever; None if none is found.

    `simulate` must send its questions to `asked`.
    """

    def restless(drawn: Loads) -> bool:
        return period_of(simulate(cluster_of(drawn))) is not None

    chosen = settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    try:
        found = find(drawn_loads(), restless, settings=chosen, random=Random(seed))
    except NoSuchExample:
        return None
    asked.kept.clear()
    course = simulate(cluster_of(found))
    return UnsettledCluster(found, course, tuple(asked.kept))


STORY = 8
"""Maximum number of cycles with unloads that a text describes."""


def story_lines(found: UnsettledCluster, profile: str) -> Iterator[str]:
    """Yield the cycles of a period in which bundles are unloaded: usage before it, arithmetic, and
    moves.

    The model of this profile gives the arithmetic, if it unloads the same bundles.
    """
    model = Model(profile)
    first = found.course.cycles[: found.period + 1]
    for cycle in [cycle for cycle in first if cycle.sheds][:STORY]:
        used = ", ".join(f"{name} {percent:g} %" for name, percent in cycle.usage.items())
        limit = limit_of(found.course, cycle)
        about = f"; average {average_usage(cycle):g} %" + (f", limit {limit:g} %" if limit else "")
        yield f"cycle {cycle.number}: {used}{about}"
        if cycle.number < len(found.questions):
            yield from _arithmetic(model.derive(SHED, found.questions[cycle.number]), cycle)
        for move in cycle.sheds:
            yield f"  {move.bundle}: {move.source} → {move.target}"


def _arithmetic(derivation: Derivation, cycle: SimulatedCycle) -> Iterator[str]:
    """Yield the model's arithmetic for the brokers that shed.

    Yield nothing if the model would unload other bundles.
    """
    derived = {one["bundle"] for one in derivation.answer.get("unload", ())}
    if derived != {move.bundle for move in cycle.sheds}:
        return
    for broker in dict.fromkeys(str(move.source) for move in cycle.sheds):
        steps = Focus(broker).shown_steps(derivation.steps)
        own = [one for one in steps if one.label == broker or one.label.startswith(" ")]
        yield from (f"    {line}" for line in format_derivation(own))


def none_found(cycles: int) -> str:
    """Return what was searched without finding a cluster that repeats itself."""
    return f"none of {EXAMPLES} clusters repeats itself within {cycles} cycles"


def unsettled_page(
    found: Mapping[str, UnsettledCluster | None],
    stories: Mapping[str, Sequence[str]],
    command: str,
    cycles: int,
) -> str:
    """Return a Markdown page about the smallest clusters, by the name of the variant."""
    rows = []
    for variant, one in found.items():
        if one is None:
            rows.append((variant, none_found(cycles), "", "", ""))
            continue
        cluster = "; ".join(" + ".join(map(str, used)) or "0" for used in one.loads)
        rules = ", ".join(fault.rule.id for fault in loop_faults(one.course))
        unloads = sum(move.cycle < one.period for move in one.course.sheds)
        rows.append((variant, f"{cluster} %", str(one.period), str(unloads), rules))
    headings = (
        "variant",
        "bundles of each broker",
        "period",
        "unloads in the first period",
        "broken",
    )
    chapters = [
        line
        for variant, lines in stories.items()
        for line in (f"## {variant}", "", "```text", *lines, "```", "")
    ]
    return "\n".join(
        [
            "# The smallest clusters that never come to rest",
            "",
            "The owners of their bundles repeat themselves for ever, though the load is constant.",
            "Generated by:",
            "",
            f"    {command}",
            "",
            *markdown_table(headings, rows),
            "",
            *LEGEND,
            "",
            *chapters,
        ]
    )
