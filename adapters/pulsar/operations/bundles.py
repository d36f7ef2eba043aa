"""Answers to bundles.create by the admin API, and to bundles.locate by the bundle factory."""

from __future__ import annotations

from pulsar_conformance.adapters.pulsar.admin import Admin
from pulsar_conformance.adapters.pulsar.namespaces import (
    namespace_bundles,
    namespace_name,
    range_of,
    topic_name,
)
from pulsar_conformance.adapters.pulsar.release import Answer, Case, Release, Unsupported
from pulsar_conformance.adapters.pulsar.service import Service

NAMESPACE = "t/ns"


def create(release: Release, case: Case) -> Answer:
    """Return a new namespace's boundaries.

    Errors: `Unsupported` if the case is about a namespace that a broker creates itself.
    """
    if case.get("creator", "admin") != "admin":
        raise Unsupported("brokers create their own namespaces only when they start")
    admin = Admin(release.configuration(case["settings"]), namespace_name(NAMESPACE))
    return {"boundaries": admin.boundaries(case["bundles"])}


def locate(release: Release, case: Case) -> Answer:
    """Return each topic's bundle."""
    factory = Service(release.configuration({})).factory
    found, known = [], {}
    for topic in map(topic_name, case["topics"]):
        namespace = topic.getNamespaceObject()
        if str(namespace) not in known:
            known[str(namespace)] = namespace_bundles(factory, namespace, case["boundaries"])
        found.append(range_of(known[str(namespace)].findBundle(topic)))
    return {"bundles": found}
