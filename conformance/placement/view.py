"""Placement as checks see it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference import Readings, Settings
from pulsar_conformance.reference.anti_affinity import Spread
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.placement import Candidate, Placement, placement


@dataclass(frozen=True)
class Placing:
    """A bundle to place, and the brokers that may take it."""

    case: Json
    settings: Settings
    readings: Readings

    @cached_property
    def placement(self) -> Placement:
        """The values by which the candidates are compared."""
        return placement(self.case, self.settings, self.readings)

    @cached_property
    def candidates(self) -> dict[str, Candidate]:
        """The candidates, by name."""
        return {one.name: one for one in self.placement.candidates}

    @cached_property
    def brokers(self) -> dict[str, Broker]:
        """The load reports of the candidates."""
        return {name: Broker.read(name, self.case["brokers"][name]) for name in self.candidates}

    def bundles(self, broker: str) -> list[str]:
        """The bundles that a broker reports, and those assigned to it since."""
        return [*self.brokers[broker].bundles, *self.case["preallocated"].get(broker, ())]

    @cached_property
    def owned(self) -> bool:
        """Whether a broker still owns the bundle."""
        reports = self.case["brokers"].values()
        return any(self.case["bundle"] in report.get("bundles", ()) for report in reports)


@dataclass(frozen=True)
class Spreading:
    """A namespace of an anti-affinity group to place."""

    case: Json
    settings: Settings
    spread: Spread

    def __getitem__(self, name: str) -> Any:
        return self.case[name]


@dataclass(frozen=True)
class Placed:
    """The broker that takes it, as answered; domains and candidates if the answer names them."""

    broker: str | None
    domains: tuple[str, ...] | None = None
    candidates: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return self.broker or "no broker"
