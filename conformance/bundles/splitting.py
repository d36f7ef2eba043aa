"""SPLIT: the parts into which a bundle is split."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

from pulsar_conformance.conformance.bundles import draw_splits as splits
from pulsar_conformance.conformance.bundles.growth import FEWEST_TOPICS
from pulsar_conformance.conformance.bundles.operations import LOCATE, SPLIT, WHOLE, Located, Parts
from pulsar_conformance.conformance.common.check import Expect, check_exchanges, same
from pulsar_conformance.conformance.common.operation import FlatCase
from pulsar_conformance.conformance.common.trial import Asked, Exchange, Trial
from pulsar_conformance.reference.cluster import Rates
from pulsar_conformance.reference.ranges import HashRange, hash_of, hex_of
from pulsar_conformance.reference.splitting import (
    BY_RATES,
    FLOW_MARGIN,
    POSITIONS,
    RANGE,
    SELECTING_SETTING,
    TOPICS,
    PartLimits,
)


def _assume_splittable(case: FlatCase, expect: Expect) -> HashRange:
    bundle = HashRange.parse(case["bundle"])
    expect.given(bundle.upper - bundle.lower > 1, "the bundle is wide enough to be split")
    return bundle


def _assume_not_refused(answer: Parts, expect: Expect) -> None:
    expect.given(answer.refused is None, "the request was not refused")


def _usable_positions(case: FlatCase) -> list[int]:
    """Return the positions strictly inside the bundle, sorted and without duplicates."""
    bundle = HashRange.parse(case["bundle"])
    positions = {int(position, 16) for position in case["positions"]}
    return sorted(p for p in positions if bundle.lower < p < bundle.upper)


def _cuts(answer: Parts) -> list[int]:
    return [part.lower for part in answer.ranges[1:]]


def _size_by_name(part: HashRange) -> int:
    return part.upper - part.lower


def _size(part: HashRange) -> int:
    return part.width


@SPLIT.check("SPLIT-10", draws=splits.halves())
def range_halves_are_equal(case: FlatCase, answer: Parts, expect: Expect) -> None:
    """The two parts are equally large; with an odd number of hashes, one part has one more."""
    _assume_not_refused(answer, expect)
    expect.given(case["algorithm"] == RANGE, f"{RANGE} is asked for")
    _expect_equal_halves(case, answer, expect)


def _expect_equal_halves(case: FlatCase, answer: Parts, expect: Expect) -> None:
    bundle = _assume_splittable(case, expect)
    expect.reached()
    expect.that(len(answer.names) == 2, "two parts", answer)
    by_name = expect.readings["range-halves"] == "by-name"
    size = _size_by_name if by_name else _size
    lower, upper = map(size, answer.ranges)
    if by_name and bundle.last:
        # Equal numbers of hashes on both sides are the other alternative of the reading.
        expect.that(lower == size(bundle) // 2, f"{size(bundle) // 2} hashes below", answer)
    odd = size(bundle) % 2
    halves = f"parts of {size(bundle) // 2} hashes{', one with one more hash' if odd else ''}"
    expect.that(abs(lower - upper) <= odd, halves, f"{lower} and {upper} hashes: {answer}")


def _counts_below(located: Located, position: int) -> tuple[int, int]:
    """Return how many topics are certainly, and how many are possibly, below a position."""
    cells = [HashRange.parse(bundle) for bundle in located.bundles]
    surely = sum(cell.upper <= position for cell in cells)
    return surely, sum(cell.lower < position for cell in cells)


def _possible_halves(topics: Sequence[str], located: Located) -> list[int]:
    """Return the possible numbers of topics below a cut that divides them as equally as possible.

    The numbers are sorted. Topics with the same hash cannot be separated.
    """
    places = {
        topic: HashRange.parse(one).lower
        for topic, one in zip(topics, located.bundles, strict=True)
    }
    in_order = sorted((places[topic], hash_of(topic)) for topic in topics)
    below = [n for n in range(1, len(topics)) if in_order[n - 1] != in_order[n]]
    nearest = min((abs(2 * n - len(topics)) for n in below), default=0)
    return [n for n in below if abs(2 * n - len(topics)) == nearest]


@check_exchanges("SPLIT-11", draws=(splits.topic_halves(), splits.neighbors()))
def topic_halves_are_equal(exchanges: Sequence[Exchange], expect: Expect) -> None:
    """Both parts have equally many topics, as located by the implementation's own hash function."""
    in_order = [one.operation for one in exchanges] == [SPLIT.id, LOCATE.id]
    expect.given(in_order, "a bundle is split, and its topics are located")
    (case, answer), (cells, found) = SPLIT.typed(exchanges[0]), LOCATE.typed(exchanges[1])
    _assume_not_refused(answer, expect)
    topics = case["topics"]
    expect.given(case["algorithm"] == TOPICS, f"{TOPICS} is asked for")
    whole = case["bundle"] == WHOLE and topics == cells["topics"]
    expect.given(whole, "every topic is in the bundle, and is located")
    expect.given(len(found.bundles) == len(topics), "each topic is located in one bundle")
    expect.given(len(set(found.bundles)) > 1, "the topics are in several ranges")
    expect.reached()
    expect.that(len(answer.names) == 2, "two parts", answer)
    surely, maybe = _counts_below(found, answer.ranges[1].lower)
    halves = _possible_halves(topics, found)
    fits = any(surely <= half <= maybe for half in halves)
    allowed = f"{' or '.join(map(str, halves))} of {len(topics)} topics in the lower part"
    below = (
        f"between {surely} and {maybe} in the lower part"
        if surely != maybe
        else f"{surely} and {len(topics) - surely}"
    )
    expect.that(fits, allowed, f"{below}: {answer}")


