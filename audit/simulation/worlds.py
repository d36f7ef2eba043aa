"""Worlds as data: brokers with capacities, bundles with load, events and settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from pulsar_conformance.audit.simulation.cluster.shapes import (
    HOT_FROM,
    LoadShape,
    load_shape,
    seeded_random,
)
from pulsar_conformance.audit.simulation.described import world_problem
from pulsar_conformance.reference.ranges import boundaries
from pulsar_conformance.reference.story.timers import SHEDDING_INTERVAL
from pulsar_conformance.specs.errors import UserError, suggest_names
from pulsar_conformance.specs.text import counted

if TYPE_CHECKING:  # The playground has no files of settings.
    from pulsar_conformance.conformance.cases.settings import SettingsRead

Json = dict[str, Any]
Rates = tuple[float, float, float, float]
"""Messages per second in and out, then bytes per second in and out."""

MEGABYTE = 1_000_000
CAPACITY = 1000
"""Default traffic at which a broker's usage is 100 %, in megabytes per second."""

BYTES_OF_MESSAGE = 10_000


class BadWorld(UserError):
    """An error: the world cannot be simulated. The message is one sentence."""


@dataclass(frozen=True)
class SimulatedBroker:
    """A broker with two usages of each resource, which add up.

    One is constant, in percent; the other grows with traffic, in percent per byte per second.
    """

    name: str
    uses: Mapping[str, tuple[float, float]]
    up: bool = True

    def percents(self, throughput: float) -> dict[str, float]:
        """Return each resource's usage in percent at a traffic of `throughput` bytes per second."""
        return {
            resource: round(min(fixed + each * throughput, 100.0), 6)
            for resource, (fixed, each) in self.uses.items()
        }


@dataclass(frozen=True)
class SimulatedBundle:
    """A bundle with its first owner, its traffic before any factor, and its topics.

    `recorded` are rates by cycle, which replace the world's load function. After the last recorded
    cycle, the rates stay the same.
    """

    name: str
    owner: str | None
    rates: Rates
    topics: int = 10
    recorded: Sequence[Rates] = ()


@dataclass(frozen=True)
class BrokerEvent:
    """A broker that comes up or goes down at the start of a cycle."""

    cycle: int
    broker: str
    up: bool


class RecordedUnload(NamedTuple):
    """A bundle that a real leader shed in a cycle, and the broker to which it was assigned next."""

    cycle: int
    bundle: str
    source: str
    target: str | None


