"""Answers to bundles.create, bundles.locate and bundles.split by admin requests and lookups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pulsar_conformance.adapters.admin_api import requests
from pulsar_conformance.adapters.admin_api.requests import namespace_of_topic
from pulsar_conformance.adapters.cluster.decisions.leader import AskedLeader
from pulsar_conformance.adapters.cluster.metadata import ranges_between
from pulsar_conformance.adapters.cluster.story import check_topic_name
from pulsar_conformance.adapters.pulsar.namespaces import FIRST, LAST
from pulsar_conformance.adapters.pulsar.operations.splitting import DEFAULT_ALGORITHM
from pulsar_conformance.adapters.pulsar.release import Answer, Case, Unsupported

NAMESPACE = "t/ns"
MAX_NEW_BUNDLES = 65_536
"""Maximum number of bundles of a new namespace.

The boundaries of these bundles must fit into one metadata node.
"""


def create(leader: AskedLeader, case: Case) -> Answer:
    """Return the boundaries of a new namespace."""
    if (case["bundles"] or 0) > MAX_NEW_BUNDLES:
        raise Unsupported(
            f"the boundaries of more than {MAX_NEW_BUNDLES} bundles do not fit into a metadata node"
        )
    leader.begin(case["settings"])
    leader.create_tenants([NAMESPACE])
    leader.ask(requests.create_namespace(NAMESPACE, case["bundles"]))
    return {"boundaries": read_boundaries(leader, NAMESPACE)}


def locate(leader: AskedLeader, case: Case) -> Answer:
    """Return each topic's bundle, as the broker reports it."""
    for topic in case["topics"]:
        check_topic_name(topic)
    leader.begin({})
    divide(leader, {namespace_of_topic(topic): case["boundaries"] for topic in case["topics"]})
    return {"bundles": [leader.ask(requests.bundle_of(one)).text for one in case["topics"]]}


def split(leader: AskedLeader, case: Case) -> Answer:
    """Return a bundle's parts after a broker has split it on request.

    For an automatic split, the request contains no algorithm and no positions.
    """
    if any(case.get("topicLoads", {}).values()):
        raise Unsupported(
            "the case sets traffic of topics (topicLoads), but topics created in a cluster have "
            "none"
        )
    for topic in case["topics"]:
        check_topic_name(topic)
    settings, algorithm, positions = dict(case["settings"]), case["algorithm"], case["positions"]
    if case["by"] == "broker":
        settings |= {DEFAULT_ALGORITHM: algorithm} if algorithm is not None else {}
        algorithm, positions = None, ()
    leader.begin(settings)
    space = namespace_of_topic(case["topics"][0]) if case["topics"] else NAMESPACE
    first, last = case["bundle"].split("_")
    divide(leader, {space: sorted({FIRST, first, last, LAST})})
    for topic in case["topics"]:
        leader.send_setup(requests.create_topic(topic))
    whole = f"{space}/{case['bundle']}"
    leader.ask(requests.split_bundle(whole, algorithm, positions, unload=False))
    cuts = [one for one in read_boundaries(leader, space) if first <= one <= last]
    return {"bundles": ranges_between(cuts)}


def divide(leader: AskedLeader, spaces: dict[str, Sequence[str]]) -> None:
    """Create namespaces with these boundaries. Errors: `Unsupported`."""
    leader.create_tenants(spaces)
    for space, cuts in spaces.items():
        leader.send_setup(requests.divide_namespace(space, cuts))
    leader.cluster.wait_processed()


def read_boundaries(leader: AskedLeader, space: str) -> list[str]:
    """Return the boundaries of a namespace, as the broker reports them."""
    reply: dict[str, Any] = leader.ask(requests.boundaries_of(space)).read
    return list(reply["boundaries"])
