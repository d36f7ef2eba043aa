"""The course of a simulation: what happens in each of its cycles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from pulsar_conformance.audit.simulation.worlds import Json, SimulatedWorld

SHEDDING, FAILOVER = "shed", "failover"
"""Reasons why a bundle loses its owner."""


@dataclass(frozen=True)
class BundleMove:
    """A bundle that lost its owner in a cycle, and its next owner.

    `target` is None if no broker got the bundle, and equal to `source` if the bundle came back to
    its former owner.
    """

    cycle: int
    bundle: str
    source: str | None
    target: str | None
    why: str = SHEDDING
    clients: int = 0
    """Number of producers and consumers that reconnect."""


@dataclass(frozen=True)
class SimulatedCycle:
    """One cycle: the usage before its decisions, and the consequences of its decisions."""

    number: int
    usage: Mapping[str, float]
    """Usage of each running broker: the percentage of its busiest resource."""
    traffic: float
    """Bytes per second of all bundles together, with or without an owner."""
    reported: float
    """Bytes per second of all load reports together."""
    moves: tuple[BundleMove, ...]
    splits: Mapping[str, tuple[str, ...]]
    owners: Mapping[str, str | None]
    """The owner of each bundle after the cycle."""
    refused: tuple[str, ...] = ()
    """Descriptions of decisions that cannot be carried out, such as unloading another broker's
    bundle.
    """
    kept: int = 0
    """Number of shed bundles that stayed, because placement chose the same broker."""
    weighted: Mapping[str, float] = field(default_factory=dict)
    """Weighted usage of each running broker in percent: the largest product of a resource's usage
    and weight. Empty if no bundle moved.
    """
    decided: Mapping[str, float] = field(default_factory=dict)
    """Usage of each running broker as ThresholdShedder compared it, with weights and smoothing.
    Empty under any other strategy.
    """

    drawn: int = 0
    """Number of bundles whose new broker the release chooses at random."""

    @property
    def compared_usage(self) -> Mapping[str, float]:
        """Usage of each running broker, in percent, as the strategy compared it in this cycle.

        It includes weights and smoothing if the strategy applies them.
        """
        return self.decided or self.usage

    @property
    def sheds(self) -> tuple[BundleMove, ...]:
        """The unloads caused by shedding."""
        return tuple(one for one in self.moves if one.why == SHEDDING)


@dataclass(frozen=True)
class SimulatedCourse:
    """The course of a simulation: the world, the variant that decided, and all cycles."""

    world: SimulatedWorld
    variant: str
    strategy: str | None
    settings: Mapping[str, object]
    minutes: float
    cycles: tuple[SimulatedCycle, ...]
    question: Mapping[str, Any] = field(default_factory=dict)
    """The `shed.select` case of the last cycle; empty if there is none."""
    uncounted: Mapping[str, str] = field(default_factory=dict)
    """Resources that do not count as load and are in no figure, each with the reason."""
    settled: bool = False
    """True if everything that decisions depend on converged in further cycles without an unload.

    Always false if the world is not static.
    """
    next_unload: int | None = None
    """Number of the first cycle with an unload after the simulated ones; None if unknown."""

    def minutes_at(self, cycle: int) -> float:
        """Return the minutes from the first cycle to `cycle`, by recorded times if known."""
        return self.world.minutes_at(cycle, self.minutes)

    @cached_property
    def sheds(self) -> tuple[BundleMove, ...]:
        """All unloads caused by shedding."""
        return tuple(move for cycle in self.cycles for move in cycle.sheds)

    @cached_property
    def last_event(self) -> int:
        """Number of the cycle with the last event; 0 if there are no events."""
        return max((one.cycle for one in self.world.events), default=0)


def encode_course(course: SimulatedCourse) -> Json:
    """Return a simulation as JSON, without its world."""
    told = ("variant", "strategy", "settings", "minutes", "question")
    named = (*told, "uncounted", "settled", "next_unload")
    about = {name: getattr(course, name) for name in named}
    return {**about, "cycles": [asdict(one) for one in course.cycles]}


def decode_course(encoded: Json, world: SimulatedWorld) -> SimulatedCourse:
    """Return the simulation of a world that `encode_course` encoded."""
    cycles = tuple(map(_decode_cycle, encoded["cycles"]))
    return SimulatedCourse(world, **{**encoded, "cycles": cycles})


def _decode_cycle(encoded: Json) -> SimulatedCycle:
    moves = tuple(BundleMove(**move) for move in encoded["moves"])
    splits = {name: tuple(parts) for name, parts in encoded["splits"].items()}
    sequences = {"moves": moves, "splits": splits, "refused": tuple(encoded["refused"])}
    return SimulatedCycle(**{**encoded, **sequences})