@dataclass(frozen=True)
class SimulatedWorld:
    """A cluster, and all events in it that are independent of the implementation's decisions."""

    name: str
    title: str
    brokers: tuple[SimulatedBroker, ...]
    bundles: tuple[SimulatedBundle, ...]
    settings: Mapping[str, Any]
    shape: LoadShape | None = None
    """Factors for the traffic of each bundle in each cycle; None if all factors are 1."""
    events: tuple[BrokerEvent, ...] = ()
    topics_each_cycle: int = 0
    """Number of topics that each bundle gains in each cycle. If it is 0, no bundle is split."""
    hot: int | None = None
    """Number of the bundle whose traffic is in one topic, so that a split does not divide it."""
    hot_from: int | None = None
    """First cycle in which the hot bundle has more traffic; None if there is no hot bundle."""
    notes: tuple[str, ...] = field(default=())
    clock: tuple[float, ...] = ()
    """Minutes from the first recorded cycle to each recorded cycle."""
    began: datetime | None = None
    """Time of the first recorded cycle; None without recorded cycles."""
    unloads: tuple[RecordedUnload, ...] = ()
    """The leader's unloads for load shedding in the recorded cycles."""
    assigned: Mapping[tuple[int, str], str] = field(default_factory=dict)
    """By cycle and bundle: the broker to which the bundle was last assigned before a recorded
    cycle.
    """
    ways: Mapping[str, str] = field(default_factory=dict)
    """Alternatives by which the version of a real cluster differs from its profile, by the ID of
    the way.
    """
    version: str = ""
    """The version in the reports of a history or of a real cluster; empty if not exactly one is
    named.
    """
    files: SettingsRead | None = None
    """The settings from a real cluster's files; `settings` includes them."""

    def as_read_by(self, version: str) -> SimulatedWorld:
        """Return the world with the settings in its files as this version reads them."""
        if self.files is None or not version:
            return self
        found = self.files.read_by(version)
        lost = self.files.values.keys() - found.values.keys()
        kept = {name: value for name, value in self.settings.items() if name not in lost}
        usual = {name: value for name, value in usual_settings().items() if name in lost}
        new = {
            name: value
            for name, value in found.values.items()
            if name not in self.files.values or value != self.files.values[name]
        }
        return replace(self, settings={**kept, **usual, **new}, files=found)

    def cycle_text(self, number: int) -> str:
        """Return text that names a cycle by its number and, if it is recorded, its time."""
        if self.began is None or number >= len(self.clock):
            return f"cycle {number}"
        ran = self.began.astimezone(UTC) + timedelta(minutes=self.clock[number])
        written = ran.isoformat(timespec="milliseconds").replace(".000", "")
        return f"cycle {number} ({written.replace('+00:00', 'Z')})"

    @property
    def is_constant(self) -> bool:
        """True if no bundle's traffic changes over time."""
        return self.shape is None and not any(one.recorded for one in self.bundles)

    @property
    def is_static(self) -> bool:
        """True if neither the traffic nor the number of topics of any bundle changes over time."""
        return self.is_constant and not self.topics_each_cycle

    def events_after(self, cycles: int) -> str | None:
        """Return a note about events that happen only after this number of cycles; None if
        there are none.
        """
        changes = [event.cycle for event in self.events]
        changes += [] if self.hot_from is None else [self.hot_from]
        late = sorted(one for one in changes if one >= cycles)
        if not late:
            return None
        span = f"cycle {late[0]}" if late[0] == late[-1] else f"cycles {late[0]} to {late[-1]}"
        ends = f"--cycles {cycles} ends before {counted(len(late), 'event')} in {span}"
        return f"{self.name}: {ends}; give --cycles {late[-1] + 1} to include everything"

    def minutes_of_cycle(self, settings: Mapping[str, Any]) -> float:
        """Return the minutes from one cycle to the next under these settings. Errors:
        `BadWorld`.
        """
        given = settings.get(SHEDDING_INTERVAL)
        minutes = 1.0 if given is None else float(given)
        if minutes <= 0:
            problem = f"{SHEDDING_INTERVAL}={given} is not the length of a cycle"
            raise BadWorld(f"{self.name}: {problem}; give a number of minutes above 0")
        return minutes

    def minutes_at(self, cycle: int, interval: float) -> float:
        """Return the minutes from the first cycle to `cycle`.

        After the recorded cycles, a cycle lasts `interval`.
        """
        if cycle < len(self.clock):
            return self.clock[cycle]
        last = len(self.clock) - 1
        return (self.clock[last] if self.clock else 0.0) + (cycle - max(last, 0)) * interval


@cache
def _read_worlds() -> Json:
    text = files("pulsar_conformance.audit.simulation").joinpath("worlds.yaml").read_text("utf-8")
    found: Json = yaml.safe_load(text)
    return found


def world_titles() -> dict[str, str]:
    """Return the titles of the built-in worlds, by name."""
    return {name: data["title"] for name, data in _read_worlds()["worlds"].items()}


def usual_settings() -> Json:
    """Return the settings that a world has by default."""
    return dict(_read_worlds()["settings"])


def named_world(name: str, seed: int = 0) -> SimulatedWorld:
    """Return the built-in world of this name. Errors: `BadWorld`."""
    worlds = _read_worlds()["worlds"]
    if name not in worlds:
        raise BadWorld(f"--world {name}: there is no such world; {suggest_names(name, worlds)}")
    return world_of(name, worlds[name], seed)


