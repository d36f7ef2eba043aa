"""Changes of a cluster between two observations: bundles assigned, unloaded or split."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Owner = tuple[str, int]
"""The broker that owns a bundle, and the number of the transaction that acquired the bundle."""

LastKnownOwner = tuple[str, int | None]
"""Like `Owner`; for parts of a split bundle, the owner is assumed and the transaction is None."""


class EventDeclined(Exception):
    """Raised if an event of a story has no effect.

    `how` is `ignored` or `refused`, as defined in the protocol; `why` is the reason.
    """

    def __init__(self, how: str, why: str) -> None:
        super().__init__(how, why)
        self.how = how
        self.why = why


class BundleSource(Protocol):
    """Source of the bundles of namespaces."""

    def ranges(self, namespace: str) -> list[str]:
        """Return the bundle ranges of a namespace, such as `0x00000000_0x80000000`; empty if the
        namespace is unused.
        """


class ObservableCluster(Protocol):
    """A cluster whose bundle owners can be read."""

    @property
    def brokers(self) -> Container[str]:
        """The names of the brokers that are up."""

    @property
    def metadata(self) -> BundleSource:
        """The metadata, which list the bundles of each namespace."""

    def owned_bundles(self, namespaces: Iterable[str]) -> dict[str, Owner]:
        """Return the owned bundles of these namespaces, with their owners."""


@dataclass
class ObservedStep:
    """The result of one event of a story, as observed on a cluster."""

    reason: str
    """The reason for unloads in this step, unless the cluster reports a more exact reason."""
    leaving: str | None = None
    """A broker that crashes in this step, so that its bundles are lost rather than unloaded."""
    stopping: str | None = None
    """A broker that shuts down in this step, and unloads its bundles first."""
    assigned: list[dict[str, Any]] = field(default_factory=list)
    unloaded: list[dict[str, Any]] = field(default_factory=list)
    split: list[dict[str, Any]] = field(default_factory=list)
    decided_by: str | None = None
    reports: dict[str, dict[str, Any]] = field(default_factory=dict)
    """For each broker, the times at which it wrote its load report, and its latest report."""
    written: dict[str, Any] = field(default_factory=lambda: {"minutes": [], "bundles": {}})
    """The times at which the leader wrote bundle data, and each bundle's number of samples."""
    time_passed: bool = False
    """True if the answer must contain `reports` and `written` even if nothing was written."""
    leader_node: str | None = None
    """The broker named in the leader's metadata node at the end of the step."""

    def is_part_of_split(self, bundle: str) -> bool:
        """True if a bundle is a part of a bundle that was split in this step."""
        return any(bundle in one["into"] for one in self.split)

    def answer(self, owners: Mapping[str, str | None], leader: str | None) -> dict[str, Any]:
        """Return the observed result in the protocol's format."""
        found: dict[str, Any] = {"owners": dict(owners), "leader": leader}
        lists = {"assigned": self.assigned, "unloaded": self.unloaded, "split": self.split}
        found |= {name: one for name, one in lists.items() if one}
        if self.reports or self.time_passed:
            found["reports"] = self.reports
        if self.written["minutes"] or self.time_passed:
            found["written"] = self.written
        if self.decided_by is not None:
            found["decidedBy"] = self.decided_by
        if self.leader_node is not None:
            found["leaderNode"] = self.leader_node
        return found


class ObservedBundles:
    """The bundles of a cluster and their owners, as of the last observation."""

    def __init__(self, cluster: ObservableCluster) -> None:
        self._cluster = cluster
        self.held: dict[str, LastKnownOwner] = {}
        self._ranges: dict[str, list[str]] = {}

    def observe(
        self, namespaces: Iterable[str], step: ObservedStep, reason: Callable[[str], str | None]
    ) -> bool:
        """Observe the cluster, and record the changes in `step`; return True if anything changed.

        `reason` returns why a bundle was unloaded, or None if the reason is unknown.
        """
        spaces = list(namespaces)
        before = dict(self.held)
        ranges, now = self._read_consistently(spaces)
        for space in spaces:
            self._record_splits(space, ranges[space], step)
        for bundle, (broker, since) in list(self.held.items()):
            found = now.get(bundle)
            if found is not None and found[0] == broker and since in (None, found[1]):
                self.held[bundle] = found
                continue
            del self.held[bundle]
            up = broker in self._cluster.brokers and broker != step.leaving
            if up or broker == step.stopping:
                why = reason(bundle) or ("split" if step.is_part_of_split(bundle) else step.reason)
                step.unloaded.append({"bundle": bundle, "from": broker, "reason": why})
        fresh = [bundle for bundle in now if bundle not in self.held]
        for bundle in sorted(fresh, key=lambda one: now[one][1]):
            self.held[bundle] = now[bundle]
            step.assigned.append({"bundle": bundle, "to": now[bundle][0]})
        return before != self.held

    def _read_consistently(
        self, spaces: Iterable[str]
    ) -> tuple[dict[str, list[str]], dict[str, Owner]]:
        """Return each namespace's bundle ranges and the bundles' owners, all at the same moment.

        During a split, the bundle and its parts can be locked at the same time. A lock outside the
        present ranges of its namespace is therefore ignored.
        """
        while True:
            ranges = self._ranges_of(spaces)
            owned = self._cluster.owned_bundles(spaces)
            if ranges == self._ranges_of(spaces):
                bundles = {f"{space}/{part}" for space, parts in ranges.items() for part in parts}
                return ranges, {name: owner for name, owner in owned.items() if name in bundles}

    def _ranges_of(self, spaces: Iterable[str]) -> dict[str, list[str]]:
        return {space: self._cluster.metadata.ranges(space) for space in spaces}

    def _record_splits(self, space: str, new: list[str], step: ObservedStep) -> None:
        """Record the bundles of a namespace that were split; assume that their owner owns the
        parts.
        """
        old = self._ranges.get(space)
        self._ranges[space] = new
        if not old or old == new:
            return
        for whole in old:
            if whole in new:
                continue
            first, last = whole.split("_")
            parts = [one for one in new if first <= one[:10] and one[11:] <= last]
            names = [f"{space}/{part}" for part in parts]
            why = "admin" if step.reason == "admin" else "broker"
            step.split.append({"bundle": f"{space}/{whole}", "into": names, "reason": why})
            if f"{space}/{whole}" in self.held:
                owner, _ = self.held.pop(f"{space}/{whole}")
                self.held |= dict.fromkeys(names, (owner, None))

    def last_ranges(self, space: str) -> list[str]:
        """Return the bundle ranges of a namespace, as last observed."""
        return self._ranges.get(space, [])
