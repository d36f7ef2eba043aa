"""Draws loads: usage at and near thresholds; traffic with ties, zeros and very large values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from json import dumps
from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st
from pulsar_conformance.conformance.drawing.drawing import composite
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.shedding import TRANSFER_TARGET
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS

MEGABYTE = 1_000_000

EXACT_PERCENTS = (0, 25, 50, 75, 100)
"""Percentages that every implementation computes without rounding, even in 32-bit floats."""

REAL_LIMITS = {
    "cpu": 2400,
    "memory": 8192,
    "directMemory": 16384,
    "bandwidthIn": 10_240_000,
    "bandwidthOut": 10_240_000,
}
"""Limits of a broker in the units of load reports: 100 per CPU core, MiB, kbit/s."""

LARGE_LIMITS = (2**31 - 1, 2**31, 2**40, 2**53, 2**60)
"""Limits too large for some number type, such as 32-bit integers."""

randoms = st.integers(0, 2**64 - 1).map(Random)
"""Strategy for the random source from which most numbers of a case are drawn.

Drawing a number from a strategy takes 15 µs, from `st.randoms` 2 µs, and from this source 0.2 µs; a
cluster has several hundred numbers.
"""


SHARE_AS_TEXT = 0.25
"""Share of the cases whose settings are all written as text."""


def sometimes_as_text(random: Random, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings unchanged or, in some cases, as text, because broker.conf holds text.

    Floats other than weights stay numbers: released Pulsar rejects a text like 85.5 for an integer
    setting.
    """
    if random.random() >= SHARE_AS_TEXT:
        return dict(settings)
    return {
        name: value if isinstance(value, str) or _must_stay_number(name, value) else dumps(value)
        for name, value in settings.items()
    }


def _must_stay_number(name: str, value: Any) -> bool:
    return isinstance(value, float) and name not in WEIGHT_SETTINGS.values()


class Size(NamedTuple):
    """Number of brokers and bundles in a cluster."""

    brokers: int
    bundles: int


HUGE_SIZES = (Size(60, 120),) * 10 + (Size(110, 220),) * 20 + (Size(3, 280),) * 8 + (Size(8, 4096),)
"""Sizes of the largest clusters, whose cases take many times as long as others.

A size is drawn more often if it is listed more than once.
"""

VAST_BYTES = (2**25, 2**31, 2**45)
"""Bytes per second, so many that the sum over a few dozen bundles overflows some number type."""

MAX_BROKERS = 11
"""Number of brokers in the documents' largest example."""

BROKERS = {fewest: st.integers(fewest, MAX_BROKERS) for fewest in (1, 2, 3)}
FEW_BUNDLES, MANY_BUNDLES = st.integers(0, 15), st.integers(20, 40)

WITH_FEW_BUNDLES, LAST_KIND = 20, 63
KINDS, LARGEST = st.integers(0, LAST_KIND), st.sampled_from(HUGE_SIZES)
"""Strategies for a cluster's kind, which is a number, and for the size of a cluster of kind
`LAST_KIND`. Clusters of kinds below `WITH_FEW_BUNDLES` have few bundles.
"""


@cache
def sizes(fewest: int = 2) -> st.SearchStrategy[Size]:
    """Return a strategy for sizes: up to 11 brokers and mostly 20 or more bundles; rarely, one of
    `HUGE_SIZES`.
    """
    return _sizes(fewest)


@composite
def _sizes(draw: st.DrawFn, fewest: int) -> Size:
    kind = draw(KINDS)
    if kind == LAST_KIND:
        largest: Size = draw(LARGEST)
        return largest
    return Size(
        draw(BROKERS[fewest]), draw(FEW_BUNDLES if kind < WITH_FEW_BUNDLES else MANY_BUNDLES)
    )


