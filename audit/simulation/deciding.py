"""How a simulation asks an implementation: strategy, settings, and rules of placement."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pulsar_conformance.audit.simulation.worlds import Json
from pulsar_conformance.reference import Model
from pulsar_conformance.reference.answers.placement import PLACE
from pulsar_conformance.reference.answers.shedding import CYCLES
from pulsar_conformance.reference.choosing import index_for_question
from pulsar_conformance.reference.placement import PLACEMENT_STRATEGY
from pulsar_conformance.reference.shedding import STRATEGY, TRANSFER_SHEDDER
from pulsar_conformance.specs import load

REFERENCE = "reference"
ITSELF, OTHERS, LEAST_USED = "itself", "others", "least-used"
PLACING: Mapping[str, str] = {
    ITSELF: "the implementation chooses among all brokers; if it chooses the owner, the bundle "
    "stays or, with releases that choose only after the unload, returns",
    OTHERS: "the implementation chooses among the brokers other than the former owner",
    LEAST_USED: "the world chooses the least used broker, which may be the former owner",
}
"""Ways of choosing the broker for an unloaded bundle, each with its candidates."""

PLANNING = ("AvgShedder",)
REMEMBERING = (*PLANNING, TRANSFER_SHEDDER)
"""Strategies that also place the bundles that they shed, or that remember earlier cycles."""

DESTINATION, ASKED = "destination", "asked"
"""A way in `specs/ways.yaml`, and the alternative in which a leader chooses a bundle's new broker
before the unload and reserves no load for it.
"""

RELIEF, HALF_THRESHOLD = "lower-boundary-relief", "half-threshold"
"""A way in `specs/ways.yaml`, and the alternative in which usage is smoothed a second time before
the busiest broker sheds for an idle broker.
"""

KEEPS_AVERAGES = "released-2.4"
"""The only release whose leader keeps the averages of a bundle that no broker reports."""


class Decider(Protocol):
    """A connection to an implementation that answers questions, or the model itself."""

    adapter: str

    def ask(self, operation: str, cases: Sequence[Json]) -> Sequence[Mapping[str, Any]]:
        """Return one answer per case."""

    def in_turn(self) -> Callable[[Json, float], Json] | None:
        """Return a leader that decides one cycle after another; None if there is none.

        The leader is a function of a cycle's case and the minutes since the previous cycle.
        """


@dataclass(frozen=True)
class DecisionSetup:
    """How a simulation asks an implementation for decisions.

    If `remembers` is true, the strategy has its own memory: the implementation's leader is asked
    cycle by cycle or, if it has none, `shed.cycles` is asked about all cycles so far. Such a
    strategy also plans the destinations of its unloads, internally or by naming the next owner, and
    may decline to place other bundles. These go to the least used broker.

    If `reserves` is true, the placement of a shed bundle counts the bundles of the same cycle that
    were placed before it. If it is false, all shed bundles are placed by the reports alone. If
    `returns` is true, a bundle is unloaded even if its broker gets it back. If `forgets` is true, a
    bundle that no broker reports loses its averages. If `without_heap` is true, heap memory does
    not count as load. `hidden` has the values of undocumented settings that neither the world nor
    `settings` set. `draw` returns one of the brokers from which the release chooses at random in
    a `place.select` case, such as those with equal message rates; None if it has no choice. If
    `smooths_twice` is true, ThresholdShedder smooths usage again in cycles in which no broker sheds
    an excess, provided that lower boundary shedding is enabled.
    """

    strategy: str | None
    settings: Mapping[str, Any]
    defaults: Mapping[str, Any]
    placing: str = ITSELF
    remembers: bool = False
    reserves: bool = True
    returns: bool = False
    forgets: bool = False
    without_heap: bool = False
    hidden: Mapping[str, Any] = field(default_factory=dict)
    draw: Callable[[Json], str | None] = lambda _case: None
    smooths_twice: bool = False


def decision_setup(
    strategy: str,
    settings: Mapping[str, Any],
    placing: str,
    profile: str,
    released: str | None,
    operations: Collection[str],
) -> DecisionSetup:
    """Return how a simulation asks an implementation that offers these operations.

    `profile` supplies the documented defaults, and `released` the defaults of undocumented
    settings.
    """
    known = load().profile(released) if released else None
    asks = known is not None and known.ways.get(DESTINATION) == ASKED
    placed = {PLACEMENT_STRATEGY: strategy} if strategy in PLANNING else {}
    setup = DecisionSetup(
        strategy,
        {**settings, STRATEGY: strategy, **placed},
        load().defaults(profile),
        placing if PLACE in operations else LEAST_USED,
        strategy in REMEMBERING and CYCLES in operations,
        not asks,
        known is not None and not asks,
        known is not None and known.id != KEEPS_AVERAGES,
        known is not None and known.ways["heap-memory"] == "left-out",
        known.hidden if known else {},
    )
    if known is None:
        return setup
    twice = known.ways.get(RELIEF) == HALF_THRESHOLD
    return replace(setup, draw=draw_by_release(known.id), smooths_twice=twice)


def draw_by_release(profile: str) -> Callable[[Json], str | None]:
    """Return `DecisionSetup.draw` for the release that a profile describes.

    It chooses the same broker as the adapter for released classes does for the same question, so
    that simulations by the model and by the classes can be compared.
    """
    model = Model(profile)

    def draw(case: Json) -> str | None:
        choices = sorted(model.derive(PLACE, case).choices)
        return choices[index_for_question(case, len(choices))] if len(choices) > 1 else None

    return draw
