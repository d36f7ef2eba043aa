"""Answers to bundles.split by the admin API's split request, which automatic splits also send."""

from __future__ import annotations

from typing import Any

import jpype
from pulsar_conformance.adapters.pulsar.admin import Admin
from pulsar_conformance.adapters.pulsar.jvm import Java, field, java_class, java_list
from pulsar_conformance.adapters.pulsar.namespaces import (
    divide,
    namespace_name,
    range_of,
    topic_name,
)
from pulsar_conformance.adapters.pulsar.release import Answer, Case, Release, Unsupported
from pulsar_conformance.adapters.pulsar.service import Service
from pulsar_conformance.adapters.pulsar.shells import completed_future

RANGE = "range_equally_divide"
ALGORITHMS = (
    *(RANGE, "topic_count_equally_divide", "specified_positions_divide"),
    "flow_or_qps_equally_divide",
)
MANAGER, EXTENSIBLE = "loadManagerClassName", ".ExtensibleLoadManagerImpl"
DEFAULT_ALGORITHM = "defaultNamespaceBundleSplitAlgorithm"
SPLITTER = "org.apache.pulsar.common.naming.NamespaceBundleSplitAlgorithm"
NAMESPACES = "org.apache.pulsar.broker.namespace.NamespaceService"
NAMESPACE = "t/ns"
STATISTICS = "org.apache.pulsar.common.policies.data.stats.TopicStatsImpl"


def algorithms(release: Release) -> list[str]:
    """Return the release's split algorithms; before 2.6, the only one has no name."""
    if not release.configurations.knows(DEFAULT_ALGORITHM):
        return [RANGE]
    return [name for name in ALGORITHMS if java_class(SPLITTER).of(name) is not None]


def split(release: Release, case: Case) -> Answer:
    """Return the parts that the owner acquired or, if it acquired none, the original bundle."""
    settings, algorithm, positions = _split_request(case)
    if case["by"] != "admin" and str(settings.get(MANAGER)).endswith(EXTENSIBLE):
        raise Unsupported(
            "brokers that run the extensible load manager split bundles with a strategy of their "
            "own"
        )
    namespace = _namespace(case)
    parts: list[str] = []
    namespaces: Java
    bundle: Java

    def own(bundle: Java) -> Java:
        parts.append(range_of(bundle))
        return completed_future()

    replies: dict[str, Any] = {
        "getNamespaceService": lambda: namespaces,
        "getOwnedTopicListForNamespaceBundle": lambda _bundle: completed_future(
            java_list(case["topics"])
        ),
        "getFullListOfTopics": lambda _namespace: completed_future(java_list(case["topics"])),
        "getTopicStats": lambda _bundle: _topic_stats(case),
        "tryAcquiringOwnership": own,
        "updateNamespaceBundles": completed_future(),
        "updateNamespaceBundlesForPolicies": completed_future(),
        "unloadNamespaceBundle": completed_future(),
        "execute": lambda task: task.run(),
        "ZooKeeper.setData": _report_success,
        "validateNamespaceBundleOwnership": lambda *_: bundle,
        "validateNamespaceBundleOwnershipAsync": lambda *_: completed_future(bundle),
    }
    admin = Admin(release.configuration(settings), namespace_name(namespace), replies)
    namespaces = _namespaces(admin.service)
    divide(admin.service.factory, namespace, [case["bundle"]])
    bundle = admin.service.factory.getBundle(namespace, case["bundle"])
    admin.split(case["bundle"], algorithm, positions)
    return {"bundles": parts or [case["bundle"]]}


def _topic_stats(case: Case) -> Java:
    """Return the statistics of topics in the form in which a broker service keeps them."""
    found = java_class("java.util.HashMap")()
    for topic in case["topics"]:
        stats = java_class(STATISTICS)()
        for name, rate in case.get("topicLoads", {}).get(topic, {}).items():
            setattr(stats, name, float(rate))
        found.put(topic, stats)
    return found


def _split_request(case: Case) -> tuple[dict[str, Any], str | None, list[int]]:
    """Return the settings, the algorithm and the positions of a request.

    An automatic split gives neither algorithm nor positions, so the default algorithm applies.
    """
    settings = dict(case["settings"])
    if case["by"] == "admin":
        return settings, case["algorithm"], [int(one, 16) for one in case["positions"]]
    if case["algorithm"] is not None:
        settings[DEFAULT_ALGORITHM] = case["algorithm"]
    return settings, None, []


def _namespace(case: Case) -> str:
    topic = next(iter(case["topics"]), None)
    return NAMESPACE if topic is None else str(topic_name(topic).getNamespaceObject())


def _namespaces(service: Service) -> Java:
    """Return the release's own NamespaceService in a stubbed broker."""
    java = service.shells.unconstructed_object(NAMESPACES)
    manager = service.shells.stub_of("org.apache.pulsar.broker.loadbalance.LoadManager")
    kept = {
        "config": service.configuration,
        "pulsar": service.pulsar,
        "bundleFactory": service.factory,
        "ownershipCache": service.shells.stub_of(
            "org.apache.pulsar.broker.namespace.OwnershipCache"
        ),
        "loadManager": java_class("java.util.concurrent.atomic.AtomicReference")(manager),
    }
    for name, value in kept.items():
        found = field(java, name)
        if found is not None:
            found.set(java, value)
    return java


def _report_success(path: Java, _data: Java, _version: Java, callback: Java, context: Java) -> None:
    """Call the callback as ZooKeeper does after a success."""
    callback.processResult(jpype.JInt(0), path, context, None)