def draw_usages(random: Random, percent: float, exact: bool, others: float = 1.0) -> dict[str, Any]:
    """Return usage and limit of a broker's resources, the busiest at `percent`.

    Units are those of `REAL_LIMITS`. The other resources are below `others` times the busiest. With
    `exact`, all limits are 100, so that percentages are exact in floating point.
    """
    busiest = random.choice(RESOURCES)
    below = [level for level in EXACT_PERCENTS if level <= percent] if exact else ()
    report = {}
    for resource in RESOURCES:
        if resource == busiest:
            used = percent
        elif exact:
            used = random.choice(below)
        else:
            used = round(random.random() * percent * others * 0.95, 2)
        if used or resource == busiest or random.random() < 0.5:
            limit = 100 if exact or random.random() < 0.5 else _limit_of_resource(random, resource)
            usage = used if limit == 100 else used * limit / 100
            report[resource] = {"usage": usage, "limit": limit}
    return report


def _limit_of_resource(random: Random, resource: str) -> int:
    return random.choice(LARGE_LIMITS) if random.random() < 0.05 else REAL_LIMITS[resource]


def draw_near(random: Random, level: float) -> float:
    """Return a percentage near `level`, up to 25 points away from it, or extreme, such as 0."""
    if random.random() < 0.15:
        return random.choice((0, 100, 120, 99.5))
    offset = random.choice((0.01, 0.25, 0.4, 1, 3, 10, 25)) * random.choice((1, -1))
    return max(0, round(level + offset, 2))


