"""BUNDLE: the bundles of a namespace, and the bundle of each topic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import TypeAlias

from hypothesis import strategies as st
from pulsar_conformance.conformance.bundles import draw_namespaces as namespaces
from pulsar_conformance.conformance.bundles.operations import CREATE, LOCATE, Located, Locating
from pulsar_conformance.conformance.common.check import Expect
from pulsar_conformance.conformance.common.operation import FlatCase
from pulsar_conformance.conformance.common.trial import Asked
from pulsar_conformance.reference.numbers import Fraction
from pulsar_conformance.reference.ranges import FULL_UPPER, PARTITION, HashRange, hash_of

Boundaries: TypeAlias = list[str]

RECOMMENDED_SIZES = 1000, 64, 16
"""Numbers of topics, bundles and brokers that the documents recommend together."""

CHI_SQUARE_63 = 131.4
CHI_SQUARE_15 = 56.5
"""Bounds of chi-square with 63 and with 15 degrees of freedom.

Randomly spread topics exceed each bound in one of a million trials, so that the check wrongly fails
in at most two of a million.
"""


@CREATE.check(
    "BUNDLE-01", draws=namespaces.create(st.one_of(st.none(), namespaces.counts), st.just({}))
)
def bundles_cover_the_whole_range(_case: FlatCase, answer: Boundaries, expect: Expect) -> None:
    """The boundaries ascend from the lowest hash to the highest."""
    ends = [int(boundary, 16) for boundary in answer]
    expect.reached()
    whole = len(ends) > 1 and ends[0] == 0 and ends[-1] == FULL_UPPER
    expect.that(whole, "boundaries from 0x00000000 to 0xffffffff", _format_boundaries(answer))
    ascending = all(low < high for low, high in pairwise(ends))
    expect.that(ascending, "boundaries that ascend", _format_boundaries(answer))


@CREATE.check("BUNDLE-02", draws=namespaces.create(st.none(), namespaces.default_bundles()))
def the_default_number_is_used(case: FlatCase, answer: Boundaries, expect: Expect) -> None:
    """A namespace created without a number of bundles gets the configured or default number."""
    expect.given(case.case.get("creator", "admin") == "admin", "an administrator creates it")
    if expect.reached(case["bundles"] is None):
        default = int(case.settings.number(namespaces.DEFAULT_BUNDLES))
        expect.equal(len(answer) - 1, default, "bundles")


@CREATE.check("BUNDLE-03", draws=namespaces.create(namespaces.counts, namespaces.default_bundles()))
def a_namespace_gets_the_number_it_asks_for(
    case: FlatCase, answer: Boundaries, expect: Expect
) -> None:
    """A namespace created with a number of bundles gets that many."""
    if expect.reached(case["bundles"] is not None):
        expect.equal(len(answer) - 1, case["bundles"], "bundles")


def _expected_count(creator: str, number: str | None, case: FlatCase, expect: Expect) -> Fraction:
    """Return the required number of bundles of a namespace that is created without a number.

    The number is the value of the setting named by `number`, or 1 if `number` is None.
    """
    expect.given(case.case.get("creator") == creator, f"{creator} creates the namespace")
    expect.given(case["bundles"] is None, "no number of bundles is requested")
    expect.reached()
    return case.settings.number(number) if number else Fraction(1)


def _expect_count(answer: Boundaries, count: Fraction, expect: Expect) -> None:
    expect.equal(len(answer) - 1, int(count), "bundles")


@CREATE.check("BUNDLE-14", draws=namespaces.creation_by("system"))
def the_system_namespace_has_its_number(case: FlatCase, answer: Boundaries, expect: Expect) -> None:
    """pulsar/system, created by a broker, gets the configured number for system namespaces."""
    _expect_count(
        answer, _expected_count("system", namespaces.DEFAULT_SYSTEM_BUNDLES, case, expect), expect
    )


@CREATE.check("BUNDLE-15", draws=namespaces.creation_by("standalone"))
def standalone_uses_the_default(case: FlatCase, answer: Boundaries, expect: Expect) -> None:
    """In standalone mode, public/default gets the default number of bundles."""
    _expect_count(
        answer, _expected_count("standalone", namespaces.DEFAULT_BUNDLES, case, expect), expect
    )


@CREATE.check("BUNDLE-16", draws=namespaces.creation_by("heartbeat"))
def heartbeats_are_not_divided(case: FlatCase, answer: Boundaries, expect: Expect) -> None:
    """A heartbeat namespace has a single bundle."""
    _expect_count(answer, _expected_count("heartbeat", None, case, expect), expect)


@LOCATE.check("BUNDLE-17", draws=namespaces.coordinators())
def coordinators_spread_as_printed(case: Locating, answer: Located, expect: Expect) -> None:
    """The 16 transaction coordinators are in 16 of 64 bundles, or in 8 of 16 bundles."""
    coordinators = set(case["topics"]) == {*namespaces.COORDINATORS}
    expect.given(coordinators, "the topics are those of transaction coordinators")
    widths = {part.width for part in case.ranges}
    expect.given(max(widths) - min(widths) <= 1, "the bundles are of equal width")
    wanted = {64: 16, 16: 8}.get(len(case.ranges))
    if expect.reached(wanted is not None):
        expect.equal(len(set(answer.bundles)), wanted, f"bundles of {len(case.ranges)}")


@LOCATE.check("BUNDLE-04", draws=(namespaces.locate(), namespaces.topics_at_highest_hash()))
def every_topic_has_exactly_one_bundle(case: Locating, answer: Located, expect: Expect) -> None:
    """Each topic is in exactly one of the namespace's bundles."""
    expect.reached(bool(case["topics"]))
    expect.equal(len(answer.bundles), len(case["topics"]), "bundles, one for each topic")
    known = {part.name for part in case.ranges}
    for topic, bundle in answer.by_topic.items():
        expect.that(bundle in known, "a bundle of the namespace", f"{bundle} for {topic}")


