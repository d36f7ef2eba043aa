"""Names of topics, namespaces, bundles and their ranges."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from functools import cache
from itertools import pairwise
from random import Random

from pulsar_conformance.reference.ranges import FULL_UPPER, HASHES, HashRange, hex_of

WORDS = ("orders", "Clicks", "payments", "ümlaut", "日志", "a", "trade-7", "iot.sensor", "x" * 60)
NAMESPACES = ("shop/eu", "shop/eu-2", "my-shop/eu", "t/ns")
"""Namespaces, some of whose names begin or end like others."""

MANY_NAMESPACES = (*NAMESPACES, *(f"team-{number}/apps" for number in range(1, 61)))
MANY_BUNDLES = 200
"""Minimum number of bundles whose namespaces are taken from `MANY_NAMESPACES`."""


def topics(random: Random, count: int, namespace: str = "t/ns") -> list[str]:
    """Return distinct topics in one namespace."""
    words, numbers = random.choices(WORDS, k=count), random.choices(range(1 << 40), k=count)
    return [
        f"persistent://{namespace}/{word}-{number:x}-{index}"
        for index, (word, number) in enumerate(zip(words, numbers, strict=True))
    ]


def partitions(random: Random, count: int) -> list[str]:
    """Return `count` partitions of one topic, numbered from 0."""
    [topic] = topics(random, 1)
    return [f"{topic}-partition-{number}" for number in range(count)]


ALIKE = ("shop/eu", "shop/eu-2", "shop2/eu", "eu/shop", "pulsar/functions", "pulsar/system-2")
"""Namespaces of several tenants; some names contain another name or begin with it."""


def similar_namespaces(random: Random, known: Set[str]) -> list[str]:
    """Return names that begin, end or sound like known namespaces, none of which is known.

    They resemble each known namespace in one way, the same for all, or in every way.
    """
    kinds = random.sample(SIMILAR, random.choice((1, len(SIMILAR), len(SIMILAR))))
    made = {"/".join(kind(*one.rsplit("/", 1))) for one in sorted(known) for kind in kinds}
    return random.sample(sorted(made - known), len(made - known))


SIMILAR: Sequence[Callable[[str, str], Sequence[str]]] = (
    lambda tenant, name: (tenant, name[:-1] or name * 2),
    lambda tenant, name: (tenant, f"{name}-2"),
    lambda tenant, name: (tenant[1:] or tenant * 2, name),
    lambda tenant, name: (f"my-{tenant}", name),
    lambda tenant, name: (tenant, name.swapcase()),
    lambda tenant, name: (tenant, f"no-{name}"),
    lambda tenant, name: (f"{tenant}-2", name),
)
"""Functions that return a tenant and a name similar to those of a namespace: a beginning or an end
of it, a text that begins or ends with it, the same in other capitals, and another namespace of the
tenant or of that name.
"""


def bundles_alike(random: Random, count: int, also: Sequence[str] = ()) -> list[str]:
    """Return `count` bundles of the namespaces `ALIKE` and `also`, which have the same ranges."""
    spaces = random.sample((*ALIKE, *also), len(ALIKE) + len(also))
    each = max(-(-count // len(spaces)), random.choice((1, 2)))
    return [name for space in spaces for name in equal_bundles(space, each)][:count]


@cache
def _equal_boundaries(count: int) -> tuple[str, ...]:
    return (*(hex_of(HASHES // count * index) for index in range(count)), hex_of(FULL_UPPER))


def equal_boundaries(count: int) -> list[str]:
    """Return the boundaries of `count` equally wide ranges; the last range has the remainder."""
    return list(_equal_boundaries(count))


def uneven_boundaries(random: Random, count: int) -> list[str]:
    """Return the boundaries of `count` ranges with random widths."""
    inner = random.sample(range(1, FULL_UPPER), count - 1)
    return list(map(hex_of, [0, *sorted(inner), FULL_UPPER]))


@cache
def equal_bundles(namespace: str, count: int) -> tuple[str, ...]:
    """Return the bundles of a namespace with `count` equally wide bundles."""
    ends = [int(end, 16) for end in _equal_boundaries(count)]
    return tuple(f"{namespace}/{HashRange(low, high).name}" for low, high in pairwise(ends))


def bundles(random: Random, count: int) -> list[str]:
    """Return `count` bundles of one or more namespaces, without overlaps."""
    known = NAMESPACES if count < MANY_BUNDLES else MANY_NAMESPACES
    spaces = random.sample(known, random.randint(1, len(known)))
    each = max(-(-count // len(spaces)) + random.randint(0, 2), 1)
    names = [name for space in spaces for name in equal_bundles(space, each)]
    return random.sample(names, count)
