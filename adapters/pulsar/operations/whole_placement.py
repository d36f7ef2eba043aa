"""place.broker: the load manager's own assignment, with filters and strategy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import jpype
from pulsar_conformance.adapters.pulsar.jvm import (
    Java,
    call,
    exists,
    field,
    java_class,
    java_list,
    mapper,
)
from pulsar_conformance.adapters.pulsar.loads import broker_id, broker_name
from pulsar_conformance.adapters.pulsar.manager import Manager
from pulsar_conformance.adapters.pulsar.namespaces import divide
from pulsar_conformance.adapters.pulsar.operations import anti_affinity, placement
from pulsar_conformance.adapters.pulsar.release import Answer, Case, Release
from pulsar_conformance.adapters.pulsar.service import Service
from pulsar_conformance.adapters.pulsar.shells import some
from pulsar_conformance.adapters.pulsar.strategies import PLACEMENT, created_placer

POLICIES = "org.apache.pulsar.common.policies."
ISOLATION = f"{POLICIES}impl.NamespaceIsolationPolicies"
POLICY = (
    f"{POLICIES}data.NamespaceIsolationDataImpl",
    f"{POLICIES}data.NamespaceIsolationData",
)
"""Class names of an isolation policy; in some releases the second is an interface of the first."""

CLUSTER = "cluster"
STORED = "namespaceIsolationPolicies"
"""Last part of the path of the node with isolation policies."""


def assigned(release: Release, case: Case) -> Answer:
    """Return the broker that the manager assigns the bundle to, and the final candidates.

    The strategy chooses among the brokers that the manager leaves, at random if several are equally
    good. A repeated question gets each possible choice in turn, as if nothing had been assigned.
    """
    configuration = release.configuration(placement.strategy_settings(release, case))
    configuration.setClusterName(CLUSTER)
    children = _Children(case)
    replies = {**metadata(case), "ZooKeeperChildrenCache.get": children.get}
    service = Service(configuration, case["brokers"], replies=replies)
    namespace, _, part = case["bundle"].rpartition("/")
    divide(service.factory, namespace, [part])
    bundle = call(service.factory, "getBundle", namespace, part)
    with Manager(service) as manager:
        set_bundles_and_loads(release, manager.java, manager.load_data, case)
        children.are_brokers = True
        return next_choice(release, last_candidates(manager.java, bundle), case, broker_name)


Question = tuple[Callable[[Java], Java], Java, *tuple[Java, ...]]
"""The factory of a strategy, and its arguments: brokers, bundle, load data, configuration."""

IN_TURN = "org.apache.pulsar.broker.loadbalance.impl.RoundRobinBrokerSelector"
ORDERED = "java.util.LinkedHashSet"
STRATEGIES: Mapping[str, Callable[[Java], Java]] = {
    "placementStrategy": created_placer,
    "sheddingExcludedNamespaceSelectionStrategy": lambda _configuration: java_class(IN_TURN)(),
}
"""Factories of a manager's placement strategies from a configuration, by field."""


def last_candidates(manager: Java, bundle: Java) -> Question | None:
    """Return the manager's last call to a strategy for a bundle, if any."""
    asked: list[Question] = []
    for name, maker in STRATEGIES.items():
        strategy = field(manager, name)
        if strategy is not None:
            strategy.set(manager, _RecordedPlacer(strategy.get(manager), maker, asked))
    manager.selectBrokerForAssignment(bundle)
    for broker in field(manager, "loadData").get(manager).getBrokerData().values():
        broker.getPreallocatedBundleData().remove(bundle.toString())
    return asked[-1] if asked else None


def next_choice(
    release: Release, left: Question | None, case: Case, name: Callable[[Java], str]
) -> Answer:
    """Return the next of the possible random choices, and all possible choices.

    `name` returns a broker's name in the case.
    """
    if left is None:
        return {"broker": None, "candidates": []}
    maker, among, *others = left
    configuration = others[-1]

    def draw() -> str | None:
        broker = maker(configuration).selectBroker(among, *others).orElse(None)
        return None if broker is None else name(broker)

    brokers = sorted(map(name, among))
    return {"broker": release.turns.take(case, len(brokers), draw), "candidates": brokers}


