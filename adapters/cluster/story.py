"""A story, really done: each event happens to the cluster, and what is seen is its answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

import jpype
from pulsar_conformance.adapters.admin_api import requests
from pulsar_conformance.adapters.admin_api.http import Reply
from pulsar_conformance.adapters.admin_api.observed import Declined, Observed, SeenStep
from pulsar_conformance.adapters.admin_api.requests import Request, namespace_of
from pulsar_conformance.adapters.admin_api.waiting import Unsettled
from pulsar_conformance.adapters.cluster.cluster import LiveCluster
from pulsar_conformance.adapters.cluster.timers import KINDS
from pulsar_conformance.adapters.cluster.written import Writings
from pulsar_conformance.adapters.pulsar.configuration import Configurations, Unsayable
from pulsar_conformance.adapters.pulsar.jvm import field, named
from pulsar_conformance.reference.cluster import RATE_FIELDS
from pulsar_conformance.reference.story.settings import why_invalid

UNLOADS_PARTS = "loadBalancerAutoUnloadSplitBundlesEnabled"
NOT_FOUND, CONFLICT = 404, 409


class LiveStory:
    """One story on one cluster, from its first event to its last."""

    def __init__(
        self,
        cluster: LiveCluster,
        settings: Mapping[str, Any],
        beneath: Mapping[str, Any],
        above: Mapping[str, Any],
    ) -> None:
        self._cluster = cluster
        self._file = dict(settings)
        self._beneath = beneath
        self._above = above
        self._clock = 0.0
        self._observed = Observed(cluster)
        self._written = Writings(cluster)
        self._spaces: list[str] = []
        self._topics: dict[str, dict[str, float]] = {}
        self._bundle: dict[str, str] = {}
        self._owners: dict[str, str | None] = {}
        self._since: dict[str, object] = {}
        self._domains: set[str] = set()
        self._later: list[Request] = []
        self._sheds = False
        """Whether time passes: the timers run, and shedding is one of them."""
        self._asked = 0

    def happen(self, kind: str, about: Mapping[str, Any]) -> dict[str, Any]:
        """Let an event happen, and tell what came of it."""
        step = SeenStep("admin" if kind in ("unload", "split") else "shed")
        try:
            EVENTS[kind](self, about, step)
        except Declined as declined:
            return {declined.how: declined.why}
        self._settle(step)
        self._written.look(self._clock, step)
        step.leader_node = self._cluster.leader_node()
        return step.answer(self._owners, self._cluster.leader())

    def broker_up(self, about: Mapping[str, Any], _step: SeenStep) -> None:
        """A broker starts; what the administrator wanted meanwhile is asked for now."""
        name = about["broker"]
        if name in self._cluster.brokers:
            raise Declined("ignored", f"{name} is up")
        self._start(name, about["capacity"])

    def _start(self, name: str, capacity: float) -> None:
        cluster = self._cluster
        cluster.start(name, capacity, self._beneath, self._file, self._above)
        cluster.brokers[name].timers.set_aside(self._clock)
        waiting, self._later = self._later, []
        for request in waiting:
            self._asks(request)

    def broker_down(self, about: Mapping[str, Any], step: SeenStep) -> None:
        """A broker crashes."""
        name = self._up(about)
        step.leaving = name
        self._cluster.crash(name)

    def restart(self, about: Mapping[str, Any], step: SeenStep) -> None:
        """A broker stops in order, others take what it had, and it starts anew."""
        name = self._up(about)
        step.leaving = name
        capacity = self._cluster.brokers[name].capacity
        self._cluster.stop(name)
        self._settle(step)
        self._start(name, capacity)

    def leader_lost(self, _about: Mapping[str, Any], _step: SeenStep) -> None:
        """Whoever leads loses the lead."""
        if not self._cluster.brokers:
            raise Declined("ignored", "no broker leads")
        self._cluster.depose()

    def namespace(self, about: Mapping[str, Any], _step: SeenStep) -> None:
        """The administrator creates a namespace, and its tenant before."""
        name = about["name"]
        if name in self._spaces:
            raise Declined("ignored", f"{name} exists")
        self._asks(requests.create_tenant(name.partition("/")[0]))
        self._asks(requests.create_namespace(name, about.get("bundles")), granted=True)
        self._spaces.append(name)

    def topic(self, about: Mapping[str, Any], step: SeenStep) -> None:
        """Clients use a topic, from now on with these rates."""
        name = about["topic"]
        if namespace_of(name) not in self._spaces:
            raise Declined("ignored", f"there is no namespace {namespace_of(name)}")
        check_name(name)
        first = name not in self._topics
        self._topics[name] = {rate: float(about.get(rate, 0)) for rate in RATE_FIELDS}
        if first:
            self._owners[name] = None
            self._settle(step)
            self._asks(requests.create_topic(name))

    def setting(self, about: Mapping[str, Any], _step: SeenStep) -> None:
        """A setting is changed in the brokers' files, or while they run."""
        name, value = about["name"], about["value"]
        why = why_invalid(name, value)
        if why:
            raise Declined("ignored", why)
        if about["how"] == "conf":
            self._file[name] = value
            return
        written = str(value).lower() if isinstance(value, bool) else str(value)
        self._asks(requests.set_dynamic(name, written), granted=True)
        wanted = Configurations({}).of({name: value})
        held = field(wanted, name)
        if held is not None:
            expected = held.get(wanted)
            self._cluster.alarm.until(
                lambda: all(
                    one.setting(name) == expected for one in self._cluster.brokers.values()
                ),
                f"every broker takes {name} over",
            )

    def domain(self, about: Mapping[str, Any], _step: SeenStep) -> None:
        """The administrator says which brokers are of a failure domain."""
        name, brokers = about["name"], about["brokers"]
        if not brokers and name not in self._domains:
            raise Declined("ignored", f"there is no domain {name}")
        named = [self._cluster.ports(one).broker for one in brokers]
        try:
            self._asks(requests.set_domain(name, named), granted=True)
        except Declined as declined:
            raise Declined("refused", declined.why) from None
        (self._domains.add if brokers else self._domains.discard)(name)

    def group(self, about: Mapping[str, Any], _step: SeenStep) -> None:
        """The administrator puts a namespace in an anti-affinity group."""
        if about["namespace"] not in self._spaces:
            raise Declined("ignored", f"there is no namespace {about['namespace']}")
        self._asks(requests.set_group(about["namespace"], about["group"]), granted=True)

    def unload(self, about: Mapping[str, Any], _step: SeenStep) -> None:
        """The administrator unloads a topic, a bundle or a namespace."""
        if "namespace" in about:
            name = about["namespace"]
            if not any(bundle.startswith(f"{name}/") for bundle in self._observed.held):
                raise Declined("ignored", f"no broker owns any of {name}")
            self._asks(requests.unload_namespace(name), granted=True)
            return
        topic = about.get("topic") or about["bundleOf"]
        if self._owners.get(topic) is None:
            raise Declined("ignored", f"no broker owns {topic}")
        asked = requests.unload_topic(topic)
        if "topic" not in about:
            asked = requests.unload_bundle(self._bundle[topic])
        self._asks(asked, granted=True)

    def split(self, about: Mapping[str, Any], _step: SeenStep) -> None:
        """The administrator splits a bundle; its parts go where that is the brokers' setting."""
        topic = about["bundleOf"]
        if topic not in self._bundle or not self._cluster.brokers:
            raise Declined("ignored", f"{topic} is not in use")
        bundle = self._bundle[topic]
        unload = self._unloads_parts()
        positions = about.get("positions", ())
        algorithm = about.get("algorithm")
        asked = requests.split_bundle(bundle, algorithm, positions, unload=unload)
        self._asks(asked, granted=True)

    def tick(self, about: Mapping[str, Any], step: SeenStep) -> None:
        """Time passes, and brokers do what they have scheduled."""
        end = self._clock + about["minutes"]
        step.time_passed = self._sheds = True
        try:
            while self._run_next(end, step):
                pass
        finally:
            self._sheds = False
        self._pass(end)

    def _run_next(self, end: float, step: SeenStep) -> bool:
        """Run what is due next, if anything is by then: all tasks of one kind and time."""
        waiting = [
            (timer.due, KINDS.index(timer.kind), broker, timer)
            for broker in self._cluster.brokers.values()
            for timer in broker.timers.due(end)
        ]
        if not waiting:
            return False
        first = min((due, kind) for due, kind, _, _ in waiting)
        self._pass(first[0])
        self._feel()

        for due, kind, broker, timer in waiting:
            if (due, kind) == first:
                broker.timers.run(timer)
        self._cluster.heard()
        for broker in self._cluster.brokers.values():
            broker.timers.set_aside(self._clock)
        self._written.look(self._clock, step)
        self._settle(step)
        return True

    def _pass(self, clock: float) -> None:
        minutes = max(0.0, clock - self._clock)
        self._clock = max(clock, self._clock)
        if minutes:
            for broker in self._cluster.brokers.values():
                broker.manager.passes(minutes)

    def _feel(self) -> None:
        """Every broker feels what the topics carry that it owns."""
        tables: dict[str, dict[str, dict[str, float]]] = {}
        for topic, rates in self._topics.items():
            owner, bundle = self._owners.get(topic), self._bundle.get(topic, "")
            if owner is not None:
                stats = tables.setdefault(owner, {}).setdefault(bundle, {"topics": 0})
                stats["topics"] += 1
                for name, value in rates.items():
                    stats[name] = stats.get(name, 0.0) + value
        for name, broker in self._cluster.brokers.items():
            table = tables.get(name, {})
            carried = (one["msgThroughputIn"] + one["msgThroughputOut"] for one in table.values())
            broker.feel(sum(carried), table)

    def _settle(self, step: SeenStep) -> None:
        """See what has happened, let clients find their topics again, and see where they are."""
        spaces = dict.fromkeys(map(namespace_of, self._topics))
        divided = len(step.split)
        self._observed.look(spaces, step, self._why)
        if step.split[divided:] and self._cluster.brokers and self._unloads_parts():
            self._parts_go([part for one in step.split[divided:] for part in one["into"]])
            self._observed.look(spaces, step, self._why)
        if not self._cluster.brokers:
            self._owners = dict.fromkeys(self._owners)
            return
        for topic in self._topics:
            self._find(topic, step)
        self._observed.look(spaces, step, self._why)

    def _parts_go(self, parts: Collection[str]) -> None:
        """Wait until the parts are released that an owner still has; some may stay."""
        spaces = {one.rpartition("/")[0] for one in parts}

        def gone() -> bool:
            return not self._cluster.owned(spaces).keys() & set(parts)

        first = next(iter(self._cluster.brokers.values()))
        with suppress(Unsettled):
            self._cluster.alarm.until(gone, "the parts are released", first.manager.parts_go)

    def _find(self, topic: str, step: SeenStep) -> None:
        """A client that has lost the owner of its topic, or has none, looks it up."""
        space = namespace_of(topic)
        ranges = self._observed.divided(space)
        if self._bundle.get(topic, "").rpartition("/")[2] not in ranges:
            part = self._read(self._asks(requests.bundle_of(topic))).text
            self._bundle[topic] = f"{space}/{part}"
        held = self._observed.held.get(self._bundle[topic])
        if held is not None and self._since.get(topic) == held:
            return
        reply = self._read(self._asks(requests.look_up(topic)))
        port = int(reply.read["httpUrl"].rpartition(":")[2])
        self._owners[topic] = self._cluster.name_of(port)
        if held is None:
            passing = next((hop.port for hop in reply.hops if hop.authoritative), reply.port)
            step.decided_by = step.decided_by or self._cluster.name_of(passing)
        now = self._cluster.owned([space]).get(self._bundle[topic])
        self._since[topic] = now

    @staticmethod
    def _read(reply: Reply | None) -> Reply:
        if reply is None or not reply.fine:
            raise Unsettled(reply.why if reply else "no broker is up")
        return reply

    def _why(self, bundle: str) -> str | None:
        """The leader remembers what it has shed, while time passes and at any time before."""
        if not self._sheds:
            return None
        leader = self._cluster.leader()
        manager = self._cluster.brokers[leader].manager if leader else None
        return "shed" if manager is not None and bundle in manager.shed() else None

    def _unloads_parts(self) -> bool:
        broker = next(iter(self._cluster.brokers.values()))
        return bool(broker.setting(UNLOADS_PARTS))

    def _asks(self, request: Request, *, granted: bool = False) -> Reply | None:
        """Ask a broker, each in turn; with none up, as soon as one is.

        What is changed by that, all brokers have heard of.

        Errors: `Declined` for a request that has to be granted, and is not.
        """
        if not self._cluster.brokers:
            self._later.append(request)
            return None
        self._asked += 1
        method, path, body = request
        reply = self._cluster.ask(method, path, body, of=self._asked)
        if granted and not reply.fine:
            how = "ignored" if reply.status in (NOT_FOUND, CONFLICT) else "refused"
            raise Declined(how, reply.why)
        if method != "GET":
            self._cluster.heard()
        return reply

    def _up(self, about: Mapping[str, Any]) -> str:
        name: str = about["broker"]
        if name not in self._cluster.brokers:
            raise Declined("ignored", f"{name} is not up")
        return name


