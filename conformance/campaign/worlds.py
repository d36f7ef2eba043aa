"""Bounded worlds: all cases of an operation up to a size, with values around thresholds.

Brokers in the same state and bundles with the same load are interchangeable: cases that differ only
in names are asked once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, combinations_with_replacement, islice, pairwise, product
from typing import Any

from pulsar_conformance.conformance.bundles.operations import SPLIT_CANDIDATES
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.load_data.operations import AVERAGE, USAGE
from pulsar_conformance.conformance.placement.operations import PLACE, SPREAD
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.reference.candidates import (
    AUTO_UNLOAD,
    MAX_MEGABYTES,
    MAX_MESSAGES,
    MAX_SESSIONS,
    MAX_TOPICS,
)
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.ranges import boundaries
from pulsar_conformance.reference.shedding import GRACE
from pulsar_conformance.reference.threshold import HISTORY_SHARE, LOWER_BOUNDARY, SHEDDER_THRESHOLD
from pulsar_conformance.reference.uniform import RATE_THRESHOLD, THROUGHPUT_THRESHOLD
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS

Key = tuple[Any, ...]
"""Compact form of a case, from which the case's JSON is built."""

MB = 1_000_000


@dataclass(frozen=True)
class BoundedWorld:
    """All cases of an operation within given bounds."""

    name: str
    operation: str
    bounds: str
    """The bounds as text that follows the words "up to"."""
    keys: Callable[[], Iterator[Key]]
    case: Callable[[Key], Json]
    strategy: str | None = None
    """The shedding strategy in all cases."""

    @cached_property
    def size(self) -> int:
        """Number of cases."""
        return sum(1 for _ in self.keys())

    def trials(self, start: int, stop: int) -> Iterator[Trial]:
        """Yield cases by number, from `start` up to but not including `stop`."""
        for key in islice(self.keys(), start, stop):
            yield Trial.of(self.operation, self.case(key))


def multisets(states: Sequence[Any], most: int, least: int = 0) -> Iterator[tuple[Any, ...]]:
    """Yield all multisets of `least` to `most` states."""
    sizes = range(least, most + 1)
    return chain.from_iterable(combinations_with_replacement(states, size) for size in sizes)


def names_of_first_bundles(count: int = 8) -> list[str]:
    """Return the names of the first `count` bundles of a namespace divided into eight."""
    return [f"t/ns/{low}_{high}" for low, high in pairwise(boundaries(8))][:count]


KINDS = ("light", "heavy", "heavy and recent")
MESSAGES, MEGABYTES = {"light": 100, "heavy": 400}, {"light": 10, "heavy": 30}


def all_clusters(
    states: Sequence[Any], held: Callable[[Any], int], brokers: int, bundles: int
) -> Iterator[Key]:
    """Yield clusters of 1 to `brokers` broker states with up to `bundles` bundles in total."""
    ordered = sorted(states, key=held)
    counts = list(map(held, ordered))

    def clusters_from(first: int, brokers: int, room: int) -> Iterator[Key]:
        yield ()
        for index in range(first, len(ordered) if brokers else 0):
            if counts[index] > room:
                return
            for rest in clusters_from(index, brokers - 1, room - counts[index]):
                yield (ordered[index], *rest)

    return islice(clusters_from(0, brokers, bundles), 1, None)


def _shedding_case(strategy: str, state: Callable[[Any], Json], key: Key) -> Json:
    """Return a shedding case; `state` turns a broker's state into report fields."""
    cluster, settings = key
    names = iter(names_of_first_bundles())
    brokers: Json = {}
    data: Json = {}
    recent: Json = {}
    for number, (level, kinds) in enumerate(cluster, 1):
        owned = {next(names): kind for kind in kinds}
        rates = {name: _rates_of(kind.partition(" ")[0]) for name, kind in owned.items()}
        data |= {name: {"shortTermData": {**one, "numSamples": 10}} for name, one in rates.items()}
        recent |= {name: 10 for name, kind in owned.items() if kind.endswith("recent")}
        sums = {field: sum(one.get(field, 0) for one in rates.values()) for field in RATE_FIELDS}
        broker = {**sums, **state(level), "bundles": list(owned)}
        brokers[f"broker-{number}"] = broker
    return {
        "strategy": strategy,
        "settings": {GRACE: 30, **settings},
        "brokers": brokers,
        "bundles": data,
        "recentlyUnloaded": recent,
    }


def _rates_of(kind: str) -> Json:
    return {"msgRateIn": MESSAGES[kind], "msgThroughputIn": MEGABYTES[kind] * MB}


def _cpu(percent: float) -> Json:
    return {"cpu": {"usage": percent, "limit": 100}}


def _traffic(level: tuple[int, int]) -> Json:
    messages, megabytes = level
    return {"msgRateOut": messages, "msgThroughputOut": megabytes * MB}


