"""Remarks about a user's cluster, such as its brokers, unusual settings and missing answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from pulsar_conformance.adapters.operated.cluster_state import MAX_NAMESPACES, ClusterState
from pulsar_conformance.specs.text import counted

MAX_ITEMS = 8
"""Maximum number of items that a remark lists."""

UNASKED_REMARK = (
    "unloads, splits, placements and the effects of events are not tested, since that would change "
    "the cluster; record it with pulsar-conformance collect and audit the record, or append "
    ",changes=allowed if it is a staging cluster"
)


def remark_lines(
    state: ClusterState, defaults: Mapping[str, Any], *, changes: bool
) -> Iterator[str]:
    """Yield remarks about a cluster, one per line, the most general one first."""
    sight, name = state.sight, state.cluster
    bundles = len({bundle for held in sight.owners.values() for bundle in held})
    leads = f"{sight.leader} leads" if sight.leader else "no leader is known"
    spaces = counted(state.namespaces, "user namespace")
    brokers = counted(len(sight.owners), "broker")
    yield f"{name}: {brokers}, {leads}; {counted(bundles, 'bundle')} owned, in {spaces}"
    if state.namespaces > MAX_NAMESPACES:
        yield f"{name}: the questions cover only {MAX_NAMESPACES} of these namespaces"
    for bundle, owners in islice(state.owned_twice().items(), MAX_ITEMS):
        yield f"{name}: bundle {bundle} has several owners: {' and '.join(owners)}"
    yield from (f"{name}: {line}" for line in _distribution_lines(state))
    other = [
        f"{setting}={value} ({defaults[setting]})"
        for setting, value in sorted(sight.settings.items())
        if setting in defaults and value != defaults[setting]
    ]
    if other:
        settings = ", ".join(other)
        yield f"{name}: settings that differ from the documented defaults (in brackets): {settings}"
    for what, why in islice(state.look.troubles.items(), MAX_ITEMS):
        yield f"{name}: {what}: {why}"
    if not changes:
        yield f"{name}: {UNASKED_REMARK}"


def _distribution_lines(state: ClusterState) -> Iterator[str]:
    """Yield a line about failure domains, and a line for each anti-affinity group.

    A group's line gives the number of brokers that serve the group: in all, and in each domain.
    """
    sight = state.sight
    domain_of = {broker: name for name, held in sight.domains.items() for broker in held}
    if sight.domains:
        outside = [broker for broker in sight.owners if broker not in domain_of]
        counts = [
            f"{one} with {counted(len(held), 'broker')}" for one, held in sight.domains.items()
        ]
        counts += [f"{counted(len(outside), 'broker')} in none"] if outside else []
        yield f"failure domains: {', '.join(counts)}"
    for group, members in sorted(sight.groups.items())[:MAX_ITEMS]:
        serving = [
            (domain_of.get(broker, "no domain"), broker)
            for broker, held in sight.owners.items()
            if members & {bundle.rpartition("/")[0] for bundle in held}
        ]
        domains = _count_text(domain for domain, _ in serving)
        spaces = counted(len(members), "namespace")
        served_by = f"{counted(len(serving), 'broker')} ({domains})" if serving else "no broker"
        yield f"anti-affinity group {group}: {spaces}, served by {served_by}"


def _count_text(names: Iterable[str]) -> str:
    return ", ".join(f"{count} in {name}" for name, count in sorted(Counter(names).items()))
