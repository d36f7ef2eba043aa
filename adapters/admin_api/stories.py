"""Plays a story on a cluster: the events that an administrator and clients cause by requests.

How requests reach the cluster, and what else can happen to it, is left to subclasses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from pulsar_conformance.adapters.admin_api import requests
from pulsar_conformance.adapters.admin_api.observed import Declined, Observed, SeenStep, Watchable
from pulsar_conformance.adapters.admin_api.requests import Request, namespace_of_topic
from pulsar_conformance.reference.story.events import why_invalid

UNLOADS_PARTS = "loadBalancerAutoUnloadSplitBundlesEnabled"
MISSING, CONFLICT = 404, 409

About = Mapping[str, Any]
"""The fields of an event."""


def how_declined(status: int) -> str:
    """Return the word of the protocol for a request that was answered with this status."""
    return "ignored" if status in (MISSING, CONFLICT) else "refused"


def setting_text(value: Any) -> str:
    """Format the value of a setting for a request."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class StoryPlayer(ABC):
    """One story on one cluster, from its first event to its last.

    Names are those of the story; `real` gives those of the cluster where they differ.
    """

    EVENTS: ClassVar[frozenset[str]] = frozenset(
        {"namespace", "topic", "setting", "domain", "group", "unload", "split"}
    )
    """The events that can be played, each by the method of its name; these are requests alone."""

    def __init__(self, cluster: Watchable) -> None:
        self.observed = Observed(cluster)
        self.spaces: list[str] = []
        self.owners: dict[str, str | None] = {}
        """The owner of each topic in use, as its client last found it."""
        self.bundle: dict[str, str] = {}
        self.domains: set[str] = set()

    def happen(self, kind: str, about: About) -> dict[str, Any]:
        """Play an event, and return what came of it in the shape of the protocol."""
        step = SeenStep(self.reason(kind))
        try:
            getattr(self, kind)(about, step)
        except Declined as declined:
            return {declined.how: declined.why}
        self.settle(step)
        return self.answer(step)

    def namespace(self, about: About, _step: SeenStep) -> None:
        """The administrator creates a namespace."""
        name = about["name"]
        if name in self.spaces:
            raise Declined("ignored", f"{name} exists")
        self.create_namespace(name, about.get("bundles"))
        self.spaces.append(name)

    def topic(self, about: About, step: SeenStep) -> None:
        """Clients use a topic from now on."""
        topic = about["topic"]
        self._check_namespace(namespace_of_topic(topic))
        self.carry(topic, about)
        if topic not in self.owners:
            self.owners[topic] = None
            self.settle(step)
            self.ask(requests.create_topic(self.real(topic)))

    def setting(self, about: About, _step: SeenStep) -> None:
        """A setting is changed."""
        why = why_invalid(about["name"], about["value"])
        if why:
            raise Declined("ignored", why)
        self.set(about["name"], about["value"], about["how"])

    def domain(self, about: About, _step: SeenStep) -> None:
        """The administrator registers brokers to a failure domain."""
        name, brokers = about["name"], about["brokers"]
        if not brokers and name not in self.domains:
            raise Declined("ignored", f"there is no domain {name}")
        try:
            self.set_domain(name, brokers)
        except Declined as declined:
            raise Declined("refused", declined.why) from None
        (self.domains.add if brokers else self.domains.discard)(name)

    def group(self, about: About, _step: SeenStep) -> None:
        """The administrator puts a namespace in an anti-affinity group, or in none."""
        self._check_namespace(about["namespace"])
        self.set_group(about["namespace"], about["group"])

    def unload(self, about: About, _step: SeenStep) -> None:
        """The administrator unloads a topic, a bundle or a namespace."""
        if "namespace" in about:
            name = about["namespace"]
            if not any(bundle.startswith(f"{name}/") for bundle in self.observed.held):
                raise Declined("ignored", f"no broker owns any of {name}")
            self.ask_granted(requests.unload_namespace(self.real(name)))
            return
        topic = about.get("topic") or about["bundleOf"]
        if self.owners.get(topic) is None:
            raise Declined("ignored", f"no broker owns {topic}")
        asked = requests.unload_topic(self.real(topic))
        if "topic" not in about:
            asked = requests.unload_bundle(self.real(self.bundle[topic]))
        self.ask_granted(asked)

    def split(self, about: About, _step: SeenStep) -> None:
        """The administrator splits a bundle; its parts are unloaded where a setting says so."""
        topic = about["bundleOf"]
        if topic not in self.bundle or not self.any_broker():
            raise Declined("ignored", f"{topic} is not in use")
        given = about.get("algorithm"), about.get("positions", ())
        bundle = self.real(self.bundle[topic])
        self.ask_granted(requests.split_bundle(bundle, *given, unload=self.unloads_parts()))

    def settle(self, step: SeenStep) -> None:
        """Observe the changes, have clients look up their topics, and observe again."""
        spaces = dict.fromkeys(map(namespace_of_topic, self.owners))
        divided = len(step.split)
        self.observed.look(spaces, step, self.why_released)
        if step.split[divided:] and self.any_broker() and self.unloads_parts():
            self.wait_for_release([part for one in step.split[divided:] for part in one["into"]])
            self.observed.look(spaces, step, self.why_released)
        if not self.any_broker():
            self.owners = dict.fromkeys(self.owners)
            return
        for topic in self.owners:
            self.find(topic, step)
        self.observed.look(spaces, step, self.why_released)

    def bundle_known(self, topic: str) -> bool:
        """True if the bundle in which a topic was found is still one of its namespace."""
        part = self.bundle.get(topic, "").rpartition("/")[2]
        return part in self.observed.divided(namespace_of_topic(topic))

    def _check_namespace(self, name: str) -> None:
        if name not in self.spaces:
            raise Declined("ignored", f"there is no namespace {name}")

    def real(self, name: str) -> str:
        """Return the cluster's name of a namespace, a bundle or a topic."""
        return name

    def reason(self, kind: str) -> str:  # noqa: ARG002  a subclass's may depend on it
        """Return why bundles are released in an event, where nothing else is known."""
        return "admin"

    def why_released(self, bundle: str) -> str | None:  # noqa: ARG002  as above
        """Return why a bundle was released, where that is known."""
        return None

    def any_broker(self) -> bool:
        """True if a broker is up."""
        return True

    def carry(self, topic: str, about: About) -> None:  # noqa: B027  not all can send traffic
        """Set the traffic of a topic to that of the event."""

    @abstractmethod
    def answer(self, step: SeenStep) -> dict[str, Any]:
        """Return what came of an event that is over."""

    @abstractmethod
    def ask(self, request: Request) -> object:
        """Send a request that may be rejected."""

    @abstractmethod
    def ask_granted(self, request: Request) -> None:
        """Send a request. Errors: `Declined` if it is rejected."""

    @abstractmethod
    def create_namespace(self, name: str, bundles: int | None) -> None:
        """Create a namespace. Errors: `Declined`."""

    @abstractmethod
    def set(self, name: str, value: Any, how: str) -> None:
        """Change a setting in the brokers' files or while they run. Errors: `Declined`."""

    @abstractmethod
    def set_domain(self, name: str, brokers: Sequence[str]) -> None:
        """Register brokers to a domain, or delete it. Errors: `Declined`."""

    @abstractmethod
    def set_group(self, namespace: str, group: str | None) -> None:
        """Put a namespace in a group, or in none. Errors: `Declined`."""

    @abstractmethod
    def unloads_parts(self) -> bool:
        """True if the parts of a split bundle are unloaded."""

    @abstractmethod
    def wait_for_release(self, parts: Collection[str]) -> None:
        """Wait until the parts are released that an owner still has; some may stay."""

    @abstractmethod
    def find(self, topic: str, step: SeenStep) -> None:
        """Have a client look up its topic, if it has lost the owner or has none."""
