"""Names: topics, namespaces, bundles and their ranges."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from pulsar_conformance.reference.ranges import FULL_UPPER, HASHES, HashRange, hex_of

WORDS = ("orders", "clicks", "payments", "ümlaut", "日志", "a", "trade-7", "iot.sensor", "x" * 60)
NAMESPACES = ("shop/eu", "shop/us", "bank/core", "t/ns")


def topics(random: Random, count: int, namespace: str = "t/ns") -> list[str]:
    """Different topics of one namespace."""
    return [
        f"persistent://{namespace}/{random.choice(WORDS)}-{random.getrandbits(40):x}-{number}"
        for number in range(count)
    ]


def partitions(random: Random, count: int) -> list[str]:
    """The partitions of one topic."""
    [topic] = topics(random, 1)
    return [f"{topic}-partition-{number}" for number in range(count)]


def equal_boundaries(count: int) -> list[str]:
    """Ranges of one width, the last taking what remains."""
    return [hex_of(HASHES // count * place) for place in range(count)] + [hex_of(FULL_UPPER)]


def uneven_boundaries(random: Random, count: int) -> list[str]:
    """Ranges of any width."""
    inner = random.sample(range(1, FULL_UPPER), count - 1)
    return list(map(hex_of, [0, *sorted(inner), FULL_UPPER]))


def bundles(random: Random, count: int) -> list[str]:
    """Bundles of a few namespaces, no two of which overlap."""
    names: list[str] = []
    spaces = random.sample(NAMESPACES, random.randint(1, len(NAMESPACES)))
    each = -(-count // len(spaces)) + random.randint(0, 2)
    for space in spaces:
        ends = [int(end, 16) for end in equal_boundaries(max(each, 1))]
        pairs = pairwise(ends)
        names += [f"{space}/{HashRange(low, high).name}" for low, high in pairs]
    return random.sample(names, count)