def world_of(name: str, data: Any, seed: int = 0) -> SimulatedWorld:
    """Return the world that `data` describes, in the format of `worlds.yaml`. Errors:
    `BadWorld`.
    """
    if wrong := world_problem(data):
        raise BadWorld(f"{name}: {wrong}")
    try:
        topics = {"first": 10, "each_cycle": 0, **data.get("topics", {})}
        brokers, bundles = _parse_cluster(data["brokers"], topics["first"], seed)
        events = tuple(
            BrokerEvent(one["cycle"], brokers[one["broker"] - 1].name, one["up"])
            for one in data.get("events", ())
        )
        return SimulatedWorld(
            name,
            data.get("title", name),
            tuple(brokers),
            tuple(bundles),
            {**usual_settings(), **data.get("settings", {})},
            _parse_shape(data.get("load", {}), seed),
            events,
            topics["each_cycle"],
            *_hot_bundle(data.get("load", {})),
        )
    except (ArithmeticError, TypeError, ValueError) as problem:
        raise BadWorld(f"{name}: a number cannot be used: {problem}; change it") from None


def _parse_shape(load: Json, seed: int) -> LoadShape | None:
    kind = load.get("shape", "constant")
    options = {key: value for key, value in load.items() if key != "shape"}
    return None if kind == "constant" else load_shape(kind, seed, options)


def _hot_bundle(load: Json) -> tuple[int | None, int | None]:
    """Return the number of the hot bundle, and the cycle in which its traffic grows."""
    if load.get("shape") != "hot":
        return None, None
    return load.get("number", 0), load.get("begin", HOT_FROM)


def _parse_cluster(
    described: Sequence[Json], topics: int, seed: int
) -> tuple[list[SimulatedBroker], list[SimulatedBundle]]:
    each = [one for one in described for _ in range(one.get("count", 1))]
    ranges = list(bundle_names(sum(one["bundles"] for one in each)))
    brokers: list[SimulatedBroker] = []
    bundles: list[SimulatedBundle] = []
    for number, one in enumerate(each, 1):
        capacity = one.get("capacity", CAPACITY) * MEGABYTE
        idle = one.get("idle", 0)
        name = f"broker-{number}"
        brokers.append(SimulatedBroker(name, {"cpu": (idle, 100 / capacity)}, one.get("up", True)))
        carried = (one["usage"] - idle) / 100 * capacity
        shares = list(_traffic_shares(one["bundles"], one.get("skew"), len(bundles), seed))
        for share in shares:
            rates = rates_carrying(carried * share)
            bundles.append(SimulatedBundle(ranges[len(bundles)], name, rates, topics))
    return brokers, bundles


def rates_carrying(throughput: float) -> Rates:
    """Return the rates of a bundle with this traffic, half of it in and half out."""
    each_way = float(round(throughput / 2))
    return each_way / BYTES_OF_MESSAGE, each_way / BYTES_OF_MESSAGE, each_way, each_way


def scaled_rates(rates: Rates, factor: float) -> Rates:
    """Return the rates multiplied by a factor. They are rounded so that their sums are exact."""
    messages_in, messages_out, bytes_in, bytes_out = rates
    messages, carried = round(messages_in * factor * 8) / 8, float(round(bytes_in * factor))
    if messages_in == messages_out and bytes_in == bytes_out:
        return messages, messages, carried, carried
    return messages, round(messages_out * factor * 8) / 8, carried, float(round(bytes_out * factor))


def _traffic_shares(count: int, skew: float | None, first: int, seed: int) -> Iterator[float]:
    """Yield each bundle's share of a broker's traffic.

    With `skew`, the shares follow a power law; otherwise they are equal.
    """
    heavy = [
        1.0 if skew is None else (1 - seeded_random(seed, "skew", first + one)) ** (-1 / skew)
        for one in range(count)
    ]
    return (one / sum(heavy) for one in heavy)


def bundle_names(count: int) -> Iterator[str]:
    """Yield the names of bundles that divide a namespace equally."""
    for low, high in pairwise(boundaries(count) if count else ()):
        yield f"shop/events/{low}_{high}"
