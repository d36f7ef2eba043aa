"""The course of a simulation, cycle by cycle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pulsar_conformance.audit.simulation.worlds import SimulatedWorld

SHEDDING, FAILOVER = "shed", "failover"
"""Reasons why a bundle moves."""


@dataclass(frozen=True)
class BundleMove:
    """A bundle that lost its owner in a cycle, and its next owner.

    `target` is None if no broker got the bundle, and equal to `source` if the bundle returned.
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
    """One cycle: usage before its decisions, and their consequences."""

    number: int
    usage: Mapping[str, float]
    """Percentage of the busiest resource of each running broker."""
    traffic: float
    """Bytes per second of all bundles, with or without an owner."""
    reported: float
    """Sum of the bytes per second that all brokers report."""
    moves: tuple[BundleMove, ...]
    splits: Mapping[str, tuple[str, ...]]
    owners: Mapping[str, str | None]
    """The owner of each bundle after the cycle."""
    refused: tuple[str, ...] = ()
    """Decisions that cannot be carried out, such as the unload of another broker's bundle."""
    kept: int = 0
    """Number of bundles that were shed and then placed on the same broker."""
    weighted: Mapping[str, float] = field(default_factory=dict)
    """Percentage of the busiest resource of each running broker, times its weight; empty if no
    bundle moved.
    """
    decided: Mapping[str, float] = field(default_factory=dict)
    """Usage of each running broker that ThresholdShedder compared, weighted and smoothed; empty
    under another strategy.
    """

    @property
    def compared(self) -> Mapping[str, float]:
        """Usage of each running broker that the strategy compared in this cycle, in percent."""
        return self.decided or self.usage

    @property
    def sheds(self) -> tuple[BundleMove, ...]:
        """The unloads caused by shedding."""
        return tuple(one for one in self.moves if one.why == SHEDDING)


@dataclass(frozen=True)
class SimulatedCourse:
    """A simulated world, the implementation that decided in it, and all its cycles."""

    world: SimulatedWorld
    variant: str
    strategy: str | None
    settings: Mapping[str, object]
    minutes: float
    cycles: tuple[SimulatedCycle, ...]
    question: Mapping[str, object] = field(default_factory=dict)
    """The `shed.select` case of the last cycle."""

    @cached_property
    def sheds(self) -> tuple[BundleMove, ...]:
        """All unloads caused by shedding."""
        return tuple(move for cycle in self.cycles for move in cycle.sheds)

    @cached_property
    def last_event(self) -> int:
        """The cycle number of the last event; 0 without events."""
        return max((one.cycle for one in self.world.events), default=0)
