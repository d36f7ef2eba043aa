"""Answers to place.broker by the load manager's own assignment, with its filters and strategy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import jpype
from pulsar_conformance.adapters.pulsar.jvm import (
    Java,
    call,
    class_exists,
    field,
    java_class,
    java_list,
    json_mapper,
)
from pulsar_conformance.adapters.pulsar.loads import broker_id, broker_name
from pulsar_conformance.adapters.pulsar.manager import Manager
from pulsar_conformance.adapters.pulsar.namespaces import divide
from pulsar_conformance.adapters.pulsar.operations import anti_affinity, placement
from pulsar_conformance.adapters.pulsar.release import Answer, Case, Release
from pulsar_conformance.adapters.pulsar.service import Service
from pulsar_conformance.adapters.pulsar.shells import java_optional
from pulsar_conformance.adapters.pulsar.strategies import PLACEMENT, created_placement_strategy

POLICIES = "org.apache.pulsar.common.policies."
ISOLATION = f"{POLICIES}impl.NamespaceIsolationPolicies"
POLICY = (
    f"{POLICIES}data.NamespaceIsolationDataImpl",
    f"{POLICIES}data.NamespaceIsolationData",
)
"""Java class names of an isolation policy; if a release has both, the second is an interface."""

CLUSTER = "cluster"
POLICIES_NODE = "namespaceIsolationPolicies"
"""Last part of the path of the metadata node with the isolation policies."""


def assign_bundle(release: Release, case: Case) -> Answer:
    """Return the broker to which the load manager assigns the bundle, and the strategy's
    candidates.

    The strategy chooses among the brokers that the manager's filters leave, at random if several
    are equally good. Each repetition of a question returns the next possible broker, as if nothing
    had been assigned before.
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

        def refill() -> None:
            children.are_brokers = False
            set_bundles_and_loads(release, manager.java, manager.load_data, case)
            children.are_brokers = True

        return next_choice(
            release, DrawnAssignment(manager.java, bundle, refill), case, broker_name
        )


ROUND_ROBIN = "org.apache.pulsar.broker.loadbalance.impl.RoundRobinBrokerSelector"
ORDERED_SET = "java.util.LinkedHashSet"
StrategyMaker = Callable[[Java], Java]
"""Function that creates a placement strategy from a configuration."""

STRATEGIES: Mapping[str, StrategyMaker] = {
    "placementStrategy": created_placement_strategy,
    "sheddingExcludedNamespaceSelectionStrategy": lambda _configuration: java_class(ROUND_ROBIN)(),
}
"""Functions that create a manager's placement strategies, by the manager's field for each."""

StrategyCall = tuple[StrategyMaker, tuple[Java, ...]]
"""A call of a strategy: the function that creates the strategy, and the call's arguments.

The arguments are brokers, bundle, load data and configuration.
"""

Choices = tuple[str | None, ...]
"""The brokers that strategies chose in one assignment, in the order of the calls."""


class DrawnAssignment:
    """A load manager's assignment of one bundle, repeated until all possible results are known.

    The manager asks a strategy again if the chosen broker is overloaded, so the assignment depends
    on every choice. The manager runs once for each sequence of choices; after that, a draw only
    calls newly created strategies.
    """

    def __init__(self, manager: Java, bundle: Java, refill: Callable[[], None]) -> None:
        self._manager = manager
        self._bundle = bundle
        self._refill = refill
        self._calls: dict[Choices, StrategyCall] = {}
        self._assigned: dict[Choices, str | None] = {}
        self._script = _ChoiceScript()
        for name, maker in STRATEGIES.items():
            strategy = field(manager, name)
            if strategy is not None:
                strategy.set(manager, _ScriptedPlacer(self._script, maker))

    @property
    def candidates(self) -> set[str]:
        """Return the IDs of all brokers that have been candidates so far."""
        return {str(one) for _, (among, *_) in self._calls.values() for one in among}

    def draw(self) -> str | None:
        """Return the ID of the broker that is assigned if newly created strategies choose."""
        choices: Choices = ()
        strategies = FreshStrategies()
        while choices not in self._assigned:
            if choices not in self._calls:
                self._run(choices)
                continue
            choices = (*choices, optional_broker_id(strategies.call(self._calls[choices])))
        return self._assigned[choices]

    def _run(self, choices: Choices) -> None:
        """Let the manager assign the bundle; its strategies first repeat `choices`, then choose
        freely.
        """
        self._refill()
        self._script.begin(choices)
        found = self._manager.selectBrokerForAssignment(self._bundle)
        self._forget()
        made = tuple(self._script.choices)
        self._calls.update((made[:place], one) for place, one in enumerate(self._script.calls))
        self._assigned[made] = optional_broker_id(found)

    def _forget(self) -> None:
        """Undo the assignment, so that the bundle's load does not count when strategies choose
        again.
        """
        bundle = self._bundle.toString()
        field(self._manager, "preallocatedBundleToBroker").get(self._manager).remove(bundle)
        for broker in field(self._manager, "loadData").get(self._manager).getBrokerData().values():
            broker.getPreallocatedBundleData().remove(bundle)