def _two_answers(
    exchanges: Sequence[Asked[Locating, Located]], expect: Expect
) -> tuple[Located, Located]:
    expect.given(len(exchanges) == 2, "topics are located twice")
    first, second = (one.answer for one in exchanges)
    for found in (first, second):
        whole = len(found.bundles) == len(found.case["topics"])
        expect.given(whole, "every topic was located")
    return first, second


def _assume_no_partitions(topics: list[str], expect: Expect) -> None:
    """Assume that no topic is a partition, if the reading `partitions` is `spread`."""
    spread = expect.readings["partitions"] == "spread" and any(map(PARTITION.search, topics))
    expect.given(not spread, "the topics are not partitions")


@LOCATE.check_together("BUNDLE-05", draws=namespaces.located_twice())
def the_same_topic_stays_in_its_bundle(
    exchanges: Sequence[Asked[Locating, Located]], expect: Expect
) -> None:
    """A topic is in the same bundle, no matter which other topics are located with it."""
    first, second = _two_answers(exchanges, expect)
    same = first.case["boundaries"] == second.case["boundaries"]
    expect.given(same, "the bundles are the same")
    for topic in sorted(first.by_topic.keys() & second.by_topic.keys()):
        expect.reached()
        expect.equal(second.by_topic[topic], first.by_topic[topic], f"bundle of {topic}")


@LOCATE.check_together("BUNDLE-06", draws=namespaces.located_in_finer_bundles())
def finer_bundles_nest(exchanges: Sequence[Asked[Locating, Located]], expect: Expect) -> None:
    """When boundaries are added, a topic's new bundle lies within its old bundle."""
    coarse, fine = _two_answers(exchanges, expect)
    finer = set(coarse.case["boundaries"]) <= set(fine.case["boundaries"])
    expect.given(finer, "the second list of boundaries is finer")
    _assume_no_partitions(coarse.case["topics"], expect)
    for topic in sorted(coarse.by_topic.keys() & fine.by_topic.keys()):
        outer, inner = coarse.by_topic[topic], fine.by_topic[topic]
        expect.reached()
        nests = _parse_range(outer, expect).covers(_parse_range(inner, expect))
        expect.that(nests, f"a part of {outer}", f"{inner} for {topic}")


