"""Answers to policy.changed by the admin API's own comparison of two isolation policies."""

from __future__ import annotations

import json
from typing import Any

from pulsar_conformance.adapters.pulsar.admin import POLICIES, raising_rejections, wait_for
from pulsar_conformance.adapters.pulsar.jvm import (
    Java,
    call,
    java_class,
    java_list,
    json_mapper,
    methods,
)
from pulsar_conformance.adapters.pulsar.operations.whole_placement import (
    CLUSTER,
    policy_class,
    policy_of_regexes,
)
from pulsar_conformance.adapters.pulsar.release import Answer, Case, Release, Unsupported
from pulsar_conformance.adapters.pulsar.service import Service
from pulsar_conformance.adapters.pulsar.shells import completed_future

CLUSTERS = "org.apache.pulsar.broker.admin.v2.Clusters"
COMPARE_METHOD = "filterAndUnloadMatchedNamespaceAsync"
"""Method that compares the new policy with the old one and unloads namespaces."""

TENANT = "tenant"
"""The tenant whose namespaces the admin client lists."""


def changed_namespaces(release: Release, case: Case) -> Answer:
    """Return the namespaces that the admin API unloads. Errors: `Unsupported`."""
    unloaded: list[str] = []

    def unload(namespace: Java) -> Java:
        unloaded.append(str(namespace))
        return completed_future()

    service: Service
    replies: dict[str, Any] = {
        "pulsar": lambda: service.pulsar,
        "getTenantsAsync": lambda: completed_future(java_list([TENANT])),
        "getNamespacesAsync": lambda _tenant: completed_future(java_list(case["namespaces"])),
        "Namespaces.getPoliciesAsync": lambda _namespace: completed_future(_policies_in_cluster()),
        "isCurrentClusterAllowed": True,
        "Namespaces.unloadAsync": unload,
        "clientAppId": "",
        "execute": lambda task: task.run(),
    }
    service = Service(release.configuration({}), replies=replies)
    clusters = service.shells.unconstructed_object(CLUSTERS)
    if not any(
        one.getParameterCount() == len(PARAMETERS) for one in methods(clusters, COMPARE_METHOD)
    ):
        raise Unsupported("the release has no unload scopes")
    old = None if case["old"] is None else _parsed_policy(case["old"], None)
    with raising_rejections():
        wait_for(
            call(clusters, COMPARE_METHOD, CLUSTER, _parsed_policy(case["new"], case["scope"]), old)
        )
    return {"unload": unloaded}


def _policies_in_cluster() -> Java:
    """Return policies of a namespace that allow this cluster.

    Some releases unload only namespaces that have such policies.
    """
    policies = java_class(POLICIES)()
    policies.replication_clusters.add(CLUSTER)
    return policies


PARAMETERS = ("cluster", "new", "old")
"""Parameters of the method in releases with unload scopes."""


def _parsed_policy(given: Case, scope: str | None) -> Java:
    """Return a policy, parsed as in the admin API."""
    written = policy_of_regexes(given)
    if scope is not None:
        written["unload_scope"] = scope
    return json_mapper().readValue(json.dumps(written), policy_class())
