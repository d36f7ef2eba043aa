"""The release's own ModularLoadManagerImpl, surrounded by stubs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import TracebackType
from typing import Self

from pulsar_conformance.adapters.pulsar.configuration import Configurations
from pulsar_conformance.adapters.pulsar.jvm import Java, call, field, java_class, methods
from pulsar_conformance.adapters.pulsar.loads import LOCAL, MANAGER
from pulsar_conformance.adapters.pulsar.service import Service

CHILDREN = "org.apache.pulsar.zookeeper.ZooKeeperChildrenCache"
"""Class from which 2.4's manager gets the active brokers; later ones use a lock manager."""


class Manager:
    """A load manager for one case; it remembers nothing of earlier cases."""

    def __init__(self, service: Service) -> None:
        self.java = service.shells.partial_stub(MANAGER)
        self.java.initialize(service.pulsar)
        active = field(self.java, "availableActiveBrokers")
        if active is not None:
            active.set(self.java, service.shells.stub_of(CHILDREN))
        for name in ("localData", "lastData"):
            own = field(self.java, name)
            if own.get(self.java) is None:
                own.set(self.java, java_class(LOCAL)())
        self.load_data = field(self.java, "loadData").get(self.java)

    @property
    def strategy(self) -> Java:
        """The shedding strategy that the manager created."""
        return shedding_strategy(self.java)

    def wrap_strategy(self, wrap: Callable[[Java], Java]) -> None:
        """Replace the strategy by `wrap(strategy)`, an object of the same type."""
        wrapped = wrap(self.strategy)
        alone = field(self.java, "loadSheddingStrategy")
        if alone is not None:
            alone.set(self.java, wrapped)
        else:
            _pipeline(self.java).set(0, wrapped)

    def remove_inactive_brokers(self) -> None:
        """Remove the data of inactive brokers, if the release does this before each decision."""
        if methods(self.java, "cleanupDeadBrokersData"):
            call(self.java, "cleanupDeadBrokersData")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop the manager's threads."""
        end_threads(self.java)


def shedding_strategy(manager: Java) -> Java:
    """Return the shedding strategy that a manager created."""
    alone = field(manager, "loadSheddingStrategy")
    if alone is not None:
        return alone.get(manager)
    [strategy] = _pipeline(manager)
    return strategy


def _pipeline(manager: Java) -> Java:
    return field(manager, "loadSheddingPipeline").get(manager)


def end_threads(manager: Java) -> None:
    """Stop the threads of a load manager and, if it is a wrapper, of the load manager inside."""
    for name in ("executors", "scheduler"):
        threads = field(manager, name)
        if threads is not None and threads.get(manager) is not None:
            threads.get(manager).shutdownNow()
    within = field(manager, "loadManager")
    if within is not None and within.get(manager) is not None:
        end_threads(within.get(manager))


@cache
def default_stats() -> Java:
    """Return the load that the release's manager assumes for a bundle without samples."""
    with Manager(Service(Configurations({}).of({}))) as manager:
        return field(manager.java, "defaultStats").get(manager.java)
