"""ZooKeeper and a bookie on loopback, and the metadata that they store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jpype
from pulsar_conformance.adapters.admin_api.waiting import ConditionWaiter
from pulsar_conformance.adapters.cluster.loopback import LOOPBACK
from pulsar_conformance.adapters.pulsar.jvm import Java, call, field, java_class

ENSEMBLE = "org.apache.pulsar.zookeeper.LocalBookkeeperEnsemble"
TICK, CONNECTIONS = 3000, 1000
"""ZooKeeper's tick in milliseconds, and its maximum number of connections per host."""

SESSION = 300_000
"""Session timeout in milliseconds, long enough for a busy machine.

A crash in a story ends the session immediately.
"""

BOOKIE = {
    "dbStorage_writeCacheMaxSizeMb": "2",
    "dbStorage_readAheadCacheMaxSizeMb": "1",
    "dbStorage_rocksDB_writeBufferSizeMB": "1",
    "dbStorage_rocksDB_blockCacheSize": "1048576",
    "journalMaxGroupWaitMSec": "1",
}
"""Settings that make the bookie use little memory and avoid delays."""

KEPT_NODES = frozenset({"zookeeper", "ledgers", "bookies"})
"""Nodes that are never removed, because ZooKeeper and the bookie need them."""

OWNERSHIP_PATH, BROKERS, LOCAL_POLICIES = (
    "/namespace",
    "/loadbalance/brokers",
    "/admin/local-policies",
)
LEADER = "/loadbalance/leader"
MARKER_PATH = "/conformance"
"""Path of a node that is written to learn which brokers have been notified."""
BUNDLES, AVERAGES = "/loadbalance/bundle-data", "/loadbalance/broker-time-average"
"""Paths under which the leader writes the load data of bundles and the average load of brokers."""


@dataclass(frozen=True)
class Node:
    """A metadata node: its content, the transaction that created it, and its number of changes."""

    data: Any
    since: int
    times: int


@dataclass(frozen=True)
class Lock:
    """Ownership of a bundle: the broker's web port, and the transaction that acquired it."""

    port: int
    since: int


class Metadata:
    """A cluster's metadata, read directly rather than through a broker."""

    def __init__(self, folder: Path, alarm: ConditionWaiter) -> None:
        self._server, self._sockets = _zookeeper(folder / "zookeeper")
        self.port = int(self._sockets.getLocalPort())
        self._ensemble = java_class(ENSEMBLE)(
            1, self.port, 0, str(folder / "zookeeper"), str(folder / "bookie"), True, LOOPBACK
        )
        field(self._ensemble, "serverFactory").set(self._ensemble, self._sockets)
        field(self._ensemble, "zks").set(self._ensemble, self._server)
        field(self._ensemble, "hostPort").set(self._ensemble, f"{LOOPBACK}:{self.port}")
        call(self._ensemble, "initializeZookeper")
        call(self._ensemble, "runBookies", _bookie())
        self._watcher = _Waker(alarm)
        address = f"{LOOPBACK}:{self.port}"
        self._client = java_class("org.apache.zookeeper.ZooKeeper")(address, SESSION, self._watcher)
        mode = java_class("org.apache.zookeeper.AddWatchMode").PERSISTENT_RECURSIVE
        self._client.addWatch("/", self._watcher, mode)

    def close(self) -> None:
        """Stop the bookie, then ZooKeeper."""
        self._ensemble.stopBK()
        self._client.close()
        self._ensemble.getZkClient().close()
        self._sockets.shutdown()
        self._server.shutdown()

    def wipe(self) -> None:
        """Remove all nodes that brokers have written."""
        for name in self._children("/"):
            if name not in KEPT_NODES:
                java_class("org.apache.zookeeper.ZKUtil").deleteRecursive(self._client, f"/{name}")

    def write_marker(self) -> None:
        """Write a marker; every broker is notified of it after all earlier writes."""
        if self._client.exists(MARKER_PATH, False) is None:
            open_to_all = java_class("org.apache.zookeeper.ZooDefs.Ids").OPEN_ACL_UNSAFE
            mode = java_class("org.apache.zookeeper.CreateMode").PERSISTENT
            self._client.create(MARKER_PATH, b"", open_to_all, mode)
        else:
            self._client.setData(MARKER_PATH, b"", -1)

    def owned_bundles(self, namespace: str) -> dict[str, Lock]:
        """Return the owned bundles of a namespace, with their locks."""
        found = {}
        for part in self._children(f"{OWNERSHIP_PATH}/{namespace}"):
            read = self._read(f"{OWNERSHIP_PATH}/{namespace}/{part}")
            if read is not None:
                port = urlsplit(str(read.data["httpUrl"])).port
                found[f"{namespace}/{part}"] = Lock(port or 0, read.since)
        return found

    def ranges(self, namespace: str) -> list[str]:
        """Return the ranges of a namespace's bundles; empty if the namespace is not in use."""
        read = self._read(f"{LOCAL_POLICIES}/{namespace}")
        if read is None:
            return []
        return ranges_between(read.data["bundles"]["boundaries"])

    def reports(self) -> dict[str, int]:
        """Return the number of load reports that each registered broker has written."""
        found = {}
        for name in self._children(BROKERS):
            state = self._client.exists(f"{BROKERS}/{name}", False)
            if state is not None:
                found[name] = int(state.getVersion())
        return found

    def nodes(self, path: str) -> Iterator[tuple[str, Node]]:
        """Yield each node below `path` whose content is JSON, with its path relative to `path`."""
        for name in self.node_paths(path):
            read = self._read(name)
            if read is not None:
                yield name.removeprefix(f"{path}/"), read

    def report(self, broker: str) -> str:
        """Return a broker's last report as written."""
        return bytes(self._client.getData(f"{BROKERS}/{broker}", False, None)).decode()

    def register(self, broker: str, report: str) -> None:
        """Register a broker that does not run, with its load report."""
        open_to_all = java_class("org.apache.zookeeper.ZooDefs.Ids").OPEN_ACL_UNSAFE
        mode = java_class("org.apache.zookeeper.CreateMode").PERSISTENT
        self._client.create(f"{BROKERS}/{broker}", report.encode(), open_to_all, mode)

    def end_session(self, broker: str) -> None:
        """End a broker's session with ZooKeeper, as if it had expired."""
        state = self._client.exists(f"{BROKERS}/{broker}", False)
        if state is not None:
            self._ensemble.getZkServer().closeSession(state.getEphemeralOwner())

    def creation_transaction(self, path: str) -> int | None:
        """Return the transaction that created a node; None if there is no such node."""
        state = self._client.exists(path, False)
        return None if state is None else int(state.getCzxid())

    def leader_port(self) -> int | None:
        """Return the leader's web port according to its metadata node; None if that names no
        broker.
        """
        read = self._read(LEADER)
        return None if read is None else urlsplit(str(read.data.get("serviceUrl"))).port

    def remove(self, path: str) -> None:
        """Delete a node."""
        self._client.delete(path, -1)

    def _children(self, path: str) -> list[str]:
        try:
            return sorted(str(one) for one in self._client.getChildren(path, False))
        except jpype.JException as error:
            if _is_missing_node(error):
                return []
            raise

    def _read(self, path: str) -> Node | None:
        """Return a node's content; None if it is missing or empty."""
        state = java_class("org.apache.zookeeper.data.Stat")()
        try:
            data = self._client.getData(path, False, state)
        except jpype.JException as error:
            if _is_missing_node(error):
                return None
            raise
        if data is None or not len(data):
            return None
        return Node(json.loads(bytes(data)), int(state.getCzxid()), int(state.getVersion()))

    def node_paths(self, path: str = "") -> Iterator[str]:
        """Yield the paths of all nodes below a path."""
        for name in self._children(path or "/"):
            yield f"{path}/{name}"
            yield from self.node_paths(f"{path}/{name}")


