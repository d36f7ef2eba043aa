"""Changes of a cluster between two observations, as history records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pulsar_conformance.adapters.operated.sight import Sight

Entry = dict[str, Any]
"""A record without its cluster and time."""


def initial_entries(now: Sight) -> Iterator[Entry]:
    """Yield records of the state at the start of an audit; its leader is not a new one."""
    if now.settings:
        yield {"kind": "settings", "settings": dict(now.settings)}
    for kind, named in (("domain", now.domains), ("group", now.groups)):
        for name, members in sorted(named.items()):
            yield {"kind": kind, "name": name, "members": sorted(members)}
    if now.leader is not None:
        yield {"kind": "leader", "broker": now.leader, "anew": False}
    owners = {broker: sorted(bundles) for broker, bundles in sorted(now.owners.items())}
    yield {"kind": "owners", "owners": owners}


def events_between(before: Sight, now: Sight) -> Iterator[Entry]:
    """Yield the events between two observations, in a possible order."""
    if now.settings and now.settings != before.settings:
        yield {"kind": "settings", "settings": dict(now.settings)}
    yield from _members("domain", before.domains, now.domains)
    yield from _members("group", before.groups, now.groups)
    if now.leader is not None and now.leader != before.leader:
        yield {"kind": "leader", "broker": now.leader}
    had = before.holder()
    for whole, parts in now.divided.items():
        yield {"kind": "split", "bundle": whole, "into": list(parts)}
        if whole in had:
            had |= dict.fromkeys(parts, had.pop(whole))
    yield from _moved(had, before, now)


def _members(
    kind: str, before: Mapping[str, frozenset[str]], now: Mapping[str, frozenset[str]]
) -> Iterator[Entry]:
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            yield {"kind": kind, "name": name, "members": sorted(now.get(name, ()))}


def _moved(had: Mapping[str, str], before: Sight, now: Sight) -> Iterator[Entry]:
    has = now.holder()
    released = [bundle for bundle, broker in sorted(had.items()) if has.get(bundle) != broker]
    parts = {part for parts in now.divided.values() for part in parts}
    causes = {
        bundle: "shutdown" if had[bundle] not in now.owners else "split"
        for bundle in released
        if had[bundle] not in now.owners or bundle in parts
    }
    other = [bundle for bundle in released if bundle not in causes]
    cause = _cause(len(other), before, now)
    for bundle in released:
        told = causes.get(bundle, cause)
        yield {"kind": "unloaded", "bundle": bundle, "broker": had[bundle], "cause": told}
    for bundle, broker in sorted(has.items()):
        if had.get(bundle) != broker:
            yield {"kind": "assigned", "bundle": bundle, "broker": broker}


def _cause(released: int, before: Sight, now: Sight) -> str:
    """Return the cause of unloads that neither a split nor a stopped broker explains.

    The leader counts the bundles that it sheds. If it shed only some of the unloaded bundles, the
    cause is unknown.
    """
    if before.shed is None or now.shed is None or before.leader != now.leader:
        return "unknown"
    shed = now.shed - before.shed
    if shed <= 0:
        return "admin" if shed == 0 else "unknown"
    return "shedding" if shed == released else "unknown"


def may_be_stopping(entries: list[Entry], now: Sight) -> set[str]:
    """Return the brokers that may have released bundles because they are stopping.

    Under the extensible manager, brokers release their bundles before they leave the list of active
    brokers.
    """
    if not now.is_extensible:
        return set()
    return {entry["broker"] for entry in filter(_is_unexplained, entries)}


def unexplained_bundles(entries: list[Entry], now: Sight) -> set[str]:
    """Return the bundles released, under the extensible manager, for a reason still to be
    observed.
    """
    if not now.is_extensible:
        return set()
    return {entry["bundle"] for entry in filter(_is_unexplained, entries)}


def as_shutdown(entries: list[Entry], now: Sight) -> None:
    """Set the cause of unloads from brokers that turned out to be stopping."""
    for entry in filter(_is_unexplained, entries):
        if entry["broker"] not in now.owners:
            entry["cause"] = "shutdown"


def as_shed(entries: list[Entry], shed: float) -> None:
    """Set the cause of unloads that the leader counted as shed only after all were complete.

    `shed` is how many it has counted beyond the unloads already explained.
    """
    open_ones = list(filter(_is_unexplained, entries))
    if shed > 0 and open_ones:
        for entry in open_ones:
            entry["cause"] = "shedding" if shed == len(open_ones) else "unknown"


def newly_shed(before: Sight, now: Sight, entries: list[Entry]) -> float:
    """Return how many bundles a leader has counted as shed that these entries do not explain.

    Always 0 except under the extensible manager, which counts a cycle's bundles after the last one.
    """
    if before.shed is None or now.shed is None or before.leader != now.leader:
        return 0
    explained = [entry for entry in entries if entry.get("cause") == "shedding"]
    return now.shed - before.shed - len(explained) if now.is_extensible else 0


def as_unknown(entries: list[Entry]) -> None:
    """Set the cause of unloads from brokers that may be stopping to unknown."""
    for entry in filter(_is_unexplained, entries):
        entry["cause"] = "unknown"


def _is_unexplained(entry: Entry) -> bool:
    return entry["kind"] == "unloaded" and entry["cause"] in ("admin", "unknown")


def state_after(entries: Iterator[Entry]) -> Sight | None:
    """Return a cluster's state after these records; None if they do not give the owners."""
    owners: dict[str, set[str]] | None = None
    leader, settings = None, {}
    named: dict[str, dict[str, frozenset[str]]] = {"domain": {}, "group": {}}
    for entry in entries:
        kind = entry["kind"]
        if kind == "owners":
            owners = {broker: set(held) for broker, held in entry["owners"].items()}
        elif kind == "leader":
            leader = entry["broker"]
        elif kind == "settings":
            settings = entry["settings"]
        elif kind in named:
            named[kind][entry["name"]] = frozenset(entry["members"])
            if not entry["members"]:
                del named[kind][entry["name"]]
        elif owners is not None and kind in ("assigned", "unloaded"):
            held = owners.setdefault(entry["broker"], set())
            (held.add if kind == "assigned" else held.discard)(entry["bundle"])
        elif owners is not None and kind == "split":
            for held in owners.values():
                if entry["bundle"] in held:
                    held.discard(entry["bundle"])
                    held.update(entry["into"])
    if owners is None:
        return None
    return Sight(
        owners={broker: frozenset(held) for broker, held in owners.items()},
        leader=leader,
        settings=settings,
        domains=named["domain"],
        groups=named["group"],
    )
