"""Builds placement questions from load reports and the output of Pulsar's admin tools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pulsar_conformance.conformance.cases.constraints import Constraints, Policy, host_of
from pulsar_conformance.conformance.cases.load_reports import BadSnapshot, address
from pulsar_conformance.conformance.cases.snapshot import SWITCHES, Snapshot
from pulsar_conformance.conformance.common.clusters import overlap_problems
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.placement.operations import ASSIGN
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.reports import BUNDLE
from pulsar_conformance.specs.text import counted

DOMAINS = "failureDomainsEnabled"
NUMBERED = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def broker_ids(snapshot: Snapshot) -> dict[str, str]:
    """Return the ID of each broker, its host and web port, by the name in the case.

    A name with a port is the ID; otherwise the report has it.
    """
    return {name: _broker_id(name, one.report) for name, one in snapshot.reported.items()}


def _broker_id(name: str, report: Any) -> str:
    known = name if host_of(name) != name else ""
    return known or address(report) or name


def placement_question(
    bundle: str,
    snapshot: Snapshot,
    constraints: Constraints,
    source: str,
    what_if: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Trial, list[str]]:
    """Return the question of where a bundle is placed, and notes.

    If it has an owner, it is placed once it is unloaded, before the owner's next report.

    `what_if`: settings that will be changed later.

    Errors: `BadSnapshot` for text that is not a bundle name.
    """
    if not BUNDLE.fullmatch(bundle):
        raise BadSnapshot(f"--place {bundle}: write tenant/namespace/0x…_0x…")
    namespace = namespace_of(bundle)
    _check_ranges(bundle, snapshot, constraints)
    settings = {DOMAINS: False, **snapshot.settings}
    notes = list(_notes(bundle, snapshot, constraints, source))
    unused = {*constraints.groups} - {*map(namespace_of, snapshot.owned), namespace}
    if constraints.groups and unused == {*constraints.groups}:
        notes.append(
            f"the groups name no namespace of the brokers: {', '.join(sorted(unused)[:3])}"
        )
    if constraints.domains and DOMAINS not in {**snapshot.settings, **what_if}:
        notes.append(f"{DOMAINS} is not set: false, so failure domains do not count")
    brokers, ids = snapshot.brokers, broker_ids(snapshot)
    without_topics: list[Json] = []
    if constraints.policy_of(namespace) is None:
        without_topics, more = _without_topics(namespace, snapshot)
        notes += more
    case = {
        "settings": settings,
        "bundle": bundle,
        "brokers": {name: _report_of(name, bundle, snapshot, constraints) for name in brokers},
        "bundles": _known_bundles(bundle, snapshot),
        "preallocated": {
            name: [one for one in bundles if one != bundle]
            for name, bundles in constraints.ahead.items()
        },
        "domains": constraints.domains_of(ids),
        "groups": dict(constraints.groups),
        "isolation": [*constraints.isolation(namespace, ids), *without_topics],
        "versions": {
            name: ".".join(str(int(part)) for part in numbers.groups())
            for name, one in snapshot.reported.items()
            if (numbers := NUMBERED.match(one.version))
        },
    }
    return Trial.of(ASSIGN.id, case), notes


def _check_ranges(bundle: str, snapshot: Snapshot, constraints: Constraints) -> None:
    """Raise `BadSnapshot` if a broker owns another bundle whose range overlaps this one's."""
    for name, one in snapshot.brokers.items():
        for other in (*one.get("bundles", ()), *constraints.ahead.get(name, ())):
            if other != bundle and any(overlap_problems([bundle, other], "")):
                raise BadSnapshot(f"--place {bundle}: it overlaps {other}, which {name} owns")


def _report_of(name: str, bundle: str, snapshot: Snapshot, constraints: Constraints) -> Json:
    """Return a broker's report with its number of topics, and the bundle if the broker owns it.

    The leader counts a bundle with its owner until a report of the owner no longer has it, even if
    it was unloaded before (ModularLoadManagerImpl.updateBundleData).
    """
    broker = dict(snapshot.brokers[name])
    report = snapshot.reported[name].report
    topics = report.get("numTopics") if isinstance(report, dict) else None
    if isinstance(topics, int):
        broker["numTopics"] = topics
    reported = broker.get("bundles", ())
    if bundle in constraints.ahead.get(name, ()) and bundle not in reported:
        broker["bundles"] = [*reported, bundle]
    return broker


