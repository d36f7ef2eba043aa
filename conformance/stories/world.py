"""The world as it follows from events alone: brokers, topics in use, settings in force."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.cluster import Rates
from pulsar_conformance.reference.numbers import ZERO, Fraction, exact
from pulsar_conformance.reference.settings import Value
from pulsar_conformance.reference.shedding import STRATEGY
from pulsar_conformance.reference.story.events import DEFAULT_BUNDLES
from pulsar_conformance.reference.story.settings import why_invalid


@dataclass(frozen=True)
class Changed:
    """A setting that was changed while brokers were running, and which brokers may know of it."""

    former: Value
    latest: Value
    waiting: frozenset[str]
    """The brokers that still run as they were started before the change."""
    mixed: bool
    """Whether some brokers were started before it and some after."""
    how: str
    known: bool
    """Whether the former value was in force for certain."""


@dataclass(frozen=True)
class Moment:
    """An event, and the world after it; consequences of decisions are not part of it."""

    base: Settings
    place: int = 0
    """Counted from 1."""
    kind: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)
    sense: bool = True
    """Whether the event makes sense where it stands."""
    clock: Fraction = ZERO
    brokers: Mapping[str, Fraction] = field(default_factory=dict)
    """The brokers that are up, with their capacity."""
    topics: Mapping[str, Rates] = field(default_factory=dict)
    spaces: Mapping[str, int | None] = field(default_factory=dict)
    """Namespaces, and with how many bundles each was created, if that is certain."""
    domains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    torn: bool = False
    """Whether a broker was to be registered to a second domain: refused or moved, who knows."""
    changed: Mapping[str, Changed] = field(default_factory=dict)

    @classmethod
    def first(cls, settings: Settings) -> Moment:
        """The moment before the first event."""
        return cls(settings)

    def sure(self, name: str) -> bool:
        """Whether it is certain which value of a setting is in force.

        A new value is certain once every broker has been started since the change. The former
        shedding strategy is certain as long as no broker has been. [SHED-10]
        """
        one = self.changed.get(name)
        if one is None or not one.waiting:
            return True
        return name == STRATEGY and one.how == "dynamic" and not one.mixed and one.known

    def value(self, name: str) -> Value:
        """The value in force if it is certain. Errors: `MissingSetting` if there is none."""
        one = self.changed.get(name)
        if one is None:
            return self.base.value(name)
        return one.former if one.waiting else one.latest

    def settings(self) -> Settings:
        """All settings: the certain values, and the initial values for the rest."""
        values = {name: self.value(name) for name in self.changed if self.sure(name)}
        return Settings({**self.base.given, **values}, self.base.defaults)


def space_of(topic: str) -> str:
    """The namespace of a topic."""
    return "/".join(topic.partition("://")[2].split("/")[:2])


def moments(events: Iterable[Json], settings: Settings) -> Iterator[Moment]:
    """The world after each event."""
    now = Moment.first(settings)
    for place, event in enumerate(events, start=1):
        [(kind, about)] = event.items()
        sense = _sense(now, kind, about)
        torn = now.torn or (kind == "domain" and _elsewhere(now, about))
        after = AFTER[kind](now, about) if sense and kind in AFTER else {}
        now = replace(now, place=place, kind=kind, about=about, sense=sense, torn=torn, **after)
        yield now


def _sense(now: Moment, kind: str, about: Json) -> bool:
    """Whether the thing that an event is about exists."""
    if kind == "broker_up":
        return about["broker"] not in now.brokers
    if kind in ("broker_down", "restart"):
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
        return not _elsewhere(now, about) and bool(about["brokers"] or about["name"] in now.domains)
    if kind == "unload" and "namespace" in about:
        return bool(now.brokers) and any(space_of(t) == about["namespace"] for t in now.topics)
    if kind in ("unload", "split"):
        return bool(now.brokers) and (about.get("topic") or about["bundleOf"]) in now.topics
    return kind != "leader_lost" or bool(now.brokers)


def _elsewhere(now: Moment, about: Mapping[str, Any]) -> bool:
    """Whether a broker that a domain names is in another domain."""
    others = (brokers for name, brokers in now.domains.items() if name != about["name"])
    return any(set(about["brokers"]) & set(brokers) for brokers in others)


def _up(now: Moment, about: Json) -> dict[str, Any]:
    brokers = {**now.brokers, about["broker"]: exact(about["capacity"])}
    return {"brokers": brokers, "changed": _started(now, about["broker"])}


def _down(now: Moment, about: Json) -> dict[str, Any]:
    brokers = {name: size for name, size in now.brokers.items() if name != about["broker"]}
    return {"brokers": brokers, "changed": _started(now, about["broker"])}


def _restarted(now: Moment, about: Json) -> dict[str, Any]:
    name = about["broker"]
    brokers = {**_down(now, about)["brokers"], name: now.brokers[name]}
    return {"brokers": brokers, "changed": _started(now, name)}


def _started(now: Moment, broker: str) -> dict[str, Changed]:
    """The moment after a broker stopped or started: it runs with the current settings."""
    return {
        name: replace(one, waiting=one.waiting - {broker}, mixed=bool(one.waiting - {broker}))
        for name, one in now.changed.items()
    }


def _set(now: Moment, about: Json) -> dict[str, Any]:
    name = about["name"]
    known = now.sure(name) and (name in now.changed or name in _given(now.base))
    former = now.value(name) if known else None
    waiting = frozenset(now.brokers)
    one = Changed(former, about["value"], waiting, False, about["how"], known)
    return {"changed": {**now.changed, name: one}}


def _given(settings: Settings) -> set[str]:
    return {*settings.given, *settings.defaults}


def _created(now: Moment, about: Json) -> dict[str, Any]:
    count = about.get("bundles")
    if count is None and now.sure(DEFAULT_BUNDLES):
        count = int(now.settings().number(DEFAULT_BUNDLES))
    return {"spaces": {**now.spaces, about["name"]: count}}


def _used(now: Moment, about: Json) -> dict[str, Any]:
    return {"topics": {**now.topics, about["topic"]: Rates.read(about)}}


def _registered(now: Moment, about: Json) -> dict[str, Any]:
    rest = {name: brokers for name, brokers in now.domains.items() if name != about["name"]}
    if about["brokers"]:
        rest[about["name"]] = tuple(about["brokers"])
    return {"domains": rest}


def _grouped(now: Moment, about: Json) -> dict[str, Any]:
    rest = {name: group for name, group in now.groups.items() if name != about["namespace"]}
    if about["group"] is not None:
        rest[about["namespace"]] = about["group"]
    return {"groups": rest}


def _later(now: Moment, about: Json) -> dict[str, Any]:
    return {"clock": now.clock + exact(about["minutes"])}


AFTER = {
    "broker_up": _up,
    "broker_down": _down,
    "restart": _restarted,
    "namespace": _created,
    "topic": _used,
    "setting": _set,
    "domain": _registered,
    "group": _grouped,
    "tick": _later,
}
"""What each event changes, by itself."""
