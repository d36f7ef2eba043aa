"""Changes of a cluster between two observations, as history records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pulsar_conformance.adapters.operated.sight import ObservedState

Entry = dict[str, Any]
"""A record of a history without the cluster and the time."""


def initial_entries(now: ObservedState) -> Iterator[Entry]:
    """Yield records of a cluster's state at the start of a recording.

    The record of the leader says that the leader already led, not that it was just elected.
    """
    if now.settings:
        yield {"kind": "settings", "settings": dict(now.settings)}
    for kind, named in (("domain", now.domains), ("group", now.groups)):
        for name, members in sorted(named.items()):
            yield {"kind": kind, "name": name, "members": sorted(members)}
    if now.leader is not None:
        yield {"kind": "leader", "broker": now.leader, "anew": False}
    owners = {broker: sorted(bundles) for broker, bundles in sorted(now.owners.items())}
    yield {"kind": "owners", "owners": owners}


def events_between(before: ObservedState, now: ObservedState) -> Iterator[Entry]:
    """Yield the events that turn one observed state into the next, in a possible order."""
    if now.settings and now.settings != before.settings:
        yield {"kind": "settings", "settings": dict(now.settings)}
    yield from _membership_changes("domain", before.domains, now.domains)
    yield from _membership_changes("group", before.groups, now.groups)
    if now.leader is not None and now.leader != before.leader:
        yield {"kind": "leader", "broker": now.leader}
    had = before.owner_by_bundle()
    for whole, parts in now.divided.items():
        yield {"kind": "split", "bundle": whole, "into": list(parts)}
        if whole in had:
            had |= dict.fromkeys(parts, had.pop(whole))
    yield from _ownership_changes(had, before, now)


def _membership_changes(
    kind: str, before: Mapping[str, frozenset[str]], now: Mapping[str, frozenset[str]]
) -> Iterator[Entry]:
    """Yield a record for each domain or group whose members changed."""
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            yield {"kind": kind, "name": name, "members": sorted(now.get(name, ()))}


def _ownership_changes(
    had: Mapping[str, str], before: ObservedState, now: ObservedState
) -> Iterator[Entry]:
    """Yield an unload for each bundle that left its owner, then an assignment for each new owner.

    `had` maps each bundle to its previous owner, with the parts of a split bundle in place of the
    bundle. The record of an unload gives its cause.
    """
    has = now.owner_by_bundle()
    released = [bundle for bundle, broker in sorted(had.items()) if has.get(bundle) != broker]
    parts = {part for parts in now.divided.values() for part in parts}
    causes = {
        bundle: "shutdown" if had[bundle] not in now.owners else "split"
        for bundle in released
        if had[bundle] not in now.owners or bundle in parts
    }
    other = [bundle for bundle in released if bundle not in causes]
    cause = _cause_by_shed_count(len(other), before, now)
    for bundle in released:
        told = causes.get(bundle, cause)
        yield {"kind": "unloaded", "bundle": bundle, "broker": had[bundle], "cause": told}
    for bundle, broker in sorted(has.items()):
        if had.get(bundle) != broker:
            yield {"kind": "assigned", "bundle": bundle, "broker": broker}


def _cause_by_shed_count(released: int, before: ObservedState, now: ObservedState) -> str:
    """Return the cause of unloads that neither a split nor a stopped broker explains.

    `released` is the number of these unloads. The cause is `shedding` if the leader counted exactly
    this number of shed bundles, `admin` if it counted none, and otherwise `unknown`.
    """
    if before.shed is None or now.shed is None or before.leader != now.leader:
        return "unknown"
    shed = now.shed - before.shed
    if shed <= 0:
        return "admin" if shed == 0 else "unknown"
    return "shedding" if shed == released else "unknown"


def possibly_stopping_brokers(entries: list[Entry], now: ObservedState) -> set[str]:
    """Return the brokers that may have released bundles because they are stopping.

    Under the extensible manager, brokers release their bundles before they leave the list of active
    brokers.
    """
    if not now.is_extensible:
        return set()
    return {entry["broker"] for entry in filter(_is_unexplained, entries)}


def unexplained_bundles(entries: list[Entry], now: ObservedState) -> set[str]:
    """Return the unloaded bundles for which a later observation may still show the cause.

    Under the modular manager, the leader may count a bundle as shed only some time after the
    unload. Until then, the recorded cause of the unload is `admin`.
    """
    open_ones = filter(_is_unexplained, entries)
    return {one["bundle"] for one in open_ones if now.is_extensible or one["cause"] == "admin"}


def attribute_to_shutdown(entries: list[Entry], now: ObservedState) -> None:
    """Set the cause of unexplained unloads to `shutdown` if their broker has left the cluster."""
    for entry in filter(_is_unexplained, entries):
        if entry["broker"] not in now.owners:
            entry["cause"] = "shutdown"


def attribute_to_shedding(entries: list[Entry], shed: float) -> None:
    """Set the cause of unexplained unloads by the number of bundles newly counted as shed.

    `shed` is this number, as counted by the leader. The cause is `shedding` if `shed` equals the
    number of unexplained unloads, and otherwise `unknown`. If `shed` is not above 0, nothing
    changes.
    """
    unexplained = list(filter(_is_unexplained, entries))
    if shed > 0 and unexplained:
        for entry in unexplained:
            entry["cause"] = "shedding" if shed == len(unexplained) else "unknown"


def count_newly_shed(before: ObservedState, now: ObservedState, entries: list[Entry]) -> float:
    """Return the number of bundles that the leader counted as shed since `before`.

    Unloads in `entries` that already have the cause `shedding` are not counted again. A leader
    counts the bundles of a cycle after the cycle's last unload, so an unload may be observed before
    it is counted.
    """
    if before.shed is None or now.shed is None or before.leader != now.leader:
        return 0
    explained = [entry for entry in entries if entry.get("cause") == "shedding"]
    return now.shed - before.shed - len(explained)


def mark_causes_unknown(entries: list[Entry]) -> None:
    """Set the cause of unexplained unloads to `unknown`."""
    for entry in filter(_is_unexplained, entries):
        entry["cause"] = "unknown"


def _is_unexplained(entry: Entry) -> bool:
    return entry["kind"] == "unloaded" and entry["cause"] in ("admin", "unknown")


def state_after(entries: Iterator[Entry]) -> ObservedState | None:
    """Return a cluster's state after these records; None if no record lists all bundles' owners."""
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
    return ObservedState(
        owners={broker: frozenset(held) for broker, held in owners.items()},
        leader=leader,
        settings=settings,
        domains=named["domain"],
        groups=named["group"],
    )
