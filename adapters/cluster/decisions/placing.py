"""Answers to place.select, place.broker and place.anti_affinity: the leader assigns a bundle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from pulsar_conformance.adapters.admin_api import requests
from pulsar_conformance.adapters.cluster.decisions.leader import AskedLeader
from pulsar_conformance.adapters.pulsar.operations.anti_affinity import (
    FIRST_HALF,
    SECOND_HALF,
    idle_reports,
)
from pulsar_conformance.adapters.pulsar.operations.placement import strategy_settings
from pulsar_conformance.adapters.pulsar.operations.whole_placement import (
    POLICY_FIELDS,
    DrawnAssignment,
    next_choice,
    policy,
    set_bundles_and_loads,
)
from pulsar_conformance.adapters.pulsar.release import Answer, Case, Unsupported

EMPTY_FIELDS: Mapping[str, Any] = {
    "bundles": {},
    "preallocated": {},
    "domains": {},
    "groups": {},
    "isolation": [],
    "versions": {},
}
"""Values for the fields that a question may leave out."""


DISTRIBUTE_EVENLY = "loadBalancerDistributeBundlesEvenlyEnabled"
"""Setting that excludes brokers that have more bundles of the namespace than others."""


def select(leader: AskedLeader, case: Case) -> Answer:
    """Return the broker that the leader chooses among the candidates, which are all registered.

    Errors: `Unsupported` if the load manager's filters exclude some of the candidates.
    """
    idle = {name: {**one, "numTopics": 0} for name, one in case["brokers"].items()}
    settings = {**case["settings"], DISTRIBUTE_EVENLY: False}
    whole = {**EMPTY_FIELDS, **case, "settings": settings, "brokers": idle}
    found = _ask_assignment(leader, whole, case["candidates"], case)
    if found["candidates"] != sorted(case["candidates"]):
        left = ", ".join(found["candidates"])
        raise Unsupported(f"the load manager's filters leave only {left} as candidates")
    return {"broker": found["broker"]}


def assign_bundle(leader: AskedLeader, case: Case) -> Answer:
    """Return the broker that the leader assigns, using its filters and its placement strategy."""
    return _ask_assignment(leader, case, case["brokers"], case)


def place_in_group(leader: AskedLeader, case: Case) -> Answer:
    """Return the broker for a bundle of a namespace in an anti-affinity group."""
    owned = {name: [f"{one}/{FIRST_HALF}" for one in of] for name, of in case["owned"].items()}
    serving = {**{name: [] for name in case["candidates"]}, **owned}
    whole = {
        **EMPTY_FIELDS,
        **case,
        "settings": {**case["settings"], DISTRIBUTE_EVENLY: False},
        "brokers": idle_reports(serving),
        "bundle": f"{case['namespace']}/{SECOND_HALF}",
    }
    return _ask_assignment(leader, whole, case["candidates"], case)


def _ask_assignment(
    leader: AskedLeader, case: Case, candidates: Iterable[str], question: Case
) -> Answer:
    """Return the broker that the leader assigns, and the candidates.

    If several brokers are equally good, each repetition of `question` returns the next of them.
    """
    up = list(candidates)
    if not up:
        raise Unsupported("the case has no brokers, and a cluster needs one to decide")
    if case.get("plan"):
        raise Unsupported("the case has a plan, but a leader follows only its own plans")
    if not leader.has_answered(question):
        leader.begin(strategy_settings(leader.release, case), up)
        _write_policies(leader, case)
        known, bundle = leader.frozen_load_data(), leader.bundle(case["bundle"])
        refill = partial(set_bundles_and_loads, leader.release, leader.manager, known, case)
        leader.remember(question, DrawnAssignment(leader.manager, bundle, refill))
    return next_choice(leader.release, leader.remembered, question, leader.names.name)


def _write_policies(leader: AskedLeader, case: Case) -> None:
    """Write domains, groups and policies as an administrator would."""
    for domain, brokers in case["domains"].items():
        if brokers:
            ids = [leader.names.identify(one) for one in brokers]
            leader.send_setup(requests.set_domain(domain, ids))
    leader.create_tenants(case["groups"])
    for space, group in case["groups"].items():
        leader.send_setup(requests.create_namespace(space, 2))
        leader.send_setup(requests.set_group(space, group))
    for place, one in enumerate(case["isolation"]):
        hosts = {
            name: [leader.names.host(broker) for broker in one[name]] for name in POLICY_FIELDS[1:]
        }
        leader.send_setup(requests.set_policy(f"policy-{place}", policy({**one, **hosts})))
    leader.cluster.wait_processed()
    leader.await_domains(case["domains"])
    for space, group in case["groups"].items():
        knows = partial(_knows_group, leader, space, group)
        leader.cluster.alarm.wait_until(knows, f"the leader knows that {space} is in {group}")


def _knows_group(leader: AskedLeader, space: str, group: str) -> bool:
    """True if a background thread of the leader has read the namespace's group."""
    method, path, _ = requests.read_group(space)
    reply = leader.cluster.ask(method, path)
    return reply.is_success and reply.text == group
