"""Splitting one bundle. [SPLIT-10 … 19]"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pulsar_conformance.reference.candidates import MAX_MEGABYTES, MAX_MESSAGES
from pulsar_conformance.reference.cluster import MEGABYTE, Rates
from pulsar_conformance.reference.context import Readings, Refused, Settings
from pulsar_conformance.reference.numbers import Fraction, Rate
from pulsar_conformance.reference.ranges import HashRange, hash_of

RANGE = "range_equally_divide"
TOPICS = "topic_count_equally_divide"
POSITIONS = "specified_positions_divide"
BY_RATES = "flow_or_qps_equally_divide"
"""An algorithm described by documents from 4.2 on. [SPLIT-28 … 30]"""

FLOW_MARGIN = "flowOrQpsDifferenceThresholdPercentage"


@dataclass(frozen=True)
class PartLimits:
    """The limits of a part, in messages and bytes per second, and the margin for a split.

    A bundle is split if it exceeds one of the limits by at least the margin, in percent.
    """

    messages: Rate
    throughput: Rate
    margin: Fraction

    @classmethod
    def of(cls, settings: Settings, readings: Readings) -> PartLimits:
        """Return the effective limits."""
        return cls(
            settings.number(MAX_MESSAGES),
            settings.number(MAX_MEGABYTES) * MEGABYTE[readings["megabyte"]],
            settings.number(FLOW_MARGIN),
        )

    def exceeded(self, messages: Rate, throughput: Rate) -> bool:
        """True if a part would exceed a limit. [SPLIT-28]"""
        return messages > self.messages or throughput > self.throughput

    def reached(self, messages: Rate, throughput: Rate) -> bool:
        """True if a bundle carries at least a limit plus the margin. [SPLIT-30]"""
        pairs = ((messages, self.messages), (throughput, self.throughput))
        return any(carried * 100 >= limit * (100 + self.margin) for carried, limit in pairs)


@dataclass(frozen=True)
class Split:
    """A split request: the bundle's range, its topics' hashes, and the requested positions."""

    bundle: HashRange
    hashes: tuple[int, ...]
    positions: tuple[int, ...]
    loads: tuple[tuple[int, Rates], ...] = ()
    """Hash and traffic of each topic, sorted by hash."""
    limits: PartLimits | None = None

    @classmethod
    def of(cls, bundle: str, topics: Sequence[str], positions: Sequence[str]) -> Split:
        """Parse a split request from the names and positions in the protocol's format."""
        return cls(
            HashRange.parse(bundle),
            tuple(sorted(hash_of(topic) for topic in topics)),
            tuple(int(position, 16) for position in positions),
        )

    def with_loads(
        self, topics: Sequence[str], given: Mapping[str, Any], limits: PartLimits
    ) -> Split:
        """Return the request with the traffic of its topics and the limits of a part."""
        found = [(hash_of(topic), Rates.read(given.get(topic, {}))) for topic in topics]
        return replace(self, loads=tuple(sorted(found, key=lambda one: one[0])), limits=limits)

    def inside(self, positions: Sequence[int]) -> list[int]:
        """Return the positions strictly inside the range, sorted and without duplicates."""
        return sorted({p for p in positions if self.bundle.lower < p < self.bundle.upper})


def middle_by_size(bundle: HashRange) -> int:
    """Return the position that leaves equally many hashes on both sides. [SPLIT-10]

    This is the alternative `equal` of the reading `range-halves`.
    """
    return bundle.lower + bundle.width // 2


def middle_by_name(bundle: HashRange) -> int:
    """Return the middle of the two bounds in the bundle's name. [SPLIT-10]

    This is the alternative `by-name` of the reading `range-halves`.
    """
    return bundle.lower + (bundle.upper - bundle.lower) // 2


MIDDLE: Mapping[str, Callable[[HashRange], int]] = {
    "equal": middle_by_size,
    "by-name": middle_by_name,
}
"""The middle of a range, for each alternative of the reading `range-halves`."""


def halves_of_the_range(split: Split, readings: Readings) -> list[int]:
    """Return the cut in the middle of a range, under the reading `range-halves`. [SPLIT-10]"""
    return split.inside([MIDDLE[readings["range-halves"]](split.bundle)])