def set_bundles_and_loads(release: Release, manager: Java, load: Java, case: Case) -> None:
    """Set a manager's bundles and their owners, reported or preallocated, and then their load."""
    serving = {
        name: [*report.get("bundles", ()), *case["preallocated"].get(name, ())]
        for name, report in case["brokers"].items()
    }
    release.loads.fill(load, anti_affinity.idle_reports(serving), {})
    call(manager, "updateBundleData")
    load.getBrokerData().clear()
    load.getBundleData().clear()
    unmeasured = field(manager, "defaultStats").get(manager)
    known = placement.leader_load_data(release, case, unmeasured)
    load.getBrokerData().putAll(known.getBrokerData())
    load.getBundleData().putAll(known.getBundleData())
    runs = field(manager, "conf").get(manager).getLoadManagerClassName()
    for name, report in case["brokers"].items():
        local = load.getBrokerData().get(release.identify(name)).getLocalData()
        local.setNumTopics(report.get("numTopics", 0))
        if hasattr(local, "setLoadManagerClassName"):
            local.setLoadManagerClassName(runs)
        version = case["versions"].get(name)
        if version is not None:
            local.setBrokerVersionString(version)


def metadata(case: Case) -> Mapping[str, Any]:
    """Return stubs for the metadata of domains, groups and isolation policies."""
    owned = {"domains": case["domains"], "groups": case["groups"]}
    replies = dict(anti_affinity.metadata_replies(owned))
    isolation = some(
        _isolation_policies(case) if case["isolation"] or case.get("policies") else None
    )
    domain = replies["ZooKeeperDataCache.get"]
    replies["getIsolationDataPolicies"] = isolation
    replies["ZooKeeperDataCache.get"] = lambda path: (
        isolation if str(path).endswith(STORED) else domain(path)
    )
    return replies


class _Children:
    """A metadata node's children (domains, then brokers), for releases with ZooKeeper caches."""

    def __init__(self, case: Case) -> None:
        self._domains = java_class("java.util.HashSet")(java_list(case["domains"]))
        self._brokers = java_class("java.util.HashSet")(
            java_list(sorted(map(broker_id, case["brokers"])))
        )
        self.are_brokers = False

    def get(self, *_path: Java) -> Java:
        """Return the children's names."""
        return self._brokers if self.are_brokers else self._domains


def policy(given: Case) -> dict[str, Any]:
    """Return an isolation policy in its stored format, with names as regexes."""
    names = {name: [re.escape(one) for one in given[name]] for name in NAMES}
    return _stored_policy(names, given["least"], 100)


def policy_of_regexes(given: Case) -> dict[str, Any]:
    """Return an isolation policy that is given by regexes, in its stored format."""
    names = {name: given[name] for name in NAMES}
    return _stored_policy(names, given["minLimit"], given["usageThreshold"])


def _stored_policy(names: Mapping[str, Any], least: int, usage: int) -> dict[str, Any]:
    parameters = {"min_limit": str(least), "usage_threshold": str(usage)}
    failover = {"policy_type": "min_available", "parameters": parameters}
    return {**names, "auto_failover_policy": failover}


def _isolation_policies(case: Case) -> Java:
    """Return the policies as the release reads them."""
    found = [*map(policy, case["isolation"]), *map(policy_of_regexes, case.get("policies", ()))]
    written = {f"policy-{place}": one for place, one in enumerate(found)}
    types = mapper().getTypeFactory()
    string = java_class("java.lang.String").class_
    several = types.constructMapType(java_class("java.util.Map").class_, string, policy_class())
    return java_class(ISOLATION)(mapper().readValue(json.dumps(written), several))


def policy_class() -> Java:
    """Return the isolation policy class."""
    return java_class(next(filter(exists, POLICY))).class_


NAMES = ("namespaces", "primary", "secondary")


@jpype.JImplements(PLACEMENT, deferred=True)
class _RecordedPlacer:
    """A strategy wrapper that records calls."""

    def __init__(
        self, strategy: Java, maker: Callable[[Java], Java], asked: list[Question]
    ) -> None:
        self._strategy = strategy
        self._maker = maker
        self._asked = asked

    @jpype.JOverride
    def selectBroker(self, among: Java, *others: Java) -> Java:  # noqa: N802  Pulsar's
        """Return the strategy's choice; record the call with the candidates in their order."""
        self._asked.append((self._maker, java_class(ORDERED)(among), *others))
        return self._strategy.selectBroker(among, *others)

    @jpype.JOverride
    def selectBrokerForBundle(  # noqa: N802  Pulsar's
        self, among: Java, _bundle: Java, *others: Java
    ) -> Java:
        """Return the strategy's choice; managers since 5.0.1 call this method, with the bundle."""
        return self.selectBroker(among, *others)

    @jpype.JOverride
    def onActiveBrokersChange(self, brokers: Java) -> None:  # noqa: N802  Pulsar's
        """Forward the change to the strategy."""
        self._strategy.onActiveBrokersChange(brokers)
