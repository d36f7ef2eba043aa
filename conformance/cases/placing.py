"""Builds placement questions from load reports and the output of Pulsar's admin tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeGuard

from pulsar_conformance.conformance.cases.load_reports import (
    BadSnapshot,
    json_content,
    plain_versions,
    read_policies,
)
from pulsar_conformance.conformance.cases.snapshot import (
    Snapshot,
    broker_ids,
    host_of,
    policy_without_topics,
)
from pulsar_conformance.conformance.common.clusters import overlap_problems
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.placement.operations import ASSIGN
from pulsar_conformance.reference.placement import permitted_by
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.released.assignment import FAILURE_DOMAINS_ENABLED, PREFER_LATER
from pulsar_conformance.reference.released.expressions import BadExpression, Expression
from pulsar_conformance.reference.reports import BUNDLE
from pulsar_conformance.specs.text import counted

PATTERNS = ("namespaces", "primary", "secondary")
FAILOVER = ("auto_failover_policy", "autoFailoverPolicy")
FAILOVER_TYPE = "min_available"
"""The only type of failover policy in Pulsar."""

PORT_IGNORED = "a port, but Pulsar matches only the host"
"""End of a note on a regular expression that matches brokers only with their ports."""

FIRST_STORED = "Pulsar uses the one stored first (NamespaceIsolationPolicies.getPolicyByNamespace)"
"""Phrase that says which isolation policy Pulsar uses if several match a namespace."""


@dataclass(frozen=True)
class Policy:
    """A namespace isolation policy; namespaces and brokers are matched by regular expressions."""

    name: str
    namespaces: Sequence[Expression]
    primary: Sequence[Expression]
    secondary: Sequence[Expression]
    least: int
    """Number of available primary brokers below which secondary brokers may be used."""
    stored: bool = False
    """True if it is known that the policies are in the order in which Pulsar stores them."""

    @property
    def title(self) -> str:
        """The policy as text, such as `policy isolated`, or `policy` if that is its name."""
        return self.name if self.name == "policy" else f"policy {self.name}"

    def expressions_with_port(self, brokers: Iterable[str]) -> list[str]:
        """Return the regular expressions that match some host only together with its port."""
        hosts = {host_of(name): name for name in brokers}
        return [
            one.text
            for one in (*self.primary, *self.secondary)
            if any(map(one.matches, hosts.values())) and not any(map(one.matches, hosts))
        ]

    def resolved(self, namespaces: Sequence[str], ids: Mapping[str, str]) -> Json:
        """Return the policy in a case's format, with the names of the brokers that it matches.

        `ids` maps the name of each broker in the case to its ID.
        """
        hosts = {name: host_of(broker) for name, broker in ids.items()}
        primary = [name for name, host in hosts.items() if _any_matches(self.primary, host)]
        return {
            "namespaces": list(namespaces),
            "primary": primary,
            "secondary": [
                name
                for name, host in hosts.items()
                if name not in primary and _any_matches(self.secondary, host)
            ],
            "least": self.least,
        }


@dataclass(frozen=True)
class Constraints:
    """Placement constraints: isolation policies, failure domains, anti-affinity groups.

    `ahead` has the bundles that were assigned to each broker since its report.
    """

    policies: Sequence[Policy] = ()
    domains: Mapping[str, Sequence[str]] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    ahead: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def policies_matching(self, namespace: str) -> list[Policy]:
        """Return the isolation policies whose expressions match a namespace, in stored order."""
        return [one for one in self.policies if _any_matches(one.namespaces, namespace)]

    def policy_of(self, namespace: str) -> Policy | None:
        """Return a namespace's isolation policy: the first stored one that matches, or None."""
        return next(iter(self.policies_matching(namespace)), None)

    def expressions_with_port(self, namespace: str, brokers: Iterable[str]) -> tuple[str, ...]:
        """Return the regular expressions of a namespace's policies that match only with a port."""
        own = self.policy_of(namespace)
        found = (one.expressions_with_port(brokers) for one in ((own,) if own else self.policies))
        return tuple(dict.fromkeys(chain.from_iterable(found)))

    def policies_and_group_of(self, namespace: str) -> str:
        """Return the isolation policy and the anti-affinity group of a namespace, as text."""
        matching, group = self.policies_matching(namespace), self.groups.get(namespace)
        named = [f"the isolation {' or '.join(one.title for one in matching)}"] if matching else []
        named += [f"the anti-affinity group {group}"] if group else []
        return " and ".join(named)

    def isolation(self, namespace: str, ids: Mapping[str, str]) -> list[Json]:
        """Return the policies, in the format of a case, that decide which brokers a namespace may
        use.

        `ids` maps the name of each broker in the case to its ID. A namespace without a policy may
        use brokers that are primary in no policy.
        """
        own = self.policy_of(namespace)
        if own is not None:
            return [own.resolved([namespace], ids)]
        return [one.resolved([], ids) for one in self.policies]

    def several_policies_notes(self, namespace: str, ids: Mapping[str, str]) -> Iterator[str]:
        """Yield a note if several policies match a namespace and permit different brokers."""
        matching = self.policies_matching(namespace)
        first = [one.resolved([namespace], ids) for one in matching[:1]]
        if all(one.resolved([namespace], ids) in first for one in matching):
            return
        names, taken = ", ".join(one.name for one in matching), matching[0]
        assumed = (
            f"assumed to be {taken.name}, the first in the file; pulsar-admin prints them in "
            "another order than the admin API's clusters/CLUSTER/namespaceIsolationPolicies"
        )
        which = f"that is {taken.name}" if taken.stored else assumed
        yield f"several policies match {namespace}: {names}; {FIRST_STORED}, {which}"

    def domains_of(self, ids: Mapping[str, str]) -> dict[str, list[str]]:
        """Return the brokers of each failure domain, by their names in the case if known.

        A domain contains IDs; a member that is the name of a broker, but not an ID, is left out.
        """
        names = {broker: name for name, broker in ids.items()}
        return {
            domain: [
                names.get(broker, broker)
                for broker in brokers
                if broker in names or broker not in ids
            ]
            for domain, brokers in self.domains.items()
        }


