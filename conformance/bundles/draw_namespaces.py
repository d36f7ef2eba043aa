"""Draws namespaces to create, and topics to locate in their bundles."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing import Aim, composite, names
from pulsar_conformance.conformance.drawing.loads import randoms, sometimes_as_text
from pulsar_conformance.reference.ranges import FULL_UPPER, hash_of, hex_of

DEFAULT_BUNDLES = "defaultNumberOfNamespaceBundles"
DEFAULT_SYSTEM_BUNDLES = "defaultNumberOfSystemNamespaceBundles"

TOPICS_AT_THE_END = (
    "persistent://t/ns/edge-jzegdc1ep9ddzoi0jhlmg9d81xplf7vs60v5c9v5",
    "persistent://t/ns/last-frdtyw3kdnizf2ri9wyjjolqj0xi39gzde2hda8x",
    "persistent://t/ns/top-njwx544jvq7nxj7t7kw8vmo75rqwwfoomnawhmlv",
)
"""Topics whose CRC-32 is 0xffffffff. [BUNDLE-13]"""

counts = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 10, 16, 31, 64, 100, 128, 255, 1000, 4096])


def create(
    bundles: st.SearchStrategy[int | None], settings: st.SearchStrategy[Json]
) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials that create a namespace with a drawn number of bundles.

    If the number is None, the settings determine it.
    """
    return _creation(bundles.map(lambda count: {"bundles": count}), settings)


def creation_by(creator: str) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials in which `creator` creates a namespace."""
    settings: st.SearchStrategy[Json] = st.one_of(
        st.just({}),
        st.tuples(counts, counts).map(
            lambda two: {DEFAULT_BUNDLES: two[0], DEFAULT_SYSTEM_BUNDLES: two[1]}
        ),
        st.tuples(st.sampled_from((DEFAULT_BUNDLES, DEFAULT_SYSTEM_BUNDLES)), counts).map(
            lambda one: dict([one])
        ),
    )
    return _creation(st.just({"bundles": None, "creator": creator}), settings)


def _creation(
    asked: st.SearchStrategy[Json], settings: st.SearchStrategy[Json]
) -> st.SearchStrategy[Trial]:
    return st.builds(
        lambda one, given, random: Trial.of(
            "bundles.create", {**one, "settings": sometimes_as_text(random, given)}
        ),
        asked,
        settings,
        randoms,
    )


COORDINATORS = [
    f"persistent://pulsar/system/transaction_coordinator_assign-partition-{number}"
    for number in range(16)
]


def coordinators() -> st.SearchStrategy[Trial]:
    """Return a strategy for trials that locate the topics of transaction coordinators."""
    topics = randoms.map(lambda random: random.sample(COORDINATORS, len(COORDINATORS)))
    return st.builds(
        lambda count, names_: Trial.of(
            "bundles.locate", location_case(names.equal_boundaries(count), names_)
        ),
        st.sampled_from((16, 64)),
        topics,
    )


def default_bundles() -> st.SearchStrategy[Json]:
    """Return a strategy for settings with or without a default number of bundles."""
    return st.one_of(st.just({}), counts.map(lambda count: {DEFAULT_BUNDLES: count}))


def draw_boundaries(random: Random, count: int) -> list[str]:
    """Return the boundaries of `count` bundles of equal or random widths."""
    return random.choice((names.equal_boundaries(count), names.uneven_boundaries(random, count)))


def location_case(ends: list[str], topics: list[str]) -> Json:
    """Return a case of `bundles.locate`."""
    return {"boundaries": ends, "topics": topics}


@composite
def locate(draw: st.DrawFn) -> Trial:
    """Draw topics to locate in a namespace's bundles."""
    random, count = draw(randoms), draw(counts)
    topics = names.topics(random, draw(st.sampled_from([1, 2, 20])))
    if random.random() < 0.3:
        topics += names.partitions(random, 3)
    return Trial.of("bundles.locate", location_case(draw_boundaries(random, count), topics))


@composite
def located_twice(draw: st.DrawFn) -> Trial:
    """Draw topics to locate, then some of them again among other topics, in another order."""
    random, count = draw(randoms), draw(counts)
    ends, topics = draw_boundaries(random, count), names.topics(random, draw(st.integers(1, 20)))
    second = random.sample(topics, random.randint(1, len(topics)))
    second += names.topics(random, random.randint(0, 5))
    return Trial.of("bundles.locate", location_case(ends, topics), location_case(ends, second))


