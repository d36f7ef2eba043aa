"""Shedding as checks see it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.numbers import Fraction, Rate
from pulsar_conformance.reference.shedding import Cycle


@dataclass(frozen=True)
class Unloading:
    """The bundles to be unloaded, as answered, in order."""

    cycle: Cycle
    pairs: tuple[tuple[str, str], ...]
    """Broker and bundle."""

    def of(self, broker: Broker | str) -> list[str]:
        """The bundles unloaded from one broker, in the order of decision."""
        name = broker if isinstance(broker, str) else broker.name
        return [bundle for owner, bundle in self.pairs if owner == name]

    def traffic_from(self, broker: Broker) -> Rate:
        """The traffic that the bundles unloaded from one broker carry together."""
        return sum(map(self.cycle.traffic, self.of(broker)), Fraction(0))

    def __iter__(self) -> Iterator[str]:
        return (f"{bundle} of {broker}" for broker, bundle in self.pairs)

    def __str__(self) -> str:
        return "; ".join(self) or "nothing"


@dataclass(frozen=True)
class Unloadings:
    """What each cycle of a row unloads, as answered, with the cycle as those before left it."""

    cycles: tuple[Unloading, ...]

    def __iter__(self) -> Iterator[Unloading]:
        return iter(self.cycles)

    def __str__(self) -> str:
        return "; then ".join(map(str, self.cycles))