@LOCATE.check(
    "BUNDLE-07",
    draws=(namespaces.partitions_in_many_bundles(), namespaces.partitions_of_several_topics()),
)
def partitions_are_hashed_by_their_own_names(
    case: Locating, answer: Located, expect: Expect
) -> None:
    """Partitions are spread at random: some share a bundle, but no two do so in every topic.

    A correct hash rarely fails by chance. The probability that 16 partitions all share one of 16
    bundles is 1 in 16^15 (about 1e18); that 64 partitions are in 64 different bundles, 1 in 64^64 /
    64! (about 3e26); that two of 16 partitions share one of 64 bundles in each of 8 topics, 1 in
    64^8 / 120 (about 2e12).
    """
    topics = case["topics"]
    expect.given(len(topics) >= 16 and len(case.ranges) >= 16, "16 partitions, 16 bundles")
    expect.given(all(map(PARTITION.search, topics)), "every topic is a partition")
    expect.given(_equal_width(case.ranges), "bundles of one width")
    stems = {PARTITION.sub("", topic) for topic in topics}
    if len(stems) > 1:
        _no_two_always_together(case, answer, expect)
        return
    expect.reached()
    bundles = set(answer.bundles)
    together = f"{len(topics)} partitions in {', '.join(bundles)}"
    expect.that(len(bundles) > 1, "several bundles", together)
    if len(topics) == len(case.ranges) >= 64:
        apart = f"each of {len(topics)} partitions in a bundle of its own"
        expect.that(len(bundles) < len(topics), "partitions that share a bundle", apart)


def _no_two_always_together(case: Locating, answer: Located, expect: Expect) -> None:
    """Given 8 topics or more, demand that no two partition numbers share a bundle in each topic."""
    expect.given(len(answer.bundles) == len(case["topics"]), "every topic was located")
    by_number: dict[str, list[str]] = defaultdict(list)
    for topic, bundle in answer.by_topic.items():
        by_number[topic.rpartition("-")[2]].append(bundle)
    counts = {len(bundles) for bundles in by_number.values()}
    expect.given(len(case.ranges) >= 64 and len(by_number) <= 16, "16 partitions, 64 bundles")
    expect.given(min(counts) == max(counts) >= 8, "8 topics with the same partitions")
    expect.reached()
    for first, second in combinations(by_number, 2):
        together = f"partitions {first} and {second} share a bundle in each of {max(counts)} topics"
        allowed = "no two partitions that share a bundle in every topic"
        expect.that(by_number[first] != by_number[second], allowed, together)


@LOCATE.check("BUNDLE-08", draws=namespaces.partitions_of_a_topic())
def partitions_lie_in_different_bundles(case: Locating, answer: Located, expect: Expect) -> None:
    """Partitions of a topic are in different bundles if there are enough bundles."""
    topics = case["topics"]
    stems = {PARTITION.sub("", topic) for topic in topics}
    expect.given(len(stems) == 1 and stems.isdisjoint(topics), "partitions of one topic")
    fewest = 1 + max(int(topic.rpartition("-")[2]) for topic in topics)
    if expect.reached(len(topics) > 1 and fewest <= len(case.ranges)):
        found = len(set(answer.bundles))
        expect.equal(found, len(topics), "different bundles")


@LOCATE.check_together("BUNDLE-09", draws=namespaces.located_around_a_split())
def bundles_are_independent(exchanges: Sequence[Asked[Locating, Located]], expect: Expect) -> None:
    """When one bundle gets new boundaries, topics in other bundles stay in their bundles."""
    before, after = _two_answers(exchanges, expect)
    _assume_no_partitions(before.case["topics"], expect)
    kept = {part.name for part in before.case.ranges} & {part.name for part in after.case.ranges}
    for topic in sorted(before.by_topic.keys() & after.by_topic.keys()):
        bundle = before.by_topic[topic]
        if expect.reached(bundle in kept):
            expect.equal(after.by_topic[topic], bundle, f"bundle of {topic}")


