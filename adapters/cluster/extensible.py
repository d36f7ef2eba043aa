"""The extensible load manager, whose brokers exchange ownership through system topics."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import jpype
from pulsar_conformance.adapters.admin_api.waiting import ConditionTimeout
from pulsar_conformance.adapters.cluster.managers import (
    MILLIS_PER_MINUTE,
    LoadManager,
    shift_into_past,
)
from pulsar_conformance.adapters.cluster.metadata import MARKER_PATH, Lock
from pulsar_conformance.adapters.cluster.timers import idle_task
from pulsar_conformance.adapters.errors import CannotLoad
from pulsar_conformance.adapters.pulsar.configuration import Inexpressible
from pulsar_conformance.adapters.pulsar.jvm import Java, class_exists, field, java_class
from pulsar_conformance.reference.answers.stories import named_strategies
from pulsar_conformance.reference.shedding import (
    ENABLED,
    TRANSFER_SHEDDER,
    selects_extensible_manager,
)

PACKAGE = "org.apache.pulsar.broker.loadbalance.extensions"
MESSAGE_SECONDS = 20
"""Seconds within which a system topic must deliver a message."""

MAX_STATES_PER_MILLI = 1_000
"""Upper bound of the number of states that a bundle enters within a millisecond.

States are ordered by time in milliseconds, then by their version number.
"""

SUMMED_STATISTICS = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut", "topics")
"""Statistics of a broker that are sums over its bundles."""


class ExtensibleManager(LoadManager):
    """Access to an `ExtensibleLoadManagerImpl`."""

    leader: ClassVar[str] = "/loadbalance/extension/leader"
    release_seconds: ClassVar[float] = 1.0
    """Maximum seconds to wait until the parts of a split bundle are released.

    The wait is short, because this manager itself waits for splits and reports bundles in transit.
    """

    def __init__(self, service: Java) -> None:
        super().__init__(service)
        self._service = service
        self._load = field(self.java, "brokerLoadDataReporter").get(self.java)
        self._top = field(self.java, "topBundleLoadDataReporter").get(self.java)
        self._stores = [
            field(self.java, name).get(self.java)
            for name in ("brokerLoadDataStore", "topBundlesLoadDataStore")
        ]
        channel = self.java.getServiceUnitStateChannel()
        self._units = field(channel, "tableview").get(channel)
        self._unloads = field(self.java, "unloadScheduler").get(self.java)
        self._echoes: dict[Java, _MarkerWaiter] = {}

    def host(self) -> Java:
        """Return the `SystemResourceUsage` that the host probe fills."""
        probe = field(self._load, "brokerHostUsage").get(self._load)
        return field(probe, "usage").get(probe)

    def update_traffic(self, stats: Java) -> None:
        """Update the total traffic, and mark the traffic table as changed."""
        bundles = list(field(stats, "bundleStats").get(stats).values().toArray())
        total = field(stats, "brokerStats").get(stats)
        for name in SUMMED_STATISTICS:
            setattr(total, name, sum(getattr(one, name) for one in bundles))
        total.bundleCount = len(bundles)
        updated = field(stats, "updatedAt")
        now = int(java_class("java.lang.System").currentTimeMillis())
        updated.setLong(stats, max(now, int(updated.getLong(stats)) + 1))

    def report(self) -> None:
        """Publish the measured load, whether or not it is due."""
        self._run_pending_tasks()
        for reporter in (self._load, self._top):
            _wait_for(reporter.reportAsync(True))

    def finish_pending_work(self) -> None:
        """Wait until pending tasks are complete and their messages are sent."""
        self._run_pending_tasks()
        for store in self._stores:
            producer = field(store, "producer").get(store)
            if producer is not None:
                _wait_for(producer.flushAsync())

    def receive(self) -> None:
        """Read all subscribed system topics to the end."""
        self._units.flush(MESSAGE_SECONDS * 1000)
        for store in self._stores:
            view = field(store, "tableView").get(store)
            if view is not None:
                echo = self._echoes.setdefault(view, _MarkerWaiter())
                echo.listen(view)
                _wait_for(store.removeAsync(MARKER_PATH))
                echo.wait()

    def leave(self) -> None:
        """Stop without handing over bundles, since no broker remains to take them."""
        self._service.getLoadManager().set(None)
        self._outer.stop()

    def locks(self) -> Mapping[str, Lock]:
        """Return the owned bundles and their owners, by the latest messages of the system topic."""
        self._units.flush(MESSAGE_SECONDS * 1000)
        known = self.known_brokers()
        return {
            bundle: Lock(int(owner.rpartition(":")[2]), since)
            for bundle, state, owner, since in self._bundle_states()
            if state == "Owned" and owner in known
        }

    @property
    def is_idle(self) -> bool:
        """True if the manager has its elected role, no bundle is in transit, and all owners run."""
        role = self.java.getRole()
        leads = self._service.getLeaderElectionService().isLeader()
        if role is None or (str(role.name()) == "Leader") != leads:
            return False
        known = self.known_brokers()
        return all(
            state in ("Free", "Deleted", "Init") or (state == "Owned" and owner in known)
            for _, state, owner, _ in self._bundle_states()
        )

    def make_memory_older(self, minutes: float) -> None:
        """Make everything that the manager remembers older by some minutes."""
        ago = round(minutes * MILLIS_PER_MINUTE)
        data = self._load.getLocalData()
        data.setReportedAt(int(data.getReportedAt()) - ago)
        for reporter in (self._load, self._top):
            last = field(reporter, "lastTombstonedAt")
            last.setLong(reporter, int(last.getLong(reporter)) - ago)
        for name in ("recentlyUnloadedBundles", "recentlyUnloadedBrokers"):
            shift_into_past(field(self._unloads, name).get(self._unloads), ago)
        for one in self._received_load_data():
            updated = field(one, "updatedAt")
            updated.setLong(one, int(updated.getLong(one)) - ago)

    def known_brokers(self) -> set[str]:
        """Return the brokers that the manager considers running."""
        found = _wait_for(self.java.getBrokerRegistry().getAvailableBrokersAsync())
        return {str(one) for one in found.toArray()}

    def recently_shed(self) -> set[str]:
        """Return the bundles that the manager remembers having shed."""
        recent = field(self._unloads, "recentlyUnloadedBundles").get(self._unloads)
        return {str(one) for one in recent.keySet().toArray()}

    def _received_load_data(self) -> list[Java]:
        """Return the load data that the manager has received from brokers."""
        store = self._stores[0]
        view = field(store, "tableView").get(store)
        return [] if view is None else list(view.values().toArray())

    def _run_pending_tasks(self) -> None:
        pool = self._service.getLoadManagerExecutor()
        if not pool.isShutdown():
            pool.submit(idle_task()).get(60, java_class("java.util.concurrent.TimeUnit").SECONDS)

    def _bundle_states(self) -> Iterator[tuple[str, str, str, int]]:
        """Yield each bundle with its state, its current or future owner, and the state's sort
        key.
        """
        for entry in list(self._units.entrySet().toArray()):
            data = entry.getValue()
            since = (
                int(data.timestamp()) * MAX_STATES_PER_MILLI
                + int(data.versionId()) % MAX_STATES_PER_MILLI
            )
            yield str(entry.getKey()), str(data.state().name()), str(data.dstBroker()), since


@jpype.JImplements("java.util.function.BiConsumer", deferred=True)
class _MarkerWaiter:
    """Waits for a marker message in a system topic."""

    def __init__(self) -> None:
        self._arrived = threading.Event()
        self._listens = False

    def listen(self, view: Java) -> None:
        """Start listening for messages after all earlier ones."""
        self._arrived.clear()
        if not self._listens:
            view.listen(self)
            self._listens = True

    def wait(self) -> None:
        """Wait until the marker message arrives. Errors: `ConditionTimeout`."""
        if not self._arrived.wait(MESSAGE_SECONDS):
            raise ConditionTimeout(
                f"a marker in a system topic was not received within {MESSAGE_SECONDS} s"
            )

    @jpype.JOverride
    def accept(self, key: Java, _value: Java) -> None:
        """Receive a message of a system topic; Pulsar calls this."""
        if str(key) == MARKER_PATH:
            self._arrived.set()


def _wait_for(future: Java) -> Java:
    return future.get(MESSAGE_SECONDS, java_class("java.util.concurrent.TimeUnit").SECONDS)


def check_version(version: str) -> None:
    """Check that a release has this manager and that the suite can read its messages.

    Errors: `CannotLoad`.
    """
    if class_exists(f"{PACKAGE}.channel.ServiceUnitStateTableView"):
        return
    problem = f"Pulsar {version} has no extensible load manager"
    if class_exists(f"{PACKAGE}.ExtensibleLoadManagerImpl"):
        problem = f"Pulsar {version} does not expose messages to the extensible load manager"
    raise CannotLoad(f"{problem}; use 4.0 or later with manager=extensible")


def check_story_strategy(case: Mapping[str, Any], manager: str) -> None:
    """Check that the load manager has every strategy by which a story sheds.

    Errors: `Inexpressible`.
    """
    events = [next(iter(event.items())) for event in case["events"]]
    switched = [about["value"] for kind, about in events if about.get("name") == ENABLED]
    sheds = any([case["settings"].get(ENABLED, True), *switched])
    if not sheds or all(kind != "tick" for kind, _ in events):
        return
    named = set(named_strategies(case))
    if manager != "extensible":
        if TRANSFER_SHEDDER in named:
            raise Inexpressible(f"only the extensible load manager sheds with {TRANSFER_SHEDDER}")
    elif named != {TRANSFER_SHEDDER} and not (
        not named and selects_extensible_manager(case["settings"])
    ):
        raise Inexpressible(
            f"the extensible load manager sheds only with {TRANSFER_SHEDDER}, but the story "
            f"uses {' and '.join(sorted(named)) or 'the default strategy'}"
        )
