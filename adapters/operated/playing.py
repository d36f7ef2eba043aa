"""Stories played on a user's own cluster through the admin API alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any
from urllib.parse import quote, urlsplit

from pulsar_conformance.adapters.admin_api import requests
from pulsar_conformance.adapters.admin_api.http import FORBIDDEN_STATUSES, NoAnswer
from pulsar_conformance.adapters.admin_api.observed import EventDeclined, ObservedStep, Owner
from pulsar_conformance.adapters.admin_api.remote import AdminApi
from pulsar_conformance.adapters.admin_api.requests import ADMIN, namespace_of_topic
from pulsar_conformance.adapters.admin_api.stories import (
    UNLOADS_PARTS,
    StoryPlayer,
    setting_text,
    word_for_status,
)
from pulsar_conformance.adapters.admin_api.waiting import ConditionTimeout
from pulsar_conformance.adapters.operated.cluster_state import ClusterState
from pulsar_conformance.adapters.operated.tenant import StoryTenant

UNREACHED_STATUSES = (0, *FORBIDDEN_STATUSES)
"""HTTP statuses that say nothing about the request itself: no answer (0) and denied access."""


class PlayedCluster:
    """A user's cluster, accessed by the names that a story uses.

    Each broker of the story stands for one of the cluster's brokers, in sorted order. The story's
    namespaces are `ns-1`, `ns-2` and so on, in the story's own tenant.
    """

    def __init__(self, api: AdminApi, state: ClusterState, tenant: StoryTenant) -> None:
        self._api = api
        self._state = state
        self._tenant = tenant
        self.brokers: dict[str, str] = {}
        """Registered names of the story's brokers."""
        self._spaces: dict[str, str] = {}

    @property
    def metadata(self) -> PlayedCluster:
        """The object that returns the bundles of namespaces: this object itself."""
        return self

    def bind_broker(self, name: str) -> None:
        """Let the story's broker with this name stand for the next broker of the cluster."""
        self.brokers[name] = sorted(self._state.sight.owners)[len(self.brokers)]

    def create(self, name: str, bundles: int | None) -> None:
        """Create a namespace in the story's tenant. Errors: `NoAnswer`."""
        number = f"ns-{len(self._spaces) + 1}"
        self._spaces[name] = f"{self._tenant.name}/{number}"
        self._tenant.namespace(number, bundles)

    def name_on_cluster(self, name: str) -> str:
        """Return the name that a namespace, bundle or topic of the story has on the cluster."""
        domain, there, rest = name.rpartition("://")
        tenant, space, *local = rest.split("/", 2)
        return f"{domain}{there}{'/'.join((self._spaces[f'{tenant}/{space}'], *local))}"

    def ranges(self, namespace: str) -> list[str]:
        """Return the ranges of a namespace's bundles. Errors: `NoAnswer`."""
        path = f"{ADMIN}/namespaces/{quote(self.name_on_cluster(namespace))}/bundles"
        cuts = self._api.get(path)["boundaries"]
        return [f"{low}_{high}" for low, high in pairwise(cuts)]

    def owned_bundles(self, namespaces: Iterable[str]) -> dict[str, Owner]:
        """Return the owned bundles of namespaces, each with its owner and 0 as transaction.

        Errors: `NoAnswer`.
        """
        named = {self.name_on_cluster(space): space for space in namespaces}
        found: dict[str, Owner] = {}
        for name, broker in self.brokers.items():
            cluster = quote(self._state.cluster)
            path = f"{ADMIN}/brokers/{cluster}/{quote(broker)}/ownedNamespaces"
            for bundle in self._api.get(path, self._api.url_of(broker)):
                space, _, part = bundle.rpartition("/")
                if space in named:
                    found[f"{named[space]}/{part}"] = (name, 0)
        return found

    def bundle_of(self, topic: str) -> str:
        """Return a topic's bundle. Errors: `NoAnswer`."""
        _, path, _ = requests.bundle_of(self.name_on_cluster(topic))
        part = str(self._api.get(path, text=True)).strip().strip('"')
        return f"{namespace_of_topic(topic)}/{part}"

    def owner_of(self, topic: str) -> str:
        """Return the broker that serves a topic; if none does, the lookup makes the cluster choose
        one.

        Errors: `NoAnswer`, `ConditionTimeout`.
        """
        _, path, _ = requests.look_up(self.name_on_cluster(topic))
        reply = self._api.get(path)
        urls = [reply.get(name) for name in ("httpUrl", "httpUrlTls")]
        places = [urlsplit(str(url)).netloc for url in urls if url]
        names = [name for name, broker in self.brokers.items() if broker in places]
        if not names:
            raise ConditionTimeout(
                f"{topic} is served by a broker that is not in the story ({', '.join(places)})"
            )
        return names[0]

    def leader(self) -> str | None:
        """Return the leader, by its name in the story. Errors: `NoAnswer`."""
        reply = self._api.get(f"{ADMIN}/brokers/leaderBroker")
        leads = reply.get("brokerId") or urlsplit(str(reply.get("serviceUrl"))).netloc
        return next((name for name, broker in self.brokers.items() if broker == leads), None)

    def at_every_broker(self, path: str, accepts: Any) -> Callable[[], bool]:
        """Return a function that asks every broker, and is true if `accepts` is true for all
        answers.
        """
        bases = [self._api.url_of(broker) for broker in self.brokers.values()]
        return lambda: all(accepts(self._api.get(path, base, text=True)) for base in bases)


