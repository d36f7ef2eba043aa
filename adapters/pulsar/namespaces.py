"""Namespaces and their bundles, created by the release's own factory."""

from __future__ import annotations

from collections.abc import Iterable

from pulsar_conformance.adapters.pulsar.jvm import Java, field, java_class, java_list, methods

BUNDLES_DATA = "org.apache.pulsar.common.policies.data.BundlesData"
FIRST, LAST = "0x00000000", "0xffffffff"


def namespace_name(name: str) -> Java:
    """Parse a namespace name with the release's own class."""
    return java_class("org.apache.pulsar.common.naming.NamespaceName").get(name)


def topic_name(name: str) -> Java:
    """Parse a topic name with the release's own class."""
    return java_class("org.apache.pulsar.common.naming.TopicName").get(name)


def namespace_bundles(factory: Java, namespace: Java, boundaries: Iterable[str]) -> Java:
    """Return a namespace with these boundaries as a `NamespaceBundles` object."""
    points = java_list(boundaries)
    kind = java_class(BUNDLES_DATA)
    if methods(kind, "builder"):
        data = kind.builder().boundaries(points).numBundles(points.size() - 1).build()
    else:
        data = kind(points)
    return factory.getBundles(namespace, data)


def bundles_request(count: int) -> Java:
    """Return a request for `count` bundles as a `BundlesData` object."""
    kind = java_class(BUNDLES_DATA)
    return kind.builder().numBundles(count).build() if methods(kind, "builder") else kind(count)


def divide(factory: Java, namespace: str, ranges: Iterable[str]) -> None:
    """Register a namespace in the factory with these bundles, and bundles that fill the gaps."""
    cuts = {FIRST, LAST, *(end for one in ranges for end in one.split("_"))}
    name = namespace_name(namespace)
    bundles = namespace_bundles(factory, name, sorted(cuts))
    field(factory, "bundlesCache").get(factory).synchronous().put(name, bundles)


def range_of(bundle: Java) -> str:
    """Return the range in the name of a `NamespaceBundle`."""
    return str(bundle.getBundleRange())