def next_choice(
    release: Release, assignment: DrawnAssignment, case: Case, name: Callable[[str], str]
) -> Answer:
    """Return the next broker of those that the manager may choose at random, and all candidates.

    `name` maps a broker's ID to the broker's name in the case.
    """

    def draw() -> str | None:
        broker = assignment.draw()
        return None if broker is None else name(broker)

    draw()
    broker = release.turns.next_answer(case, len(assignment.candidates), draw)
    return {"broker": broker, "candidates": sorted(map(name, assignment.candidates))}


def set_bundles_and_loads(release: Release, manager: Java, load: Java, case: Case) -> None:
    """Set the reported and preallocated bundles of each broker, then the brokers' load."""
    serving = {
        name: [*report.get("bundles", ()), *case["preallocated"].get(name, ())]
        for name, report in case["brokers"].items()
    }
    release.loads.fill_load_data(load, anti_affinity.idle_reports(serving), {})
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
    isolation = java_optional(
        _isolation_policies(case) if case["isolation"] or case.get("policies") else None
    )
    domain = replies["ZooKeeperDataCache.get"]
    replies["getIsolationDataPolicies"] = isolation
    replies["ZooKeeperDataCache.get"] = lambda path: (
        isolation if str(path).endswith(POLICIES_NODE) else domain(path)
    )
    return replies


class _Children:
    """The children of a metadata node, domains or brokers, for releases with ZooKeeper caches."""

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
    """Return an isolation policy in its stored format, with regexes that match exactly the given
    names.
    """
    names = {name: [re.escape(one) for one in given[name]] for name in POLICY_FIELDS}
    return _stored_policy(names, given["least"], 100)


def policy_of_regexes(given: Case) -> dict[str, Any]:
    """Return an isolation policy in its stored format, given the regexes in a case."""
    names = {name: given[name] for name in POLICY_FIELDS}
    return _stored_policy(names, given["minLimit"], given["usageThreshold"])


def _stored_policy(names: Mapping[str, Any], least: int, usage: int) -> dict[str, Any]:
    parameters = {"min_limit": str(least), "usage_threshold": str(usage)}
    failover = {"policy_type": "min_available", "parameters": parameters}
    return {**names, "auto_failover_policy": failover}


def _isolation_policies(case: Case) -> Java:
    """Return the policies as the release reads them."""
    found = [*map(policy, case["isolation"]), *map(policy_of_regexes, case.get("policies", ()))]
    written = {f"policy-{place}": one for place, one in enumerate(found)}
    types = json_mapper().getTypeFactory()
    string = java_class("java.lang.String").class_
    several = types.constructMapType(java_class("java.util.Map").class_, string, policy_class())
    return java_class(ISOLATION)(json_mapper().readValue(json.dumps(written), several))


def policy_class() -> Java:
    """Return the release's Java class of isolation policies."""
    return java_class(next(filter(class_exists, POLICY))).class_


POLICY_FIELDS = ("namespaces", "primary", "secondary")


def optional_broker_id(broker: Java) -> str | None:
    """Return the broker ID in a Java Optional; None if it is empty."""
    return str(broker.get()) if broker.isPresent() else None


class FreshStrategies:
    """The strategies of one assignment; each is created when it is first called."""

    def __init__(self) -> None:
        self._created: dict[StrategyMaker, Java] = {}

    def call(self, call: StrategyCall) -> Java:
        """Return the strategy's choice as a Java Optional."""
        maker, arguments = call
        if maker not in self._created:
            self._created[maker] = maker(arguments[-1])
        return self._created[maker].selectBroker(*arguments)


class _ChoiceScript:
    """The choices of a manager's strategies in one assignment.

    The first choices are given; after these, the strategies choose.
    """

    def begin(self, given: Choices) -> None:
        """Start an assignment whose first choices are given."""
        self._given = given
        self._fresh = FreshStrategies()
        self.calls: list[StrategyCall] = []
        self.choices: list[str | None] = []

    def choose(self, call: StrategyCall) -> Java:
        """Return the next choice as a Java Optional, and record it with its call."""
        place = len(self.calls)
        self.calls.append(call)
        if place < len(self._given):
            found = java_class("java.util.Optional").ofNullable(self._given[place])
        else:
            found = self._fresh.call(call)
        self.choices.append(optional_broker_id(found))
        return found


@jpype.JImplements(PLACEMENT, deferred=True)
class _ScriptedPlacer:
    """A placement strategy that takes its choices from a script."""

    def __init__(self, script: _ChoiceScript, maker: StrategyMaker) -> None:
        self._script = script
        self._maker = maker

    @jpype.JOverride
    def selectBroker(self, among: Java, *others: Java) -> Java:  # noqa: N802  Pulsar's
        """Return the script's choice, given the candidates in their present order."""
        return self._script.choose((self._maker, (java_class(ORDERED_SET)(among), *others)))

    @jpype.JOverride
    def selectBrokerForBundle(  # noqa: N802  Pulsar's
        self, among: Java, _bundle: Java, *others: Java
    ) -> Java:
        """Return the script's choice; managers since 5.0.1 call this method, with the bundle."""
        return self.selectBroker(among, *others)

    @jpype.JOverride
    def onActiveBrokersChange(self, brokers: Java) -> None:  # noqa: N802  Pulsar's
        """Ignore the change, since each assignment has new strategies."""
