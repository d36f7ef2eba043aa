"""Stories played on a cluster by the requests of administrators and clients.

Subclasses define how requests reach the cluster, and which other events they can play.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from pulsar_conformance.adapters.admin_api import requests
from pulsar_conformance.adapters.admin_api.observed import (
    EventDeclined,
    ObservableCluster,
    ObservedBundles,
    ObservedStep,
)
from pulsar_conformance.adapters.admin_api.requests import Request, namespace_of_topic
from pulsar_conformance.reference.story.events import why_invalid

UNLOADS_PARTS = "loadBalancerAutoUnloadSplitBundlesEnabled"
NOT_FOUND_STATUS, CONFLICT_STATUS = 404, 409

EventFields = Mapping[str, Any]
"""The fields of a story's event, as in the case."""


def word_for_status(status: int) -> str:
    """Return `ignored` or `refused`, the protocol's word for a rejection with this HTTP status."""
    return "ignored" if status in (NOT_FOUND_STATUS, CONFLICT_STATUS) else "refused"


def setting_text(value: Any) -> str:
    """Format a setting's value for a request."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class StoryPlayer(ABC):
    """Player of a story on a cluster.

    Events use the names of the story; `name_on_cluster` returns the names on the cluster.
    """

    EVENTS: ClassVar[frozenset[str]] = frozenset(
        {"namespace", "topic", "setting", "domain", "group", "unload", "split"}
    )
    """Kinds of events that need only admin requests; the method of the same name plays each."""

    def __init__(self, cluster: ObservableCluster) -> None:
        self.observed = ObservedBundles(cluster)
        self.spaces: list[str] = []
        self.owners: dict[str, str | None] = {}
        """The owner of each topic in use, as its client last found it."""
        self.bundle: dict[str, str] = {}
        self.domains: set[str] = set()

    def play_event(self, kind: str, about: EventFields) -> dict[str, Any]:
        """Play an event; return its result in the protocol's format."""
        step = ObservedStep(self.unload_reason(kind))
        try:
            getattr(self, kind)(about, step)
        except EventDeclined as declined:
            return {declined.how: declined.why}
        self.record_changes(step)
        return self.answer(step)

    def namespace(self, about: EventFields, _step: ObservedStep) -> None:
        """Create a namespace through an administrator's request."""
        name = about["name"]
        if name in self.spaces:
            raise EventDeclined("ignored", f"{name} exists")
        self.create_namespace(name, about.get("bundles"))
        self.spaces.append(name)

    def topic(self, about: EventFields, step: ObservedStep) -> None:
        """Make clients use a topic from now on, with the traffic that the event gives."""
        topic = about["topic"]
        self._check_namespace(namespace_of_topic(topic))
        self.set_topic_traffic(topic, about)
        if topic not in self.owners:
            self.owners[topic] = None
            self.record_changes(step)
            self.ask(requests.create_topic(self.name_on_cluster(topic)))

    def setting(self, about: EventFields, _step: ObservedStep) -> None:
        """Change a setting: in the brokers' configuration files or dynamically."""
        why = why_invalid(about["name"], about["value"])
        if why:
            raise EventDeclined("ignored", why)
        self.change_setting(about["name"], about["value"], about["how"])

    def domain(self, about: EventFields, _step: ObservedStep) -> None:
        """Register brokers in a failure domain through an administrator's request."""
        name, brokers = about["name"], about["brokers"]
        if not brokers and name not in self.domains:
            raise EventDeclined("ignored", f"there is no domain {name}")
        try:
            self.set_domain(name, brokers)
        except EventDeclined as declined:
            raise EventDeclined("refused", declined.why) from None
        (self.domains.add if brokers else self.domains.discard)(name)

    def group(self, about: EventFields, _step: ObservedStep) -> None:
        """Set or remove a namespace's anti-affinity group through an administrator's request."""
        self._check_namespace(about["namespace"])
        self.set_group(about["namespace"], about["group"])

    def unload(self, about: EventFields, _step: ObservedStep) -> None:
        """Unload a topic, bundle or namespace through an administrator's request."""
        if "namespace" in about:
            name = about["namespace"]
            if not any(bundle.startswith(f"{name}/") for bundle in self.observed.held):
                raise EventDeclined("ignored", f"no broker owns a bundle of {name}")
            self.send_or_decline(requests.unload_namespace(self.name_on_cluster(name)))
            return
        topic = about.get("topic") or about["bundleOf"]
        if self.owners.get(topic) is None:
            raise EventDeclined("ignored", f"no broker owns {topic}")
        asked = requests.unload_topic(self.name_on_cluster(topic))
        if "topic" not in about:
            to = self.broker_id(about["to"]) if "to" in about else None
            asked = requests.unload_bundle(self.name_on_cluster(self.bundle[topic]), to)
        self.send_or_decline(asked)

    def split(self, about: EventFields, _step: ObservedStep) -> None:
        """Split a bundle through an administrator's request.

        A setting decides whether the parts are unloaded.
        """
        topic = about["bundleOf"]
        if topic not in self.bundle or not self.has_broker():
            raise EventDeclined("ignored", f"{topic} is not in use")
        given = about.get("algorithm"), about.get("positions", ())
        bundle = self.name_on_cluster(self.bundle[topic])
        self.send_or_decline(requests.split_bundle(bundle, *given, unload=self.unloads_parts()))

    def record_changes(self, step: ObservedStep) -> None:
        """Record the changes that an event and the clients' lookups after it have caused.

        Observe the cluster, let clients look up the topics that have no known owner, and observe it
        again.
        """
        spaces = dict.fromkeys(map(namespace_of_topic, self.owners))
        divided = len(step.split)
        self.observed.observe(spaces, step, self.why_released)
        if step.split[divided:] and self.has_broker() and self.unloads_parts():
            self.wait_for_release([part for one in step.split[divided:] for part in one["into"]])
            self.observed.observe(spaces, step, self.why_released)
        if not self.has_broker():
            self.owners = dict.fromkeys(self.owners)
            return
        for topic in self.owners:
            self.look_up_owner(topic, step)
        self.observed.observe(spaces, step, self.why_released)

    def looked_up_bundle_exists(self, topic: str) -> bool:
        """True if the bundle that contained a topic at its last lookup still exists."""
        part = self.bundle.get(topic, "").rpartition("/")[2]
        return part in self.observed.last_ranges(namespace_of_topic(topic))

    def _check_namespace(self, name: str) -> None:
        if name not in self.spaces:
            raise EventDeclined("ignored", f"there is no namespace {name}")

    def name_on_cluster(self, name: str) -> str:
        """Return the name that a namespace, bundle or topic of the story has on the cluster."""
        return name

    def broker_id(self, name: str) -> str:
        """Return the ID by which the cluster identifies a broker."""
        return name

    def unload_reason(self, kind: str) -> str:  # noqa: ARG002  subclasses may use the kind
        """Return the reason for an unload during an event of this kind, if none is known for the
        bundle.

        `why_released` returns the known reasons.
        """
        return "admin"

    def why_released(self, bundle: str) -> str | None:  # noqa: ARG002  subclasses may use the bundle
        """Return the reason why a bundle was unloaded, or None if it is unknown."""
        return None

    def has_broker(self) -> bool:
        """True if at least one broker is up."""
        return True

    def set_topic_traffic(self, topic: str, about: EventFields) -> None:  # noqa: B027  not all subclasses can send traffic
        """Give a topic the traffic that the event states."""

    @abstractmethod
    def answer(self, step: ObservedStep) -> dict[str, Any]:
        """Return the observed result of an event in the protocol's format."""

    @abstractmethod
    def ask(self, request: Request) -> object:
        """Send a request; ignore a rejection by the broker."""

    @abstractmethod
    def send_or_decline(self, request: Request) -> None:
        """Send a request that must be accepted. Errors: `EventDeclined` if it is rejected."""

    @abstractmethod
    def create_namespace(self, name: str, bundles: int | None) -> None:
        """Create a namespace. Errors: `EventDeclined`."""

    @abstractmethod
    def change_setting(self, name: str, value: Any, how: str) -> None:
        """Change a setting in the brokers' files or dynamically. Errors: `EventDeclined`."""

    @abstractmethod
    def set_domain(self, name: str, brokers: Sequence[str]) -> None:
        """Register brokers in a failure domain; without brokers, delete the domain. Errors:
        `EventDeclined`.
        """

    @abstractmethod
    def set_group(self, namespace: str, group: str | None) -> None:
        """Add a namespace to an anti-affinity group or, for None, remove it from its group.

        Errors: `EventDeclined`.
        """

    @abstractmethod
    def unloads_parts(self) -> bool:
        """True if the cluster unloads the parts of a bundle that it splits."""

    @abstractmethod
    def wait_for_release(self, parts: Collection[str]) -> None:
        """Wait until the owner of a split bundle has released the parts that it does not keep."""

    @abstractmethod
    def look_up_owner(self, topic: str, step: ObservedStep) -> None:
        """Let a client look up a topic whose owner is unknown."""
