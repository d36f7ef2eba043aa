"""The state of a cluster: brokers, namespaces, topics and the owner of each bundle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from pulsar_conformance.reference.averages import Samples, together
from pulsar_conformance.reference.cluster import RATE_FIELDS, Rates
from pulsar_conformance.reference.context import Readings, Settings, Value
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import ZERO, Minutes, Percent, Rate, jsonable
from pulsar_conformance.reference.ranges import LOCATE, HashRange, namespace_of
from pulsar_conformance.reference.sequences import Past
from pulsar_conformance.reference.shedding import STRATEGY

IDLE = Rates(ZERO, ZERO, ZERO, ZERO)


@dataclass
class Member:
    """A broker that is up."""

    capacity: Rate
    """Bytes per second at which the broker's CPU is fully used."""
    file: Mapping[str, Value]
    """The broker.conf that the broker read when it started."""
    strategy: Value
    """The shedding strategy with which the broker started. [SHED-10]"""
    reported: Rates = IDLE
    """Rates in the broker's last report."""
    history: Percent | None = None
    """The broker's smoothed usage after earlier cycles, for ThresholdShedder."""

    @property
    def cpu(self) -> Percent:
        """CPU usage in percent: 100 x the last reported throughput / capacity."""
        return 100 * self.reported.throughput / self.capacity


@dataclass
class World:
    """The mutable state of a story."""

    defaults: Mapping[str, Value]
    readings: Readings
    file: dict[str, Value]
    """Current settings of broker.conf."""
    dynamic: dict[str, Value] = field(default_factory=dict)
    """Settings that were changed at runtime."""
    clock: Minutes = ZERO
    brokers: dict[str, Member] = field(default_factory=dict)
    """Brokers in the order in which they joined."""
    leader: str | None = None
    namespaces: dict[str, list[HashRange]] = field(default_factory=dict)
    topics: dict[str, Rates] = field(default_factory=dict)
    """The topics in use, with their rates."""
    topics_in: dict[str, dict[str, None]] = field(default_factory=dict)
    """The topics in use, by bundle."""
    bundle_of: dict[str, str] = field(default_factory=dict)
    owner: dict[str, str] = field(default_factory=dict)
    """The broker that owns each bundle; bundles without an owner are missing."""
    domains: dict[str, list[str]] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    samples: dict[str, Samples] = field(default_factory=dict)
    unloaded_at: dict[str, Minutes] = field(default_factory=dict)
    """Time of each bundle's last unload that starts a grace period."""
    changes: int = field(init=False)
    """Number of changes so far that may affect a later decision."""
    counted: Iterator[int] = field(default_factory=count)
    carried: dict[str, Rates] = field(default_factory=dict)
    """Cached rates of bundles."""
    reported_at: Minutes = ZERO
    shed_at: Minutes = ZERO
    """Time of the last shedding cycle."""
    wrote_at: Minutes = ZERO
    """Time when the leader last wrote the bundle data."""
    measured: dict[str, Rates] = field(default_factory=dict)
    """Rates of each bundle in its broker's last report."""
    transfers: list[Past] = field(default_factory=list)
    """Earlier cycles of TransferShedder that affect later cycles."""
    transfers_at: Minutes = ZERO
    """Time of the last cycle of TransferShedder."""
    last_cycle: tuple[int, int] | None = None
    """`changes` and the number of blocked bundles, as of the last shedding cycle."""
    reported_changes: int | None = None
    """Value of `changes` when the brokers last sent load reports."""
    split_checked_changes: int | None = None
    """Value of `changes` when the leader last looked for bundles to split."""

    def __post_init__(self) -> None:
        self.changed()

    def changed(self) -> None:
        """Record a change that can affect a later decision."""
        self.changes = next(self.counted)

    @property
    def settings(self) -> Settings:
        """The effective settings, which are the leader's settings.

        Dynamic settings take effect immediately, except the shedding strategy. [SHED-10]
        """
        if self.leader is None:
            return Settings({**self.file, **self.dynamic}, self.defaults)
        member = self.brokers[self.leader]
        given = {**member.file, **self.dynamic}
        given.pop(STRATEGY, None)
        if member.strategy is not None:
            given[STRATEGY] = member.strategy
        return Settings(given, self.defaults)

    def join(self, name: str, capacity: Rate) -> None:
        """Add a broker with the current settings."""
        strategy = {**self.file, **self.dynamic}.get(STRATEGY)
        self.brokers[name] = Member(capacity, dict(self.file), strategy)
        self.leader = self.leader or name
        self.changed()

    def leave(self, name: str) -> list[str]:
        """Remove a broker; return the bundles that lost their owner. [OWN-04]"""
        del self.brokers[name]
        if self.leader == name:
            self.leader = next(iter(self.brokers), None)
        lost = self.owned_by(name)
        for bundle in lost:
            del self.owner[bundle]
        self.changed()
        return lost

    def owned_by(self, broker: str) -> list[str]:
        """Return a broker's bundles."""
        return [bundle for bundle, owner in self.owner.items() if owner == broker]

    def bundles_in(self, namespace: str) -> list[str]:
        """Return a namespace's owned bundles in range order."""
        owned = (bundle for bundle in self.owner if namespace_of(bundle) == namespace)
        return sorted(owned)

    def use(self, topic: str, namespace: str, rates: Rates) -> str:
        """Mark a topic as in use, set its rates, and return its bundle."""
        if topic not in self.bundle_of:
            ranges = self.namespaces[namespace]
            place = LOCATE[self.readings["partitions"]](ranges, topic)
            bundle = f"{namespace}/{ranges[place].name}"
            self.bundle_of[topic] = bundle
            self.topics_in.setdefault(bundle, {})[topic] = None
        self.topics[topic] = rates
        bundle = self.bundle_of[topic]
        self.carried.pop(bundle, None)
        self.changed()
        return bundle

    def load_of(self, bundle: str) -> Rates:
        """Return a bundle's current rates: the sum over its topics."""
        known = self.carried.get(bundle)
        if known is None:
            known = together(self.topics[topic] for topic in self.topics_in.get(bundle, ()))
            self.carried[bundle] = known
        return known

    def own(self, bundle: str, broker: str) -> None:
        """Make a broker the owner of a bundle, and update the broker's report. [OWN-01]"""
        self.owner[bundle] = broker
        self.changed()
        self.report(broker)

    def release(self, bundle: str) -> str:
        """Take a bundle from its owner, update the owner's report and return the owner."""
        broker = self.owner.pop(bundle)
        self.report(broker)
        return broker

    def report(self, broker: str) -> None:
        """Update a broker's report."""
        carried = together(map(self.load_of, self.owned_by(broker)))
        if carried != self.brokers[broker].reported:
            self.brokers[broker].reported = carried
            self.changed()

    def local_data(self, broker: str) -> dict[str, Any]:
        """Return a broker's local data: CPU in percent, and totals over its bundles."""
        member, owned = self.brokers[broker], self.owned_by(broker)
        rates = zip(RATE_FIELDS, member.reported.each(), strict=True)
        return {
            "cpu": {"usage": jsonable(member.cpu), "limit": 100},
            **{name: jsonable(rate) for name, rate in rates},
            "numTopics": sum(len(self.topics_in.get(bundle, ())) for bundle in owned),
            "numBundles": len(owned),
            "bundles": owned,
        }

    def cut(self, bundle: str, parts: Iterable[HashRange]) -> list[str]:
        """Split a bundle; its owner keeps the parts. [SPLIT-14]"""
        namespace, whole = namespace_of(bundle), HashRange.parse(bundle)
        ranges = self.namespaces[namespace]
        place = ranges.index(whole)
        ranges[place : place + 1] = parts
        names = [f"{namespace}/{part.name}" for part in parts]
        topics = self.topics_in.pop(bundle, {})
        self.carried.pop(bundle, None)
        self.samples.pop(bundle, None)
        self.measured.pop(bundle, None)
        for topic in topics:
            del self.bundle_of[topic]
            self.use(topic, namespace, self.topics[topic])
        if bundle in self.owner:
            owner = self.owner.pop(bundle)
            self.owner.update(dict.fromkeys(names, owner))
        self.changed()
        return names

    def data(self) -> dict[str, Any]:
        """Return each bundle's averages in the format of bundle data."""
        return {bundle: samples.data for bundle, samples in self.samples.items()}

    def unowned(self) -> list[str]:
        """Return the bundles that contain topics in use but have no owner."""
        return [bundle for bundle in self.topics_in if bundle not in self.owner]

    def owners(self) -> dict[str, str | None]:
        """Return the owner of each topic in use."""
        return {topic: self.owner.get(self.bundle_of[topic]) for topic in self.topics}


