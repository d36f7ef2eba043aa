"""Splitting a bundle in a release (`NamespaceService.splitAndOwnBundle`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

from pulsar_conformance.reference.candidates import MAX_MEGABYTES, MAX_MESSAGES
from pulsar_conformance.reference.context import Settings
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.numbers import Fraction, messages, throughput
from pulsar_conformance.reference.ranges import hash_of, hex_of
from pulsar_conformance.reference.released.growth import FEWEST
from pulsar_conformance.reference.released.release import ReleasedWays
from pulsar_conformance.reference.shedding import selects_extensible_manager
from pulsar_conformance.reference.splitting import (
    FLOW_MARGIN,
    POSITIONS,
    RANGE,
    TOPICS,
    Split,
    middle_by_name,
)

DEFAULT_ALGORITHM = "defaultNamespaceBundleSplitAlgorithm"
SUPPORTED_ALGORITHMS = "supportedNamespaceBundleSplitAlgorithms"
"""The setting with the algorithms that an administrator may request."""

FLOW = "flow_or_qps_equally_divide"
FLOW_PLACE = "FlowOrQpsEquallyDivideBundleSplitAlgorithm.getSplitBoundary"
STRATEGY_PLACE = "DefaultNamespaceBundleSplitStrategyImpl.findBundlesToSplit"
ONE_CUT = "a broker of the extensible load manager splits a bundle only in two"
MEBIBYTE = 1024 * 1024


@dataclass(frozen=True)
class TopicTraffic:
    """The hash of a topic, and its messages and bytes per second in both directions."""

    place: int
    messages: float
    throughput: float


def traffic_of(topics: Sequence[str], loads: Mapping[str, Any]) -> list[TopicTraffic]:
    """Return the traffic of the topics that have any, in the order of the topics."""
    found = []
    for topic in topics:
        rates = loads.get(topic, {})
        carried = TopicTraffic(
            hash_of(topic),
            float(rates.get("msgRateIn", 0)) + float(rates.get("msgRateOut", 0)),
            float(rates.get("msgThroughputIn", 0)) + float(rates.get("msgThroughputOut", 0)),
        )
        if carried.messages > 0 or carried.throughput > 0:
            found.append(carried)
    return found


def split_answer(
    split: Split,
    traffic: Sequence[TopicTraffic],
    asked: str | None,
    by: str,
    settings: Settings,
    release: ReleasedWays,
) -> Derivation:
    """Return a release's answer: a bundle's parts, or the whole bundle, or why the request
    fails.
    """
    if by != "admin":
        split = replace(split, positions=())
    algorithm, refused = _algorithm_of(split, asked, by, settings, release)
    if refused is None and algorithm == FLOW and not _default_is_flow(asked, by, settings):
        return _answer_with_reason("failed", f"{FLOW} is not the default ({FLOW_PLACE})")
    if refused is None and algorithm == POSITIONS and not split.positions:
        refused = f"no positions are given ({release.place('default-positions')})"
    if refused is not None:
        return _answer_with_reason("refused", refused)
    steps = partial(_flow_steps, traffic if algorithm == FLOW else (), settings)
    if algorithm == FLOW:
        boundaries, whole = _flow_boundaries(traffic, settings)
    else:
        boundaries, whole = _boundaries(split, algorithm, release)
    if whole is not None and release.ways["one-hash-wide"] == "whole":
        return _answer_with_whole(split, algorithm, whole, steps)
    if split.bundle.upper - split.bundle.lower <= 1:
        return _answer_with_reason("refused", f"{split.bundle.name} is one hash wide")
    if whole is not None:
        return _answer_with_whole(split, algorithm, whole, steps)
    if release.ways["cut-at-edge"] == "refused" and boundaries != sorted(
        one for one in boundaries if split.bundle.lower < one < split.bundle.upper
    ):
        place = release.place("cut-at-edge")
        return _answer_with_reason(
            "refused", f"the cut is at the edge of {split.bundle.name} ({place})"
        )
    twice = [one for one, count in Counter(boundaries).items() if count > 1]
    if twice and release.ways["position-twice"] == "unanswered":
        place = release.place("position-twice")
        positions = ", ".join(map(hex_of, twice))
        why = f"{positions} given twice: the request is never answered ({place})"
        return _answer_with_reason("failed", why)
    cuts = split.inside(boundaries)
    if by != "admin" and len(cuts) > 1 and selects_extensible_manager(settings.given):
        where = ", ".join(map(hex_of, cuts))
        why = f"it would be cut {len(cuts)} times, at {where}; {ONE_CUT} ({STRATEGY_PLACE})"
        return _answer_with_whole(split, algorithm, why, steps)
    return _answer_with_parts(split, algorithm, cuts, release, steps)


def _default_is_flow(asked: str | None, by: str, settings: Settings) -> bool:
    """True if the broker's default algorithm is `FLOW`.

    A broker passes the traffic of topics to the algorithm only in this case.
    """
    return settings.value(DEFAULT_ALGORITHM) == FLOW or (by != "admin" and asked == FLOW)


def _algorithm_of(
    split: Split, asked: str | None, by: str, settings: Settings, release: ReleasedWays
) -> tuple[str, str | None]:
    """Return the algorithm that a release uses, and the reason if it refuses the request.

    The reason is None if it accepts. Only an administrator's request names an algorithm; in other
    cases, `asked` is the broker's default.
    """
    if release.ways["split-algorithms"] == "range":
        return RANGE, None
    default = str(settings.value(DEFAULT_ALGORITHM))
    if by != "admin":
        default, asked = _default_of_broker(default, asked), None
    refused = None
    if asked is not None and asked.strip():
        refused = _why_refused(split, asked, settings, release)
    known = [RANGE, TOPICS]
    if release.ways["default-positions"] != "range":
        known += [POSITIONS, FLOW]
    return next((one for one in (asked, default) if one in known), RANGE), refused


def _default_of_broker(default: str, asked: str | None) -> str:
    """Return the broker's default algorithm: `asked`, if it is given; a blank name means
    `RANGE`.
    """
    if asked is None:
        return default
    return asked.strip() or RANGE


def _why_refused(split: Split, asked: str, settings: Settings, release: ReleasedWays) -> str | None:
    """Return why the admin API refuses an algorithm, or None."""
    way = release.ways["unsupported-algorithm"]
    place = release.place("unsupported-algorithm")
    if way != "followed" and asked not in str(settings.value(SUPPORTED_ALGORITHMS)).split(","):
        after = ", and the bundle is split all the same" if way.endswith("followed") else ""
        return f"{SUPPORTED_ALGORITHMS} does not name {asked}{after} ({place})"
    if asked.lower() == POSITIONS and not split.positions:
        return f"no positions are given ({place})"
    return None


def _boundaries(
    split: Split, algorithm: str, release: ReleasedWays
) -> tuple[list[int], str | None]:
    """Return an algorithm's boundaries, and why the bundle is not split (None if it is split)."""
    few = len(split.hashes) < FEWEST
    by_range = [middle_by_name(split.bundle)]
    if algorithm == TOPICS and few:
        if release.ways["few-topics-halved"] == "range":
            return by_range, None
        return [], f"it has fewer than {FEWEST} topics"
    if algorithm == TOPICS:
        middle = len(split.hashes) // 2
        below, above = split.hashes[middle - 1], split.hashes[middle]
        return [below + (above - below) // 2], None
    if algorithm == POSITIONS:
        if few and release.ways["positions-for"] == "topics":
            return [], f"it has fewer than {FEWEST} topics ({release.place('positions-for')})"
        inside = [one for one in split.positions if split.bundle.lower < one < split.bundle.upper]
        return sorted(inside), None if inside else "no position is inside of it"
    return by_range, None


def _flow_boundaries(
    traffic: Sequence[TopicTraffic], settings: Settings
) -> tuple[list[int], str | None]:
    """Return the cuts of a bundle, and the reason for no cut (None if there are cuts).

    A cut is made before a topic that would make its part exceed a limit. If several topics have the
    same hash, the traffic of the last of them is used for each.
    """
    by_hash = {one.place: one for one in traffic}
    if len(by_hash) < FEWEST:
        return [], f"it has fewer than {FEWEST} topics with traffic ({FLOW_PLACE})"
    most_messages, most_bytes = _part_limits(settings)
    margin = 1 + float(settings.number(FLOW_MARGIN)) / 100.0
    if (
        sum((one.messages for one in traffic), 0.0) < most_messages * margin
        and sum((one.throughput for one in traffic), 0.0) < most_bytes * margin
    ):
        return [], f"its traffic exceeds no limit by {FLOW_MARGIN} ({FLOW_PLACE})"
    ordered = [by_hash[one] for one in sorted(one.place for one in traffic)]
    cuts = []
    carried = ordered[0]
    for before, one in pairwise(ordered):
        carried = TopicTraffic(
            one.place, carried.messages + one.messages, carried.throughput + one.throughput
        )
        if carried.messages > most_messages or carried.throughput > most_bytes:
            cuts.append(before.place + (one.place - before.place) // 2 + 1)
            carried = one
    return cuts, None if cuts else f"no part would exceed a limit ({FLOW_PLACE})"


def _part_limits(settings: Settings) -> tuple[int, int]:
    """Return the limits of a part: messages and bytes per second."""
    return int(settings.number(MAX_MESSAGES)), int(settings.number(MAX_MEGABYTES)) * MEBIBYTE


def _flow_steps(traffic: Sequence[TopicTraffic], settings: Settings) -> Iterator[Step]:
    """Yield the limits of a part and the traffic of each topic; no steps if no topic has
    traffic.
    """
    if not traffic:
        return
    most_messages, most_bytes = (Fraction(one) for one in _part_limits(settings))
    yield Step("limits", f"{messages(most_messages)} and {throughput(most_bytes)} a part")
    for one in sorted(traffic, key=lambda one: one.place):
        carried = f"{messages(Fraction(one.messages))}, {throughput(Fraction(one.throughput))}"
        yield Step("topic", f"{hex_of(one.place)}: {carried}")


def _answer_with_parts(
    split: Split,
    algorithm: str,
    cuts: Sequence[int],
    release: ReleasedWays,
    before: Callable[[], Iterator[Step]],
) -> Derivation:
    parts = split.bundle.cut(cuts)
    where = ", ".join(map(hex_of, cuts))
    halves = f" ({release.place('topic-halves')})" if algorithm == TOPICS else ""
    halves = f" ({FLOW_PLACE})" if algorithm == FLOW else halves

    def explain() -> Iterator[Step]:
        yield Step("algorithm", algorithm)
        yield from before()
        yield Step("cut at", f"{where}{halves}")
        yield from (Step("part", part.name) for part in parts)

    return Derivation({"bundles": [part.name for part in parts]}, explain)


def _answer_with_whole(
    split: Split, algorithm: str, why: str, before: Callable[[], Iterator[Step]]
) -> Derivation:
    def explain() -> Iterator[Step]:
        yield Step("algorithm", algorithm)
        yield from before()
        yield Step("stays whole", why)

    return Derivation({"bundles": [split.bundle.name]}, explain)


def _answer_with_reason(field: str, why: str) -> Derivation:
    return Derivation({field: why}, lambda: (Step(field, why),))
