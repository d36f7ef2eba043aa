"""Draws bundles to split."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance.conformance.bundles.draw_namespaces import location_case
from pulsar_conformance.conformance.bundles.operations import LOCATE, SPLIT, WHOLE
from pulsar_conformance.conformance.common.trial import Json, Question, Trial
from pulsar_conformance.conformance.drawing import Aim, aim, composite, names
from pulsar_conformance.conformance.drawing.loads import MEGABYTE, randoms
from pulsar_conformance.reference.candidates import MAX_MEGABYTES, MAX_MESSAGES
from pulsar_conformance.reference.ranges import FULL_UPPER, HASHES, HashRange, hash_of, hex_of
from pulsar_conformance.reference.splitting import (
    BY_RATES,
    FLOW_MARGIN,
    POSITIONS,
    RANGE,
    TOPICS,
)

DEFAULT_ALGORITHM = "defaultNamespaceBundleSplitAlgorithm"
SUPPORTED_ALGORITHMS = "supportedNamespaceBundleSplitAlgorithms"
NARROW_RANGES = 4096
"""Number of ranges in which topics are located, large enough that topics rarely share a range."""


counts_of_topics = st.sampled_from((2, 3, 4, 5, 10, 11, 60, 61, 250, 999, 2001))
"""Strategy for the number of topics in a namespace."""

IN_ORDER = 0.3
"""Share of splits whose topics are listed in hash order."""

callers = st.sampled_from(("admin", "broker"))
algorithms = st.sampled_from((RANGE, TOPICS))


def split_case(bundle: str, algorithm: str | None, **given: Any) -> Json:
    """Return a `bundles.split` case; by default, an administrator asks, and there are no topics."""
    case: Json = {"bundle": bundle, "algorithm": algorithm, "by": "admin", "settings": {}}
    return {**case, "topics": [], "positions": [], **given}


def draw_range(random: Random) -> HashRange:
    """Return a bundle's range: the whole hash range, its upper end, a narrow range, or a random
    range.
    """
    kind = random.choice(("whole", "end", "narrow", "equal", "any", "any"))
    if kind == "whole":
        return HashRange.parse(WHOLE)
    if kind == "end":
        return HashRange(random.randrange(1, FULL_UPPER - 1), FULL_UPPER)
    if kind == "equal":
        width = HASHES // random.choice((2, 4, 64, 128))
        lower = width * random.randrange(HASHES // width - 1)
        return HashRange(lower, lower + width)
    lower = random.randrange(FULL_UPPER - 10)
    width = random.choice((2, 3, 4, 5)) if kind == "narrow" else random.randrange(2, FULL_UPPER)
    return HashRange(lower, min(lower + width, FULL_UPPER))


def topics_in(random: Random, part: HashRange, most: int = 12) -> list[str]:
    """Return topics whose CRC-32 is in a range; a narrow range may get no topics."""
    found = names.topics(random, most * 4)
    return [topic for topic in found if hash_of(topic) in part][:most]


@composite
def halves(draw: st.DrawFn) -> Trial:
    """Draw a range to split in half."""
    random = draw(randoms)
    part = draw_range(random)
    case = split_case(part.name, RANGE, topics=topics_in(random, part))
    case["by"] = random.choice(("admin", "broker"))
    return Trial.of(SPLIT.id, case)


def split_with_located_topics(split: Json) -> Trial:
    """Return a trial that splits a whole namespace, and locates its topics in narrow ranges."""
    found = location_case(names.equal_boundaries(NARROW_RANGES), split["topics"])
    return Trial((Question(SPLIT.id, split), Question(LOCATE.id, found)))


@composite
def topic_halves(draw: st.DrawFn) -> Trial:
    """Draw a split of the whole hash range by topics; no topic can be outside that range."""
    count, by = draw(counts_of_topics), draw(callers)
    random = draw(randoms)
    topics = names.topics(random, count)
    if random.random() < IN_ORDER:
        topics.sort(key=hash_of)
    return split_with_located_topics(split_case(WHOLE, TOPICS, topics=topics, by=by))


NEIGHBORS = (
    ("persistent://shop/eu/payments-b7487", "persistent://shop/eu/returns-aabc6"),
    ("persistent://shop/eu/returns-a3097", "persistent://shop/eu/payments-befb6"),
    ("persistent://shop/eu/payments-ea599", "persistent://shop/eu/returns-f7cb8"),
    ("persistent://shop/eu/returns-35eb5", "persistent://shop/eu/payments-0c394"),
)
"""Pairs of topics whose CRC-32 differ by one, so that only one boundary separates them.
[SPLIT-11]
"""


neighbor_pairs = st.sampled_from(NEIGHBORS)
numbers_of_others = st.sampled_from((0, 1, 2, 5, 5, 150))


@composite
def neighbors(draw: st.DrawFn) -> Trial:
    """Draw two topics with consecutive hashes, alone or with equally many topics on both sides."""
    pair, more, by = list(draw(neighbor_pairs)), draw(numbers_of_others), draw(callers)
    random = draw(randoms)
    middle = max(map(hash_of, pair))
    others = names.topics(random, 4 * more + 8, "shop/eu")
    below = [topic for topic in others if hash_of(topic) < middle]
    topics = [*pair, *below[:more], *[one for one in others if one not in below][:more]]
    random.shuffle(topics)
    ends = sorted({0, FULL_UPPER, *map(hash_of, topics)})
    split = split_case(WHOLE, TOPICS, topics=topics, by=by)
    located = location_case(list(map(hex_of, ends)), topics)
    return Trial((Question(SPLIT.id, split), Question(LOCATE.id, located)))


counts_of_positions = st.sampled_from((1, 2, 5) * 6 + (20, 130, 1000))
"""Strategy for the number of positions inside a bundle, rarely a large one."""


@composite
def positions(draw: st.DrawFn) -> Trial:
    """Draw positions to split at: inside the bundle, at its bounds, outside it, and repeated."""
    random = draw(randoms)
    part = draw_range(random)
    inside = [
        random.randrange(part.lower + 1, part.upper) for _ in range(draw(counts_of_positions))
    ]
    edges = [part.lower, part.upper, random.randrange(FULL_UPPER)]
    asked = inside + random.sample(edges, random.choice((0, 0, 1, 3))) + inside[:1]
    random.shuffle(asked)
    case = split_case(part.name, POSITIONS, topics=topics_in(random, part))
    return Trial.of(SPLIT.id, {**case, "positions": list(map(hex_of, asked))})


def topic_splits() -> st.SearchStrategy[Trial]:
    """Return a strategy for splits by topics, including pairs with consecutive hashes."""
    return st.one_of(topic_halves(), neighbors()).map(_first_question)


@composite
def any_split(draw: st.DrawFn) -> Trial:
    """Draw splits by any algorithm."""
    return draw(st.one_of(halves(), positions(), topic_halves().map(_first_question)))


def _first_question(trial: Trial) -> Trial:
    return Trial(trial.questions[:1])


@composite
def positions_by_the_broker(draw: st.DrawFn) -> Trial:
    """Draw splits at positions by a broker, although only the admin API may specify positions."""
    [(operation, case)] = draw(positions()).questions
    return Trial.of(operation, {**case, "by": "broker"})


@composite
def positions_as_default(draw: st.DrawFn) -> Trial:
    """Draw a split for which specified_positions_divide is set as the default algorithm."""
    [(operation, case)] = draw(positions()).questions
    settings = {DEFAULT_ALGORITHM: POSITIONS, SUPPORTED_ALGORITHMS: POSITIONS}
    by = draw(st.sampled_from(["admin", "broker"]))
    return Trial.of(operation, {**case, "algorithm": None, "settings": settings, "by": by})


ROUND_RATES = (0, 1, 10, 100, 100, 200, 250, 300, 400, 500, 600, 1000)
"""Messages and megabytes per second of a topic: round numbers, so that sums can equal limits."""

LIMITS_OF_A_PART = {
    MAX_MESSAGES: (100, 300, 450, 500, 1000, 1100, 1900, 30000),
    MAX_MEGABYTES: (90, 100, 110, 200, 1000, 5000),
}
"""Limits of a part under `flow_or_qps_equally_divide`."""

MEASURES = ((MAX_MESSAGES, "msgRateIn", 1), (MAX_MEGABYTES, "msgThroughputIn", MEGABYTE))
MARGINS, ABOUT_THE_EXCESS = (None, 0, 10, 50), (0, 2, 10, 10, 20)
"""Margins in percent, and margins of bundles whose traffic exceeds a limit by little more than 5 %.
"""


@composite
def splits_by_traffic(draw: st.DrawFn) -> Trial:
    """Draw a split of a whole namespace by its topics' traffic, and a question to locate them."""
    count = draw(st.sampled_from((1, 2, 3, 4, 6, 8, 12, 20)))
    random = draw(randoms)
    settings: Json = {name: random.choice(limits) for name, limits in LIMITS_OF_A_PART.items()}
    if (margin := random.choice(MARGINS)) is not None:
        settings[FLOW_MARGIN] = margin
    named = random.random() < NAMED
    if not named:
        settings[DEFAULT_ALGORITHM] = BY_RATES
    topics = names.topics(random, count)
    loads = {topic: topic_load(random) for topic in topics if random.random() < LOADED}
    kind = random.choice(("any", "any", "messages at limit", "bytes at limit", "little excess"))
    if kind == "messages at limit":
        loads = {topic: {"msgRateIn": 100} for topic in topics}
        settings[MAX_MESSAGES] = 100 * random.choice((1, 2, 3)) - random.choice((0, 0, 1))
    if kind == "bytes at limit":
        loads = {topic: {"msgThroughputIn": 100 * MEGABYTE} for topic in topics}
        settings[MAX_MEGABYTES] = 100 * random.choice((1, 2, 3))
    if kind == "little excess":
        each = [random.choice((100, 200, 300)) for _ in topics]
        limit, measure, unit = random.choice(MEASURES)
        loads = {topic: {measure: one * unit} for topic, one in zip(topics, each, strict=True)}
        settings[FLOW_MARGIN] = random.choice(ABOUT_THE_EXCESS)
        settings[limit] = sum(each) * 95 // 100
    algorithm = BY_RATES if named else None
    case = split_case(WHOLE, algorithm, topics=topics, settings=settings)
    return split_with_located_topics(
        {**case, "by": random.choice(("admin", "broker")), "topicLoads": loads}
    )