Explanation = Callable[[], Iterable[Step]]


class Ignored(Exception):
    """Raised for an event that is impossible in the current state; the message gives the reason."""


@dataclass
class EventResult:
    """Outcome of an event: assignments, unloads, splits and written data."""

    assigned: list[dict[str, Any]] = field(default_factory=list)
    unloaded: list[dict[str, Any]] = field(default_factory=list)
    split: list[dict[str, Any]] = field(default_factory=list)
    decided_by: str | None = None
    reports: dict[str, Any] | None = None
    """Local data that brokers wrote while time passed; None if no time passed."""
    written: dict[str, Any] | None = None
    """Bundle data that the leader wrote; None if no time passed or no interval is set."""
    explanations: list[Explanation] = field(default_factory=list)

    def note(self, label: str, text: str) -> None:
        """Add a single step to the explanations."""
        self.explanations.append(lambda: (Step(label, text),))

    def reported(self, world: World) -> None:
        """Record that every broker wrote its local data. [REPORT-11, REPORT-12]"""
        known = self.reports if self.reports is not None else {}
        for broker in world.brokers:
            found = known.setdefault(broker, {"minutes": []})
            found["minutes"].append(jsonable(world.clock))
            found["last"] = world.local_data(broker)
        self.reports = known

    def record_bundle_data(self, world: World) -> None:
        """Record that the leader wrote the bundle data. [DATA-12]"""
        minutes = self.written["minutes"] if self.written is not None else []
        bundles = {name: samples.counted for name, samples in world.samples.items()}
        self.written = {"minutes": [*minutes, jsonable(world.clock)], "bundles": bundles}

    def step(self, world: World, owners: dict[str, str | None]) -> dict[str, Any]:
        """Return the result of the event as a step of an answer."""
        step: dict[str, Any] = {"owners": owners, "leader": world.leader}
        lists = {"assigned": self.assigned, "unloaded": self.unloaded, "split": self.split}
        step |= {name: found for name, found in lists.items() if found}
        if self.decided_by is not None:
            step["decidedBy"] = self.decided_by
        step["leaderNode"] = world.leader
        seen = {"reports": self.reports, "written": self.written}
        step |= {name: found for name, found in seen.items() if found is not None}
        return step