def _any_matches(patterns: Sequence[Expression], text: str) -> bool:
    return any(pattern.matches(text) for pattern in patterns)


def read_constraints(
    isolation: Path | None, domains: Path | None, groups: Path | None
) -> Constraints:
    """Read placement constraints from the files that are given. Errors: `BadSnapshot`."""
    return Constraints(
        policies_of(str(isolation), read_policies(isolation)) if isolation else (),
        domains_of(str(domains), json_content(domains)) if domains else {},
        groups_of(str(groups), json_content(groups)) if groups else {},
    )


def policies_of(place: str, data: Any, stored: bool = False) -> tuple[Policy, ...]:
    """Parse an isolation policy, or an object that maps names to policies.

    `stored`: true if the object's order is known to be that of the metadata store.

    Errors: `BadSnapshot`.
    """
    if not isinstance(data, dict):
        raise BadSnapshot(
            f"{place}: it is neither an isolation policy nor a JSON object with policies by name"
        )
    named = {Path(place).stem: data} if "namespaces" in data else data
    each = named.items()
    return tuple(_parse_policy(f"{place}: policy {name}", name, one, stored) for name, one in each)


def _parse_policy(place: str, name: str, data: Any, stored: bool) -> Policy:
    patterns = {}
    for key in PATTERNS:
        texts = data.get(key) if isinstance(data, dict) else None
        if not _are_texts(texts):
            raise BadSnapshot(f"{place}: {key} is not a list of regular expressions")
        patterns[key] = [_compile_pattern(place, text) for text in texts]
    given = [data[key] for key in FAILOVER if isinstance(data.get(key), dict)]
    failover: Mapping[str, Any] = given[0] if given else {}
    kind = failover.get("policy_type", failover.get("policyType"))
    least = str((failover.get("parameters") or {}).get("min_limit", ""))
    if kind != FAILOVER_TYPE or not least.isdecimal():
        raise BadSnapshot(f"{place}: {FAILOVER[0]} must be {FAILOVER_TYPE}, with a min_limit")
    namespaces, primary, secondary = patterns.values()
    return Policy(name, namespaces, primary, secondary, int(least), stored)