@SPLIT.check("SPLIT-12", draws=splits.positions())
def parts_lie_between_the_positions(case: FlatCase, answer: Parts, expect: Expect) -> None:
    """The bundle is cut at every usable position, and nowhere else."""
    by_admin = case["algorithm"] == POSITIONS and case["by"] == "admin"
    expect.given(by_admin, "an administrator requests a split at positions")
    _assume_splittable(case, expect)
    usable = _usable_positions(case)
    plain = len(usable) == len(set(case["positions"])) and not case.settings.given
    expect.given(plain or not answer.refused, "the request gives no reason to refuse it")
    if expect.reached(bool(usable)):
        allowed = f"parts divided at {', '.join(map(hex_of, usable))}"
        expect.that(_cuts(answer) == usable, allowed, answer)


@SPLIT.check("SPLIT-13", draws=splits.any_split())
def every_split_makes_two_parts(case: FlatCase, answer: Parts, expect: Expect) -> None:
    """A split by range or by topics gives two parts."""
    expect.given(case["algorithm"] in (RANGE, TOPICS), "split by range or by topics")
    expect.given(not answer.refused, "it is split")
    if expect.reached(len(answer.names) > 1):
        expect.that(len(answer.names) == 2, "two parts", answer)


@SPLIT.check("SPLIT-14", draws=splits.any_split())
def parts_cover_the_parent_exactly(case: FlatCase, answer: Parts, expect: Expect) -> None:
    """The parts cover the bundle without gaps or overlaps."""
    _assume_not_refused(answer, expect)
    bundle = HashRange.parse(case["bundle"])
    expect.reached()
    parts = answer.ranges
    joined = all(before.upper == after.lower for before, after in pairwise(parts))
    ends = bool(parts) and parts[0].lower == bundle.lower and parts[-1].upper == bundle.upper
    expect.that(joined and ends, f"parts of {bundle.name} without gap or overlap", answer)


def _demand_no_cut(case: FlatCase, answer: Parts, expect: Expect) -> None:
    bundle = _assume_splittable(case, expect)
    usable = [one for one in _usable_positions(case) if one not in _middles(bundle)]
    if expect.reached(bool(usable)):
        followed = not answer.refused and set(usable) & set(_cuts(answer))
        allowed = f"no part divided at {', '.join(map(hex_of, usable))}"
        expect.that(not followed, allowed, answer)


def _middles(bundle: HashRange) -> tuple[int, int]:
    """Return the positions at which a split by range may cut a bundle."""
    width = bundle.upper - bundle.lower
    return bundle.lower + width // 2, bundle.lower + (width + 1) // 2


@SPLIT.check("SPLIT-15", draws=splits.positions_by_the_broker())
def the_broker_takes_no_positions(case: FlatCase, answer: Parts, expect: Expect) -> None:
    """The broker's automatic split never uses specified positions."""
    positions = case["algorithm"] == POSITIONS and case["by"] == "broker"
    expect.given(positions, "the broker is to split at positions")
    _demand_no_cut(case, answer, expect)


@SPLIT.check("SPLIT-16", draws=splits.positions_as_default())
def positions_are_not_a_default(case: FlatCase, answer: Parts, expect: Expect) -> None:
    """If specified positions are the default algorithm, they are refused or ignored."""
    setting = SELECTING_SETTING[expect.readings["split-key"]]
    chosen = case["algorithm"] or case.settings.given.get(setting)
    default = case["algorithm"] is None and chosen == POSITIONS
    expect.given(default, f"{setting} is {POSITIONS}")
    _demand_no_cut(case, answer, expect)


