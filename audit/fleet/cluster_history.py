"""The history of one simulated cluster, period by period."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters import Connection
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.audit.fleet.size import (
    AUTO_UNLOAD,
    ENDS,
    MINUTE,
    REPORT_ON_CHANGE,
    THRESHOLD,
    BadFleet,
)
from pulsar_conformance.audit.fleet.troubles import Period, apply_troubles
from pulsar_conformance.audit.fleet.world import FleetCluster, rates_in_stats
from pulsar_conformance.audit.input.parsing import ADMIN, AUTOMATIC, SHEDDING, SHUTDOWN, SPLIT
from pulsar_conformance.audit.simulation.cluster.averages import SlidingAverages
from pulsar_conformance.audit.simulation.cluster.leader import LeaderMemory, throughput_of
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES

SECOND = 1000
SHEDDING_FIELDS = (*RESOURCES, *RATE_FIELDS, "bundles")
"""Fields of a load report by which the leader decides what to shed."""

UNLOADED_AFTER, ASSIGNED_AFTER, DOWN_AFTER, SPLIT_AFTER = 1000, 1500, 25_000, 30_000
MOVED_AFTER = 4000
"""Milliseconds from the start of a period until an administrator unloads a bundle."""

OFFLOADED_AFTER = 200
"""Milliseconds from a split until its parts are unloaded."""

EVENT_SPACING = 10
"""Milliseconds between consecutive events of the same kind."""

REPORTED_CHANGE = 0.1
"""Change, as a share of the load, above which a broker reports before the usual time."""

MAX_ASSIGNMENT_TIMES = 400
"""Maximum number of different times at which the bundles of a stopped broker are assigned."""

UnloadPairs = list[tuple[str, str]]
"""Pairs of a broker and the bundle that it unloads, in the order of decision."""


def format_iso(milliseconds: int) -> str:
    """Format milliseconds since 1970 in ISO 8601 and UTC, such as 2026-11-20T00:05:01.010Z."""
    seconds, rest = divmod(milliseconds, SECOND)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{rest:03}Z" if rest else f"{text}Z"


class ClusterHistory:
    """A simulated cluster, its leader's memory, and the records of the current period.

    Without a connection to an implementation, no bundle is unloaded, and cycles are only recorded.
    """

    def __init__(self, world: FleetCluster, connection: Connection | None) -> None:
        self.world, self.fleet, self.connection = world, world.fleet, connection
        self.settings: Json = dict(self.fleet.settings[0])
        self.reports: dict[str, Json] = {}
        """The last report of each broker."""
        self._begin_term()
        self.records: list[tuple[str, Json]] = []

    def _begin_term(self) -> None:
        """Begin the term of a leader, which knows the last reports, but has no averages."""
        defaults = specs.load().defaults(DEFAULT_PROFILE) if self.connection else {}
        begin, minute = SECOND * self.fleet.period_start(0), SECOND * MINUTE
        self.averages = SlidingAverages()
        self.memory = LeaderMemory(
            self.settings,
            defaults,
            lambda at: (at - begin) / minute,
            self.averages,
            whole_history=True,
        )

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield each record as its kind and its line of JSON."""
        for period in range(self.fleet.periods + 1):
            self._begin_period(period)
            yield from self._finish_records(period)
            if period < self.fleet.periods:
                self._apply_events(period)
                self._record_reports(period)

    def record(self, kind: str, at: int, **fields: Any) -> None:
        """Add a record to the current period. The caller may still change it until the
        period ends.
        """
        self.records.append((kind, {"kind": kind, "cluster": self.world.name, "at": at, **fields}))

    def _finish_records(self, period: int) -> Iterator[tuple[str, str]]:
        """Apply the fleet's troubles to the current period's records, yield each record, and clear
        them.

        A record is yielded as its kind and its JSON line.
        """
        now = SECOND * self.fleet.period_start(period)
        chance = Random(f"{self.fleet.seed}/{self.world.name}/trouble/{period}")
        elected = period - 1 in self.world.events.leaders
        troubles = Period(now, elected, chance)
        for kind, said in apply_troubles(self.fleet.troubles, troubles, self.records):
            if isinstance(said, str):
                yield kind, said
                continue
            line = {**said, "at": format_iso(said["at"])}
            yield kind, json.dumps(line, separators=(",", ":"), allow_nan=False)
        self.records.clear()

    def _begin_period(self, period: int) -> None:
        """Record changed settings; then run the cycle that is due, or elect a leader.

        A new leader starts with an empty memory, and runs no cycle in this period.
        """
        now = SECOND * self.fleet.period_start(period)
        if period in self.fleet.settings:
            self.settings = self.memory.settings = dict(self.fleet.settings[period])
            at = now - (SECOND if period else 0)
            self.record("settings", at, settings=self.settings)
        if period in self.world.events.leaders:
            self._begin_term()
            self.record("owners", now, owners=self.world.owners())
            leader = self.world.brokers[self.world.events.leaders[period]]
            self.record("leader", now, broker=leader)
        elif self.fleet.is_cycle_due(period):
            if self.fleet.cycles:
                self.record("cycle", now)
            self.run_cycle(now)

    def live_reports(self) -> dict[str, Json]:
        """Return the last report of each broker that is up."""
        return {name: self.reports[name] for name in self.world.running() if name in self.reports}

    def run_cycle(self, now: int) -> None:
        """Run a shedding cycle: ask the adapter for unloads, and assign the unloaded bundles to
        other brokers.
        """
        if self.connection is None:
            return
        case = self.shedding_case(now)
        self.unload(self.ask_adapter(case), now)
        self.memory.remember_usage(case)

    def shedding_case(self, now: int) -> Json:
        """Return a cycle's `shed.select` case, built from the reports of running brokers."""
        known = self.live_reports().items()
        brokers = {name: {each: said[each] for each in SHEDDING_FIELDS} for name, said in known}
        return self.memory.shedding_question(now, None, brokers)

    def ask_adapter(self, case: Json) -> UnloadPairs:
        """Return the unloads that the adapter answers for a cycle; none without an adapter.

        Errors: `BadFleet` if the answer is not a list of unloads.
        """
        if self.connection is None:
            return []
        answer = self.connection.ask("shed.select", [case])[0]
        if "unload" not in answer:
            problem = f"the answer to a cycle is not a list of unloads: {json.dumps(answer)}"
            raise BadFleet(f"--decided-by: {problem}")
        return [(one["broker"], one["bundle"]) for one in answer["unload"]]

    def unload(self, pairs: UnloadPairs, now: int) -> None:
        """Unload bundles, and assign each to the broker with the least traffic at that time."""
        traffic = {name: throughput_of(said) for name, said in self.live_reports().items()}
        period = (now // SECOND - self.fleet.period_start(0)) // self.fleet.period_seconds - 1
        for place, (broker, bundle) in enumerate(pairs):
            at = now + UNLOADED_AFTER + place * EVENT_SPACING
            self.record("unloaded", at, bundle=bundle, broker=broker, cause=SHEDDING)
            self.memory.unloaded[bundle] = at
            if self.world.owner[bundle] == broker:
                target = min((one for one in traffic if one != broker), key=lambda n: traffic[n])
                moved = self.world.traffic_of(bundle, period)
                traffic[target] += moved
                traffic[broker] -= moved
                self.assign(bundle, target, at + ASSIGNED_AFTER)

    def assign(self, bundle: str, broker: str, at: int) -> None:
        """Make a broker the owner of a bundle, and record it."""
        self.world.owner[bundle] = broker
        self.record("assigned", at, bundle=bundle, broker=broker)

    def _apply_events(self, period: int) -> None:
        """Apply the events planned for a period: stopped brokers, splits, and unloads by hand."""
        now, events = SECOND * self.fleet.period_start(period), self.world.events
        self.world.begin_period(period)
        for restart in events.restarts:
            if restart.down == period:
                self._stop_broker(self.world.brokers[restart.broker], period, now + DOWN_AFTER)
        for number, when in events.splits.items():
            if when == period:
                self.split(self.world.first[number], now + SPLIT_AFTER)
        for number, when in events.unloads_by_hand.items():
            if when == period:
                self._move_by_hand(number, now + MOVED_AFTER)

    def _move_by_hand(self, number: int, at: int) -> None:
        """Unload an initial bundle as an administrator would, and assign it to another broker."""
        bundle, running = self.world.first[number], self.world.running()
        owner = self.world.owner[bundle]
        others = [one for one in running if one != owner]
        if self.connection is None or owner not in running or not others:
            return
        self._record_unload(bundle, at, ADMIN)
        self.assign(bundle, others[number % len(others)], at + ASSIGNED_AFTER)

    def _record_unload(self, bundle: str, at: int, cause: str) -> None:
        owner = self.world.owner[bundle]
        self.record("unloaded", at, bundle=bundle, broker=owner, cause=cause)

    def _stop_broker(self, broker: str, period: int, at: int) -> None:
        """Assign a stopping broker's bundles to the other brokers, each to the one with the least
        traffic.

        In odd periods, the broker shuts down and first unloads its bundles; in even periods, it
        crashes. With the trouble `ENDS`, the new owners are not recorded if the broker never
        returns.
        """
        unseen = ENDS in self.fleet.troubles and any(
            one.has_no_end(self.fleet) for one in self.world.events.restarts if one.down == period
        )
        owned = self.world.owned_bundles()
        load = {
            one: sum(self.world.traffic_of(bundle, period) for bundle in owned[one])
            for one in self.world.running()
        }
        for place, bundle in enumerate(owned[broker]):
            target = min(load, key=lambda one: load[one])
            load[target] += self.world.traffic_of(bundle, period)
            if period % 2 and self.connection is not None and not unseen:
                self._record_unload(
                    bundle, at + place % MAX_ASSIGNMENT_TIMES * EVENT_SPACING - 1, SHUTDOWN
                )
            self.assign(bundle, target, at + place % MAX_ASSIGNMENT_TIMES * EVENT_SPACING)
            if unseen:
                self.records.pop()

    def split(self, bundle: str, at: int) -> None:
        """Split a bundle, and record it; the parts stay on the same broker."""
        owner, into = self.world.owner[bundle], self.world.split(bundle)
        self.record("split", at, bundle=bundle, into=into, cause=AUTOMATIC)
        if self.settings.get(AUTO_UNLOAD):
            for part in into:
                self._record_unload(part, at + OFFLOADED_AFTER, SPLIT)
                self.assign(part, str(owner), at + ASSIGNED_AFTER)

    def _record_reports(self, period: int) -> None:
        for name, said in self.world.reports(period).items():
            if not self._is_report_due(self.reports.get(name), said):
                continue
            self.reports[name] = said
            if self.connection is not None:
                self.averages.sample(rates_in_stats(said["lastStats"]))
            self.record("load_report", said["lastUpdate"], broker=name, report=said)

    def _is_report_due(self, last: Json | None, said: Json) -> bool:
        """True if a broker writes the report `said` after its report `last`.

        A broker writes every report, unless the fleet has the trouble `THRESHOLD`. With this
        trouble, it writes a report only if its load has changed or its last report is old.
        """
        if last is None or THRESHOLD not in self.fleet.troubles:
            return True
        passed = said["lastUpdate"] - last["lastUpdate"]
        old = passed >= (REPORT_ON_CHANGE - 0.5) * SECOND * self.fleet.period_seconds
        counted = any(said[name] != last[name] for name in ("bundles", "numTopics"))
        return old or counted or _has_changed(last, said)


def _has_changed(before: Json, now: Json) -> bool:
    """True if the usage of a resource or a rate differs by over a tenth between two reports."""
    pairs = [(before[name]["usage"], now[name]["usage"]) for name in RESOURCES]
    pairs += [(before[name], now[name]) for name in RATE_FIELDS]
    return any(abs(one - other) > REPORTED_CHANGE * max(one, 1e-9) for one, other in pairs)
