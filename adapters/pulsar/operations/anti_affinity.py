"""Answers to place.anti_affinity by the load manager's own filter, given domains and bundles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

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
from pulsar_conformance.adapters.pulsar.release import Answer, Case, Release
from pulsar_conformance.adapters.pulsar.service import Service
from pulsar_conformance.adapters.pulsar.shells import completed_future, java_optional
from pulsar_conformance.reference.choosing import index_for_question

SHARED = "org.apache.pulsar.broker.loadbalance.impl.LoadManagerShared"
POLICIES = "org.apache.pulsar.common.policies.data."
GLOBAL, LOCAL = f"{POLICIES}Policies", f"{POLICIES}LocalPolicies"
DOMAINS = (f"{POLICIES}FailureDomainImpl", f"{POLICIES}FailureDomain")
"""Java class names of a failure domain; if a release has both, the second is an interface."""

FIRST_HALF, SECOND_HALF = "0x00000000_0x80000000", "0x80000000_0xffffffff"
"""Ranges of a namespace's two bundles: the owned bundle, and the bundle to place."""


def filter_candidates(release: Release, case: Case) -> Answer:
    """Return the candidates that pass the filter, and the chosen broker.

    The placement strategy chooses among the candidates, at random if the brokers are idle.
    """
    service = Service(release.configuration(case["settings"]), replies=metadata_replies(case))
    among = java_class("java.util.HashSet")(java_list(map(broker_id, case["candidates"])))
    with Manager(service) as manager:
        release.loads.fill_load_data(manager.load_data, _reports_serving(case["owned"]), {})
        call(manager.java, "updateBundleData")
        owned, domains = (
            field(manager.java, name).get(manager.java)
            for name in ("brokerToNamespaceToBundleRange", "brokerToFailureDomainMap")
        )
        bundle = f"{case['namespace']}/{SECOND_HALF}"
        shared = java_class(SHARED)
        shared.filterAntiAffinityGroupOwnedBrokers(service.pulsar, bundle, among, owned, domains)
    left = sorted(map(broker_name, among))
    return {
        "broker": left[index_for_question(case, len(left))] if left else None,
        "candidates": left,
    }


def _reports_serving(owned: Mapping[str, list[str]]) -> Mapping[str, Any]:
    """Return reports of brokers that own one bundle in each of the namespaces that they serve."""
    return idle_reports(
        {
            broker: [f"{name}/{FIRST_HALF}" for name in namespaces]
            for broker, namespaces in owned.items()
        }
    )


def idle_reports(serving: Mapping[str, list[str]]) -> Mapping[str, Any]:
    """Return reports of idle brokers that own these bundles."""
    return {
        broker: {"bundles": names, "lastStats": {name: {} for name in names}}
        for broker, names in serving.items()
    }


def metadata_replies(case: Case) -> Mapping[str, Any]:
    """Return stubs for the metadata of domains and groups."""
    domains = {name: _failure_domain(brokers) for name, brokers in case["domains"].items()}
    groups = {
        group: completed_future(java_optional(_policies_with_group(group)))
        for group in set(case["groups"].values())
    }
    names, none = java_list(domains), completed_future(java_optional(None))

    def policies(name: Java) -> Java:
        """Return a namespace's policies, given its name or the path of its node.

        In ZooKeeper's caches, nodes are under /admin/policies or /admin/local-policies.
        """
        namespace = "/".join(str(name).split("/")[-2:])
        return groups.get(case["groups"].get(namespace), none)

    return {
        "listFailureDomains": names,
        "getFailureDomain": lambda _cluster, name: java_optional(domains.get(str(name))),
        "ZooKeeperChildrenCache.get": lambda *_: java_class("java.util.HashSet")(names),
        "ZooKeeperDataCache.get": lambda path: java_optional(
            domains.get(str(path).rpartition("/")[2])
        ),
        "ZooKeeperDataCache.getAsync": policies,
        "getLocalPoliciesAsync": policies,
    }


def _failure_domain(brokers: list[str]) -> Java:
    kind = next(name for name in DOMAINS if class_exists(name))
    ids = [broker_id(broker) for broker in brokers]
    return json_mapper().readValue(json.dumps({"brokers": ids}), java_class(kind).class_)


def _policies_with_group(group: str) -> Java:
    """Return policies that set a namespace's group; until 2.4 they apply to all clusters."""
    kind = java_class(GLOBAL)
    if field(kind, "antiAffinityGroup") is not None:
        return json_mapper().readValue(json.dumps({"antiAffinityGroup": group}), kind.class_)
    written = json.dumps({"namespaceAntiAffinityGroup": group})
    return json_mapper().readValue(written, java_class(LOCAL).class_)
