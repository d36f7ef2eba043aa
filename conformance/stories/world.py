"""The part of a cluster's state that depends only on events: brokers, topics in use, settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.cluster import Rates
from pulsar_conformance.reference.context import Value
from pulsar_conformance.reference.numbers import ZERO, Fraction, exact
from pulsar_conformance.reference.shedding import STRATEGY
from pulsar_conformance.reference.story.events import DEFAULT_BUNDLES, why_invalid

CHANGES_OF_LEADERS = ("broker_down", "broker_stop", "restart", "leader_lost")
"""Events after which another broker may be the leader."""


@dataclass(frozen=True)
class ChangedSetting:
    """A setting that was changed while brokers ran, and the brokers that lack the new value."""

    former: Value
    latest: Value
    waiting: frozenset[str]
    """Brokers that were started before the change and have not been restarted."""
    values_differ: bool
    """True if some brokers started before the change, and others after it."""
    how: str
    known: bool
    """True if the value before the change was certainly in force."""


@dataclass(frozen=True)
class Moment:
    """An event, and the state of the cluster after it, except what a load balancer decides."""

    base: Settings
    place: int = 0
    """Number of the event; the first event has number 1."""
    kind: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)
    valid: bool = True
    """True if the event is possible at this point."""
    clock: Fraction = ZERO
    brokers: Mapping[str, Fraction] = field(default_factory=dict)
    """Capacity of each broker that is up."""
    topics: Mapping[str, Rates] = field(default_factory=dict)
    spaces: Mapping[str, int | None] = field(default_factory=dict)
    """Number of bundles with which each namespace was created; None if unknown."""
    domains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    domains_unknown: bool = False
    """True after a broker was registered in a second domain: it may be in either of the two."""
    changed: Mapping[str, ChangedSetting] = field(default_factory=dict)

    @classmethod
    def first(cls, settings: Settings) -> Moment:
        """Return the moment before the first event."""
        return cls(settings)

    def is_known(self, name: str) -> bool:
        """True if a setting's effective value is certain.

        A new value is certain once every broker has started after the change. For the shedding
        strategy, the former value is certain until the first broker has started. [SHED-10]
        """
        one = self.changed.get(name)
        if one is None or not one.waiting:
            return True
        return name == STRATEGY and one.how == "dynamic" and not one.values_differ and one.known

    def value(self, name: str) -> Value:
        """Return a setting's effective value, assumed to be certain. Errors: `MissingSetting`."""
        one = self.changed.get(name)
        if one is None:
            return self.base.value(name)
        return one.former if one.waiting else one.latest

    def settings(self) -> Settings:
        """Return all settings; a setting whose value is uncertain has its initial value."""
        values = {name: self.value(name) for name in self.changed if self.is_known(name)}
        return Settings({**self.base.given, **values}, self.base.defaults)


NOBODY = ""
"""A name that no broker has.

If a setting with a dynamic value is changed in broker.conf, this name is recorded as a broker that
lacks the change, so that the setting's value remains uncertain.
"""


def space_of(topic: str) -> str:
    """Return a topic's namespace."""
    return "/".join(topic.partition("://")[2].split("/")[:2])


def moments(events: Iterable[Json], settings: Settings) -> Iterator[Moment]:
    """Yield the state of the cluster after each event."""
    now = Moment.first(settings)
    for index, event in enumerate(events, start=1):
        [(kind, about)] = event.items()
        valid = _is_valid(now, kind, about)
        unknown = now.domains_unknown or (kind == "domain" and _registers_elsewhere(now, about))
        after = CHANGED_FIELDS[kind](now, about) if valid and kind in CHANGED_FIELDS else {}
        now = replace(
            now, place=index, kind=kind, about=about, valid=valid, domains_unknown=unknown, **after
        )
        yield now