@LOCATE.check("BUNDLE-10", draws=namespaces.thousand_topics())
def many_topics_spread_well(case: Locating, answer: Located, expect: Expect) -> None:
    """1000 topics are spread evenly over 64 bundles, and over 16 brokers with four bundles each.

    A chi-square test decides. It assumes that topic names were chosen independently of their
    hashes.
    """
    topics, bundles, brokers = RECOMMENDED_SIZES
    expect.given(len(case["topics"]) == topics, "1000 topics")
    expect.given(
        len(case.ranges) == bundles and _equal_width(case.ranges), "64 bundles of one width"
    )
    located = len(set(case["topics"])) == topics == len(answer.bundles)
    expect.given(located, "different topics, each located")
    places = {part.name: index for index, part in enumerate(case.ranges)}
    expect.given(set(answer.bundles) <= places.keys(), "bundles of the namespace")
    found = [0] * bundles
    for bundle in answer.bundles:
        found[places[bundle]] += 1
    owned = [sum(found[broker::brokers]) for broker in range(brokers)]
    expect.reached()
    for counts, limit, of in ((found, CHI_SQUARE_63, "bundles"), (owned, CHI_SQUARE_15, "brokers")):
        statistic = _chi_square(counts)
        expect.that(
            statistic <= limit,
            f"a chi-square of at most {limit} over {len(counts)} {of}",
            f"{statistic:.1f}; the fullest has {max(counts)} of {topics} topics",
        )


@LOCATE.check("BUNDLE-11", draws=namespaces.locate())
def the_hash_is_crc_32(case: Locating, answer: Located, expect: Expect) -> None:
    """A topic is in the bundle whose range contains the CRC-32 of its full name."""
    _assume_no_partitions(case["topics"], expect)
    inner = {part.lower for part in case.ranges[1:]}
    for topic, bundle in answer.by_topic.items():
        value = hash_of(topic)
        if value not in inner and value != FULL_UPPER and expect.reached():
            _expect_range_of_hash(expect, case, topic, bundle)


@LOCATE.check("BUNDLE-12", draws=namespaces.topics_on_boundaries())
def a_range_holds_its_lower_end(case: Locating, answer: Located, expect: Expect) -> None:
    """A hash on a boundary belongs to the range that starts there."""
    _assume_no_partitions(case["topics"], expect)
    inner = {part.lower for part in case.ranges[1:]}
    for topic, bundle in answer.by_topic.items():
        if expect.reached(hash_of(topic) in inner):
            _expect_range_of_hash(expect, case, topic, bundle)


@LOCATE.check("BUNDLE-13", draws=namespaces.topics_at_highest_hash())
def the_last_range_holds_the_last_hash(case: Locating, answer: Located, expect: Expect) -> None:
    """The hash 0xffffffff belongs to the last range."""
    _assume_no_partitions(case["topics"], expect)
    for topic, bundle in answer.by_topic.items():
        if expect.reached(hash_of(topic) == FULL_UPPER):
            _expect_range_of_hash(expect, case, topic, bundle)


def _expect_range_of_hash(expect: Expect, case: Locating, topic: str, bundle: str) -> None:
    value = hash_of(topic)
    right = next(part for part in case.ranges if value in part)
    expect.that(bundle == right.name, f"{right.name} holds {value:#010x}", f"{bundle} for {topic}")


def _parse_range(name: str, expect: Expect) -> HashRange:
    try:
        return HashRange.parse(name)
    except ValueError:
        expect.given(False, "every topic is in a range")
        raise


def _equal_width(ranges: tuple[HashRange, ...]) -> bool:
    """True if ranges are equally wide, apart from the remainder in the last one."""
    widths = [part.width for part in ranges]
    return max(widths) - min(widths) <= len(ranges)


def _chi_square(counts: list[int]) -> float:
    mean = sum(counts) / len(counts)
    return sum((count - mean) ** 2 / mean for count in counts)


def _format_boundaries(boundaries: Boundaries) -> str:
    shown = ", ".join(boundaries[:6])
    return shown + (f", … ({len(boundaries)})" if len(boundaries) > 6 else "")
