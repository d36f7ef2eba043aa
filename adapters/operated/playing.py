"""A story, played on somebody's cluster as far as its admin API alone can play one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Any
from urllib.parse import quote, urlsplit

from pulsar_conformance.adapters.admin_api import requests
from pulsar_conformance.adapters.admin_api.http import FORBIDDEN, NoAnswer
from pulsar_conformance.adapters.admin_api.observed import Declined, Observed, Owner, SeenStep
from pulsar_conformance.adapters.admin_api.remote import AdminApi
from pulsar_conformance.adapters.admin_api.requests import ADMIN, namespace_of
from pulsar_conformance.adapters.admin_api.waiting import Unsettled
from pulsar_conformance.adapters.operated.standing import Standing
from pulsar_conformance.adapters.operated.tenant import OwnTenant
from pulsar_conformance.reference.story.settings import why_invalid

UNREACHED = (0, *FORBIDDEN)
"""What an answer has as its status where the cluster did nothing of the story's making."""

MISSING, CONFLICT = 404, 409


class PlayedCluster:
    """The cluster under the names of a story: its brokers by their order, namespaces by number."""

    def __init__(self, api: AdminApi, standing: Standing, tenant: OwnTenant) -> None:
        self._api = api
        self._standing = standing
        self._tenant = tenant
        self.brokers: dict[str, str] = {}
        """Those of the story that are up, and the names under which they are registered."""
        self._spaces: dict[str, str] = {}

    @property
    def metadata(self) -> PlayedCluster:
        """What is written of namespaces is asked of the same brokers."""
        return self

    def bind(self, name: str) -> None:
        """Name the next broker."""
        self.brokers[name] = sorted(self._standing.sight.owners)[len(self.brokers)]

    def create(self, name: str, bundles: int | None) -> None:
        """Create a namespace in the tenant. Errors: `NoAnswer`."""
        number = f"ns-{len(self._spaces) + 1}"
        self._spaces[name] = f"{self._tenant.name}/{number}"
        self._tenant.namespace(number, bundles)

    def real(self, name: str) -> str:
        """What a namespace, a bundle or a topic of the story is called in the cluster."""
        domain, there, rest = name.rpartition("://")
        tenant, space, *local = rest.split("/", 2)
        return f"{domain}{there}{'/'.join((self._spaces[f'{tenant}/{space}'], *local))}"

    def ranges(self, namespace: str) -> list[str]:
        """The bundles of a namespace, by range. Errors: `NoAnswer`."""
        path = f"{ADMIN}/namespaces/{quote(self.real(namespace))}/bundles"
        cuts = self._api.get(path)["boundaries"]
        return [f"{low}_{high}" for low, high in pairwise(cuts)]

    def owned(self, namespaces: Iterable[str]) -> dict[str, Owner]:
        """Bundles that brokers own; since when, nobody tells. Errors: `NoAnswer`."""
        named = {self.real(space): space for space in namespaces}
        found: dict[str, Owner] = {}
        for name, broker in self.brokers.items():
            cluster = quote(self._standing.cluster)
            path = f"{ADMIN}/brokers/{cluster}/{quote(broker)}/ownedNamespaces"
            for bundle in self._api.get(path, self._api.of(broker)):
                space, _, part = bundle.rpartition("/")
                if space in named:
                    found[f"{named[space]}/{part}"] = (name, 0)
        return found

    def bundle_of(self, topic: str) -> str:
        """The bundle in which a topic lies. Errors: `NoAnswer`."""
        _, path, _ = requests.bundle_of(self.real(topic))
        part = str(self._api.get(path, text=True)).strip().strip('"')
        return f"{namespace_of(topic)}/{part}"

    def owner_of(self, topic: str) -> str:
        """The broker that serves a topic; where nobody does, one is assigned it.

        Errors: `NoAnswer`, `Unsettled`.
        """
        _, path, _ = requests.look_up(self.real(topic))
        told = self._api.get(path)
        urls = [told.get(name) for name in ("httpUrl", "httpUrlTls")]
        places = [urlsplit(str(url)).netloc for url in urls if url]
        names = [name for name, broker in self.brokers.items() if broker in places]
        if not names:
            raise Unsettled(f"{topic} is served by {places}, which is no broker of the story")
        return names[0]

    def leader(self) -> str | None:
        """Who leads, as the brokers tell. Errors: `NoAnswer`."""
        told = self._api.get(f"{ADMIN}/brokers/leaderBroker")
        leads = told.get("brokerId") or urlsplit(str(told.get("serviceUrl"))).netloc
        return next((name for name, broker in self.brokers.items() if broker == leads), None)

    def every(self, path: str, told: Any) -> Callable[[], bool]:
        """Whether every broker gives this answer."""
        bases = [self._api.of(broker) for broker in self.brokers.values()]
        return lambda: all(told(self._api.get(path, base, text=True)) for base in bases)


