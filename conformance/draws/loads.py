"""Numbers: usages near and at thresholds, traffic with ties, zeros and giants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st
from pulsar_conformance.reference.cluster import RESOURCES

MEGABYTE = 1_000_000

EXACT = (0, 25, 50, 75, 100)
"""Usages that every implementation computes without rounding, in 32 bits, too."""

REAL_LIMITS = {
    "cpu": 2400,
    "memory": 8192,
    "directMemory": 16384,
    "bandwidthIn": 10_240_000,
    "bandwidthOut": 10_240_000,
}
"""Limits as brokers report them: 24 cores, MiB, kbit/s."""


class Size(NamedTuple):
    """How large a cluster is."""

    brokers: int
    bundles: int


def sizes(fewest: int = 2) -> st.SearchStrategy[Size]:
    """Clusters of a handful, and (in four of ten) of 5 brokers and 20 bundles or more."""
    small = st.builds(Size, st.integers(fewest, max(4, fewest)), st.integers(0, 8))
    real = st.builds(Size, st.integers(max(5, fewest), 12), st.integers(20, 48))
    return st.integers(0, 9).flatmap(lambda kind: real if kind < 5 else small)


def usages(random: Random, percent: float, exact: bool, others: float = 1.0) -> dict[str, Any]:
    """Resources of a broker, the busiest at `percent`, the rest below it.

    Where `exact`, every percentage is exact in floating point, and limits are 100.
    """
    busiest = random.choice(RESOURCES)
    report = {}
    for resource in RESOURCES:
        if resource == busiest:
            used = percent
        elif exact:
            used = random.choice([level for level in EXACT if level <= percent])
        else:
            used = round(random.random() * percent * others * 0.95, 2)
        limit = 100 if exact or random.random() < 0.5 else REAL_LIMITS[resource]
        if used or random.random() < 0.5 or resource == busiest:
            report[resource] = {
                "usage": used if limit == 100 else used * limit / 100,
                "limit": limit,
            }
    return report


def near(random: Random, level: float) -> float:
    """A percentage around a level: just beside it, a few points off, far off, or zero."""
    offset = random.choice((0.01, 0.5, 1, 3, 10, 25)) * random.choice((1, -1))
    if random.random() < 0.15:
        return random.choice((0, 100, 120, 99.5))
    return max(0, round(level + offset, 2))


def weights_of_traffic(random: Random, count: int, kind: str | None = None) -> list[int]:
    """Bytes per second of `count` bundles: different, tied, with zeros, or one giant."""
    kind = kind or random.choice(("different", "different", "tied", "zeros", "giant", "small"))
    if kind == "tied":
        return [random.choice((5, 10)) * MEGABYTE for _ in range(count)]
    spread = random.sample(range(1, 60 * max(count, 1)), count)
    if kind == "zeros":
        return [0 if random.random() < 0.4 else size * MEGABYTE for size in spread]
    if kind == "giant" and count:
        return [900 * MEGABYTE, *(size * MEGABYTE // 10 for size in spread[1:])]
    return [size * (MEGABYTE if kind != "small" else 100) for size in spread]


def rates(random: Random, sizes_of: Sequence[int], awry: bool = True) -> list[dict[str, float]]:
    """Traffic of bundles, in and out.

    Where `awry`, those with more bytes have fewer messages, so that the two orders differ.
    """
    order = sorted(sizes_of, reverse=awry)
    rank = {size: place for place, size in enumerate(order, start=1)}
    loads = []
    for size in sizes_of:
        share = random.choice((0, 0.25, 0.5, 1))
        messages = 100 * rank[size] if size else 0
        loads.append(
            {
                "msgRateIn": messages * share,
                "msgRateOut": messages * (1 - share),
                "msgThroughputIn": size * share,
                "msgThroughputOut": size * (1 - share),
            }
        )
    return loads


def total(loads: Sequence[dict[str, float]]) -> dict[str, float]:
    """What a broker with these bundles carries."""
    names = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
    return {name: sum(load[name] for load in loads) for name in names}


def average(load: Mapping[str, float], samples: int, most: int) -> dict[str, float]:
    """An average as bundle data has it."""
    return {**load, "numSamples": samples, "maxSamples": most}
