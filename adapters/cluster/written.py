"""Detection of load reports that brokers wrote, and of bundle data that the leader wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pulsar_conformance.adapters.admin_api.observed import ObservedStep
from pulsar_conformance.adapters.cluster.cluster import LiveCluster
from pulsar_conformance.adapters.cluster.metadata import AVERAGES, BROKERS, BUNDLES, Node
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES

COUNTS = ("numTopics", "numBundles", "numProducers", "numConsumers")
SAMPLES = ("numSamples", "maxSamples")

WriteStamps = Mapping[str, tuple[int, int]]
"""For each metadata node, the transaction that created it and the number of later writes."""


class WriteObserver:
    """Detects which load reports and bundle data were written since the last observation."""

    def __init__(self, cluster: LiveCluster) -> None:
        self._cluster = cluster
        self._reports = stamps_of(self._nodes(BROKERS))
        self._bundles = stamps_of(self._nodes(BUNDLES))
        self._averages = stamps_of(self._nodes(AVERAGES))

    def observe(self, clock: float, step: ObservedStep) -> None:
        """Record in `step` the writes since the last observation; `clock` is the story's minute."""
        self._look_at_reports(clock, step)
        self._look_at_data(clock, step)

    def _look_at_reports(self, clock: float, step: ObservedStep) -> None:
        nodes = dict(self._nodes(BROKERS))
        previous, self._reports = self._reports, stamps_of(nodes.items())
        for broker, name in self._cluster.names().items():
            before, now = previous.get(name), self._reports.get(name)
            # A broker's write when it registers does not count, since the broker was not running
            # before.
            if before is not None and now is not None and before[0] == now[0] and before != now:
                said = step.reports.setdefault(broker, {"minutes": []})
                said["minutes"].append(clock)
                said["last"] = protocol_report(nodes[name].data)

    def _look_at_data(self, clock: float, step: ObservedStep) -> None:
        """Record whether the leader wrote bundle data or, without bundles, broker averages."""
        nodes = dict(self._nodes(BUNDLES))
        bundles, self._bundles = self._bundles, stamps_of(nodes.items())
        averages, self._averages = self._averages, stamps_of(self._nodes(AVERAGES))
        wrote = self._bundles.items() - bundles.items()
        if not nodes:
            wrote = self._averages.items() - averages.items()
        if wrote:
            step.written["minutes"].append(clock)
            step.written["bundles"] = {
                name: {one: int(node.data["longTermData"][one]) for one in SAMPLES}
                for name, node in nodes.items()
            }

    def _nodes(self, path: str) -> Iterator[tuple[str, Node]]:
        return self._cluster.metadata.nodes(path)


def stamps_of(nodes: Iterable[tuple[str, Node]]) -> WriteStamps:
    """Return the transaction that created each of these nodes, and its number of writes."""
    return {name: (node.since, node.times) for name, node in nodes}


def protocol_report(data: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a broker's load report to the protocol's format."""
    found: dict[str, Any] = {
        name: {"usage": data[name]["usage"], "limit": data[name]["limit"]}
        for name in RESOURCES
        if data.get(name)
    }
    found |= {name: data[name] for name in (*RATE_FIELDS, *COUNTS) if data.get(name) is not None}
    return found | {"bundles": sorted(data.get("bundles") or ())}