def shedding_world(
    strategy: str,
    levels: Sequence[Any],
    bounds: str,
    settings: Sequence[Json],
    brokers: int = 3,
    bundles: int = 4,
    state: Callable[[Any], Json] = _cpu,
) -> BoundedWorld:
    """Return the bounded world of shedding cycles of a strategy in small clusters."""
    states = list(product(levels, multisets(KINDS, bundles)))
    return BoundedWorld(
        f"{SHED.id} {strategy}",
        SHED.id,
        f"{brokers} brokers and {bundles} bundles of {len(KINDS)} kinds, {bounds}",
        lambda: product(all_clusters(states, lambda one: len(one[1]), brokers, bundles), settings),
        partial(_shedding_case, strategy, state),
        strategy,
    )


def _placing_keys(levels: Sequence[int], brokers: int, bundles: int) -> Iterator[Key]:
    kinds = ("light", "heavy")
    held = [
        (own, ahead)
        for own in multisets(kinds, bundles)
        for ahead in multisets(kinds, bundles - len(own))
    ]
    states = [(own, ahead, *rest) for (own, ahead), *rest in product(held, levels, (True, False))]
    every = all_clusters(states, lambda state: len(state[0]) + len(state[1]), brokers, bundles)
    return product(every, kinds)


def _placing_case(key: Key) -> Json:
    cluster, kind = key
    name, *others = names_of_first_bundles()
    names = iter(others)
    brokers, data, preallocated, candidates = {}, {name: _means(kind)}, {}, []
    for number, (own, ahead, level, candidate) in enumerate(cluster, 1):
        broker = f"broker-{number}"
        owned, coming = ({next(names): one for one in some} for some in (own, ahead))
        data |= {one: _means(kind) for one, kind in (owned | coming).items()}
        sums = {field: sum(_rates_of(kind).get(field, 0) for kind in own) for field in RATE_FIELDS}
        brokers[broker] = {**_cpu(level), **sums, "bundles": list(owned)}
        if coming:
            preallocated[broker] = list(coming)
        candidates += [broker] if candidate else []
    return {
        "settings": {OVERLOAD_THRESHOLD: 85},
        "bundle": name,
        "candidates": candidates,
        "brokers": brokers,
        "bundles": data,
        "preallocated": preallocated,
    }


def _means(kind: str) -> Json:
    rates = {**_rates_of(kind), "numSamples": 10}
    return {"shortTermData": rates, "longTermData": rates}


def placing_world(brokers: int = 3, bundles: int = 3) -> BoundedWorld:
    """Return the bounded world of placing a bundle in small clusters."""
    levels = (0, 40, 84, 85, 86)
    return BoundedWorld(
        PLACE.id,
        PLACE.id,
        f"{brokers} brokers and {bundles} owned or preallocated bundles of 2 kinds, each broker a "
        f"candidate or not, with a usage of {as_alternatives(levels)} % under a threshold of 85 %",
        partial(_placing_keys, levels, brokers, bundles),
        _placing_case,
    )


def _spread_case(cluster: Key) -> Json:
    groups, owned, candidates = {"t/new": "orders"}, {}, []
    domains: dict[str, list[str]] = {}
    for number, (domain, members, other, candidate) in enumerate(cluster, 1):
        broker = f"broker-{number}"
        spaces = [f"t/{number}-{member}" for member in range(members)]
        groups |= dict.fromkeys(spaces, "orders")
        if other:
            spaces.append(f"t/{number}-other")
            groups[spaces[-1]] = "payments"
        if spaces:
            owned[broker] = spaces
        if domain:
            domains.setdefault(domain, []).append(broker)
        candidates += [broker] if candidate else []
    return {
        "settings": {},
        "domains": domains,
        "groups": groups,
        "owned": owned,
        "candidates": candidates,
        "namespace": "t/new",
    }


def spread_world(brokers: int = 4) -> BoundedWorld:
    """Return the bounded world of placing a namespace of an anti-affinity group."""
    states = list(product((None, "east", "west"), range(3), (False, True), (True, False)))
    return BoundedWorld(
        SPREAD.id,
        SPREAD.id,
        f"{brokers} brokers in 2 domains or none, each a candidate or not, each with up to 2 "
        "namespaces of the group and 1 of another group",
        partial(multisets, states, brokers, 1),
        _spread_case,
    )


LIMITS: Mapping[str, tuple[int, ...]] = {
    "topics": (99, 100, 101),
    "producerCount": (199, 200, 201),
    "msgRateIn": (299, 300, 301),
    "msgThroughputIn": (40 * MB - 1, 40 * MB, 40 * MB + 1),
}
"""Values of a bundle below, at and above each limit of automatic splits."""


def _candidates_keys(bundles: int) -> Iterator[Key]:
    states = list(product(*LIMITS.values()))
    switches = product((True, False), (True, False), (True, False), (126, 127, 128))
    return product(multisets(states, bundles), list(switches))


