"""Worlds built from the load reports of one moment."""

from __future__ import annotations

from collections.abc import Mapping

from pulsar_conformance.audit.simulation.worlds import (
    BadWorld,
    Json,
    Rates,
    SimulatedBroker,
    SimulatedBundle,
    SimulatedWorld,
)
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES

SCALING = ("cpu", "bandwidthIn", "bandwidthOut")
"""Resources whose usage grows with traffic; that of memory is constant."""


def snapshot_world(
    name: str,
    brokers: Mapping[str, Json],
    data: Mapping[str, Json],
    settings: Json,
    notes: list[str],
    recorded: Mapping[str, list[Rates]] | None = None,
) -> SimulatedWorld:
    """Return a world with the reported brokers and bundles. Errors: `BadWorld`."""
    bundles = []
    for broker, said in brokers.items():
        stats = said.get("lastStats", {})
        for bundle in said.get("bundles", ()):
            now = stats.get(bundle) or data.get(bundle, {}).get("shortTermData", {})
            rates = rates_in(now)
            topics = int(now.get("topics", 1))
            every = tuple((recorded or {}).get(bundle, ()))
            bundles.append(SimulatedBundle(bundle, broker, rates, topics, every))
    if not bundles:
        raise BadWorld(
            f"{name}: the reports contain no bundles, so nothing could move; give other reports"
        )
    scales = [_percent_by_traffic(said, carried_by(said)) for said in brokers.values()]
    mean = {
        resource: _mean_of([one[resource] for one in scales if resource in one])
        for resource in SCALING
    }
    simulated = tuple(
        SimulatedBroker(broker, _resource_usage(said, scale, mean))
        for (broker, said), scale in zip(brokers.items(), scales, strict=True)
    )
    title = f"{len(simulated)} brokers as they were reported"
    return SimulatedWorld(name, title, simulated, tuple(bundles), settings, notes=tuple(notes))


def _mean_of(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def rates_in(said: Json) -> Rates:
    """Return the rates in a report, or in bundle data."""
    first, second, third, fourth = (float(said.get(field, 0)) for field in RATE_FIELDS)
    return first, second, third, fourth


def carried_by(said: Json) -> float:
    """Return the total bytes per second in a report."""
    return sum(rates_in(said)[2:])


def percent_used(said: Json, resource: str) -> float:
    """Return a resource's usage in percent; 0 without a limit."""
    used = said.get(resource) or {"usage": 0, "limit": 0}
    return 100 * used["usage"] / used["limit"] if used["limit"] else 0.0


def _percent_by_traffic(said: Json, carried: float) -> dict[str, float]:
    """Return each resource's percentage for each byte per second; empty without traffic."""
    return {one: percent_used(said, one) / carried for one in SCALING} if carried else {}


def _resource_usage(
    said: Json, scale: Mapping[str, float], mean: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """Return each resource's fixed percentage, and its percentage for each byte per second."""
    fixed = {one: (percent_used(said, one), 0.0) for one in RESOURCES if one not in SCALING}
    idle = {one: 0.0 if scale else percent_used(said, one) for one in SCALING}
    return {**fixed, **{one: (idle[one], (scale or mean)[one]) for one in SCALING}}