def _known_bundles(bundle: str, snapshot: Snapshot) -> Mapping[str, Json]:
    known = {**snapshot.latest, **snapshot.data}
    return {name: known[name] for name in (*snapshot.owned, bundle) if name in known}


def _notes(bundle: str, snapshot: Snapshot, constraints: Constraints, source: str) -> Iterator[str]:
    namespace, ids = namespace_of(bundle), broker_ids(snapshot)
    owner = [
        name
        for name, one in snapshot.brokers.items()
        if bundle in (*one.get("bundles", ()), *constraints.ahead.get(name, ()))
    ]
    yield f"{bundle} is on {owner[0]} now" if owner else f"{source} names no owner of {bundle}"
    if owner and owner[0] not in _permitted(constraints, namespace, ids):
        yield (
            f"policies keep new bundles of {namespace} off {owner[0]}, but the bundle stays there "
            "until it is unloaded"
        )
    own = constraints.policy_of(namespace)
    if own is not None:
        one = own.resolved([namespace], ids)
        primary, secondary = (", ".join(one[key]) or "none" for key in ("primary", "secondary"))
        yield (
            f"{namespace} is under the isolation policy {own.name}: primary {primary}; "
            f"secondary, if fewer than {own.least} of these are up, {secondary}"
        )
    elif constraints.policies:
        taken = [name for one in constraints.isolation(namespace, ids) for name in one["primary"]]
        kept = ", ".join(dict.fromkeys(taken)) or "no broker"
        yield (
            f"{namespace} is under no isolation policy; such policies reserve {kept} for "
            "other namespaces"
        )
    for policy in (own,) if own else constraints.policies:
        yield from _unmatched_notes(policy, list(ids.values()))
    listed = {one for each in constraints.domains.values() for one in each}
    away = sorted(listed - {*ids.values()})
    if away:
        told = (f"{one} (write {ids[one]})" if one in ids else one for one in away)
        yield f"{counted(len(away), 'broker')} of failure domains without a report: " + ", ".join(
            told
        )


def _permitted(constraints: Constraints, namespace: str, ids: Mapping[str, str]) -> set[str]:
    """Return the brokers on which isolation policies permit bundles of a namespace."""
    policies = constraints.isolation(namespace, ids)
    if constraints.policy_of(namespace) is None:
        return {*ids} - {name for one in policies for name in one["primary"]}
    [own] = policies
    few = len(own["primary"]) < own["least"]
    return {*own["primary"], *(own["secondary"] if few else ())}


def _without_topics(namespace: str, snapshot: Snapshot) -> tuple[list[Json], list[str]]:
    """Return an isolation policy that reserves the brokers without persistent topics, and notes.

    Pulsar assigns no bundle to them, unless a policy of the namespace does
    (LoadManagerShared.applyNamespacePolicies).
    """
    names = snapshot.switched_off(SWITCHES[0])
    persistent, volatile = (", ".join(snapshot.switched_off(switch)) for switch in SWITCHES)
    notes = []
    if persistent:
        notes.append(
            f"{SWITCHES[0]} is false in the report of {persistent}: no candidate for persistent "
            f"topics of {namespace}, which has no isolation policy; left out"
        )
    if volatile:
        notes.append(
            f"{SWITCHES[1]} is false in the report of {volatile}: no candidate if the bundle is "
            "looked up for a non-persistent topic; the answer assumes a persistent one"
        )
    reserved = {"namespaces": [], "primary": names, "secondary": [], "least": 1}
    return [reserved] if names else [], notes


def _unmatched_notes(policy: Policy, brokers: Sequence[str]) -> Iterator[str]:
    """Yield a note for each regular expression of a policy that matches no broker."""
    hosts = [host_of(name) for name in brokers]
    for pattern in (*policy.primary, *policy.secondary):
        if not any(pattern.fullmatch(host) for host in hosts):
            port = any(pattern.fullmatch(name) for name in brokers)
            why = ": it contains a port, but Pulsar matches only the host" if port else ""
            yield f"policy {policy.name}: {pattern.pattern} matches no broker{why}"