def _candidates_case(key: Key) -> Json:
    cluster, (leader, reported, unload, count) = key
    owned = dict(zip(names_of_first_bundles(len(cluster)), cluster, strict=True))
    stats = {name: dict(zip(LIMITS, values, strict=True)) for name, values in owned.items()}
    rates = {
        name: {field: one[field] for field in RATE_FIELDS if field in one}
        for name, one in stats.items()
    }
    averages = {
        name: {"longTermData": {**one, "numSamples": 10}, "shortTermData": {"numSamples": 0}}
        for name, one in rates.items()
    }
    return {
        "settings": {
            MAX_TOPICS: 100,
            MAX_SESSIONS: 200,
            MAX_MESSAGES: 300,
            MAX_MEGABYTES: 40,
            AUTO_UNLOAD: unload,
        },
        "leader": leader,
        "brokers": {"broker-1": {"bundles": list(owned), "lastStats": stats if reported else {}}},
        "bundles": averages,
        "namespaceBundles": {"t/ns": count},
    }


def candidates_world(bundles: int = 2) -> BoundedWorld:
    """Return the bounded world of automatic splits of the bundles of a single broker."""
    return BoundedWorld(
        SPLIT_CANDIDATES.id,
        SPLIT_CANDIDATES.id,
        f"{bundles} bundles, each below, at and above every limit, in a namespace with 126 to 128 "
        "bundles of at most 128",
        partial(_candidates_keys, bundles),
        _candidates_case,
    )


WEIGHTS, WEIGHTED = (1, 0.5, 0), 3


def _usage_case(key: Key) -> Json:
    percents, weights = key
    given = zip(RESOURCES, percents, strict=True)
    broker = {name: {"usage": one, "limit": 100} for name, one in given if one is not None}
    settings = dict(zip(WEIGHT_SETTINGS.values(), weights or (), strict=False))
    return {"settings": settings, "weighted": weights is not None, "broker": broker}


def usage_world() -> BoundedWorld:
    """Return the bounded world of the resource usage of a single broker."""
    levels = (None, 0, 50, 75, 100)
    weights = [None, *product(WEIGHTS, repeat=WEIGHTED)]
    return BoundedWorld(
        USAGE.id,
        USAGE.id,
        f"5 resources at {as_alternatives(levels[1:])} % or unreported, without weights or "
        f"with weights of {as_alternatives(WEIGHTS)} for {WEIGHTED} of them",
        lambda: product(product(levels, repeat=len(RESOURCES)), weights),
        _usage_case,
    )


def _average_case(key: Key) -> Json:
    samples, (short, long) = key
    return {
        "samples": [dict(zip(RATE_FIELDS, one, strict=True)) for one in samples],
        "shortSamples": short,
        "longSamples": long,
    }


def average_world(samples: int = 9) -> BoundedWorld:
    """Return the bounded world of a bundle's averages over short and long windows."""
    kinds = ((0, 0, 0, 0), (8, 4, 2, 1), (1024, 0, 0, 512))
    windows = ((1, 1), (1, 2), (2, 3), (2, 4), (3, 3), (3, 5))
    sizes = range(samples + 1)
    return BoundedWorld(
        AVERAGE.id,
        AVERAGE.id,
        f"{samples} samples of 3 kinds in windows of 1 to 5",
        lambda: product(
            chain.from_iterable(product(kinds, repeat=size) for size in sizes), windows
        ),
        _average_case,
    )


def as_alternatives(values: Sequence[Any]) -> str:
    """Format values as a phrase: `1, 2 or 3`."""
    *first, last = map(str, values)
    return f"{', '.join(first)} or {last}" if first else last


OVERLOADED, ABOVE_AVERAGE = (0, 40, 84, 85, 86, 100), (40, 50, 59, 60, 61, 70)
"""Usages in percent around an overload threshold of 85, and around 10 points above average."""

TRAFFIC = tuple(product((1000, 1499, 1500, 1501), (10, 39, 40, 41)))


def bounded_worlds() -> tuple[BoundedWorld, ...]:
    """Return the bounded worlds that a campaign can search."""
    return (
        shedding_world(
            "OverloadShedder",
            OVERLOADED,
            f"with usages of {as_alternatives(OVERLOADED)} % under a threshold of 85 %",
            [{OVERLOAD_THRESHOLD: 85}],
            bundles=5,
        ),
        shedding_world(
            "ThresholdShedder",
            ABOVE_AVERAGE,
            f"with usages of {as_alternatives(ABOVE_AVERAGE)} % under a threshold of 10 points, "
            "with and without a lower boundary",
            [
                {SHEDDER_THRESHOLD: 10, HISTORY_SHARE: 0, LOWER_BOUNDARY: lower}
                for lower in (False, True)
            ],
            bundles=5,
        ),
        shedding_world(
            "UniformLoadShedder",
            TRAFFIC,
            "with 1000 to 1501 messages/s and 10 to 41 MB/s of outgoing traffic per broker, under "
            "thresholds of 50 % and a factor of 4",
            [{RATE_THRESHOLD: 50, THROUGHPUT_THRESHOLD: 4}],
            bundles=3,
            state=_traffic,
        ),
        placing_world(),
        spread_world(),
        candidates_world(),
        usage_world(),
        average_world(),
    )
