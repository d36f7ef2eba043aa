"""A stub of PulsarService: the broker that the tested classes see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pulsar_conformance.adapters.pulsar.jvm import Java, java_class, java_list
from pulsar_conformance.adapters.pulsar.loads import broker_id
from pulsar_conformance.adapters.pulsar.shells import StubBuilder, completed_future

SERVICE = "org.apache.pulsar.broker.PulsarService"
FACTORY = "org.apache.pulsar.common.naming.NamespaceBundleFactory"


class Service:
    """A broker for one case, and the requests that its classes sent.

    Attributes:
        requests: the requests to the admin client, in order, each as method and arguments.
    """

    def __init__(
        self,
        configuration: Java,
        brokers: Iterable[str] = (),
        leads: bool = True,
        replies: Mapping[str, Any] | None = None,
    ) -> None:
        self.configuration = configuration
        self.requests: list[tuple[str, tuple[Java, ...]]] = []
        self.set_active(brokers)
        self.shells = StubBuilder(
            {
                "getConfiguration": configuration,
                "getConfig": configuration,
                "isLeader": leads,
                "LockManager.listLocks": lambda _path: completed_future(self._up),
                "ZooKeeperChildrenCache.get": lambda *_path: java_class("java.util.HashSet")(
                    self._up
                ),
                "ZooKeeper.exists": None,
                "unloadNamespaceBundle": self._recording("unload"),
                "splitNamespaceBundle": self._recording("split"),
                "getNamespaceBundleFactory": self._factory,
                "invalidateBundleCache": None,
                **(replies or {}),
            }
        )
        self.pulsar = self.shells.stub_of(SERVICE)
        crc32 = java_class("com.google.common.hash.Hashing").crc32()
        self.factory: Java = self.shells.partial_stub(FACTORY, self.pulsar, crc32)

    def set_active(self, brokers: Iterable[str]) -> None:
        """Set the active brokers, in the order of a metadata store: by name."""
        self._up = java_list(sorted(map(broker_id, brokers)))

    def _factory(self) -> Java:
        return self.factory

    def _recording(self, what: str) -> Any:
        def record(*arguments: Java) -> None:
            self.requests.append((what, arguments))

        return record