def _demand_selected(exchanges: Sequence[Asked[FlatCase, Parts]], expect: Expect, key: str) -> None:
    """Demand that a split without a named algorithm uses the algorithm that the setting for `key`
    names.

    If both algorithms give the same parts, range_equally_divide must still give equal ranges. The
    parts of topic_count_equally_divide cannot be verified, because the hash is unknown.
    """
    expect.given(len(exchanges) == 3, "a split without a named algorithm, and one by each")
    (case, answer), *named = exchanges
    for one in exchanges:
        _assume_not_refused(one.answer, expect)
    setting = SELECTING_SETTING[key]
    expect.given(case["algorithm"] is None, "no algorithm is named")
    expect.given(setting in {*case.settings.given, *case.settings.defaults}, f"{setting} is set")
    algorithm = case.settings.value(setting)
    by_name = {one.case["algorithm"]: one.answer for one in named}
    expect.given(len(by_name) == 2 and algorithm in by_name, f"{algorithm} is also asked")
    chosen = by_name.pop(algorithm)
    [other] = by_name.values()
    if expect.reached(chosen.names != other.names):
        # Any hash between the middle two separates topics in equal numbers.
        free = algorithm == TOPICS and len(answer.names) == len(chosen.names)
        as_chosen = answer.names == chosen.names or (free and answer.names != other.names)
        expect.that(as_chosen, f"as {algorithm}: {chosen}", answer)
    elif algorithm == RANGE:
        _expect_equal_halves(case, answer, expect)


@SPLIT.check_together("SPLIT-17", draws=splits.split_selected_by_setting(splits.DEFAULT_ALGORITHM))
def the_default_setting_selects(
    exchanges: Sequence[Asked[FlatCase, Parts]], expect: Expect
) -> None:
    """`defaultNamespaceBundleSplitAlgorithm` selects the algorithm."""
    _demand_selected(exchanges, expect, "default")


@SPLIT.check_together(
    "SPLIT-18", draws=splits.split_selected_by_setting(splits.SUPPORTED_ALGORITHMS)
)
def the_supported_setting_selects(
    exchanges: Sequence[Asked[FlatCase, Parts]], expect: Expect
) -> None:
    """`supportedNamespaceBundleSplitAlgorithms` selects the algorithm."""
    _demand_selected(exchanges, expect, "supported")


@SPLIT.check("SPLIT-19", draws=splits.automatic())
def the_broker_splits_in_two(case: FlatCase, answer: Parts, expect: Expect) -> None:
    """An automatic split by range or by topics gives two parts."""
    _assume_not_refused(answer, expect)
    others = (POSITIONS, BY_RATES)
    expect.given(case["by"] == "broker" and _algorithm(case) not in others, "the broker splits")
    _assume_splittable(case, expect)
    expect.given(len(case["topics"]) > 1, "the bundle has several topics")
    expect.reached()
    expect.that(len(answer.names) == 2, "two parts", answer)


def _algorithm(case: FlatCase) -> object:
    """Return the algorithm named in the case, or else the default."""
    key = SELECTING_SETTING["default"]
    return case["algorithm"] or case.settings.given.get(key, case.settings.defaults.get(key))


def _limits_and_loads(
    case: FlatCase, answer: Parts, expect: Expect
) -> tuple[PartLimits, dict[str, Rates]]:
    """Return the limits of a part and each topic's traffic, for splits by traffic only."""
    _assume_not_refused(answer, expect)
    expect.given(_algorithm(case) == BY_RATES, f"{BY_RATES} is asked for")
    expect.given(FLOW_MARGIN in case.settings.defaults, "the documents describe that algorithm")
    expect.given(expect.readings["split-key"] == "default", "the default selects it")
    given = case.case.get("topicLoads", {})
    loads = {topic: Rates.read(given.get(topic, {})) for topic in case["topics"]}
    amounts = (amount for rates in loads.values() for amount in rates.each())
    expect.given(all(one.denominator == 1 for one in amounts), "sums are exact everywhere")
    return PartLimits.of(case.settings, expect.readings), loads


def _total(loads: Iterable[Rates]) -> tuple[Fraction, Fraction]:
    every = tuple(loads)
    messages = sum((one.messages for one in every), Fraction(0))
    return messages, sum((one.throughput for one in every), Fraction(0))


def _certainly_reaches_margin(limits: PartLimits, loads: Iterable[Rates]) -> bool | None:
    """True if a bundle's traffic reaches a limit plus the margin; None if rounding could decide."""
    total = _total(loads)
    edges = (one * (100 + limits.margin) / 100 for one in (limits.messages, limits.throughput))
    if any(same(carried, edge) for carried, edge in zip(total, edges, strict=True)):
        return None
    return limits.reached(*total)


