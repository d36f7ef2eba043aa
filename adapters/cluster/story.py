"""Stories played on a cluster: each event is carried out, and its result observed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import jpype
from pulsar_conformance.adapters.admin_api import requests
from pulsar_conformance.adapters.admin_api.http import Reply
from pulsar_conformance.adapters.admin_api.observed import EventDeclined, ObservedStep
from pulsar_conformance.adapters.admin_api.requests import Request, namespace_of_topic
from pulsar_conformance.adapters.admin_api.stories import (
    UNLOADS_PARTS,
    StoryPlayer,
    setting_text,
    word_for_status,
)
from pulsar_conformance.adapters.admin_api.waiting import ConditionTimeout
from pulsar_conformance.adapters.cluster.cluster import LiveCluster
from pulsar_conformance.adapters.cluster.timers import KINDS
from pulsar_conformance.adapters.cluster.written import WriteObserver
from pulsar_conformance.adapters.pulsar.configuration import Configurations, Inexpressible
from pulsar_conformance.adapters.pulsar.jvm import field, java_class
from pulsar_conformance.reference.cluster import RATE_FIELDS


class LiveStory(StoryPlayer):
    """A story on a cluster that the suite starts; such a cluster can play every event."""

    def __init__(
        self,
        cluster: LiveCluster,
        settings: Mapping[str, Any],
        defaults: Mapping[str, Any],
        overrides: Mapping[str, Any],
    ) -> None:
        super().__init__(cluster)
        self._cluster = cluster
        self._file = dict(settings)
        self._defaults = defaults
        self._overrides = overrides
        self._clock = 0.0
        self._written = WriteObserver(cluster)
        self._rates: dict[str, dict[str, float]] = {}
        self._since: dict[str, object] = {}
        self._later: list[Request] = []
        self._sheds = False
        """True while time passes in the story: the timer for shedding may run only then."""
        self._asked = 0

    def unload_reason(self, kind: str) -> str:
        """Return "admin" for an unload or a split, "stop" if a broker is stopped, and otherwise
        "shed".
        """
        return {"unload": "admin", "split": "admin", "broker_stop": "stop"}.get(kind, "shed")

    def answer(self, step: ObservedStep) -> dict[str, Any]:
        """Return the result of an event.

        It includes the data that brokers wrote, and the broker that the leader's metadata node
        names.
        """
        self._written.observe(self._clock, step)
        step.leader_node = self._cluster.leader_node()
        return step.answer(self.owners, self._cluster.leader())

    def has_broker(self) -> bool:
        """True if at least one broker is up."""
        return bool(self._cluster.brokers)

    def broker_up(self, about: Mapping[str, Any], _step: ObservedStep) -> None:
        """Start a broker, then send the administrator's requests that waited for one."""
        name = about["broker"]
        if name in self._cluster.brokers:
            raise EventDeclined("ignored", f"{name} is up")
        self._start(name, about["capacity"])

    def _start(self, name: str, capacity: float) -> None:
        cluster = self._cluster
        cluster.start(name, capacity, self._defaults, self._file, self._overrides)
        cluster.brokers[name].timers.set_aside(self._clock)
        waiting, self._later = self._later, []
        for request in waiting:
            self.ask(request)

    def broker_down(self, about: Mapping[str, Any], step: ObservedStep) -> None:
        """Crash a broker."""
        name = self._running_broker(about)
        step.leaving = name
        self._cluster.crash(name)

    def broker_stop(self, about: Mapping[str, Any], step: ObservedStep) -> None:
        """Shut a broker down gracefully.

        Bundles that the broker owned before but not afterwards are reported as unloaded.
        """
        name = self._running_broker(about)
        step.stopping = name
        self._cluster.stop(name)

    def broker_id(self, name: str) -> str:
        """Return the name under which a broker registers; the broker need not be running."""
        return self._cluster.ports(name).broker

    def restart(self, about: Mapping[str, Any], step: ObservedStep) -> None:
        """Shut a broker down gracefully, let other brokers take its bundles, and start it again."""
        name = self._running_broker(about)
        step.leaving = name
        capacity = self._cluster.brokers[name].capacity
        self._cluster.stop(name)
        self.record_changes(step)
        self._start(name, capacity)

    def leader_lost(self, _about: Mapping[str, Any], _step: ObservedStep) -> None:
        """Make the leader lose the leadership, so that a new leader is elected."""
        if not self._cluster.brokers:
            raise EventDeclined("ignored", "no broker leads")
        self._cluster.depose_leader()

    def create_namespace(self, name: str, bundles: int | None) -> None:
        """Create a namespace; create its tenant first."""
        self.ask(requests.create_tenant(name.partition("/")[0]))
        self.send_or_decline(requests.create_namespace(name, bundles))

    def set_topic_traffic(self, topic: str, about: Mapping[str, Any]) -> None:
        """Set a topic's rates. Errors: `Inexpressible`."""
        check_topic_name(topic)
        self._rates[topic] = {rate: float(about.get(rate, 0)) for rate in RATE_FIELDS}

    def change_setting(self, name: str, value: Any, how: str) -> None:
        """Change a setting in the brokers' files or dynamically."""
        if how == "conf":
            self._file[name] = value
            return
        self.send_or_decline(requests.set_dynamic_setting(name, setting_text(value)))
        wanted = Configurations({}).of({name: value})
        held = field(wanted, name)
        if held is not None:
            expected = held.get(wanted)
            self._cluster.alarm.wait_until(
                lambda: all(
                    one.setting(name) == expected for one in self._cluster.brokers.values()
                ),
                f"every broker applies {name}",
            )

    def set_domain(self, name: str, brokers: Sequence[str]) -> None:
        """Register brokers, even if they are not running, in a failure domain by their registered
        names.
        """
        self.send_or_decline(
            requests.set_domain(name, [self._cluster.ports(one).broker for one in brokers])
        )

    def set_group(self, namespace: str, group: str | None) -> None:
        """Set or remove a namespace's anti-affinity group."""
        self.send_or_decline(requests.set_group(namespace, group))

    def tick(self, about: Mapping[str, Any], step: ObservedStep) -> None:
        """Let the story's time pass: run the tasks that brokers have scheduled for this period."""
        end = self._clock + about["minutes"]
        step.time_passed = self._sheds = True
        try:
            while self._run_next_tasks(end, step):
                pass
        finally:
            self._sheds = False
        self._advance_clock(end)

    def _run_next_tasks(self, end: float, step: ObservedStep) -> bool:
        """Run the tasks of one kind that are due next; return False if no task is due."""
        waiting = [
            (timer.due, KINDS.index(timer.kind), broker, timer)
            for broker in self._cluster.brokers.values()
            for timer in broker.timers.due(end)
        ]
        if not waiting:
            return False
        first = min((due, kind) for due, kind, _, _ in waiting)
        self._advance_clock(first[0])
        self._set_loads()

        for due, kind, broker, timer in waiting:
            if (due, kind) == first:
                broker.timers.run(timer)
        self._cluster.wait_processed()
        for broker in self._cluster.brokers.values():
            broker.timers.set_aside(self._clock)
        self._written.observe(self._clock, step)
        self.record_changes(step)
        return True

    def _advance_clock(self, clock: float) -> None:
        minutes = max(0.0, clock - self._clock)
        self._clock = max(clock, self._clock)
        if minutes:
            for broker in self._cluster.brokers.values():
                broker.manager.make_memory_older(minutes)

    def _set_loads(self) -> None:
        """Set each broker's measured load to the load of the topics that it serves."""
        tables: dict[str, dict[str, dict[str, float]]] = {}
        for topic, rates in self._rates.items():
            owner, bundle = self.owners.get(topic), self.bundle.get(topic, "")
            if owner is not None:
                stats = tables.setdefault(owner, {}).setdefault(bundle, {"topics": 0})
                stats["topics"] += 1
                for name, value in rates.items():
                    stats[name] = stats.get(name, 0.0) + value
        for name, broker in self._cluster.brokers.items():
            table = tables.get(name, {})
            carried = (one["msgThroughputIn"] + one["msgThroughputOut"] for one in table.values())
            broker.set_load(sum(carried), table)

    def wait_for_release(self, parts: Collection[str]) -> None:
        """Wait until the parts are released, but at most for the load manager's
        `release_seconds`.
        """
        spaces = {one.rpartition("/")[0] for one in parts}
        first = next(iter(self._cluster.brokers.values()))
        with suppress(ConditionTimeout):
            self._cluster.alarm.wait_until(
                lambda: not self._cluster.owned_bundles(spaces).keys() & set(parts),
                "the parts are released",
                first.manager.release_seconds,
            )

    def look_up_owner(self, topic: str, step: ObservedStep) -> None:
        """Look up a topic; if its bundle had no owner, record which broker chose one."""
        space = namespace_of_topic(topic)
        if not self.looked_up_bundle_exists(topic):
            part = self._read(self.ask(requests.bundle_of(topic))).text
            self.bundle[topic] = f"{space}/{part}"
        held = self.observed.held.get(self.bundle[topic])
        if held is not None and self._since.get(topic) == held:
            return
        reply = self._read(self.ask(requests.look_up(topic)))
        port = int(reply.read["httpUrl"].rpartition(":")[2])
        self.owners[topic] = self._cluster.name_of(port)
        if held is None:
            passing = next((hop.port for hop in reply.hops if hop.authoritative), reply.port)
            step.decided_by = step.decided_by or self._cluster.name_of(passing)
        self._since[topic] = self._cluster.owned_bundles([space]).get(self.bundle[topic])

    @staticmethod
    def _read(reply: Reply | None) -> Reply:
        if reply is None or not reply.is_success:
            raise ConditionTimeout(reply.rejection if reply else "no broker is up")
        return reply

    def why_released(self, bundle: str) -> str | None:
        """Return "shed" if the leader remembers having shed the bundle."""
        if not self._sheds:
            return None
        leader = self._cluster.leader()
        manager = self._cluster.brokers[leader].manager if leader else None
        return "shed" if manager is not None and bundle in manager.recently_shed() else None

    def unloads_parts(self) -> bool:
        """True if the first broker is configured to unload the parts of split bundles."""
        broker = next(iter(self._cluster.brokers.values()))
        return bool(broker.setting(UNLOADS_PARTS))

    def send_or_decline(self, request: Request) -> None:
        """Send a request, once a broker is running. Errors: `EventDeclined` if it is rejected."""
        reply = self.ask(request)
        if reply is not None and not reply.is_success:
            raise EventDeclined(word_for_status(reply.status), reply.rejection)

    def ask(self, request: Request) -> Reply | None:
        """Send a request to the next broker in turn, or keep it until one is running.

        When this returns, all brokers know the changes that the request made.
        """
        if not self._cluster.brokers:
            self._later.append(request)
            return None
        self._asked += 1
        method, path, body = request
        reply = self._cluster.ask(method, path, body, index=self._asked)
        if method != "GET":
            self._cluster.wait_processed()
        return reply

    def _running_broker(self, about: Mapping[str, Any]) -> str:
        name: str = about["broker"]
        if name not in self._cluster.brokers:
            raise EventDeclined("ignored", f"{name} is not up")
        return name


def check_topic_name(topic: str) -> None:
    """Check that the release reads the same namespace from a topic's name as the suite.

    Some releases read a name of four parts as tenant, cluster, namespace and topic; other releases
    reject it. Errors: `Inexpressible`.
    """
    try:
        space = str(
            java_class("org.apache.pulsar.common.naming.TopicName").get(topic).getNamespace()
        )
    except jpype.JException as error:
        raise Inexpressible(f"{topic} is not a topic: {error.getMessage()}") from None
    if space != namespace_of_topic(topic):
        raise Inexpressible(f"this release reads {topic} as a topic of the namespace {space}")


def replay(
    cluster: LiveCluster,
    case: Mapping[str, Any],
    defaults: Mapping[str, Any],
    overrides: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    """Reset the cluster, play a story, and yield one step for each event.

    Errors: `Inexpressible`.
    """
    cluster.begin()
    cluster.doomed = {
        event["broker_down"]["broker"] for event in case["events"] if "broker_down" in event
    }
    story = LiveStory(cluster, case["settings"], defaults, overrides)
    for event in case["events"]:
        [(kind, about)] = event.items()
        yield story.play_event(kind, about)
