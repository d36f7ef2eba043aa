"""The course of a simulation: a record of each cycle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pulsar_conformance.audit.simulation.worlds import SimulatedWorld

SHEDDING, FAILOVER = "shed", "failover"
"""Reasons of a move."""


@dataclass(frozen=True)
class BundleMove:
    """A bundle that lost its owner in a cycle, and where it was placed.

    A `target` of None is no broker; one equal to the `source` took the bundle back.
    """

    cycle: int
    bundle: str
    source: str | None
    target: str | None
    why: str = SHEDDING
    clients: int = 0
    """Producers and consumers that reconnect."""


@dataclass(frozen=True)
class SimulatedCycle:
    """One cycle: usages before its decisions, and what followed from these."""

    number: int
    usage: Mapping[str, float]
    """Percent of the busiest resource of each broker that is up."""
    traffic: float
    """Bytes per second of all bundles, whoever owns them."""
    reported: float
    """Bytes per second in the reports of all brokers."""
    moves: tuple[BundleMove, ...]
    splits: Mapping[str, tuple[str, ...]]
    owners: Mapping[str, str | None]
    """The owner of each bundle after the cycle."""
    refused: tuple[str, ...] = ()
    """Decisions that cannot be carried out, such as unloading a bundle of another broker."""
    kept: int = 0
    """Bundles that were to be shed and stayed, since placement chose their owner."""

    @property
    def sheds(self) -> tuple[BundleMove, ...]:
        """The unloads by which brokers shed load."""
        return tuple(one for one in self.moves if one.why == SHEDDING)


@dataclass(frozen=True)
class SimulatedCourse:
    """A world, who decided in it, and every cycle."""

    world: SimulatedWorld
    variant: str
    strategy: str | None
    settings: Mapping[str, object]
    minutes: float
    cycles: tuple[SimulatedCycle, ...]

    @cached_property
    def sheds(self) -> tuple[BundleMove, ...]:
        """Every unload by which a broker shed load."""
        return tuple(move for cycle in self.cycles for move in cycle.sheds)

    @cached_property
    def last_event(self) -> int:
        """The cycle of the last event; 0 without one."""
        return max((one.cycle for one in self.world.events), default=0)
