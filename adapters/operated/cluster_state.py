"""Reads the state of a user's cluster without changing it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from pulsar_conformance.adapters.admin_api.http import NoAnswer
from pulsar_conformance.adapters.admin_api.remote import AdminApi
from pulsar_conformance.adapters.admin_api.requests import ADMIN, bundle_of
from pulsar_conformance.adapters.operated.looking import ClusterObserver, Observation
from pulsar_conformance.adapters.operated.sight import ObservedState
from pulsar_conformance.reference.answers.managers import MANAGERS
from pulsar_conformance.reference.cluster import RESOURCES

MAX_NAMESPACES, MAX_TOPICS = 20, 10
"""Maximum number of namespaces to read, and of topics in each."""

MANAGER_SETTING = "loadManagerClassName"
NESTED_USAGE = "systemResourceUsage"
MADE_UP_TOPIC = "persistent://{}/conformance-{}"
"""Name of a topic that does not exist; a cluster still reports the bundle for it."""


@dataclass(frozen=True)
class ClusterState:
    """The state of a cluster when it was read.

    Attributes:
        cluster: the cluster's name.
        version: the version of the broker that was asked; may be empty.
        look: the observed owners, leader, domains, groups, effective settings and load reports.
        boundaries: the boundaries of each namespace that was read.
        topics: some topics of each of these namespaces, and names of topics that do not exist.
        namespaces: number of namespaces with owned bundles.
        dynamic: settings that were changed while brokers ran, by name.
        classes: the configured load manager class of each broker.
    """

    cluster: str
    version: str
    look: Observation
    boundaries: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    topics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    namespaces: int = 0
    dynamic: Mapping[str, Any] = field(default_factory=dict)
    classes: Mapping[str, str] = field(default_factory=dict)

    @property
    def sight(self) -> ObservedState:
        """The observed owners, leader and settings."""
        return self.look.sight

    def managers(self) -> dict[str, str]:
        """Return the load manager of each broker whose load report has a known format."""
        shapes = {broker: report_manager(report) for broker, report in self.look.reports.items()}
        return {broker: manager for broker, manager in shapes.items() if manager is not None}

    def configured(self, broker: str) -> str | None:
        """Return the load manager that is configured for a broker; None if the documents do not
        name its class.
        """
        return MANAGERS.get(self.dynamic.get(MANAGER_SETTING) or self.classes.get(broker, ""))

    def owned_twice(self) -> dict[str, list[str]]:
        """Return the bundles that more than one broker claims to own, each with these brokers."""
        found = defaultdict(list)
        for broker, held in sorted(self.sight.owners.items()):
            for bundle in held:
                found[bundle].append(broker)
        return {bundle: brokers for bundle, brokers in sorted(found.items()) if len(brokers) > 1}


def report_manager(report: Any) -> str | None:
    """Return the load manager whose reports have this format; None if the format is unknown."""
    if not isinstance(report, dict):
        return None
    top = any(report.get(name) is not None for name in RESOURCES)
    if report.get(NESTED_USAGE) is not None:
        return None if top else "simple"
    return "modular" if top else None


class Reader:
    """Reader of a cluster that sends only GET requests."""

    def __init__(self, api: AdminApi, looker: ClusterObserver) -> None:
        self._api = api
        self._looker = looker
        self._asked = 0

    def read(self) -> ClusterState:
        """Return the current state. Errors: `NoAnswer` if no broker lists the active brokers."""
        look = self._looker.observe(ObservedState())
        spaces = user_namespaces(look.sight)
        boundaries, topics = {}, {}
        for space in spaces[:MAX_NAMESPACES]:
            cuts = self.boundaries(space)
            if cuts is not None:
                boundaries[space] = cuts
                topics[space] = self._topics(space)
        dynamic = self._get_or_default(f"{ADMIN}/brokers/configuration/values", {})
        return ClusterState(
            cluster=self._looker.cluster,
            version=str(self._get_or_default(f"{ADMIN}/brokers/version", "", text=True)),
            look=look,
            boundaries=boundaries,
            topics=topics,
            namespaces=len(spaces),
            dynamic=dynamic if isinstance(dynamic, dict) else {},
            classes={broker: self._class(broker) for broker in sorted(look.sight.owners)},
        )

    def boundaries(self, space: str) -> tuple[str, ...] | None:
        """Return a namespace's boundaries; None if the namespace was deleted or may not be read."""
        reply = self._get_or_default(f"{ADMIN}/namespaces/{quote(space)}/bundles", {})
        cuts = reply.get("boundaries") if isinstance(reply, dict) else None
        return tuple(cuts) if cuts else None

    def bundle(self, topic: str, brokers: Iterable[str]) -> str:
        """Return the bundle range that contains a topic, by another broker than in the previous
        call.

        Errors: `NoAnswer`.
        """
        turns = sorted(brokers)
        self._asked += 1
        base = self._api.url_of(turns[self._asked % len(turns)]) if turns else None
        reply = self._api.get(bundle_of(topic)[1], base, text=True)
        return str(reply).strip().strip('"')

    def _topics(self, space: str) -> tuple[str, ...]:
        reply = self._get_or_default(f"{ADMIN}/persistent/{quote(space)}", [])
        there = sorted(filter(_has_plain_namespace, reply)) if isinstance(reply, list) else []
        made_up = (MADE_UP_TOPIC.format(space, number) for number in range(MAX_TOPICS))
        return tuple([*there, *made_up][:MAX_TOPICS])

    def _class(self, broker: str) -> str:
        reply = self._get_or_default(
            f"{ADMIN}/brokers/configuration/runtime", {}, self._api.url_of(broker)
        )
        return str(reply.get(MANAGER_SETTING, "")) if isinstance(reply, dict) else ""

    def _get_or_default(
        self, path: str, otherwise: Any, base: str | None = None, *, text: bool = False
    ) -> Any:
        try:
            return self._api.get(path, base, text=text)
        except NoAnswer:
            return otherwise


def user_namespaces(sight: ObservedState) -> list[str]:
    """Return the namespaces with owned bundles, except those that Pulsar uses itself."""
    spaces = {bundle.rpartition("/")[0] for held in sight.owners.values() for bundle in held}
    return sorted(one for one in spaces if one.count("/") == 1 and not one.startswith("pulsar/"))


def _has_plain_namespace(topic: object) -> bool:
    """True if a topic's namespace has two parts."""
    return isinstance(topic, str) and topic.startswith("persistent://") and topic.count("/") == 4