def _parts_and_cuts(
    exchanges: Sequence[Exchange], expect: Expect
) -> tuple[Parts, list[tuple[HashRange, HashRange]]]:
    """Return the parts in the answer, and the two narrow ranges around each expected cut.

    Topics are sorted by the narrow range in which the implementation locates them.
    """
    in_order = [one.operation for one in exchanges] == [SPLIT.id, LOCATE.id]
    expect.given(in_order, "a bundle is split, and its topics are located")
    (case, answer), (cells, found) = SPLIT.typed(exchanges[0]), LOCATE.typed(exchanges[1])
    limits, loads = _limits_and_loads(case, answer, expect)
    whole = case["bundle"] == WHOLE and case["topics"] == cells["topics"]
    expect.given(whole, "every topic is in the bundle, and is located")
    expect.given(len(set(found.bundles)) == len(loads), "no two topics share a narrow range")
    idle = any(not any(rates.each()) for rates in loads.values())
    expect.given(not idle, "every topic has traffic: no document says how idle ones count")
    expect.given(
        _certainly_reaches_margin(limits, loads.values()) is True, "limit and margin are reached"
    )
    ordered = sorted(found.by_topic.items(), key=lambda one: HashRange.parse(one[1]).lower)
    cuts, part = [], [ordered[0]]
    for topic, cell in ordered[1:]:
        together = [loads[name] for name, _ in part] + [loads[topic]]
        if limits.exceeded(*_total(together)):
            cuts.append((HashRange.parse(part[-1][1]), HashRange.parse(cell)))
            part = []
        part.append((topic, cell))
    expect.reached()
    return answer, cuts


@check_exchanges("SPLIT-28", draws=splits.splits_by_traffic())
def parts_keep_within_the_limits(exchanges: Sequence[Exchange], expect: Expect) -> None:
    """The bundle is cut before each topic that would exceed a part's limit, and nowhere else."""
    answer, cuts = _parts_and_cuts(exchanges, expect)
    found = _cuts(answer)
    fits = len(found) == len(cuts) and all(
        before.lower < cut < after.upper for cut, (before, after) in zip(found, cuts, strict=True)
    )
    between = [f"{hex_of(before.lower)} and {hex_of(after.upper)}" for before, after in cuts]
    allowed = f"a cut between {', between '.join(between)}" if cuts else "the whole bundle"
    expect.that(fits, allowed, answer)


@check_exchanges("SPLIT-29", draws=splits.splits_by_traffic())
def cuts_are_half_way(exchanges: Sequence[Exchange], expect: Expect) -> None:
    """Each cut is half-way between the topics on both sides of it."""
    answer, cuts = _parts_and_cuts(exchanges, expect)
    for cut, (before, after) in zip(_cuts(answer), cuts, strict=False):
        if before.lower < cut < after.upper:
            low, high = (before.lower + after.lower) // 2, (before.upper + after.upper) // 2
            allowed = f"a cut between {hex_of(low)} and {hex_of(high)}"
            expect.that(low <= cut <= high + 1, allowed, answer)


@SPLIT.check(
    "SPLIT-30", draws=splits.splits_by_traffic().map(lambda trial: Trial(trial.questions[:1]))
)
def little_excess_splits_nothing(case: FlatCase, answer: Parts, expect: Expect) -> None:
    """A bundle whose traffic is below its limits plus the margin is not split."""
    limits, loads = _limits_and_loads(case, answer, expect)
    if expect.reached(_certainly_reaches_margin(limits, loads.values()) is False):
        expect.that(answer.names == (case["bundle"],), f"{case['bundle']} as it is", answer)


@SPLIT.check("SPLIT-27", draws=splits.topic_splits())
def topic_halves_meet_half_way(case: FlatCase, answer: Parts, expect: Expect) -> None:
    """The boundary is half-way between the two middle hashes, rounded down."""
    expect.given(answer.refused is None, "the request was not refused")
    whole = case["algorithm"] == TOPICS and case["bundle"] == WHOLE
    hashes = sorted(map(hash_of, case["topics"]))
    expect.given(whole and len(hashes) >= FEWEST_TOPICS, "topics of a whole namespace are divided")
    below, above = hashes[len(hashes) // 2 - 1], hashes[len(hashes) // 2]
    middle = below + (above - below) // 2
    expect.reached()
    cuts = [part.lower for part in answer.ranges[1:]]
    expect.that(cuts == [middle], f"parts divided at {hex_of(middle)}", answer)
