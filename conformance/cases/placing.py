"""Builds placement questions from load reports and the output of Pulsar's admin tools."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeGuard

import yaml
from pulsar_conformance.conformance.cases.load_reports import BadSnapshot, json_content
from pulsar_conformance.conformance.cases.snapshot import (
    Snapshot,
    broker_ids,
    host_of,
    reserve_without_topics,
)
from pulsar_conformance.conformance.common.clusters import overlap_problems
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.placement.operations import ASSIGN
from pulsar_conformance.reference.placement import permitted_by
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.released.java import in_map
from pulsar_conformance.reference.reports import BUNDLE
from pulsar_conformance.specs.text import counted

DOMAINS = "failureDomainsEnabled"
NUMBERED = re.compile(r"(\d+)\.(\d+)\.(\d+)")
FAILOVER = ("auto_failover_policy", "autoFailoverPolicy")
FAILOVER_TYPE = "min_available"
"""The only type of failover policy in Pulsar."""

PORT_IGNORED = "a port, but Pulsar matches only the host"
"""End of what is said of regular expressions that match brokers by host and port."""

QUOTED = re.compile(r"\\Q(.*?)\\E", re.DOTALL)


@dataclass(frozen=True)
class Policy:
    """A namespace isolation policy; namespaces and brokers are matched by regular expressions."""

    name: str
    namespaces: Sequence[re.Pattern[str]]
    primary: Sequence[re.Pattern[str]]
    secondary: Sequence[re.Pattern[str]]
    least: int
    """Number of available primary brokers below which secondary brokers may be used."""

    @property
    def title(self) -> str:
        """The policy by its name; a file of one policy may be named after what it has."""
        return self.name if self.name == "policy" else f"policy {self.name}"

    def with_port(self, brokers: Iterable[str]) -> list[str]:
        """Return the regular expressions that match brokers by host and port, and no host."""
        hosts = {host_of(name): name for name in brokers}
        return [
            one.pattern
            for one in (*self.primary, *self.secondary)
            if any(map(one.fullmatch, hosts.values())) and not any(map(one.fullmatch, hosts))
        ]

    def resolved(self, namespaces: Sequence[str], ids: Mapping[str, str]) -> Json:
        """Return the policy in the format of a case, with the names of the brokers that it matches.

        `ids` maps the name of each broker in the case to its ID.
        """
        hosts = {name: host_of(broker) for name, broker in ids.items()}
        primary = [name for name, host in hosts.items() if _matches(self.primary, host)]
        return {
            "namespaces": list(namespaces),
            "primary": primary,
            "secondary": [
                name
                for name, host in hosts.items()
                if name not in primary and _matches(self.secondary, host)
            ],
            "least": self.least,
        }


@dataclass(frozen=True)
class Constraints:
    """Placement constraints: isolation policies, failure domains, anti-affinity groups.

    `ahead` has the bundles of each broker that were assigned to it since its report.
    """

    policies: Sequence[Policy] = ()
    domains: Mapping[str, Sequence[str]] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    ahead: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def policy_of(self, namespace: str) -> Policy | None:
        """Return a namespace's isolation policy, or None.

        If several match, it is the first in the order of Java's hash map, as in Pulsar.
        """
        named = {one.name: one for one in self.policies}
        ordered = (named[name] for name in in_map(named))
        return next((one for one in ordered if _matches(one.namespaces, namespace)), None)

    def with_port(self, namespace: str, brokers: Iterable[str]) -> tuple[str, ...]:
        """Return the regular expressions about a namespace that match no host without its port."""
        own = self.policy_of(namespace)
        found = (one.with_port(brokers) for one in ((own,) if own else self.policies))
        return tuple(dict.fromkeys(chain.from_iterable(found)))

    def named_for(self, namespace: str) -> str:
        """Return the isolation policy and the anti-affinity group of a namespace, as text."""
        policy, group = self.policy_of(namespace), self.groups.get(namespace)
        named = [f"the isolation {policy.title}"] if policy else []
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

    def domains_of(self, ids: Mapping[str, str]) -> dict[str, list[str]]:
        """Return the brokers of each failure domain, by their names in the case if known.

        A domain contains IDs; a member that is only the name of a broker in the case is left out.
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


def _matches(patterns: Sequence[re.Pattern[str]], text: str) -> bool:
    return any(pattern.fullmatch(text) for pattern in patterns)


