"""Observation of a user's cluster by asking all its brokers at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from pulsar_conformance.adapters.admin_api import requests
from pulsar_conformance.adapters.admin_api.http import NoAnswer
from pulsar_conformance.adapters.admin_api.remote import AdminApi
from pulsar_conformance.adapters.admin_api.requests import ADMIN
from pulsar_conformance.adapters.operated.in_force import documented_settings
from pulsar_conformance.adapters.operated.sight import ObservedState
from pulsar_conformance.specs.errors import UserError

MAX_CONCURRENT = 16
"""Maximum number of brokers that are asked at the same time."""

UNLOADED_BUNDLES = "brk_lb_unload_bundle_total"
"""Name of the leader's metric for the number of bundles that it has shed."""

UNLOADS_BY_REASON = "brk_lb_unload_broker_breakdown_total"
"""Name of the metric with the leader's unloads by reason (extensible load manager only)."""

GLOBAL = "global"
READ_GROUPS_EVERY = 10
"""Number of observations after which the anti-affinity groups are read again.

Reading them takes a request for each namespace.
"""

Found = TypeVar("Found")


class NoCluster(UserError):
    """Raised if the named cluster is unknown, or if no cluster is named and there are several.

    The message lists the clusters.
    """


@dataclass(frozen=True)
class Observation:
    """The state of a cluster and the load reports of the brokers that answered."""

    sight: ObservedState
    reports: Mapping[str, Any]
    troubles: Mapping[str, str]
    """The parts of the state that could not be read, each with the reason."""