def halves_of_the_topics(split: Split, _readings: Readings) -> list[int]:
    """Return the position that cuts a range into parts with equally many topics. [SPLIT-11]

    The cut is half-way between two hashes. If the number of topics is odd, the upper part gets one
    more topic. Topics with equal hashes stay together; if all hashes are equal, nothing is cut.
    """
    place = topics_below(split.hashes)
    if place == 0:
        return []
    below, above = split.hashes[place - 1], split.hashes[place]
    return split.inside([below + (above - below + 1) // 2])


def topics_below(hashes: Sequence[int]) -> int:
    """Return the number of topics in the lower part; 0 if no cut is possible.

    `hashes` must be sorted.
    """
    parted = [place for place in range(1, len(hashes)) if hashes[place - 1] < hashes[place]]
    return min(parted, key=lambda place: abs(2 * place - len(hashes)), default=0)


def at_the_positions(split: Split, readings: Readings) -> list[int]:
    """Return the requested positions that lie inside the range. [SPLIT-12, SPLIT-13]

    Errors: `Refused` for several such positions if a split makes two parts (reading `split-ways`).
    """
    usable = split.inside(split.positions)
    if readings["split-ways"] == "two" and len(usable) > 1:
        raise Refused(f"{len(usable)} positions make {len(usable) + 1} parts; a split makes two")
    return usable


def where_limits_are_exceeded(split: Split, _readings: Readings) -> list[int]:
    """Return cuts that keep parts within the limits. [SPLIT-28 … 30]

    Each cut is half-way between two hashes, before a topic that makes its part exceed a limit. A
    topic that exceeds a limit by itself gets a part of its own.
    """
    limits = split.limits
    assert limits is not None, "loads come with their limits"
    whole = [rates for _hash, rates in split.loads]
    if not limits.reached(
        sum((one.messages for one in whole), Fraction(0)),
        sum((one.throughput for one in whole), Fraction(0)),
    ):
        return []
    cuts: list[int] = []
    before, messages, throughput = None, Fraction(0), Fraction(0)
    for place, rates in split.loads:
        messages, throughput = messages + rates.messages, throughput + rates.throughput
        if before is not None and limits.exceeded(messages, throughput):
            cuts.append(before + (place - before + 1) // 2)
            messages, throughput = rates.messages, rates.throughput
        before = place
    return split.inside(cuts)


ALGORITHMS: Mapping[str, Callable[[Split, Readings], list[int]]] = {
    RANGE: halves_of_the_range,
    TOPICS: halves_of_the_topics,
    POSITIONS: at_the_positions,
    BY_RATES: where_limits_are_exceeded,
}

SELECTING_SETTING: Mapping[str, str] = {
    "default": "defaultNamespaceBundleSplitAlgorithm",
    "supported": "supportedNamespaceBundleSplitAlgorithms",
}
"""The setting that selects the algorithm, for each alternative of the reading `split-key`.

[SPLIT-17, SPLIT-18]
"""


def algorithm_of(asked: str | None, by: str, settings: Settings, readings: Readings) -> str:
    """Return the requested algorithm, or the algorithm that the settings select. [SPLIT-15 … 18]

    Errors: `Refused` for an unknown algorithm, and for a split at given positions that no
    administrator requests.
    """
    algorithm = asked or settings.text(SELECTING_SETTING[readings["split-key"]])
    known = [one for one in ALGORITHMS if one != BY_RATES or FLOW_MARGIN in settings.defaults]
    if algorithm not in known:
        if algorithm == BY_RATES:
            raise Refused(f"the documents do not describe {algorithm}")
        raise Refused(f"{algorithm} is not an algorithm; the algorithms are {', '.join(known)}")
    if algorithm == POSITIONS and asked is None:
        raise Refused(f"{POSITIONS} cannot be set as the default")
    if algorithm == POSITIONS and by != "admin":
        raise Refused(f"{POSITIONS} can be requested only over the admin API")
    return algorithm


def parts(split: Split, algorithm: str, readings: Readings) -> tuple[HashRange, ...]:
    """Return the parts of a bundle; the bundle itself if there is no cut. [SPLIT-14]

    Errors: `Refused` if the bundle has no position between its bounds.
    """
    if split.bundle.upper - split.bundle.lower == 1:
        raise Refused(f"{split.bundle.name} is too small to split: it contains no boundary")
    return split.bundle.cut(ALGORITHMS[algorithm](split, readings))