def _compile_pattern(place: str, text: str) -> Expression:
    """Compile a Java regular expression. Errors: `BadSnapshot` if it cannot be evaluated."""
    try:
        return Expression.of(text)
    except BadExpression as error:
        raise BadSnapshot(f"{place}: {error}") from None


def domains_of(place: str, data: Any) -> dict[str, list[str]]:
    """Parse failure domains; return the brokers in each. Errors: `BadSnapshot`."""
    found = {}
    for name, one in _entries(place, data, "failure domains by name"):
        brokers = one.get("brokers") if isinstance(one, dict) else one
        if not _are_texts(brokers):
            raise BadSnapshot(f"{place}: failure domain {name} has no list of brokers")
        found[name] = sorted(brokers)
    return found


def groups_of(place: str, data: Any) -> dict[str, str]:
    """Parse anti-affinity groups; return the group of each namespace.

    `data` maps namespaces to groups, or groups to lists of namespaces. Errors: `BadSnapshot`.
    """
    found: dict[str, str] = {}
    for name, one in _entries(place, data, "namespaces and their groups"):
        if not isinstance(one, str) and not _are_texts(one):
            raise BadSnapshot(f"{place}: {name} has neither a group nor a list of namespaces")
        found |= {name: one} if isinstance(one, str) else dict.fromkeys(one, name)
    return found


def _entries(place: str, data: Any, content: str) -> Iterator[tuple[str, Any]]:
    """Yield the entries of an object. Errors: `BadSnapshot` if it is not an object."""
    if not isinstance(data, dict):
        raise BadSnapshot(f"{place}: it is not a JSON object with {content}")
    yield from data.items()


def _are_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def placement_question(
    bundle: str,
    snapshot: Snapshot,
    constraints: Constraints,
    source: str,
    what_if: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Trial, list[str]]:
    """Return the question of where a bundle is placed, and notes.

    If the bundle has an owner, the question is about the time after its unload and before the
    owner's next report. `what_if`: settings that later steps of the command change. Errors:
    `BadSnapshot` for a range that overlaps another bundle's, or versions that cannot be compared.
    """
    namespace = namespace_of(bundle)
    _check_ranges(bundle, snapshot, constraints)
    settings = {FAILURE_DOMAINS_ENABLED: False, **snapshot.settings}
    notes = list(_notes(bundle, snapshot, constraints, source))
    unused = {*constraints.groups} - {*map(namespace_of, snapshot.owned), namespace}
    if constraints.groups and unused == {*constraints.groups}:
        notes.append(
            f"no broker owns a bundle of the groups' namespaces: {', '.join(sorted(unused)[:3])}"
        )
    if constraints.domains and FAILURE_DOMAINS_ENABLED not in {**snapshot.settings, **what_if}:
        unset = f"{FAILURE_DOMAINS_ENABLED} is not set, so it is false"
        notes.append(f"{unset}, and failure domains do not count")
    brokers, ids = snapshot.brokers, broker_ids(snapshot)
    without_topics: list[Json] = []
    if constraints.policy_of(namespace) is None:
        without_topics, more = policy_without_topics(namespace, snapshot)
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
        "versions": plain_versions(
            snapshot.reported, compared={**settings, **what_if}.get(PREFER_LATER) is True
        ),
    }
    return Trial.of(ASSIGN.id, case), notes


