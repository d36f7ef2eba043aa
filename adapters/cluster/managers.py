"""Access to the internals of a load manager: the times that it remembers, and its pending work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar

from pulsar_conformance.adapters.cluster.metadata import LEADER, Lock
from pulsar_conformance.adapters.cluster.timers import idle_task
from pulsar_conformance.adapters.pulsar.jvm import Java, field, java_class

MILLIS_PER_MINUTE = 60_000
"""Number of milliseconds in a minute."""

WAIT_SECONDS = 60
"""Maximum seconds to wait for a manager's pending work."""


class LoadManager(ABC):
    """Access to the load manager of one running broker."""

    leader: ClassVar[str] = LEADER
    """The metadata node by which the leader is elected."""

    release_seconds: ClassVar[float] = 5.0
    """Maximum seconds to wait until the parts of a split bundle are released.

    The wait is needed because the split request is answered before the parts are released.
    """

    def __init__(self, service: Java) -> None:
        self._outer = service.getLoadManager().get()
        inner = field(self._outer, "loadManager")
        self.java = self._outer if inner is None else inner.get(self._outer)

    def host(self) -> Java:
        """Return the `SystemResourceUsage` that the host probe fills."""
        probe = field(self.java, "brokerHostUsage").get(self.java)
        return field(probe, "usage").get(probe)

    def report(self) -> None:
        """Write the measured load, whether or not it is due."""
        self._outer.setLoadReportForceUpdateFlag()
        self._outer.writeLoadReportOnZookeeper(True)

    def finish_pending_work(self) -> None:
        """Wait until the thread that processes reports and requests splits has no work."""
        for pool in self._pools():
            if not pool.isShutdown():
                pool.submit(idle_task()).get(WAIT_SECONDS, _seconds())

    def ignore_updates(self) -> None:
        """Process the updates announced so far, and ignore later updates.

        Later updates could replace the load data of a question.
        """
        for pool in self._pools():
            pool.shutdown()
            pool.awaitTermination(WAIT_SECONDS, _seconds())

    def _pools(self) -> Iterator[Java]:
        for name in ("executors", "scheduler"):
            threads = field(self.java, name)
            if threads is not None:
                yield threads.get(self.java)

    def update_traffic(self, stats: Java) -> None:  # noqa: B027  most look at the table by themselves
        """Make the manager notice changed traffic; most managers do so by themselves."""

    def receive(self) -> None:  # noqa: B027  most communicate through the metadata
        """Process messages from other brokers; there are none if the manager uses only metadata."""

    def leave(self) -> None:  # noqa: B027  most stop quickly with their broker
        """Stop without handing over bundles, since no broker remains to take them."""

    def locks(self) -> Mapping[str, Lock] | None:
        """Return the bundles and owners that the manager knows; None if they are in the
        metadata.
        """
        return None

    @property
    def is_idle(self) -> bool:
        """True if no message to other brokers is pending."""
        return True

    @abstractmethod
    def make_memory_older(self, minutes: float) -> None:
        """Make everything that the manager remembers older by some minutes."""

    @abstractmethod
    def known_brokers(self) -> set[str]:
        """Return the brokers whose reports the manager has."""

    @abstractmethod
    def recently_shed(self) -> set[str]:
        """Return the bundles that the manager remembers having shed."""


def shift_into_past(times: Java, millis: int) -> None:
    """Move times `millis` milliseconds into the past; `times` maps names to milliseconds."""
    for name in list(times.keySet().toArray()):
        at = int(times.get(name).longValue())
        times.put(name, java_class("java.lang.Long").valueOf(at - millis))


class ModularManager(LoadManager):
    """Access to a `ModularLoadManagerImpl`."""

    def make_memory_older(self, minutes: float) -> None:
        """Make the manager's last report and its recent unloads older by some minutes."""
        ago = round(minutes * MILLIS_PER_MINUTE)
        local = field(self.java, "localData").get(self.java)
        local.setLastUpdate(int(local.getLastUpdate()) - ago)
        shift_into_past(self._load_data().getRecentlyUnloadedBundles(), ago)

    def known_brokers(self) -> set[str]:
        """Return the brokers whose reports the manager has."""
        return _texts(self._load_data().getBrokerData().keySet())

    def recently_shed(self) -> set[str]:
        """Return the bundles that the manager unloaded recently."""
        return _texts(self._load_data().getRecentlyUnloadedBundles().keySet())

    def _load_data(self) -> Java:
        return field(self.java, "loadData").get(self.java)


class SimpleManager(LoadManager):
    """Access to a `SimpleLoadManagerImpl`."""

    def __init__(self, service: Java) -> None:
        super().__init__(service)
        self._grace = int(service.getConfiguration().getLoadBalancerSheddingGracePeriodMinutes())
        self._since: dict[str, float] = {}

    def make_memory_older(self, minutes: float) -> None:
        """Make the manager's last report older by some minutes; end grace periods that are then
        over.
        """
        ago = round(minutes * MILLIS_PER_MINUTE)
        report = field(self.java, "lastLoadReport").get(self.java)
        if report is not None:
            report.setTimestamp(int(report.getTimestamp()) - ago)
        usage = field(self.java, "lastResourceUsageTimestamp")
        usage.setLong(self.java, int(usage.getLong(self.java)) - ago)
        self._since = {one: self._since.get(one, 0.0) + minutes for one in self.recently_shed()}
        for bundle, since in self._since.items():
            if since > self._grace:
                self._recently_shed().invalidate(bundle)

    def known_brokers(self) -> set[str]:
        """Return the brokers whose reports the manager has."""
        reports = field(self.java, "currentLoadReports").get(self.java)
        units = list(reports.keySet().toArray())
        return {str(one.getResourceId()).rpartition("//")[2] for one in units}

    def recently_shed(self) -> set[str]:
        """Return the bundles that the manager shed and may not yet shed again."""
        return _texts(self._recently_shed().asMap().keySet())

    def _recently_shed(self) -> Java:
        return field(self.java, "unloadedHotNamespaceCache").get(self.java)


def _seconds() -> Java:
    return java_class("java.util.concurrent.TimeUnit").SECONDS


def _texts(names: Java) -> set[str]:
    return {str(one) for one in names.toArray()}
