"""State of a cluster: brokers, namespaces, topics and the owner of each bundle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from pulsar_conformance.reference.averages import together
from pulsar_conformance.reference.bundles import LOCATE
from pulsar_conformance.reference.cluster import RATE_FIELDS, Rates
from pulsar_conformance.reference.numbers import ZERO, Minutes, Percent, Rate, jsonable
from pulsar_conformance.reference.ranges import HashRange, namespace_of
from pulsar_conformance.reference.readings import Readings
from pulsar_conformance.reference.settings import Settings, Value
from pulsar_conformance.reference.shedding import STRATEGY
from pulsar_conformance.reference.story.averages import Samples

IDLE = Rates(ZERO, ZERO, ZERO, ZERO)


@dataclass
class Member:
    """A broker that is up."""

    capacity: Rate
    """Bytes per second at which its CPU is fully used."""
    file: Mapping[str, Value]
    """Contents of its broker.conf when it started."""
    strategy: Value
    """The shedding strategy with which it started. [SHED-10]"""
    reported: Rates = IDLE
    """Rates in its last report."""
    history: Percent | None = None
    """ThresholdShedder's smoothed usage from earlier cycles."""

    @property
    def cpu(self) -> Percent:
        """100 x the throughput that it last reported / its capacity."""
        return 100 * self.reported.throughput / self.capacity


@dataclass
class World:
    """The mutable state of a story."""

    defaults: Mapping[str, Value]
    readings: Readings
    file: dict[str, Value]
    """Current settings of broker.conf."""
    dynamic: dict[str, Value] = field(default_factory=dict)
    """Settings that were changed while brokers ran."""
    clock: Minutes = ZERO
    brokers: dict[str, Member] = field(default_factory=dict)
    """Brokers in the order in which they joined."""
    leader: str | None = None
    namespaces: dict[str, list[HashRange]] = field(default_factory=dict)
    topics: dict[str, Rates] = field(default_factory=dict)
    """The topics in use, with their rates."""
    topics_in: dict[str, dict[str, None]] = field(default_factory=dict)
    """Bundle to the topics in use that lie in it."""
    bundle_of: dict[str, str] = field(default_factory=dict)
    owner: dict[str, str] = field(default_factory=dict)
    """Bundle to the broker that owns it."""
    domains: dict[str, list[str]] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    samples: dict[str, Samples] = field(default_factory=dict)
    unloaded_at: dict[str, Minutes] = field(default_factory=dict)
    """Time of each bundle's last unload that starts a grace period."""
    changes: int = field(init=False)
    """Counter of changes that a later decision may depend on."""
    counted: Iterator[int] = field(default_factory=count)
    carried: dict[str, Rates] = field(default_factory=dict)
    """Cached rates of bundles."""
    reported_at: Minutes = ZERO
    shed_at: Minutes = ZERO
    """Time of the last shedding cycle."""
    wrote_at: Minutes = ZERO
    """Time when the leader last wrote the bundle data."""
    last_cycle: tuple[int, int] | None = None
    """State at the last shedding cycle: `changes`, and the number of blocked bundles."""
    reported_changes: int | None = None
    """Value of `changes` when every broker last sent a load report."""
    split_checked_changes: int | None = None
    """`changes` when the leader last looked for bundles to split."""

    def __post_init__(self) -> None:
        self.changed()

    def changed(self) -> None:
        """Record a change that a later decision may depend on."""
        self.changes = next(self.counted)

    @property
    def settings(self) -> Settings:
        """The settings in force: those of the broker that leads.

        Dynamic settings apply at once, except the shedding strategy. [SHED-10]
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
        """A broker joins, with the current settings."""
        strategy = {**self.file, **self.dynamic}.get(STRATEGY)
        self.brokers[name] = Member(capacity, dict(self.file), strategy)
        self.leader = self.leader or name
        self.changed()

    def leave(self, name: str) -> list[str]:
        """A broker goes down; return the bundles that lost their owner. [OWN-04]"""
        del self.brokers[name]
        if self.leader == name:
            self.leader = next(iter(self.brokers), None)
        lost = self.owned_by(name)
        for bundle in lost:
            del self.owner[bundle]
        self.changed()
        return lost

    def owned_by(self, broker: str) -> list[str]:
        """The bundles of a broker."""
        return [bundle for bundle, owner in self.owner.items() if owner == broker]

    def bundles_in(self, namespace: str) -> list[str]:
        """The bundles of a namespace that a broker owns, in the order of their ranges."""
        owned = (bundle for bundle in self.owner if namespace_of(bundle) == namespace)
        return sorted(owned)

    def use(self, topic: str, namespace: str, rates: Rates) -> str:
        """Use a topic with these rates from now on, and return its bundle."""
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
        """Current rates of a bundle: the sum over its topics."""
        known = self.carried.get(bundle)
        if known is None:
            known = together(self.topics[topic] for topic in self.topics_in.get(bundle, ()))
            self.carried[bundle] = known
        return known

    def own(self, bundle: str, broker: str) -> None:
        """A broker takes a bundle, and reports it. [OWN-01]"""
        self.owner[bundle] = broker
        self.changed()
        self.report(broker)

    def release(self, bundle: str) -> str:
        """Release a bundle from its owner, update its report and return the owner."""
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
        """A broker's local data: its CPU in percent, and totals over its bundles."""
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
        """Divide a bundle; its parts keep its owner. [SPLIT-14]"""
        namespace, whole = namespace_of(bundle), HashRange.parse(bundle)
        ranges = self.namespaces[namespace]
        place = ranges.index(whole)
        ranges[place : place + 1] = parts
        names = [f"{namespace}/{part.name}" for part in parts]
        topics = self.topics_in.pop(bundle, {})
        self.carried.pop(bundle, None)
        self.samples.pop(bundle, None)
        for topic in topics:
            del self.bundle_of[topic]
            self.use(topic, namespace, self.topics[topic])
        if bundle in self.owner:
            owner = self.owner.pop(bundle)
            self.owner.update(dict.fromkeys(names, owner))
        self.changed()
        return names

    def data(self) -> dict[str, Any]:
        """Averages of each bundle, in the shape of bundle data."""
        return {bundle: samples.data for bundle, samples in self.samples.items()}

    def unowned(self) -> list[str]:
        """The bundles in use that no broker owns."""
        return [bundle for bundle in self.topics_in if bundle not in self.owner]

    def owners(self) -> dict[str, str | None]:
        """Each topic in use, and the broker that owns it."""
        return {topic: self.owner.get(self.bundle_of[topic]) for topic in self.topics}