def check_bundle(bundle: str, named_by: str = "--place") -> None:
    """Raise `BadSnapshot` if a string is not a bundle's name, or the bundle's range is empty."""
    if not BUNDLE.fullmatch(bundle):
        raise BadSnapshot(
            f"{named_by} {bundle}: write tenant/namespace/0x…_0x…, with eight lower-case "
            "hexadecimal digits in each bound"
        )
    lower, upper = bundle.rpartition("/")[2].split("_")
    if lower >= upper:
        raise BadSnapshot(f"{named_by} {bundle}: its range is empty: {upper} is not above {lower}")


def _check_ranges(bundle: str, snapshot: Snapshot, constraints: Constraints) -> None:
    """Raise `BadSnapshot` if a broker owns another bundle whose range overlaps this one's."""
    for name, one in snapshot.brokers.items():
        for other in (*one.get("bundles", ()), *constraints.ahead.get(name, ())):
            check_bundle(other, f"{name}:")
            if other != bundle and any(overlap_problems([bundle, other], "")):
                raise BadSnapshot(f"--place {bundle}: it overlaps {other}, which {name} owns")


def _report_of(name: str, bundle: str, snapshot: Snapshot, constraints: Constraints) -> Json:
    """Return a broker's report with its number of topics, and the bundle if the broker owns it.

    The leader counts a bundle with its owner, even after its unload, until a report of the owner no
    longer lists the bundle (ModularLoadManagerImpl.updateBundleData).
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
    known = {**snapshot.latest_statistics, **snapshot.data}
    return {name: known[name] for name in (*snapshot.owned, bundle) if name in known}


def _notes(bundle: str, snapshot: Snapshot, constraints: Constraints, source: str) -> Iterator[str]:
    namespace, ids = namespace_of(bundle), broker_ids(snapshot)
    owner = [
        name
        for name, one in snapshot.brokers.items()
        if bundle in (*one.get("bundles", ()), *constraints.ahead.get(name, ()))
    ]
    yield f"{bundle} is on {owner[0]} now" if owner else f"{source} names no owner of {bundle}"
    policies = constraints.isolation(namespace, ids)
    if owner and owner[0] not in permitted_by(policies, namespace, list(ids)):
        yield (
            f"policies keep new bundles of {namespace} off {owner[0]}, but the bundle stays there "
            "until it is unloaded"
        )
    own = constraints.policy_of(namespace)
    if own is not None:
        one = own.resolved([namespace], ids)
        primary, secondary = (", ".join(one[key]) or "none" for key in ("primary", "secondary"))
        yield (
            f"{namespace} is under the isolation {own.title}: primary {primary}; "
            f"secondary, if fewer than {own.least} of these are up, {secondary}"
        )
    elif constraints.policies:
        taken = [name for one in constraints.isolation(namespace, ids) for name in one["primary"]]
        kept = ", ".join(dict.fromkeys(taken)) or "no broker"
        yield (
            f"{namespace} is under no isolation policy; the policies of other namespaces reserve "
            f"{kept} for them"
        )
    yield from constraints.several_policies_notes(namespace, ids)
    for policy in (own,) if own else constraints.policies:
        yield from _unmatched_notes(policy, list(ids.values()))
    listed = {one for each in constraints.domains.values() for one in each}
    away = sorted(listed - {*ids.values()})
    if away:
        told = (f"{one} (write {ids[one]})" if one in ids else one for one in away)
        title = f"the failure domains list {counted(len(away), 'broker')} without a report"
        yield f"{title}: {', '.join(told)}"


def _unmatched_notes(policy: Policy, brokers: Sequence[str]) -> Iterator[str]:
    """Yield a note for each regular expression of a policy that matches no broker."""
    hosts, ports = [host_of(name) for name in brokers], policy.expressions_with_port(brokers)
    for pattern in (*policy.primary, *policy.secondary):
        if not any(pattern.matches(host) for host in hosts):
            why = f": it contains {PORT_IGNORED}" if pattern.text in ports else ""
            yield f"{policy.title}: {pattern.text} matches no broker{why}"
