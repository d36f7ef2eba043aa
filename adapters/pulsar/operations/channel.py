"""Answers to channel.apply by the channel's own conflict resolver and lookup."""

from __future__ import annotations

from typing import Any

import jpype
from pulsar_conformance.adapters.pulsar.jvm import (
    Java,
    capitalized,
    class_exists,
    field,
    java_class,
)
from pulsar_conformance.adapters.pulsar.release import Answer, Case, Release, Unsupported
from pulsar_conformance.adapters.pulsar.service import Service
from pulsar_conformance.adapters.pulsar.shells import completed_future, java_optional

PACKAGE = "org.apache.pulsar.broker.loadbalance.extensions"
CHANNEL, STATE, DATA, TABLE = (
    f"{PACKAGE}.channel.ServiceUnitState{name}" for name in ("ChannelImpl", "", "Data", "TableView")
)
RESOLVERS = tuple(
    f"{PACKAGE}.channel.ServiceUnitState{name}"
    for name in ("DataConflictResolver", "CompactionStrategy")
)
"""Names of the class that decides which changes are ignored, the newer name first."""

REGISTRY = f"{PACKAGE}.BrokerRegistry"
LOOKUP_MILLIS = 2**31
"""Time in milliseconds for which a lookup waits, longer than any run."""


def apply_changes(release: Release, case: Case) -> Answer:
    """Return the states that the resolver accepts, and the results of lookups after them.

    Errors: `Unsupported` for a release without the extensible load manager, and for lookups in a
    release whose channel reads the topic itself.
    """
    resolver = next(filter(class_exists, RESOLVERS), None)
    if resolver is None:
        raise Unsupported("this release has no channel for the states of bundles")
    if case["lookups"] and not class_exists(TABLE):
        raise Unsupported("this release answers lookups from the topic, not from a table view")
    strategy = java_class(resolver)()
    units = {name: _channel_message(one, 1) for name, one in case["units"].items()}
    ignored = []
    for place, change in enumerate(case["changes"]):
        before = units.get(change["bundle"])
        data = _channel_message(change, 1 if before is None else int(before.versionId()) + 1)
        if strategy.shouldKeepLeft(before, data):
            ignored.append(place)
        else:
            units[change["bundle"]] = data
    lookups = _LookupChannel(release, units).found(case["lookups"]) if case["lookups"] else []
    return {
        "units": {name: _assignment_as_json(one) for name, one in units.items()},
        "ignored": ignored,
        "lookups": lookups,
    }


def _channel_message(unit: Case, version: int) -> Java:
    """Return a channel message with this state and version."""
    state = java_class(STATE).valueOf(capitalized(unit["state"]))
    return java_class(DATA)(state, unit["to"], unit["from"], jpype.JLong(version))


def _assignment_as_json(data: Java) -> dict[str, Any]:
    brokers = (data.dstBroker(), data.sourceBroker())
    to, source = (None if one is None else str(one) for one in brokers)
    return {"state": str(data.state().name()).lower(), "to": to, "from": source}


class _LookupChannel:
    """A broker's channel that has read all changes and answers lookups; all brokers are active."""

    def __init__(self, release: Release, units: dict[str, Java]) -> None:
        active = completed_future(java_optional(java_class("java.lang.Object")()))
        replies = {
            "ServiceUnitStateTableView.get": lambda bundle: units.get(str(bundle)),
            "isRegistered": True,
            "lookupAsync": lambda _broker: active,
        }
        service = Service(release.configuration({}), replies=replies)
        self._channel = service.shells.unconstructed_object(CHANNEL)
        self._set_field("config", service.configuration)
        self._set_field("tableview", service.shells.stub_of(TABLE))
        self._set_field("brokerRegistry", service.shells.stub_of(REGISTRY))
        self._set_field("inFlightStateWaitingTimeInMillis", jpype.JLong(LOOKUP_MILLIS))
        self._set_field("ownerLookUpCounters", _counters())
        started = field(self._channel, "channelState").getType().getEnumConstants()
        [state] = [one for one in started if str(one) == "Started"]
        self._set_field("channelState", state)

    def _set_field(self, name: str, value: Java) -> None:
        field(self._channel, name).set(self._channel, value)

    def found(self, lookups: list[Case]) -> list[dict[str, str]]:
        """Return the result of each lookup, each as if it were the broker's first."""
        return [self._look_up(lookup["bundle"], lookup["at"]) for lookup in lookups]

    def _look_up(self, bundle: str, broker: str) -> dict[str, str]:
        self._set_field("brokerId", broker)
        self._set_field("getOwnerRequests", java_class("java.util.concurrent.ConcurrentHashMap")())
        owner = self._channel.getOwnerAsync(bundle)
        if not owner.isDone():
            return {"does": "wait"}
        if owner.isCompletedExceptionally():
            return {"does": "fail"}
        found = owner.join()
        if not found.isPresent():
            return {"does": "assign"}
        return {"does": "redirect", "to": str(found.get())}


def _counters() -> Java:
    """Return counters of the lookups of each state, all at 0."""
    found = java_class("java.util.HashMap")()
    for state in java_class(STATE).values():
        found.put(state, java_class(f"{CHANNEL}$Counters")())
    return found