class PlayedStory(StoryPlayer):
    """Player of a story on a user's cluster, by admin requests alone."""

    EVENTS = StoryPlayer.EVENTS | {"broker_up"}

    def __init__(self, cluster: PlayedCluster, tenant: StoryTenant, state: ClusterState) -> None:
        super().__init__(cluster)
        self._cluster = cluster
        self._tenant = tenant
        self._state = state

    def answer(self, step: ObservedStep) -> dict[str, Any]:
        """Return the observed result of an event in the protocol's format. Errors: `NoAnswer`."""
        return step.answer(self.owners, self._cluster.leader())

    def name_on_cluster(self, name: str) -> str:
        """Return the name that a namespace, bundle or topic has in the story's tenant."""
        return self._cluster.name_on_cluster(name)

    def broker_up(self, about: Mapping[str, Any], _step: ObservedStep) -> None:
        """Let the story's new broker stand for the next running broker."""
        self._cluster.bind_broker(about["broker"])

    def create_namespace(self, name: str, bundles: int | None) -> None:
        """Create a namespace in the tenant."""
        self._send_or_raise(lambda: self._cluster.create(name, bundles))

    def change_setting(self, name: str, value: Any, how: str) -> None:  # noqa: ARG002  always dynamic, as was checked
        """Change a setting dynamically; the change is undone after the story."""
        self._send_or_raise(lambda: self._tenant.change_setting(name, setting_text(value)))

    def set_domain(self, name: str, brokers: Sequence[str]) -> None:
        """Register brokers in a failure domain named after the tenant; wait until all brokers know
        it.
        """
        real = f"{self._tenant.name}-{name}"
        named = [self._cluster.brokers[one] for one in brokers]
        self._send_or_raise(lambda: self._tenant.domain(real, named))
        path = f"{ADMIN}/clusters/{quote(self._state.cluster)}/failureDomains"

        def known(domains: Any) -> bool:
            return set((domains.get(real) or {}).get("brokers") or ()) == set(named)

        self._tenant.wait_until(
            self._cluster.at_every_broker(path, known), f"every broker knows {name}"
        )

    def set_group(self, namespace: str, group: str | None) -> None:
        """Add a namespace to an anti-affinity group named after the tenant; wait until all brokers
        know it.
        """
        space = self._cluster.name_on_cluster(namespace)
        real = None if group is None else f"{self._tenant.name}-{group}"
        self.send_or_decline(requests.set_group(space, real))
        _, path, _ = requests.read_group(space)
        known = self._cluster.at_every_broker(path, lambda reply: (reply or None) == real)
        self._tenant.wait_until(known, f"every broker knows the group of {namespace}")

    def unloads_parts(self) -> bool:
        """True if the cluster is configured to unload the parts of split bundles."""
        return bool(self._state.sight.settings.get(UNLOADS_PARTS))

    def wait_for_release(self, parts: Collection[str]) -> None:
        """Wait until the parts are released; stop waiting after `tenant.SECONDS`."""
        spaces = {one.rpartition("/")[0] for one in parts}
        with suppress(ConditionTimeout):
            self._tenant.wait_until(
                lambda: not self._cluster.owned_bundles(spaces).keys() & set(parts),
                "the parts are released",
            )

    def look_up_owner(self, topic: str, step: ObservedStep) -> None:  # noqa: ARG002  the deciding broker is unknown
        """Record a topic's owner; if its bundle has none, a lookup makes the cluster choose one."""
        if not self.looked_up_bundle_exists(topic):
            self.bundle[topic] = self._cluster.bundle_of(topic)
        bundle = self.bundle[topic]
        held = self.observed.held.get(bundle)
        if held is not None:
            self.owners[topic] = held[0]
            return
        self.owners[topic] = owner = self._cluster.owner_of(topic)
        space = namespace_of_topic(topic)
        # Some managers report the owner before they count the bundle as owned.
        self._tenant.wait_until(
            lambda: self._cluster.owned_bundles([space]).get(bundle) == (owner, 0),
            f"{owner} owns {bundle}",
        )

    def ask(self, request: requests.Request) -> None:
        """Send a request that the story needs in order to continue. Errors: `NoAnswer`."""
        self._tenant.ask(request)

    def send_or_decline(self, request: requests.Request) -> None:
        """Send a request. Errors: `EventDeclined`."""
        self._send_or_raise(lambda: self._tenant.ask(request))

    @staticmethod
    def _send_or_raise(ask: Callable[[], None]) -> None:
        """Send a change by calling `ask`. Errors: `EventDeclined` if the change is rejected."""
        try:
            ask()
        except NoAnswer as error:
            if error.status in UNREACHED_STATUSES:
                raise
            raise EventDeclined(word_for_status(error.status), str(error)) from None