class ClusterObserver:
    """Observes one cluster repeatedly."""

    def __init__(self, api: AdminApi, cluster: str) -> None:
        self._api = api
        self.cluster = cluster
        self._pool = ThreadPoolExecutor(MAX_CONCURRENT, "look")
        self._known: tuple[str, ...] = ()
        self._looks = 0
        self._groups: dict[str, str] = {}

    @classmethod
    def of(cls, api: AdminApi, cluster: str | None) -> ClusterObserver:
        """Return an observer of the named cluster; None means the only cluster.

        Errors: `NoCluster`, `NoAnswer`.
        """
        found = [one for one in api.get(f"{ADMIN}/clusters") if one != GLOBAL]
        if cluster is not None and cluster not in found:
            advice = f"choose from {', '.join(found)}" if found else "the broker knows no cluster"
            raise NoCluster(f"--cluster {cluster}: there is no such cluster; {advice}")
        if cluster is None and len(found) != 1:
            choice = f"choose a cluster with --cluster: {', '.join(found)}"
            raise NoCluster(choice if found else "the broker knows no cluster")
        return cls(api, cluster or found[0])

    def observe(self, before: ObservedState) -> Observation:
        """Observe the cluster's current state; `before` is the previous observation.

        Errors: `NoAnswer` if no broker lists the active brokers.
        """
        troubles: dict[str, str] = {}
        brokers = self._brokers()
        leader = self._read_part("leader", troubles, self._leader)
        settings = self._read_part("settings", troubles, lambda: self._settings(leader))
        known = before if settings is None else ObservedState(settings=settings)
        ask = partial(self._read_broker, reports=not known.is_extensible)
        answers = dict(zip(brokers, self._pool.map(ask, brokers), strict=True))
        owners, reports, silent = {}, {}, set()
        for broker, (held, report, why) in answers.items():
            owners[broker] = before.owners.get(broker, frozenset()) if held is None else held
            if report is not None:
                reports[broker] = report
            if held is None:
                silent.add(broker)
            if why:
                troubles[broker] = why
        domains = self._read_part("domains", troubles, self._domains)
        shed = self._read_part("causes of unloading", troubles, lambda: self._count_shed(leader))
        now = ObservedState(
            owners=owners,
            silent=frozenset(silent),
            leader=leader if leader is not None else before.leader,
            settings=known.settings,
            domains=before.domains if domains is None else domains,
            groups=self._read_groups(owners, troubles),
            shed=shed,
        )
        divided = (
            self._read_part("splits", troubles, lambda: self._replaced_bundles(before, now)) or {}
        )
        self._looks += 1
        return Observation(ObservedState(**{**vars(now), "divided": divided}), reports, troubles)

    def close(self) -> None:
        """Stop the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _brokers(self) -> tuple[str, ...]:
        """Return the active brokers, as listed by the first broker that answers."""
        path = f"{ADMIN}/brokers/{quote(self.cluster)}"
        errors = []
        for base in (self._api.access.base, *map(self._api.url_of, self._known)):
            try:
                self._known = tuple(sorted(self._api.get(path, base)))
            except NoAnswer as error:
                errors.append(error)
            else:
                return self._known
        raise errors[0]

    def _read_broker(self, broker: str, *, reports: bool) -> tuple[frozenset[str] | None, Any, str]:
        """Return a broker's bundles, its load report, and an error text.

        The error text says why the bundles or the report could not be read; otherwise, it is empty.
        """
        base = self._api.url_of(broker)
        held, report, why = None, None, ""
        try:
            path = f"{ADMIN}/brokers/{quote(self.cluster)}/{quote(broker)}/ownedNamespaces"
            held = frozenset(self._api.get(path, base))
            if reports:
                report = self._api.get(f"{ADMIN}/broker-stats/load-report", base)
        except NoAnswer as error:
            why = str(error)
        return held, report, why

    def _ask(self, path: str) -> Any:
        """Return the answer of the first broker that answers."""
        for broker in self._known:
            try:
                return self._api.get(path, self._api.url_of(broker))
            except NoAnswer as error:
                if error.status:
                    raise
        return self._api.get(path)

    def _leader(self) -> str | None:
        reply = self._ask(f"{ADMIN}/brokers/leaderBroker")
        named = reply.get("brokerId") or urlsplit(str(reply.get("serviceUrl"))).netloc
        return str(named) or None

    def _settings(self, leader: str | None) -> dict[str, Any]:
        """Return the effective values of the leader's documented settings."""
        base = self._api.url_of(leader or self._known[0])
        reply = self._api.get(f"{ADMIN}/brokers/configuration/runtime", base)
        return documented_settings(reply)

    def _domains(self) -> dict[str, frozenset[str]]:
        reply = self._ask(f"{ADMIN}/clusters/{quote(self.cluster)}/failureDomains")
        return {name: frozenset(one.get("brokers") or ()) for name, one in reply.items()}

    def _count_shed(self, leader: str | None) -> float | None:
        """Return how many bundles the leader shed since its election, without manual unloads."""
        if leader is None:
            return None
        reply = self._api.get(f"{ADMIN}/broker-stats/metrics", self._api.url_of(leader))
        by_hand = [one for one in reply if one.get("dimensions", {}).get("reason") == "Admin"]
        return _sum_of_metric(reply, UNLOADED_BUNDLES) - _sum_of_metric(by_hand, UNLOADS_BY_REASON)

    def _read_groups(
        self, owners: Mapping[str, Iterable[str]], troubles: dict[str, str]
    ) -> dict[str, frozenset[str]]:
        spaces = {bundle.rpartition("/")[0] for held in owners.values() for bundle in held}
        every = self._looks % READ_GROUPS_EVERY == 0
        asked = [
            one for one in spaces if _is_user_namespace(one) and (every or one not in self._groups)
        ]

        def group(space: str) -> str:
            _, path, _ = requests.read_group(space)
            try:
                return str(self._ask_text(path) or "")
            except NoAnswer as error:
                if error.status not in (404, 204):
                    troubles["groups"] = str(error)
                return self._groups.get(space, "")

        self._groups |= dict(zip(asked, self._pool.map(group, asked), strict=True))
        found: dict[str, set[str]] = {}
        for space, name in self._groups.items():
            if name:
                found.setdefault(name, set()).add(space)
        return {name: frozenset(members) for name, members in found.items()}

    def _ask_text(self, path: str) -> Any:
        base = self._api.url_of(self._known[0]) if self._known else None
        return self._api.get(path, base, text=True)

    def _replaced_bundles(
        self, before: ObservedState, now: ObservedState
    ) -> dict[str, tuple[str, ...]]:
        """Return the bundles split since the observation `before`, each with its parts."""
        has = now.owner_by_bundle()
        missing = [bundle for bundle in before.owner_by_bundle() if bundle not in has]
        found = {}
        for space in sorted({one.rpartition("/")[0] for one in missing}):
            if not _is_user_namespace(space):
                continue
            reply = self._ask(f"{ADMIN}/namespaces/{quote(space)}/bundles")
            cuts = reply["boundaries"]
            for whole in missing:
                first, _, last = whole.rpartition("/")[2].partition("_")
                within = [cut for cut in cuts if first <= cut <= last]
                if whole.startswith(f"{space}/") and len(within) > 2 and within[0] == first:
                    parts = pairwise(within)
                    found[whole] = tuple(f"{space}/{one}_{two}" for one, two in parts)
        return found

    @staticmethod
    def _read_part(
        part: str, troubles: dict[str, str], read: Callable[[], Found | None]
    ) -> Found | None:
        """Return the result of `read`; if it fails, return None and record why in `troubles`."""
        try:
            return read()
        except NoAnswer as error:
            troubles[part] = str(error)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            troubles[part] = f"the answer is not in Pulsar's format ({error!r})"
        return None


def _sum_of_metric(samples: Iterable[Any], name: str) -> float:
    """Return the sum of a metric's samples; 0 if there are none."""
    return float(sum(one.get("metrics", {}).get(name, 0) for one in samples))


def _is_user_namespace(namespace: str) -> bool:
    """True unless the namespace is for brokers' own use, such as `pulsar/HOST:PORT`."""
    return namespace.count("/") == 1 and ":" not in namespace