class PlayedStory:
    """One story, from its first event to its last."""

    def __init__(self, cluster: PlayedCluster, tenant: OwnTenant, standing: Standing) -> None:
        self._cluster = cluster
        self._tenant = tenant
        self._standing = standing
        self._observed = Observed(cluster)
        self._spaces: list[str] = []
        self._owners: dict[str, str | None] = {}
        self._bundle: dict[str, str] = {}
        self._domains: set[str] = set()

    def happen(self, kind: str, about: Mapping[str, Any]) -> dict[str, Any]:
        """Let an event happen, and tell what came of it. Errors: `NoAnswer`, `Unsettled`."""
        step = SeenStep("admin")
        try:
            EVENTS[kind](self, about, step)
        except Declined as declined:
            return {declined.how: declined.why}
        self._settle(step)
        return step.answer(self._owners, self._cluster.leader())

    def broker_up(self, about: Mapping[str, Any], _step: SeenStep) -> None:
        """A broker that is up gets a name of the story."""
        self._cluster.bind(about["broker"])

    def namespace(self, about: Mapping[str, Any], _step: SeenStep) -> None:
        """The administrator creates a namespace."""
        name = about["name"]
        if name in self._spaces:
            raise Declined("ignored", f"{name} exists")
        self._granted(lambda: self._cluster.create(name, about.get("bundles")))
        self._spaces.append(name)

    def topic(self, about: Mapping[str, Any], step: SeenStep) -> None:
        """Clients use a topic."""
        topic = about["topic"]
        self._known(namespace_of(topic))
        if topic not in self._owners:
            self._owners[topic] = None
            self._settle(step)
            self._tenant.ask(requests.create_topic(self._cluster.real(topic)))

    def setting(self, about: Mapping[str, Any], _step: SeenStep) -> None:
        """A setting is changed while brokers run."""
        value = about["value"]
        why = why_invalid(about["name"], value)
        if why:
            raise Declined("ignored", why)
        self._granted(lambda: self._tenant.setting(about["name"], as_text(value)))

    def domain(self, about: Mapping[str, Any], _step: SeenStep) -> None:
        """The administrator says which brokers are of a failure domain."""
        name, brokers = about["name"], about["brokers"]
        if not brokers and name not in self._domains:
            raise Declined("ignored", f"there is no domain {name}")
        real = f"{self._tenant.name}-{name}"
        named = [self._cluster.brokers[one] for one in brokers]
        try:
            self._granted(lambda: self._tenant.domain(real, named))
        except Declined as declined:
            raise Declined("refused", declined.why) from None
        (self._domains.add if brokers else self._domains.discard)(name)
        path = f"{ADMIN}/clusters/{quote(self._standing.cluster)}/failureDomains"

        def heard(told: Any) -> bool:
            return set((told.get(real) or {}).get("brokers") or ()) == set(named)

        self._tenant.seen(self._cluster.every(path, heard), f"every broker knows {name}")

    def group(self, about: Mapping[str, Any], _step: SeenStep) -> None:
        """The administrator puts a namespace in an anti-affinity group, or in none."""
        self._known(about["namespace"])
        space = self._cluster.real(about["namespace"])
        group = None if about["group"] is None else f"{self._tenant.name}-{about['group']}"
        self._granted(lambda: self._tenant.ask(requests.set_group(space, group)))
        _, path, _ = requests.group_of(space)
        heard = self._cluster.every(path, lambda told: (told or None) == group)
        self._tenant.seen(heard, f"every broker knows the group of {about['namespace']}")

    def unload(self, about: Mapping[str, Any], _step: SeenStep) -> None:
        """The administrator unloads a topic, a bundle or a namespace."""
        if "namespace" in about:
            name = about["namespace"]
            if not any(bundle.startswith(f"{name}/") for bundle in self._observed.held):
                raise Declined("ignored", f"no broker owns any of {name}")
            asked = requests.unload_namespace(self._cluster.real(name))
        else:
            topic = about.get("topic") or about["bundleOf"]
            if self._owners.get(topic) is None:
                raise Declined("ignored", f"no broker owns {topic}")
            asked = requests.unload_topic(self._cluster.real(topic))
            if "topic" not in about:
                asked = requests.unload_bundle(self._cluster.real(self._bundle[topic]))
        self._granted(lambda: self._tenant.ask(asked))

    def split(self, about: Mapping[str, Any], _step: SeenStep) -> None:
        """The administrator splits a bundle; its parts go where that is the brokers' setting."""
        topic = about["bundleOf"]
        if topic not in self._bundle:
            raise Declined("ignored", f"{topic} is not in use")
        bundle = self._cluster.real(self._bundle[topic])
        unload = bool(self._standing.sight.settings.get(UNLOADS_PARTS))
        given = about.get("algorithm"), about.get("positions", ())
        asked = requests.split_bundle(bundle, *given, unload=unload)
        self._granted(lambda: self._tenant.ask(asked))

    def _settle(self, step: SeenStep) -> None:
        """See what has happened, let clients find their topics again, and see where they are."""
        spaces = dict.fromkeys(map(namespace_of, self._owners))
        divided = len(step.split)
        self._observed.look(spaces, step, lambda _: None)
        if step.split[divided:] and self._standing.sight.settings.get(UNLOADS_PARTS):
            parts = {part for one in step.split[divided:] for part in one["into"]}
            with suppress(Unsettled):  # some may stay
                self._tenant.seen(
                    lambda: not self._cluster.owned(spaces).keys() & parts, "the parts are released"
                )
            self._observed.look(spaces, step, lambda _: None)
        for topic in self._owners:
            self._find(topic)
        self._observed.look(spaces, step, lambda _: None)

    def _find(self, topic: str) -> None:
        """A client that has lost the owner of its topic, or has none, looks it up."""
        bundle = self._bundle.get(topic, "")
        if bundle.rpartition("/")[2] not in self._observed.divided(namespace_of(topic)):
            bundle = self._bundle[topic] = self._cluster.bundle_of(topic)
        held = self._observed.held.get(bundle)
        if held is not None:
            self._owners[topic] = held[0]
            return
        self._owners[topic] = owner = self._cluster.owner_of(topic)
        space = namespace_of(topic)
        # Some managers tell whoever asks for the owner before they count the bundle as owned.
        self._tenant.seen(
            lambda: self._cluster.owned([space]).get(bundle) == (owner, 0), f"{owner} owns {bundle}"
        )

    def _known(self, namespace: str) -> None:
        if namespace not in self._spaces:
            raise Declined("ignored", f"there is no namespace {namespace}")

    @staticmethod
    def _granted(ask: Callable[[], None]) -> None:
        """Errors: `Declined` for a request that is turned down."""
        try:
            ask()
        except NoAnswer as error:
            if error.status in UNREACHED:
                raise
            how = "ignored" if error.status in (MISSING, CONFLICT) else "refused"
            raise Declined(how, str(error)) from None


def as_text(value: Any) -> str:
    """The value of a setting as it is sent."""
    return str(value).lower() if isinstance(value, bool) else str(value)


UNLOADS_PARTS = "loadBalancerAutoUnloadSplitBundlesEnabled"

EVENTS: Mapping[str, Callable[[PlayedStory, Mapping[str, Any], SeenStep], None]] = {
    event.__name__: event
    for event in (
        PlayedStory.broker_up,
        PlayedStory.namespace,
        PlayedStory.topic,
        PlayedStory.setting,
        PlayedStory.domain,
        PlayedStory.group,
        PlayedStory.unload,
        PlayedStory.split,
    )
}
"""Those that an admin API can make happen, by the name that the protocol gives them."""