@composite
def located_in_finer_bundles(draw: st.DrawFn) -> Trial:
    """Draw topics to locate in wide bundles, then in narrower bundles that divide the wide ones."""
    random, count = draw(randoms), draw(counts)
    coarse, topics = draw_boundaries(random, count), names.topics(random, 20)
    added = {hex_of(random.randrange(1, FULL_UPPER)) for _ in range(random.choice((1, 5, 50)))}
    fine = sorted({*coarse, *added})
    return Trial.of("bundles.locate", location_case(coarse, topics), location_case(fine, topics))


@composite
def located_around_a_split(draw: st.DrawFn) -> Trial:
    """Draw topics to locate before and after one of several bundles is split."""
    random, count = draw(randoms), draw(counts.filter(lambda count: count > 1))
    ends, topics = draw_boundaries(random, count), names.topics(random, 20)
    place = random.randrange(count)
    low, high = int(ends[place], 16), int(ends[place + 1], 16)
    middle = hex_of(low + max(1, (high - low) // 2))
    after = sorted({*ends, middle})
    return Trial.of("bundles.locate", location_case(ends, topics), location_case(after, topics))


@composite
def partitions_of_a_topic(draw: st.DrawFn) -> Trial:
    """Draw all partitions of a topic, to be located in at least as many bundles."""
    random, count = draw(randoms), draw(st.sampled_from([2, 4, 16, 64, 128]))
    partitions = names.partitions(random, random.randint(2, count))
    return Trial.of("bundles.locate", location_case(names.equal_boundaries(count), partitions))


@composite
def partitions_in_many_bundles(draw: st.DrawFn) -> Trial:
    """Draw many partitions of a topic to locate in many bundles."""
    random, count = draw(randoms), draw(st.sampled_from([64, 128, 256]))
    partitions = names.partitions(random, draw(st.sampled_from([64, 100, 128, count])))
    return Trial.of("bundles.locate", location_case(names.equal_boundaries(count), partitions))


SEVERAL_TOPICS, FEW_PARTITIONS = 12, 16
"""Number of topics, and number of partitions of each topic. No two partition numbers, such as 3
and 5, may share a bundle in all of the topics.
"""


@composite
def partitions_of_several_topics(draw: st.DrawFn) -> Trial:
    """Draw partitions of several topics to locate in 64 bundles."""
    random = draw(randoms)
    topics = [names.partitions(random, FEW_PARTITIONS) for _ in range(SEVERAL_TOPICS)]
    every = [partition for partitions in topics for partition in partitions]
    return Trial.of("bundles.locate", location_case(names.equal_boundaries(64), every))


@composite
def thousand_topics(draw: st.DrawFn) -> Trial:
    """Draw 1000 topics to locate in 64 bundles, the number recommended for 16 brokers."""
    topics = names.topics(draw(randoms), 1000)
    return Trial.of("bundles.locate", location_case(names.equal_boundaries(64), topics))


@composite
def topics_on_boundaries(draw: st.DrawFn) -> Trial:
    """Draw topics to locate; the CRC-32 of some is a boundary between bundles."""
    random = draw(randoms)
    topics = names.topics(random, draw(st.integers(1, 8)))
    inner = {hash_of(topic) for topic in topics[: 1 + len(topics) // 2]} - {0, FULL_UPPER}
    ends = list(map(hex_of, [0, *sorted(inner), FULL_UPPER]))
    return Trial.of("bundles.locate", location_case(ends, topics))


@composite
def topics_at_highest_hash(draw: st.DrawFn) -> Trial:
    """Draw topics whose CRC-32 is the highest hash."""
    random, count = draw(randoms), draw(counts)
    last = draw(st.lists(st.sampled_from(TOPICS_AT_THE_END), min_size=1, unique=True))
    topics = [*last, *names.topics(random, random.randint(0, 3))]
    return Trial.of("bundles.locate", location_case(draw_boundaries(random, count), topics))


@composite
def as_many_partitions_as_bundles(draw: st.DrawFn) -> Trial:
    """Draw as many partitions of a topic as there are bundles."""
    count = draw(st.sampled_from([64, 128, 256]))
    ends, partitions = names.equal_boundaries(count), names.partitions(draw(randoms), count)
    return Trial.of("bundles.locate", location_case(ends, partitions))


AIMED = (Aim("partitions", "bundles.locate", as_many_partitions_as_bundles()),)
