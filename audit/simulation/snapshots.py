"""Worlds built from the load reports of one moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pulsar_conformance.audit.simulation.worlds import (
    BadWorld,
    Json,
    Rates,
    SimulatedBroker,
    SimulatedBundle,
    SimulatedWorld,
)
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES
from pulsar_conformance.reference.numbers import exact, throughput
from pulsar_conformance.specs.text import counted, enumerated

ASSUMED = (
    "each broker's CPU and network use grow with its traffic in the ratio of its own load report, "
    "up to 100 %; memory use is constant"
)

TRAFFIC_RATIO = 10
"""Factor by which a broker's ratio of usage to traffic may exceed that of the other brokers.

Above it, something other than traffic is assumed to use the resource: the ratios of brokers of
different sizes differ by less.
"""

SCALING = ("cpu", "bandwidthIn", "bandwidthOut")
"""Resources whose usage grows with traffic. The usage of memory is constant."""


def snapshot_world(
    name: str,
    brokers: Mapping[str, Json],
    data: Mapping[str, Json],
    settings: Json,
    notes: list[str],
    recorded: Mapping[str, list[Rates]] | None = None,
) -> SimulatedWorld:
    """Return a world with the reported brokers and bundles.

    CPU and network usage grow with traffic, in the ratio of each broker's own report. The ratio of
    the other brokers is used for a broker without traffic, or with much usage but little traffic.
    Errors: `BadWorld`.
    """
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
    busy = {broker: found for broker in brokers if (found := _others_ratios(brokers, broker))}
    scales = [_percent_by_traffic(said, reported_throughput(said)) for said in brokers.values()]
    known = list(zip(brokers, scales, strict=True))
    mean = {
        resource: _mean_of(
            [scale[resource] for one, scale in known if scale and resource not in busy.get(one, ())]
        )
        for resource in SCALING
    }
    simulated = tuple(
        SimulatedBroker(broker, _resource_usage(said, scale, mean, busy.get(broker, {})))
        for (broker, said), scale in zip(brokers.items(), scales, strict=True)
    )
    notes = [*notes, ASSUMED, *(_busy_note(one, brokers[one], busy[one]) for one in busy)]
    title = f"{counted(len(simulated), 'broker')} as reported"
    return SimulatedWorld(name, title, simulated, tuple(bundles), settings, notes=tuple(notes))


def _mean_of(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def rates_in(said: Json) -> Rates:
    """Return the rates in a report or in bundle data; a missing rate is 0."""
    first, second, third, fourth = (float(said.get(field, 0)) for field in RATE_FIELDS)
    return first, second, third, fourth


def reported_throughput(said: Json) -> float:
    """Return the bytes per second in a report, in and out together."""
    return sum(rates_in(said)[2:])


def percent_used(said: Json, resource: str) -> float:
    """Return the usage of a resource in percent; 0 if it has no limit."""
    used = said.get(resource) or {"usage": 0, "limit": 0}
    return 100 * used["usage"] / used["limit"] if used["limit"] else 0.0


def _percent_by_traffic(said: Json, carried: float) -> dict[str, float]:
    """Return each resource's usage in percent per byte per second; empty without traffic."""
    return {one: percent_used(said, one) / carried for one in SCALING} if carried else {}


def _others_ratios(brokers: Mapping[str, Json], broker: str) -> dict[str, float]:
    """Return the other brokers' ratio of usage to traffic, for resources that `broker` uses
    excessively.

    The ratio is in percent per byte per second. A use is excessive if the ratio of `broker` is over
    `TRAFFIC_RATIO` times the others' ratio. Empty if `broker` or the others have no traffic.
    """
    others = [said for name, said in brokers.items() if name != broker]
    traffic, own = sum(map(reported_throughput, others)), reported_throughput(brokers[broker])
    if not traffic or not own:
        return {}
    ratios = {one: sum(percent_used(said, one) for said in others) / traffic for one in SCALING}
    used = {one: percent_used(brokers[broker], one) / own for one in SCALING}
    return {one: each for one, each in ratios.items() if 0 < TRAFFIC_RATIO * each < used[one]}


def _busy_note(broker: str, said: Json, resources: Iterable[str]) -> str:
    """Return a note that something other than traffic is assumed to use a broker's resources."""
    used = enumerated([f"{percent_used(said, one):.4g} % of {one}" for one in resources])
    return (
        f"{broker}: {used} with {throughput(exact(reported_throughput(said)))} is over "
        f"{TRAFFIC_RATIO} times the use of the other brokers with as much traffic; its use is "
        "assumed to grow with traffic as on the other brokers"
    )


def _resource_usage(
    said: Json,
    scale: Mapping[str, float],
    mean: Mapping[str, float],
    others: Mapping[str, float],
) -> dict[str, tuple[float, float]]:
    """Return two numbers per resource: constant usage in percent, and percent per byte per second.

    For the resources in `others`, the second number is the value in `others`.
    """
    fixed = {one: (percent_used(said, one), 0.0) for one in RESOURCES if one not in SCALING}
    idle = {one: 0.0 if scale else percent_used(said, one) for one in SCALING}
    own = {one: (idle[one], (scale or mean)[one]) for one in SCALING}
    carried = reported_throughput(said)
    beside = {one: (percent_used(said, one) - each * carried, each) for one, each in others.items()}
    return {**fixed, **own, **beside}
