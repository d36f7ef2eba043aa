"""One broker: starting and stopping it, and setting the load that its two sensors report."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from threading import Thread
from typing import Any

import jpype
from pulsar_conformance.adapters.admin_api.waiting import ConditionWaiter
from pulsar_conformance.adapters.cluster.extensible import ExtensibleManager
from pulsar_conformance.adapters.cluster.loopback import Ports
from pulsar_conformance.adapters.cluster.managers import (
    LoadManager,
    ModularManager,
    SimpleManager,
)
from pulsar_conformance.adapters.cluster.timers import Timers
from pulsar_conformance.adapters.pulsar.jvm import Java, field, java_class, java_list

STATS_CLASS = "org.apache.pulsar.policies.data.loadbalancer.NamespaceBundleStats"
USAGE_CLASS = "org.apache.pulsar.policies.data.loadbalancer.ResourceUsage"

IDLE_NIC = 10e6
"""Capacity in kbit/s of a host's network card, so large that it is never the busiest resource."""

IDLE_MEMORY = 32768.0
"""Size in MB of a host's memory, which is unused."""

LOAD_MANAGERS: Mapping[str, type[LoadManager]] = {
    "modular": ModularManager,
    "simple": SimpleManager,
    "extensible": ExtensibleManager,
}
"""The class that gives access to each load manager, by its name in `target.MANAGERS`."""


class LiveBroker:
    """A running `PulsarService`."""

    def __init__(
        self,
        name: str,
        ports: Ports,
        capacity: float,
        configuration: Java,
        manager: str,
        alarm: ConditionWaiter,
    ) -> None:
        self.name = name
        self.ports = ports
        self.capacity = capacity
        self.service = new_service(configuration)
        try:
            self.service.start()
        except jpype.JException:
            self.release_resources()
            raise
        self.manager = LOAD_MANAGERS[manager](self.service)
        self.timers = Timers(self.service.getLoadManagerExecutor())
        self.notified = _NotificationCounter(alarm)
        self.service.getLocalMetadataStore().registerListener(self.notified)
        # The broker has reported the load of this machine, which this replaces.
        self.set_load(0.0, {})
        self.manager.report()

    @property
    def leads(self) -> bool:
        """True if the broker considers itself the leader."""
        return bool(self.service.getLeaderElectionService().isLeader())

    @property
    def known_leader(self) -> str | None:
        """The registered name, `host:port`, of the broker that this broker considers the leader."""
        leader = self.service.getLeaderElectionService().getCurrentLeader()
        if not leader.isPresent():
            return None
        return str(leader.get().getServiceUrl()).rpartition("//")[2]

    def setting(self, name: str) -> Any:
        """Return a setting's effective value."""
        configuration = self.service.getConfiguration()
        return field(configuration, name).get(configuration)

    def set_load(self, throughput: float, table: Mapping[str, Mapping[str, float]]) -> None:
        """Set the load that the broker's sensors report.

        `throughput` is in bytes per second; `table` has the statistics of each bundle.
        """
        host = self.manager.host()
        usage, capacity = float(throughput), float(self.capacity)
        host.setCpu(java_class(USAGE_CLASS)(usage, capacity))
        host.setBandwidthIn(java_class(USAGE_CLASS)(0.0, IDLE_NIC))
        host.setBandwidthOut(java_class(USAGE_CLASS)(0.0, IDLE_NIC))
        host.setMemory(java_class(USAGE_CLASS)(0.0, IDLE_MEMORY))
        stats = field(self.service.getBrokerService(), "pulsarStats")
        stats = stats.get(self.service.getBrokerService())
        traffic = field(stats, "bundleStats").get(stats)
        for bundle, rates in table.items():
            one = java_class(STATS_CLASS)()
            for key, value in rates.items():
                setattr(one, key, value)
            traffic.put(bundle, one)
        # Old bundles are removed last: a broker may report at any time, and must not find it empty.
        traffic.keySet().retainAll(java_list(table))
        self.manager.update_traffic(stats)

    def stop(self) -> None:
        """Shut the broker down gracefully: it releases its bundles and deregisters."""
        self.service.close()

    def leave(self) -> None:
        """Stop the broker without handing its bundles over, because all other brokers stop, too."""
        self.manager.leave()
        self.service.close()

    def crash(self) -> None:
        """Stop the broker immediately, closing all connections.

        If connections stayed open, clients that use them, such as other brokers, would keep using
        the broker's topics.
        """
        brokers = self.service.getBrokerService()
        for name in ("listenChannel", "listenChannelTls"):
            channel = field(brokers, name).get(brokers)
            if channel is not None:
                channel.close()
        web = field(self.service, "webService").get(self.service)
        server = field(web, "server").get(web)
        for connector in server.getConnectors():
            connector.close()
        self.service.getLocalMetadataStore().close()
        loops = field(self.service, "ioEventLoopGroup").get(self.service)
        loops.shutdownGracefully(0, 0, java_class("java.util.concurrent.TimeUnit").SECONDS)

    def release_resources(self) -> None:
        """Free the threads and the memory of a crashed broker as far as possible."""
        release_resources(self.service)


def new_service(configuration: Java) -> Java:
    """Return a broker that has not been started."""
    none = java_class("java.util.Optional").empty()
    return java_class("org.apache.pulsar.broker.PulsarService")(
        configuration, none, _ExitRecorder()
    )


def release_resources(service: Java) -> None:
    """Stop a broker in the background, ignoring errors."""
    Thread(target=_close, args=(service,), daemon=True).start()


def _close(service: Java) -> None:
    with suppress(jpype.JException):
        service.close()


@jpype.JImplements("java.util.function.Consumer", deferred=True)
class _ExitRecorder:
    """Stub for `Runtime.halt` that records the exit status and keeps the JVM running."""

    def __init__(self) -> None:
        self.status: int | None = None

    @jpype.JOverride
    def accept(self, status: Java) -> None:
        """Record an exit status; the broker calls this instead of `Runtime.halt`."""
        self.status = int(status.intValue())


@jpype.JImplements("java.util.function.Consumer", deferred=True)
class _NotificationCounter:
    """Counter of the notifications that the load manager gets from the metadata store."""

    def __init__(self, alarm: ConditionWaiter) -> None:
        self._alarm = alarm
        self.count: dict[str, int] = {}

    @jpype.JOverride
    def accept(self, notification: Java) -> None:
        """Count a notification; the broker's metadata store calls this."""
        path = str(notification.getPath())
        if str(notification.getType().name()) in ("Created", "Modified"):
            self.count[path] = self.count.get(path, 0) + 1
        self._alarm.wake()
