"""The admin API requests of administrators and clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

CLUSTER = "conformance"
"""Name of every cluster that the suite starts on this machine."""

ADMIN = "/admin/v2"
Request = tuple[str, str, Any]
"""Method, path and body of a request."""


def namespace_of_topic(topic: str) -> str:
    """Return the namespace of a topic as `tenant/namespace`."""
    return "/".join(topic.partition("://")[2].split("/")[:2])


def create_tenant(tenant: str, cluster: str = CLUSTER) -> Request:
    """Return the request that creates a tenant and lets it use the cluster."""
    return "PUT", f"{ADMIN}/tenants/{quote(tenant)}", {"allowedClusters": [cluster]}


def create_namespace(name: str, bundles: int | None) -> Request:
    """Return the request that creates a namespace with a number of bundles.

    If the number is None, the broker chooses it.
    """
    body = {} if bundles is None else {"bundles": {"numBundles": bundles}}
    return "PUT", f"{ADMIN}/namespaces/{quote(name)}", body


def divide_namespace(name: str, boundaries: Sequence[str]) -> Request:
    """Return the request that creates a namespace with the given bundle boundaries."""
    bundles = {"boundaries": list(boundaries), "numBundles": len(boundaries) - 1}
    return "PUT", f"{ADMIN}/namespaces/{quote(name)}", {"bundles": bundles}


def boundaries_of(name: str) -> Request:
    """Return the request that reads a namespace's bundle boundaries."""
    return "GET", f"{ADMIN}/namespaces/{quote(name)}/bundles", None


def create_topic(topic: str) -> Request:
    """Return the request that creates a topic without partitions."""
    return "PUT", f"{ADMIN}/{_topic(topic)}", None


def look_up(topic: str) -> Request:
    """Return the request that looks up the broker that serves a topic."""
    return "GET", f"/lookup/v2/topic/{_topic(topic)}", None


def bundle_of(topic: str) -> Request:
    """Return the request that reads the range of a topic's bundle."""
    return "GET", f"/lookup/v2/topic/{_topic(topic)}/bundle", None


def unload_topic(topic: str) -> Request:
    """Return the request that unloads a topic."""
    return "PUT", f"{ADMIN}/{_topic(topic)}/unload", None


def unload_namespace(name: str) -> Request:
    """Return the request that unloads all bundles of a namespace."""
    return "PUT", f"{ADMIN}/namespaces/{quote(name)}/unload", None


def unload_bundle(bundle: str, to: str | None = None) -> Request:
    """Return the request that unloads a bundle, to the broker `to` if one is given."""
    chosen = f"?{urlencode({'destinationBroker': to})}" if to else ""
    return "PUT", f"{ADMIN}/namespaces/{quote(bundle)}/unload{chosen}", None


def split_bundle(
    bundle: str, algorithm: str | None, positions: Sequence[str], *, unload: bool
) -> Request:
    """Return the request that splits a bundle and, with `unload`, then unloads its parts."""
    given = {"unload": str(unload).lower()}
    if algorithm is not None:
        given["splitAlgorithmName"] = algorithm
    body = [int(one, 16) for one in positions] or None
    return "PUT", f"{ADMIN}/namespaces/{quote(bundle)}/split?{urlencode(given)}", body


def set_dynamic_setting(name: str, value: str) -> Request:
    """Return the request that changes a dynamic setting."""
    path = f"{ADMIN}/brokers/configuration/{quote(name)}/{quote(value, safe='')}"
    return "POST", path, None


def set_domain(name: str, brokers: Sequence[str], cluster: str = CLUSTER) -> Request:
    """Return the request that registers brokers in a failure domain or, without any, deletes it."""
    path = f"{ADMIN}/clusters/{quote(cluster)}/failureDomains/{quote(name, safe='')}"
    return ("POST", path, {"brokers": list(brokers)}) if brokers else ("DELETE", path, None)


def set_policy(name: str, policy: Mapping[str, Any], cluster: str = CLUSTER) -> Request:
    """Return the request that creates an isolation policy."""
    path = f"{ADMIN}/clusters/{quote(cluster)}/namespaceIsolationPolicies/{quote(name, safe='')}"
    return "POST", path, policy


def set_group(namespace: str, group: str | None) -> Request:
    """Return the request that sets a namespace's anti-affinity group, or removes it.

    The body is the bare name of the group.
    """
    _, path, _ = read_group(namespace)
    return ("DELETE", path, None) if group is None else ("POST", path, group)


def read_group(namespace: str) -> Request:
    """Return the request that reads a namespace's anti-affinity group as the broker knows it."""
    return "GET", f"{ADMIN}/namespaces/{quote(namespace)}/antiAffinity", None


def _topic(topic: str) -> str:
    domain, _, rest = topic.partition("://")
    tenant, space, name = rest.split("/", 2)
    return "/".join((domain, quote(tenant), quote(space), quote(name, safe="")))
