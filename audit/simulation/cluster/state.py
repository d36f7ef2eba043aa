"""The state of a simulated cluster, for both simulations and generated histories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pulsar_conformance.audit.simulation.cluster.shapes import LoadShape
from pulsar_conformance.audit.simulation.worlds import (
    BrokerEvent,
    Rates,
    SimulatedBundle,
    scaled_rates,
)
from pulsar_conformance.reference.cluster import RATE_FIELDS
from pulsar_conformance.reference.ranges import HashRange, namespace_of
from pulsar_conformance.reference.splitting import middle_by_size


class SimulatedCluster:
    """The brokers that are up, and each bundle with its owner and its traffic.

    Attributes:
        up: True for each broker that is up, by name.
        bundles: all bundles by name; the parts of a split bundle come last.
        owner: the owner of each bundle, in the same order.
        number: the number of each bundle in `shape`; parts have the number of the split bundle.
    """

    def __init__(
        self,
        up: Iterable[tuple[str, bool]],
        bundles: Iterable[SimulatedBundle],
        shape: LoadShape | None = None,
    ) -> None:
        self.up = dict(up)
        self.bundles = {one.name: one for one in bundles}
        self.owner = {name: one.owner for name, one in self.bundles.items()}
        self.number = {name: place for place, name in enumerate(self.bundles)}
        self._shape = shape
        self._replays = any(one.recorded for one in self.bundles.values())
        self._scaled: dict[str, tuple[float, Rates]] = {}
        self._rates: tuple[int, dict[str, Rates]] | None = None

    def apply_events(self, events: Iterable[BrokerEvent], cycle: int) -> None:
        """Let brokers come up or go down at the start of a cycle. Bundles keep their owners."""
        for event in events:
            if event.cycle == cycle:
                self.up[event.broker] = event.up

    def running(self) -> list[str]:
        """Return the brokers that are up."""
        return [name for name, is_up in self.up.items() if is_up]

    def owned_bundles(self) -> dict[str, list[str]]:
        """Return the list of bundles that each broker owns. The list may be empty."""
        found: dict[str, list[str]] = {name: [] for name in self.up}
        for bundle, owner in self.owner.items():
            if owner in found:
                found[owner].append(bundle)
        return found

    def rates(self, cycle: int) -> Mapping[str, Rates]:
        """Return all bundles' rates in a cycle: the same object until they change."""
        step = self._step(cycle)
        if self._rates is None or self._rates[0] != step:
            self._rates = step, {name: self.rates_of(name, cycle) for name in self.bundles}
        return self._rates[1]

    def _step(self, cycle: int) -> int:
        """Return a number that differs between two cycles if any bundle's rates differ."""
        if self._replays:
            return cycle
        return 0 if self._shape is None else self._shape.step(cycle)

    def rates_of(self, name: str, cycle: int) -> Rates:
        """Return a bundle's rates in a cycle."""
        bundle = self.bundles[name]
        if bundle.recorded:
            return bundle.recorded[min(cycle, len(bundle.recorded) - 1)]
        if self._shape is None:
            return bundle.rates
        factor = self._shape.factor(self.number[name], cycle)
        known = self._scaled.get(name)
        if known is None or known[0] != factor:
            known = self._scaled[name] = factor, scaled_rates(bundle.rates, factor)
        return known[1]

    def halve(self, name: str, parts: Sequence[SimulatedBundle]) -> None:
        """Replace a bundle with two parts, which belong to the same broker."""
        owner, number = self.owner.pop(name), self.number.pop(name)
        for bundle in parts:
            self.bundles[bundle.name] = bundle
            self.owner[bundle.name], self.number[bundle.name] = owner, number
        del self.bundles[name]
        self._rates = None


def halves_of(name: str) -> tuple[str, ...]:
    """Return the names of a bundle's two halves. The bundle must have at least two hashes."""
    whole, space = HashRange.parse(name), namespace_of(name)
    return tuple(f"{space}/{part.name}" for part in whole.cut([middle_by_size(whole)]))


def total_rates(rates: Iterable[Rates]) -> dict[str, float]:
    """Return the sum of the rates in each field, by the name of the field."""
    sums = [sum(column) for column in zip(*rates, strict=True)] or [0.0] * len(RATE_FIELDS)
    return dict(zip(RATE_FIELDS, sums, strict=True))