def check_name(topic: str) -> None:
    """Errors: `Unsayable` where the release reads a topic's name otherwise, or not at all.

    It takes four parts for tenant, cluster, namespace and topic; or it has no such names any more.
    """
    try:
        space = str(named("org.apache.pulsar.common.naming.TopicName").get(topic).getNamespace())
    except jpype.JException as error:
        raise Unsayable(f"{topic} is no topic: {error.getMessage()}") from None
    if space != namespace_of(topic):
        raise Unsayable(f"{topic} is read as a topic of {space}")


Happen = Callable[[LiveStory, Mapping[str, Any], SeenStep], None]

EVENTS: Mapping[str, Happen] = {
    event.__name__: event
    for event in (
        LiveStory.broker_up,
        LiveStory.broker_down,
        LiveStory.restart,
        LiveStory.leader_lost,
        LiveStory.namespace,
        LiveStory.topic,
        LiveStory.setting,
        LiveStory.domain,
        LiveStory.group,
        LiveStory.unload,
        LiveStory.split,
        LiveStory.tick,
    )
}
"""By the name that the protocol gives them."""


def replay(
    cluster: LiveCluster,
    case: Mapping[str, Any],
    beneath: Mapping[str, Any],
    above: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    """One step an event, on a cluster that is brought back to the beginning."""
    cluster.begin()
    cluster.doomed = {
        event["broker_down"]["broker"] for event in case["events"] if "broker_down" in event
    }
    story = LiveStory(cluster, case["settings"], beneath, above)
    for event in case["events"]:
        [(kind, about)] = event.items()
        yield story.happen(kind, about)