def ranges_between(cuts: Iterable[str]) -> list[str]:
    """Return the bundle ranges between consecutive boundaries, such as `0x00000000_0x80000000`."""
    return [f"{first}_{last}" for first, last in pairwise(cuts)]


def _zookeeper(folder: Path) -> tuple[Java, Java]:
    """Start a ZooKeeper server that listens only on loopback; usual ones listen everywhere."""
    folder.mkdir()
    place = java_class("java.io.File")(str(folder))
    server = java_class("org.apache.zookeeper.server.ZooKeeperServer")(place, place, TICK)
    server.setMaxSessionTimeout(SESSION)
    sockets = java_class("org.apache.zookeeper.server.NIOServerCnxnFactory")()
    sockets.configure(java_class("java.net.InetSocketAddress")(LOOPBACK, 0), CONNECTIONS)
    sockets.startup(server)
    return server, sockets


def _bookie() -> Java:
    """Start a small bookie on the loopback interface."""
    conf = java_class("org.apache.bookkeeper.conf.ServerConfiguration")()
    address = java_class("java.net.InetAddress").getByName(LOOPBACK)
    loopback = java_class("java.net.NetworkInterface").getByInetAddress(address).getName()
    conf.setListeningInterface(loopback)
    conf.setAllowLoopback(True)
    conf.setZkTimeout(SESSION)
    conf.setLedgerStorageClass("org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage")
    for name, value in BOOKIE.items():
        conf.setProperty(name, value)
    conf.setJournalSyncData(False)
    conf.setServerNumIOThreads(1)
    conf.setNumLongPollWorkerThreads(1)
    for one in ("Add", "Read", "HighPriority"):
        getattr(conf, f"setNum{one}WorkerThreads")(0)
    conf.setNumJournalCallbackThreads(0)
    return conf


def _is_missing_node(error: jpype.JException) -> bool:
    return isinstance(error, java_class("org.apache.zookeeper.KeeperException.NoNodeException"))


@jpype.JImplements("org.apache.zookeeper.Watcher", deferred=True)
class _Waker:
    """Listener that wakes the threads that wait for a write to the metadata."""

    def __init__(self, alarm: ConditionWaiter) -> None:
        self._alarm = alarm

    @jpype.JOverride
    def process(self, event: Java) -> None:  # noqa: ARG002  ZooKeeper's signature
        """Wake the waiting threads; the ZooKeeper client calls this at an event."""
        self._alarm.wake()