def draw_traffic(random: Random, count: int, kind: str | None = None) -> list[int]:
    """Return the bytes per second of each of `count` bundles.

    `kind` says whether they are distinct, tied, partly zero, dominated by one bundle, small or
    huge; without a kind, it is chosen at random.
    """
    kind = kind or random.choice(("different", "different", "tied", "zeros", "giant", "small"))
    if kind == "tied":
        return [random.choice((5, 10)) * MEGABYTE for _ in range(count)]
    spread = random.sample(range(1, 60 * max(count, 1)), count)
    if kind == "zeros":
        return [0 if random.random() < 0.4 else size * MEGABYTE for size in spread]
    if kind == "giant" and count:
        return [900 * MEGABYTE, *(size * MEGABYTE // 10 for size in spread[1:])]
    unit = {"small": 100, "vast": random.choice(VAST_BYTES)}.get(kind, MEGABYTE)
    return [size * unit for size in spread]


def draw_rates(
    random: Random, sizes_of: Sequence[int], ranks_differ: bool = True
) -> list[dict[str, float]]:
    """Return bundles' traffic in both directions, given their bytes per second.

    With `ranks_differ`, bundles with more bytes have fewer messages, so that the orders by
    bytes and by messages differ.
    """
    order = sorted(sizes_of, reverse=ranks_differ)
    rank = {size: index for index, size in enumerate(order, start=1)}
    return [
        by_direction(100 * rank[size] if size else 0, size, random.choice(SHARES))
        for size in sizes_of
    ]


SHARES = (0, 0.25, 0.5, 1)
"""Possible fractions of a bundle's traffic that are incoming."""


WEIGHTS = (0, 0.1, 0.25, 0.5, 0.8, 1, 1.0)


def draw_weights(random: Random) -> dict[str, float]:
    """Return settings that give each resource a different weight."""
    names = WEIGHT_SETTINGS.values()
    return dict(zip(names, random.sample(WEIGHTS, len(names)), strict=True))


def by_direction(messages: float, size: float, share: float) -> dict[str, float]:
    """Split messages and bytes per second (`size`) by direction; `share` is the incoming part."""
    return {
        "msgRateIn": messages * share,
        "msgRateOut": messages * (1 - share),
        "msgThroughputIn": size * share,
        "msgThroughputOut": size * (1 - share),
    }


def total_traffic(loads: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the total traffic of bundles."""
    return {name: sum([load[name] for load in loads]) for name in RATE_FIELDS}


def as_average(load: Mapping[str, float], samples: int, most: int) -> dict[str, float]:
    """Return bundle data with `load` as the average of `samples` samples; the maximum is `most`."""
    return {**load, "numSamples": samples, "maxSamples": most}


SHARE_WITH_LOWEST_TWICE = 0.2
"""Share of clusters of five brokers or more in which two brokers have the lowest usage."""


def lowest_twice(random: Random, levels: list[float]) -> list[float]:
    """Return usages of brokers; in some cases, two brokers have the lowest usage."""
    if len(levels) < 5 or random.random() >= SHARE_WITH_LOWEST_TWICE:
        return levels
    lowest = min(levels)
    place = random.choice([place for place, level in enumerate(levels) if level != lowest] or [0])
    return [lowest if place == index else level for index, level in enumerate(levels)]


def bundles_per_broker(random: Random, brokers: int, bundles: int) -> list[int]:
    """Return the number of bundles on each broker, distributed unevenly."""
    counts = [0] * brokers
    for place in random.choices(range(brokers), k=bundles):
        counts[place] += 1
    return counts


BUSY, LIMITS = ("cpu", "bandwidthIn", "bandwidthOut"), (100, 100, 400, 2500, 2**33)
"""Resources whose default weight is 1 in all documents, and limits to choose from."""

DIRECTIONS, EACH_WAY = ("In", "Out"), (("In",), ("Out",))

MAGNITUDES = (1, 1, 1, 2.0**-10, 2.0**-20, 2**16, 2**25)
"""Factors for rates; they are powers of 2, so that percentages stay exact."""


def changeable_load(random: Random) -> dict[str, Any]:
    """Return a broker's load whose rates and counts can change by whole percentages."""
    load: dict[str, Any] = {name: 100 * random.randrange(1, 1000) for name in RATE_FIELDS}
    load["numBundles"] = 100 * random.randrange(1, 4)
    for name in BUSY:
        limit = random.choice(LIMITS)
        load[name] = {"usage": limit * random.randrange(20, 40) / 100, "limit": limit}
    return load


def changed_load(
    load: Mapping[str, Any],
    measure: str,
    percent: float,
    resource: str,
    directions: tuple[str, ...] = DIRECTIONS,
) -> dict[str, Any]:
    """Return a load with one measure changed by `percent` percent or, for usage, by `percent`
    points.

    Only the rates in `directions` change. The size of the change is `percent` of the rates in both
    directions together.
    """
    if measure == "usage":
        limit = load[resource]["limit"]
        used = max(0, load[resource]["usage"] + percent * limit / 100)
        return {**load, resource: {"usage": used, "limit": limit}}
    part = {"messages": "msgRate", "bytes": "msgThroughput", "bundles": "numBundles"}[measure]
    every = {name: one for name, one in load.items() if name.startswith(part)}
    some = {name: one for name, one in every.items() if name.endswith(directions)} or every
    factor = max(0, 1 + percent / 100 * sum(every.values()) / sum(some.values()))
    return {**load, **{name: round(one * factor) for name, one in some.items()}}


def multiplied(load: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Return a load with its messages and bytes per second multiplied by `factor`."""
    return {**load, **{name: load[name] * factor for name in RATE_FIELDS}}


Loads = tuple[dict[str, float], dict[str, Any]]
"""The load of each broker in percent, and settings of TransferShedder near these loads."""


def broker_names(random: Random, count: int) -> list[str]:
    """Return the names of brokers, without repetition."""
    return [f"broker-{place}" for place in random.sample(range(100), count)]


JUST_BELOW, JUST_ABOVE = 0.997, 1.003
"""Factors for a limit: slightly below and above it, by far more than rounding errors."""


def _deviation(loads: Sequence[float], sample: int = 0) -> float:
    """Return the standard deviation of a population or, if `sample` is 1, of a sample."""
    mean = sum(loads) / len(loads)
    return float((sum((one - mean) ** 2 for one in loads) / (len(loads) - sample)) ** 0.5)


def unbalanced_loads(random: Random, fewest: int = 2, most: int = 6) -> Loads:
    """Return loads whose deviation is one to two times the target, and the settings.

    In one case of six, the deviation is little more than the target.
    """
    count = random.randint(fewest, most)
    low, high = random.randint(10, 20), random.randint(60, 84)
    inner = random.sample(range(low + 3, high - 3), count - 2)
    loads: list[float] = [low, *inner, high]
    if random.random() < 1 / 4 and count == 2:
        loads = [10, random.randint(63, 84)]
        return dict(zip(broker_names(random, count), loads, strict=True)), {}
    over = random.choice((JUST_ABOVE, *[random.uniform(1.1, 1.9)] * 5))
    target = round(_deviation(loads) / 100 / over, 4 if over == JUST_ABOVE else 3)
    return dict(zip(broker_names(random, count), loads, strict=True)), {TRANSFER_TARGET: target}


def balanced_loads(random: Random) -> Loads:
    """Return loads whose deviation is half to one times the target, and the settings."""
    count, high = random.randint(2, 6), random.randint(50, 90)
    low = high * random.choice((0.3, 0.4, 0.6)) if count > 2 else high - random.randint(10, 30)
    loads = [round(low, 1), *[high - random.choice((0, 0, 1)) for _ in range(count - 2)], high]
    least = _deviation(loads, 1) * 1.05
    most = max(_deviation(loads) * 1.95, least * 1.02)
    target = round(random.uniform(least, most) / 100, 3)
    threshold = random.choice((high - 3, high - 20, 85))
    return dict(zip(broker_names(random, count), loads, strict=True)), {
        TRANSFER_TARGET: target,
        OVERLOAD_THRESHOLD: threshold,
    }


def slightly_uneven(random: Random) -> Loads:
    """Return loads with a small deviation, and the settings; the first load is the lowest."""
    count, high = random.randint(2, 6), random.randint(40, 80)
    low = high * random.choice((0.5, 0.6, 0.7))
    loads = [round(low, 1), *[high - random.randint(1, 4) for _ in range(count - 2)], high]
    target = random.choice((0.25, 0.3, round(_deviation(loads, 1) / 80, 3)))
    return dict(zip(broker_names(random, count), loads, strict=True)), {TRANSFER_TARGET: target}


def underloaded_levels(random: Random) -> Loads:
    """Return loads and settings; the first load is below the underload limit, often slightly."""
    share = random.choice((JUST_BELOW, random.uniform(0.6, 0.95), random.uniform(0.6, 0.95)))
    return _near_the_underload_limit(random, share)


def hardly_loaded(random: Random) -> Loads:
    """Return loads and settings; the first load is slightly above the underload limit."""
    return _near_the_underload_limit(random, JUST_ABOVE)


def _near_the_underload_limit(random: Random, share: float) -> Loads:
    """Return loads and settings; the first load is `share` times the underload limit."""
    count, high = random.randint(4, 6), random.randint(40, 60)
    target = random.choice((0.3, 0.4, 0.5, 0.8, 1.5))
    others = [*[high - random.randint(1, 4) for _ in range(count - 2)], high]
    of_the_mean = share * min(0.5, target / 2) / count
    low = round(sum(others) * of_the_mean / (1 - of_the_mean), 3)
    loads = dict(zip(broker_names(random, count), [low, *others], strict=True))
    return loads, {TRANSFER_TARGET: target}


def overloaded_levels(random: Random) -> Loads:
    """Return loads and settings; the last load is above the threshold and far above the mean."""
    return _one_far_above(random, random.choice((JUST_BELOW, *[random.uniform(0, 0.95)] * 4)))


def hardly_overloaded(random: Random) -> Loads:
    """Return loads and settings; the last load is above the threshold, but not quite far enough
    above the mean.
    """
    return _one_far_above(random, JUST_ABOVE)


def _one_far_above(random: Random, share: float) -> Loads:
    """Return loads and settings; the last load is above the threshold.

    The target is `share` times the points from the mean to the last load, or more: it exceeds the
    deviation.
    """
    count, low, high = random.randint(5, 9), random.randint(20, 30), random.randint(75, 99)
    inner = [low + random.choice((0, 1, 2)) for _ in range(count - 2)]
    loads = [low, *inner, high]
    apart = high - sum(loads) / count
    target = round(max(_deviation(loads, 1) * 1.05, apart * share) / 100, 4)
    threshold = high - random.choice((1, 3, 10))
    return dict(zip(broker_names(random, count), loads, strict=True)), {
        TRANSFER_TARGET: target,
        OVERLOAD_THRESHOLD: threshold,
    }


def uneven_after_moves(random: Random) -> Loads:
    """Return loads that are still uneven after several brokers have unloaded, and the settings."""
    high = random.sample(range(60, 85), 4)
    low = random.sample(range(5, 30), 4)
    return dict(zip(broker_names(random, 8), [*low, *high], strict=True)), {TRANSFER_TARGET: 0.02}