def read_constraints(
    isolation: Path | None, domains: Path | None, groups: Path | None
) -> Constraints:
    """Read placement constraints from the files that are given. Errors: `BadSnapshot`."""
    return Constraints(
        policies_of(str(isolation), policies_in(isolation)) if isolation else (),
        domains_of(str(domains), json_content(domains)) if domains else {},
        groups_of(str(groups), json_content(groups)) if groups else {},
    )


def policies_in(file: Path) -> Any:
    """Read a file of policies: JSON, or Kubernetes operator resources in YAML."""
    if file.suffix not in (".yaml", ".yml"):
        return json_content(file)
    try:
        resources = list(yaml.safe_load_all(file.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadSnapshot(f"{file}: it cannot be read as YAML: {error}") from None
    found = [one.get("spec") for one in resources if isinstance(one, dict)]
    policies = {
        str(spec.get("name")): {
            **spec,
            "auto_failover_policy": {
                "policy_type": spec.get("autoFailoverPolicyType"),
                "parameters": spec.get("autoFailoverPolicyParams"),
            },
            "secondary": spec.get("secondary") or [],
        }
        for spec in found
        if isinstance(spec, dict) and "autoFailoverPolicyType" in spec
    }
    if not policies:
        raise BadSnapshot(f"{file}: it contains no resource of kind PulsarNSIsolationPolicy")
    return policies


def policies_of(place: str, data: Any) -> tuple[Policy, ...]:
    """Parse an isolation policy, or an object that maps names to policies.

    Errors: `BadSnapshot`.
    """
    if not isinstance(data, dict):
        raise BadSnapshot(f"{place}: neither an isolation policy nor an object of policies by name")
    named = {Path(place).stem: data} if "namespaces" in data else data
    return tuple(_policy(f"{place}: policy {name}", name, one) for name, one in named.items())


def _policy(place: str, name: str, data: Any) -> Policy:
    patterns = {}
    for key in PATTERNS:
        texts = data.get(key) if isinstance(data, dict) else None
        if not _are_texts(texts):
            raise BadSnapshot(f"{place}: {key} is not a list of regular expressions")
        patterns[key] = [_pattern(place, text) for text in texts]
    given = [data[key] for key in FAILOVER if isinstance(data.get(key), dict)]
    failover: Mapping[str, Any] = given[0] if given else {}
    kind = failover.get("policy_type", failover.get("policyType"))
    least = str((failover.get("parameters") or {}).get("min_limit", ""))
    if kind != FAILOVER_TYPE or not least.isdecimal():
        raise BadSnapshot(f"{place}: its {FAILOVER[0]} is not {FAILOVER_TYPE} with a min_limit")
    return Policy(name, **patterns, least=int(least))


PATTERNS = ("namespaces", "primary", "secondary")


def _pattern(place: str, text: str) -> re.Pattern[str]:
    """Compile a Java regular expression. Errors: `BadSnapshot` if Python has no equivalent."""
    written = QUOTED.sub(lambda quoted: re.escape(quoted[1]), text)
    written = re.sub(r"\(\?<(?![=!])", "(?P<", written)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            return re.compile(written, re.ASCII)
    except (re.error, FutureWarning) as error:
        problem = f"{text} cannot be read as a regular expression: {error}"
        raise BadSnapshot(f"{place}: {problem}") from None


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


def _entries(place: str, data: Any, what: str) -> Iterator[tuple[str, Any]]:
    """Yield the entries of an object. Errors: `BadSnapshot` if it is not an object."""
    if not isinstance(data, dict):
        raise BadSnapshot(f"{place}: it is not an object of {what}")
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
        without_topics, more = reserve_without_topics(namespace, snapshot)
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


def _unmatched_notes(policy: Policy, brokers: Sequence[str]) -> Iterator[str]:
    """Yield a note for each regular expression of a policy that matches no broker."""
    hosts, ports = [host_of(name) for name in brokers], policy.with_port(brokers)
    for pattern in (*policy.primary, *policy.secondary):
        if not any(pattern.fullmatch(host) for host in hosts):
            why = f": it contains {PORT_IGNORED}" if pattern.pattern in ports else ""
            yield f"{policy.title}: {pattern.pattern} matches no broker{why}"
