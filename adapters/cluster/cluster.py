"""The brokers of a cluster and its metadata: started, asked, watched, and brought to rest."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import jpype
from pulsar_conformance.adapters.cluster import web
from pulsar_conformance.adapters.cluster.broker import LOAD_MANAGERS, LiveBroker, Ports
from pulsar_conformance.adapters.cluster.metadata import MARK, Lock, Metadata
from pulsar_conformance.adapters.cluster.requests import CLUSTER
from pulsar_conformance.adapters.cluster.settings import broker_conf
from pulsar_conformance.adapters.cluster.waiting import Alarm, Unsettled
from pulsar_conformance.adapters.cluster.web import Reply
from pulsar_conformance.adapters.pulsar.configuration import Unsayable


class LiveCluster:
    """A cluster of no broker in the beginning."""

    def __init__(self, folder: Path, manager: str, most: int) -> None:
        self._folder = folder
        self._manager = manager
        self._most = most
        self._started = 0
        self.alarm = Alarm()
        self.metadata = self._metadata()
        self.brokers: dict[str, LiveBroker] = {}
        """Those that are up, in the order in which they joined."""
        self._crashed: list[LiveBroker] = []
        self._ports: dict[str, Ports] = {}

    def _metadata(self) -> Metadata:
        self._started += 1
        folder = self._folder / str(self._started)
        folder.mkdir()
        return Metadata(folder, self.alarm)

    def begin(self) -> None:
        """Bring it back to the beginning: no broker, and nothing written.

        One that cannot be brought back is thrown away, and a new one started.
        """
        try:
            self._end_brokers()
            self.metadata.wipe()
        except jpype.JException:
            self.renew()
        self._ports.clear()

    def renew(self) -> None:
        """Throw it away, and start a new one."""
        for broker in (*self.brokers.values(), *self._crashed):
            broker.clear_away()
        self.brokers.clear()
        self._crashed.clear()
        with suppress(jpype.JException):
            self.metadata.close()
        self.metadata = self._metadata()

    def close(self) -> None:
        """End everything."""
        self._end_brokers()
        self.metadata.close()

    def _end_brokers(self) -> None:
        # Most of the time that one takes it waits, so all go at once.
        with ThreadPoolExecutor(max(1, len(self.brokers))) as threads:
            list(threads.map(LiveBroker.leave, self.brokers.values()))
        for broker in self._crashed:
            broker.clear_away()
        self.brokers.clear()
        self._crashed.clear()

    def ports(self, name: str) -> Ports:
        """Where a broker of the story listens, or will."""
        if name not in self._ports:
            self._ports[name] = Ports.free()
        return self._ports[name]

    def names(self) -> dict[str, str]:
        """Each broker of the story, and the name under which it is or will be registered."""
        return {name: ports.broker for name, ports in self._ports.items()}

    def name_of(self, port: int) -> str:
        """The broker of the story at a web port."""
        return next(
            (name for name, ports in self._ports.items() if ports.web == port), f"port {port}"
        )

    def start(
        self,
        name: str,
        capacity: float,
        beneath: Mapping[str, Any],
        file: Mapping[str, Any],
        above: Mapping[str, Any],
    ) -> None:
        """Start a broker, and wait until all know of it. Errors: `Unsayable`, `Unsettled`."""
        if len(self.brokers) >= self._most:
            problem = f"more than {self._most} brokers at a time"
            raise Unsayable(f"{problem}; brokers=N in the adapter's name allows more")
        ports = self.ports(name)
        configuration = broker_conf(
            beneath,
            file,
            above,
            manager=self._manager,
            metadata=self.metadata.port,
            ports=ports,
        )
        broker = LiveBroker(name, ports, capacity, configuration, self._manager, self.alarm)
        self.brokers[name] = broker
        if len(self.brokers) == 1 and not self.ask("GET", f"/admin/v2/clusters/{CLUSTER}").fine:
            url = f"http://{ports.broker}"
            self.granted("PUT", f"/admin/v2/clusters/{CLUSTER}", {"serviceUrl": url})
        self.rest()
        self.heard()

    def stop(self, name: str) -> None:
        """A broker goes in order."""
        self.brokers.pop(name).stop()
        self.rest()

    def crash(self, name: str) -> None:
        """A broker goes at once."""
        broker = self.brokers.pop(name)
        self.metadata.end_session(broker.ports.broker)
        broker.crash()
        self._crashed.append(broker)
        self.rest()

    def leader(self) -> str | None:
        """The broker that leads, if all agree."""
        leading = [name for name, broker in self.brokers.items() if broker.leads]
        return leading[0] if len(leading) == 1 else None

    def leader_node(self) -> str | None:
        """The broker that the leader's node in the metadata names."""
        port = self.metadata.leader_port()
        return None if port is None else self.name_of(port)

    def depose(self) -> None:
        """Whoever leads loses the lead; wait until all have heard who leads now."""
        node = LOAD_MANAGERS[self._manager].leader
        before = self.metadata.since(node)
        heard = {name: broker.notified.count.get(node, 0) for name, broker in self._up()}
        self.metadata.remove(node)
        self.alarm.until(
            lambda: (self.metadata.since(node) or 0) > (before or 0), "a broker is elected"
        )
        self.alarm.until(
            lambda: all(
                broker.notified.count.get(node, 0) > heard[name] for name, broker in self._up()
            ),
            "every broker hears of the election",
        )
        self.rest()

    def _up(self) -> ItemsView[str, LiveBroker]:
        return self.brokers.items()

    def ask(
        self, method: str, path: str, body: Any = None, *, plain: bool = False, of: int = 0
    ) -> Reply:
        """Ask a broker that is up, the `of`th of them."""
        brokers = list(self.brokers.values())
        port = brokers[of % len(brokers)].ports.web
        return web.ask(method, port, path, body, plain=plain)

    def granted(self, method: str, path: str, body: Any = None) -> None:
        """Ask for something that must be granted. Errors: `Unsettled`."""
        reply = self.ask(method, path, body)
        if not reply.fine:
            raise Unsettled(f"{method} {path}: {reply.why}")

    def rest(self) -> None:
        """Wait until the brokers agree on who is there and who leads, and have nothing to do."""
        if not self.brokers:
            return
        there = {broker.ports.broker for broker in self.brokers.values()}
        registered = self.metadata.reports
        self.alarm.until(lambda: set(registered()) == there, "the brokers are registered")
        self.alarm.until(self._agree, "the brokers agree on a leader")
        for broker in self.brokers.values():
            broker.manager.settle()
        brokers = self.brokers.values()
        self.alarm.until(
            lambda: all(broker.manager.known() == there for broker in brokers),
            "each broker has the reports of all",
        )
        self.alarm.until(
            lambda: all(broker.manager.rests for broker in brokers), "no bundle is on its way"
        )

    def _agree(self) -> bool:
        leader = self.leader()
        if leader is None:
            return False
        named = self.brokers[leader].ports.broker
        return all(broker.follows == named for broker in self.brokers.values())

    def heard(self) -> None:
        """Wait until every broker has taken in all that was written until now.

        ZooKeeper tells everybody of all writes in their order: whoever has heard of the last one,
        has heard of those before it.
        """
        before = {name: broker.notified.count.get(MARK, 0) for name, broker in self._up()}
        self.metadata.mark()
        self.alarm.until(
            lambda: all(
                broker.notified.count.get(MARK, 0) > before[name] for name, broker in self._up()
            ),
            "every broker hears of what was written",
        )
        for broker in self.brokers.values():
            broker.manager.settle()
        for broker in self.brokers.values():
            broker.manager.hear()

    def owned(self, namespaces: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Bundles of these namespaces that are owned: the broker, and since when."""
        spaces = tuple(namespaces)
        found: dict[str, Lock] = {}
        told = next(iter(self.brokers.values())).manager.locks() if self.brokers else None
        if told is None:
            for space in spaces:
                found |= self.metadata.owned(space)
        else:
            found = {one: lock for one, lock in told.items() if one.rpartition("/")[0] in spaces}
        return {one: (self.name_of(lock.port), lock.since) for one, lock in found.items()}
