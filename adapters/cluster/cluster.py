"""A cluster's brokers and metadata: starting, asking, observing and awaiting them."""

from __future__ import annotations

from collections.abc import Collection, ItemsView, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import jpype
from pulsar_conformance.adapters.admin_api.http import Reply
from pulsar_conformance.adapters.admin_api.requests import CLUSTER
from pulsar_conformance.adapters.admin_api.waiting import ConditionTimeout, ConditionWaiter
from pulsar_conformance.adapters.cluster import loopback
from pulsar_conformance.adapters.cluster.broker import (
    LOAD_MANAGERS,
    LiveBroker,
    new_service,
    release_resources,
)
from pulsar_conformance.adapters.cluster.loopback import Ports
from pulsar_conformance.adapters.cluster.metadata import MARKER_PATH, Lock, Metadata
from pulsar_conformance.adapters.cluster.separate import SeparateBroker
from pulsar_conformance.adapters.cluster.settings import broker_conf
from pulsar_conformance.adapters.pulsar.configuration import Inexpressible

LayeredSettings = tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]
"""The settings of a broker: the defaults, the case's broker.conf, and overrides of both."""


STOP_SECONDS = 20.0
"""Time limit in seconds for brokers that stop concurrently."""


class LiveCluster:
    """A cluster that starts with no brokers."""

    def __init__(
        self, folder: Path, manager: str, most: int, jars: Sequence[str] | None = None
    ) -> None:
        self._folder = folder
        self._jars = jars
        """Folders of jars for the separate JVM of a broker that will crash."""
        self.doomed: Collection[str] = ()
        """Names of the brokers that will crash later in the story."""
        self._manager = manager
        self._most = most
        self._numbers = count()
        self.alarm = ConditionWaiter()
        self.metadata = self._metadata()
        self._spare: Future[Metadata] | None = None
        self._clearing = ThreadPoolExecutor(1)
        self.brokers: dict[str, LiveBroker | SeparateBroker] = {}
        """The running brokers, in the order in which they joined."""
        self._crashed: list[LiveBroker] = []
        self._ports: dict[str, Ports] = {}

    def _metadata(self) -> Metadata:
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        return Metadata(folder, self.alarm)

    def begin(self) -> None:
        """Remove all brokers and metadata from the cluster.

        Two metadata stores are used in turn, so that one can be cleared while the other is in use.
        """
        if self.brokers or self._crashed:
            former = self.metadata, list(self.brokers.values()), self._crashed
            self.metadata = self._spare.result() if self._spare else self._metadata()
            self._spare = self._clearing.submit(self._clear_metadata, *former)
            self.brokers, self._crashed = {}, []
        else:
            self.metadata.wipe()
        self._ports.clear()

    def _clear_metadata(
        self,
        metadata: Metadata,
        brokers: Sequence[LiveBroker | SeparateBroker],
        crashed: Iterable[LiveBroker],
    ) -> Metadata:
        """Return the cleared metadata store, or a new store if the brokers do not stop cleanly."""
        for broker in crashed:
            broker.release_resources()
        try:
            _stop_brokers(brokers)
            metadata.wipe()
        except (jpype.JException, ConditionTimeout):
            return self._replace_metadata(metadata, brokers)
        return metadata

    def _replace_metadata(
        self, metadata: Metadata, brokers: Iterable[LiveBroker | SeparateBroker]
    ) -> Metadata:
        """Discard the old metadata and their brokers, and return new metadata."""
        for broker in brokers:
            broker.release_resources()
        with suppress(jpype.JException):
            metadata.close()
        return self._metadata()

    def recreate_metadata(self) -> None:
        """Discard the brokers and the metadata, and create new metadata."""
        self.metadata = self._replace_metadata(
            self.metadata, (*self.brokers.values(), *self._crashed)
        )
        self.brokers, self._crashed = {}, []

    def ports(self, name: str) -> Ports:
        """Return the ports on which a broker of the story listens, now or later."""
        if name not in self._ports:
            self._ports[name] = Ports.reserve()
        return self._ports[name]

    def names(self) -> dict[str, str]:
        """Map each broker of the story to its registered name."""
        return {name: ports.broker for name, ports in self._ports.items()}

    def name_of(self, port: int) -> str:
        """Return the story's name for the broker with this web port."""
        return next(
            (name for name, ports in self._ports.items() if ports.web == port), f"port {port}"
        )

    def start(
        self,
        name: str,
        capacity: float,
        defaults: Mapping[str, Any],
        file: Mapping[str, Any],
        overrides: Mapping[str, Any],
    ) -> None:
        """Start a broker, and wait until all brokers know it.

        Errors: `Inexpressible`, `ConditionTimeout`.
        """
        if len(self.brokers) >= self._most:
            problem = f"the case has more than {self._most} brokers at a time"
            raise Inexpressible(f"{problem}; allow more with brokers=N in the adapter's name")
        ports = self.ports(name)
        make = (
            self._start_separately
            if self._jars and name in self.doomed
            else self._start_in_this_jvm
        )
        self.brokers[name] = make(name, ports, capacity, (defaults, file, overrides))
        if (
            len(self.brokers) == 1
            and not self.ask("GET", f"/admin/v2/clusters/{CLUSTER}").is_success
        ):
            url = f"http://{ports.broker}"
            self.ask_accepted("PUT", f"/admin/v2/clusters/{CLUSTER}", {"serviceUrl": url})
        self.wait_idle()
        self.wait_processed()

    def _start_in_this_jvm(
        self, name: str, ports: Ports, capacity: float, conf: LayeredSettings
    ) -> LiveBroker:
        """Start a broker in the cluster's JVM."""
        metadata = self.metadata.port
        configuration = broker_conf(*conf, manager=self._manager, metadata=metadata, ports=ports)
        return LiveBroker(name, ports, capacity, configuration, self._manager, self.alarm)

    def _start_separately(
        self, name: str, ports: Ports, capacity: float, conf: LayeredSettings
    ) -> SeparateBroker:
        """Start a broker in a separate JVM."""
        defaults, file, overrides = conf
        options = {
            "defaults": defaults,
            "file": file,
            "overrides": overrides,
            "metadata": self.metadata.port,
            "folders": self._jars,
            "unpacked": str(self._folder / f"broker-{ports.web}"),
        }
        return SeparateBroker(name, ports, capacity, self._manager, options)

    def manager_of(self, defaults: Mapping[str, Any], overrides: Mapping[str, Any]) -> str:
        """Return the class of the load manager that a broker with these settings runs.

        A broker is started to find this out, and then stopped. Errors: `JException` if it does not
        start.
        """
        ports = Ports.reserve()
        configuration = broker_conf(
            defaults, {}, overrides, manager=self._manager, metadata=self.metadata.port, ports=ports
        )
        service = new_service(configuration)
        try:
            service.start()
            return str(service.getLoadManager().get().getClass().getSimpleName())
        finally:
            release_resources(service)

    def stop(self, name: str) -> None:
        """Shut a broker down gracefully."""
        self.brokers.pop(name).stop()
        self.wait_idle()

    def crash(self, name: str) -> None:
        """Crash a broker."""
        broker = self.brokers.pop(name)
        if isinstance(broker, SeparateBroker):
            broker.crash()
            self.metadata.end_session(broker.ports.broker)
        else:
            self.metadata.end_session(broker.ports.broker)
            broker.crash()
            self._crashed.append(broker)
        self.wait_idle()

    def leader(self) -> str | None:
        """Return the broker that all brokers consider the leader; None if they disagree."""
        leading = [name for name, broker in self.brokers.items() if broker.leads]
        return leading[0] if len(leading) == 1 else None

    def leader_node(self) -> str | None:
        """Return the broker that the leader's metadata node names."""
        port = self.metadata.leader_port()
        return None if port is None else self.name_of(port)

    def depose_leader(self) -> None:
        """Make the leader lose its leadership, and wait until all brokers know the new leader."""
        node = LOAD_MANAGERS[self._manager].leader
        before = self.metadata.creation_transaction(node)
        counts = {
            name: broker.notified.count.get(node, 0) for name, broker in self._named_brokers()
        }
        self.metadata.remove(node)
        self.alarm.wait_until(
            lambda: (self.metadata.creation_transaction(node) or 0) > (before or 0),
            "a broker is elected",
        )
        self.alarm.wait_until(
            lambda: all(
                broker.notified.count.get(node, 0) > counts[name]
                for name, broker in self._named_brokers()
            ),
            "every broker is notified of the election",
        )
        self.wait_idle()

    def _named_brokers(self) -> ItemsView[str, LiveBroker | SeparateBroker]:
        return self.brokers.items()

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        index: int = 0,
        seconds: float = loopback.SECONDS,
    ) -> Reply:
        """Send a request to a running broker. Errors: `NoAnswer`.

        `index` is the index of the broker, modulo the number of running brokers.
        """
        brokers = list(self.brokers.values())
        port = brokers[index % len(brokers)].ports.web
        return loopback.ask(method, port, path, body, seconds)

    def ask_accepted(self, method: str, path: str, body: Any = None) -> None:
        """Send a request. Errors: `ConditionTimeout` if the broker rejects it."""
        reply = self.ask(method, path, body)
        if not reply.is_success:
            raise ConditionTimeout(f"{method} {path}: {reply.rejection}")

    def wait_idle(self) -> None:
        """Wait until the brokers have no work and agree on the members and the leader."""
        if not self.brokers:
            return
        there = {broker.ports.broker for broker in self.brokers.values()}
        registered = self.metadata.reports
        self.alarm.wait_until(lambda: set(registered()) == there, "the brokers are registered")
        self.alarm.wait_until(self._agree_on_leader, "the brokers agree on a leader")
        for broker in self.brokers.values():
            broker.manager.finish_pending_work()
        brokers = self.brokers.values()
        self.alarm.wait_until(
            lambda: all(broker.manager.known_brokers() == there for broker in brokers),
            "each broker has the reports of all",
        )
        self.alarm.wait_until(
            lambda: all(broker.manager.is_idle for broker in brokers), "no bundle is in transit"
        )

    def _agree_on_leader(self) -> bool:
        leader = self.leader()
        if leader is None:
            return False
        named = self.brokers[leader].ports.broker
        return all(broker.known_leader == named for broker in self.brokers.values())

    def wait_notified(self) -> None:
        """Wait until every broker has been notified of all writes so far.

        ZooKeeper sends notifications in the order of the writes, so a broker that knows the last
        write knows all earlier ones.
        """
        before = {
            name: broker.notified.count.get(MARKER_PATH, 0)
            for name, broker in self._named_brokers()
        }
        self.metadata.write_marker()
        self.alarm.wait_until(
            lambda: all(
                broker.notified.count.get(MARKER_PATH, 0) > before[name]
                for name, broker in self._named_brokers()
            ),
            "every broker is notified of the change",
        )

    def wait_processed(self) -> None:
        """Wait until every broker has processed all writes so far."""
        self.wait_notified()
        for broker in self.brokers.values():
            broker.manager.finish_pending_work()
        for broker in self.brokers.values():
            broker.manager.receive()

    def owned_bundles(self, namespaces: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Return the owned bundles of namespaces, each with its broker and the transaction that
        acquired it.
        """
        spaces = tuple(namespaces)
        found: dict[str, Lock] = {}
        known = next(iter(self.brokers.values())).manager.locks() if self.brokers else None
        if known is None:
            for space in spaces:
                found |= self.metadata.owned_bundles(space)
        else:
            found = {one: lock for one, lock in known.items() if one.rpartition("/")[0] in spaces}
        return {one: (self.name_of(lock.port), lock.since) for one, lock in found.items()}


def _stop_brokers(brokers: Sequence[LiveBroker | SeparateBroker]) -> None:
    """Stop brokers concurrently, since each spends most of the time waiting. Errors:
    `ConditionTimeout`.
    """
    threads = ThreadPoolExecutor(max(1, len(brokers)))
    leaving = [threads.submit(broker.leave) for broker in brokers]
    threads.shutdown(wait=False)
    _, late = wait(leaving, STOP_SECONDS)
    if late:
        raise ConditionTimeout(f"{len(late)} brokers did not stop within {STOP_SECONDS:g} s")
    for one in leaving:
        one.result()
