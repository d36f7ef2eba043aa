"""The broker that is asked for decisions: it runs as leader; the others are only registered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from pulsar_conformance.adapters.admin_api.http import NoAnswer, Reply
from pulsar_conformance.adapters.admin_api.requests import Request, create_tenant
from pulsar_conformance.adapters.cluster.broker import LiveBroker
from pulsar_conformance.adapters.cluster.cluster import LiveCluster
from pulsar_conformance.adapters.cluster.decisions.names import BrokerNames
from pulsar_conformance.adapters.cluster.decisions.requested import RequestRecorder
from pulsar_conformance.adapters.cluster.standins import NEUTRAL
from pulsar_conformance.adapters.pulsar.jvm import Java, call, field
from pulsar_conformance.adapters.pulsar.release import RejectedRequest, Release, Unsupported

CAPACITY = 1e8
"""Capacity of the running broker in bytes per second; it has no influence on decisions."""

DEFAULT_BROKER = "broker"
"""Name of the running broker if a question names no broker."""

SERVER_ERROR = 500
SECONDS = 3.0
"""Time limit of a request to the broker in seconds; most take a tenth of a second."""


class FailedRequest(Exception):
    """Raised for a request that failed in the broker; the message quotes the reason, if any."""


class AskedLeader:
    """The leader of a cluster that is reset for every question."""

    def __init__(
        self,
        cluster: LiveCluster,
        version: str,
        defaults: Mapping[str, Any],
        overrides: Mapping[str, Any],
    ) -> None:
        self.cluster = cluster
        self.defaults = defaults
        self.overrides = overrides
        self.release = Release(version, defaults, identify=lambda name: self.names.identify(name))
        """The release, which identifies a question's brokers by their registered names."""
        self._requests: RequestRecorder | None = None
        self._question: Mapping[str, Any] | None = None
        self.remembered: Any = None
        """The result of the last question, which is stored in `_question`."""

    def begin(self, settings: Mapping[str, Any], brokers: Iterable[str] = ()) -> None:
        """Start the first of these brokers as leader; only register the others.

        Errors: `Inexpressible`.
        """
        self._question = None
        running, *others = dict.fromkeys(brokers) or [DEFAULT_BROKER]
        self.cluster.begin()
        self.cluster.doomed = ()
        overrides = {**self._weights(settings), **self.overrides}
        self.cluster.start(running, CAPACITY, self.defaults, settings, overrides)
        broker = self.cluster.brokers[running]
        assert isinstance(broker, LiveBroker), "it is not going to crash"
        self.broker = broker
        self.broker.timers.set_aside(0.0)
        self.names = BrokerNames(running, self.broker.ports.broker)
        self._register_brokers(others)

    def remember(self, question: Mapping[str, Any], result: Any) -> None:
        """Store the result of a question, for use if the next question is the same."""
        self._question, self.remembered = question, result

    def has_answered(self, question: Mapping[str, Any]) -> bool:
        """True if the last question was the same and the broker that answered it still runs."""
        up = self._question is not None and self.broker in self.cluster.brokers.values()
        return up and question == self._question

    def _weights(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the weight of each resource: the question's or, without one, the default.

        Only stories set some weights to 0; a question gives the usage of all resources.
        """
        given = {**self.defaults, **settings}
        return {
            name: given.get(name, value) for name, value in self._default_weights_by_name.items()
        }

    @cached_property
    def _default_weights_by_name(self) -> Mapping[str, float]:
        """The release's default of each setting in `NEUTRAL` that it has."""
        usual = {name: self.release.configurations.default(name) for name in NEUTRAL}
        return {name: float(value) for name, value in usual.items() if value is not None}

    def _register_brokers(self, others: Iterable[str]) -> None:
        """Register brokers that do not run, by a metadata node for each."""
        metadata, own = self.cluster.metadata, self.broker.ports.broker
        ids = [self.names.identify(name) for name in others]
        if not ids:
            return
        said = metadata.report(own)
        for one in ids:
            metadata.register(one, said.replace(own, one))
        self.cluster.wait_processed()
        manager = self.broker.manager
        self.cluster.alarm.wait_until(
            lambda: set(ids) <= manager.known_brokers(), "the leader knows all brokers"
        )
        manager.finish_pending_work()

    def requests(self) -> RequestRecorder:
        """Return the server that records the leader's requests; start it if necessary."""
        self._requests = self._requests or RequestRecorder()
        self._requests.receive_requests_of(self.broker.service)
        return self._requests

    @property
    def manager(self) -> Java:
        """The load manager of the running broker."""
        return self.broker.manager.java

    @property
    def load_data(self) -> Java:
        """The load data of the running broker's modular manager."""
        return field(self.manager, "loadData").get(self.manager)

    def frozen_load_data(self) -> Java:
        """Make the manager ignore further updates of its load data, and return the load data."""
        self.broker.manager.ignore_updates()
        return self.load_data

    def await_domains(self, domains: Mapping[str, Iterable[str]]) -> None:
        """Wait until the load manager knows these failure domains. Errors: `ConditionTimeout`."""
        if not self.broker.service.getConfiguration().isFailureDomainsEnabled():
            return
        written = {self.names.identify(one): name for name, some in domains.items() for one in some}
        known = field(self.manager, "brokerToFailureDomainMap").get(self.manager)
        self.cluster.alarm.wait_until(
            lambda: {str(one.getKey()): str(one.getValue()) for one in known.entrySet()} == written,
            "the leader knows the failure domains",
        )

    def bundle(self, name: str) -> Java:
        """Return a bundle as the Java object that the broker expects."""
        space, _, part = name.rpartition("/")
        factory = self.broker.service.getNamespaceService().getNamespaceBundleFactory()
        return call(factory, "getBundle", space, part)

    def ask(self, request: Request) -> Reply:
        """Send a request to the running broker. Errors: `RejectedRequest`, `FailedRequest`."""
        method, path, body = request
        try:
            reply = self.cluster.ask(method, path, body, seconds=SECONDS)
        except NoAnswer:
            raise FailedRequest(f"the request was not answered within {SECONDS:g} s") from None
        if reply.is_success:
            return reply
        if reply.status < SERVER_ERROR:
            raise RejectedRequest(reply.rejection)
        raise FailedRequest(reply.rejection)

    def create_tenants(self, spaces: Iterable[str]) -> None:
        """Create the tenants to which namespaces belong. Errors: `Unsupported`, `FailedRequest`."""
        for tenant in dict.fromkeys(space.partition("/")[0] for space in spaces):
            self.send_setup(create_tenant(tenant))

    def send_setup(self, request: Request) -> None:
        """Send a request that prepares a question. Errors: `Unsupported` if it is rejected,
        `FailedRequest`.
        """
        try:
            self.ask(request)
        except RejectedRequest as declined:
            what = " ".join(request[:2])
            raise Unsupported(f"the question cannot be set up: {what}: {declined}") from None