def _is_valid(now: Moment, kind: str, about: Json) -> bool:
    """True if an event is possible at this point, such as the crash of a broker that is up."""
    if kind == "broker_up":
        return about["broker"] not in now.brokers
    if kind in ("broker_down", "broker_stop", "restart"):
        return about["broker"] in now.brokers
    if kind == "namespace":
        return about["name"] not in now.spaces
    if kind == "topic":
        return space_of(about["topic"]) in now.spaces
    if kind == "setting":
        return why_invalid(about["name"], about["value"]) is None
    if kind == "group":
        return about["namespace"] in now.spaces
    if kind == "domain":
        return not _registers_elsewhere(now, about) and bool(
            about["brokers"] or about["name"] in now.domains
        )
    if kind == "unload" and about.get("to") not in (None, *now.brokers):
        return False
    if kind == "unload" and "namespace" in about:
        return bool(now.brokers) and any(space_of(t) == about["namespace"] for t in now.topics)
    if kind in ("unload", "split"):
        return bool(now.brokers) and (about.get("topic") or about["bundleOf"]) in now.topics
    return kind != "leader_lost" or bool(now.brokers)


def _registers_elsewhere(now: Moment, about: Mapping[str, Any]) -> bool:
    """True if a `domain` event names a broker that is registered in another domain."""
    others = (brokers for name, brokers in now.domains.items() if name != about["name"])
    return any(set(about["brokers"]) & set(brokers) for brokers in others)


def _broker_added(now: Moment, about: Json) -> dict[str, Any]:
    brokers = {**now.brokers, about["broker"]: exact(about["capacity"])}
    return {"brokers": brokers, "changed": _no_longer_waiting(now, about["broker"])}


def _broker_removed(now: Moment, about: Json) -> dict[str, Any]:
    brokers = {name: size for name, size in now.brokers.items() if name != about["broker"]}
    return {"brokers": brokers, "changed": _no_longer_waiting(now, about["broker"])}


def _broker_restarted(now: Moment, about: Json) -> dict[str, Any]:
    name = about["broker"]
    brokers = {**_broker_removed(now, about)["brokers"], name: now.brokers[name]}
    return {"brokers": brokers, "changed": _no_longer_waiting(now, name)}


def _no_longer_waiting(now: Moment, broker: str) -> dict[str, ChangedSetting]:
    """Return the changed settings once a broker does not wait for new values any more.

    The broker has stopped, or has started with the new values.
    """
    return {
        name: replace(
            one, waiting=one.waiting - {broker}, values_differ=bool(one.waiting - {broker})
        )
        for name, one in now.changed.items()
    }


def _setting_changed(now: Moment, about: Json) -> dict[str, Any]:
    name = about["name"]
    known = now.is_known(name) and (name in now.changed or name in _settings_given(now.base))
    former = now.value(name) if known else None
    before = now.changed.get(name)
    overridden = about["how"] == "conf" and before is not None and before.how == "dynamic"
    waiting = frozenset({*now.brokers, *([NOBODY] if overridden else ())})
    one = ChangedSetting(former, about["value"], waiting, False, about["how"], known)
    return {"changed": {**now.changed, name: one}}


def _settings_given(settings: Settings) -> set[str]:
    return {*settings.given, *settings.defaults}


def _namespace_created(now: Moment, about: Json) -> dict[str, Any]:
    count = about.get("bundles")
    if count is None and now.is_known(DEFAULT_BUNDLES):
        count = int(now.settings().number(DEFAULT_BUNDLES))
    return {"spaces": {**now.spaces, about["name"]: count}}


def _topic_used(now: Moment, about: Json) -> dict[str, Any]:
    return {"topics": {**now.topics, about["topic"]: Rates.read(about)}}


def _domain_registered(now: Moment, about: Json) -> dict[str, Any]:
    rest = {name: brokers for name, brokers in now.domains.items() if name != about["name"]}
    if about["brokers"]:
        rest[about["name"]] = tuple(about["brokers"])
    return {"domains": rest}


def _group_set(now: Moment, about: Json) -> dict[str, Any]:
    rest = {name: group for name, group in now.groups.items() if name != about["namespace"]}
    if about["group"] is not None:
        rest[about["namespace"]] = about["group"]
    return {"groups": rest}


def _time_passed(now: Moment, about: Json) -> dict[str, Any]:
    return {"clock": now.clock + exact(about["minutes"])}


CHANGED_FIELDS = {
    "broker_up": _broker_added,
    "broker_down": _broker_removed,
    "broker_stop": _broker_removed,
    "restart": _broker_restarted,
    "namespace": _namespace_created,
    "topic": _topic_used,
    "setting": _setting_changed,
    "domain": _domain_registered,
    "group": _group_set,
    "tick": _time_passed,
}
"""For each kind of event, the function that returns the changed fields of a moment."""