NAMED, LOADED = 0.8, 0.97
"""Share of splits by traffic that name the algorithm, and share of topics that have traffic."""


def topic_load(random: Random) -> Json:
    """Return a topic's messages and bytes per second, in one direction or both."""
    messages, megabytes = random.choice(ROUND_RATES[1:]), random.choice(ROUND_RATES)
    if random.choice((True, False)):
        return {"msgRateIn": messages, "msgThroughputIn": megabytes * MEGABYTE}
    half = {"msgRateIn": messages, "msgThroughputOut": megabytes * MEGABYTE}
    return {**half, "msgRateOut": random.choice(ROUND_RATES)}


small_counts = st.sampled_from((5, 11, 60))
QUARTERS = 4


def _on_one_side(random: Random, count: int) -> list[str]:
    """Return topics in the first or last quarter of the hash range, far from its middle."""
    lower = random.choice((0, 3)) * (HASHES // QUARTERS)
    quarter = HashRange(lower, min(lower + HASHES // QUARTERS, FULL_UPPER))
    found = names.topics(random, 8 * count)
    return [topic for topic in found if hash_of(topic) in quarter][:count]


@composite
def split_selected_by_setting(draw: st.DrawFn, setting: str) -> Trial:
    """Draw a split without an algorithm, and the same split by each algorithm."""
    chosen, count, skewed = draw(algorithms), draw(small_counts), draw(st.booleans())
    random = draw(randoms)
    other = RANGE if chosen == TOPICS else TOPICS
    settings = {DEFAULT_ALGORITHM: other, SUPPORTED_ALGORITHMS: other, setting: chosen}
    if setting == DEFAULT_ALGORITHM and draw(st.booleans()):
        del settings[SUPPORTED_ALGORITHMS]
        if chosen == RANGE and draw(st.booleans()):
            del settings[DEFAULT_ALGORITHM]
    topics = _on_one_side(random, count) if skewed else names.topics(random, count)
    asked = split_case(WHOLE, None, topics=topics, settings=settings)
    named = [{**asked, "algorithm": algorithm} for algorithm in (chosen, other)]
    return Trial.of(SPLIT.id, asked, *named)


@composite
def automatic(draw: st.DrawFn) -> Trial:
    """Draw a split that the broker starts automatically."""
    algorithm = draw(st.none() | algorithms)
    settings = dict.fromkeys((DEFAULT_ALGORITHM, SUPPORTED_ALGORITHMS), draw(algorithms))
    count = draw(st.sampled_from((2, 3, 10, 100)))
    topics = names.topics(draw(randoms), count)
    case = split_case(WHOLE, algorithm, topics=topics, settings=settings, by="broker")
    return Trial.of(SPLIT.id, case)


def halving_of_whole_range(_random: Random) -> Json:
    """Return a split of the whole hash range in half."""
    return split_case(WHOLE, RANGE, topics=names.topics(Random(0), 4))


def several_positions(random: Random) -> Json:
    """Return a split at several positions inside a bundle; some releases may allow only one."""
    part = HashRange.parse(WHOLE)
    inside = random.sample(range(part.lower + 1, part.upper), random.choice((2, 3, 5)))
    return split_case(part.name, POSITIONS, positions=list(map(hex_of, inside)))


AIMED = (
    Aim("split-key", SPLIT.id, split_selected_by_setting(SUPPORTED_ALGORITHMS)),
    aim("split-ways", SPLIT.id, several_positions),
    aim("range-halves", SPLIT.id, halving_of_whole_range),
)
