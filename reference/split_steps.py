"""Derivation of the cuts of a bundle. [SPLIT-10 … 14]"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.ranges import HASHED, HashRange, hex_of
from pulsar_conformance.reference.readings import Readings
from pulsar_conformance.reference.splitting import (
    MIDDLE,
    POSITIONS,
    RANGE,
    TOPICS,
    Split,
    halves_of_the_topics,
)


def steps(
    split: Split, algorithm: str, readings: Readings, parts: Sequence[HashRange]
) -> Iterator[Step]:
    """The algorithm, its positions, and the parts that they make."""
    yield Step("algorithm", algorithm)
    yield Step("bundle", f"{split.bundle.name}, {split.bundle.width} hashes")
    yield from CUTS[algorithm](split, readings)
    for part in parts:
        topics = sum(value in part for value in split.hashes)
        yield Step("part", f"{part.name}, {part.width} hashes, {topics} topics")


def _middle(split: Split, readings: Readings) -> Iterator[Step]:
    lower = split.bundle.lower
    middle = MIDDLE[readings["range-halves"]](split.bundle)
    width = (
        split.bundle.width if readings["range-halves"] == "equal" else split.bundle.upper - lower
    )
    yield Step("middle", f"{hex_of(lower)} + {width} / 2 = {hex_of(middle)}")


def _between_topics(split: Split, readings: Readings) -> Iterator[Step]:
    count = len(split.hashes)
    found = halves_of_the_topics(split, readings)
    if not found:
        why = "fewer than two" if count < 2 else "the middle two have no hash between them"
        yield Step("topics", f"{count}, {why}: nothing is split")
        return
    yield Step("hashes", HASHED)
    below, above = (hex_of(split.hashes[place]) for place in (count // 2 - 1, count // 2))
    yield Step("topics", f"{count}, of which {count // 2} go below and {count - count // 2} above")
    yield Step("middle", f"half-way between {below} and {above}: {hex_of(found[0])}")


def _given(split: Split, _readings: Readings) -> Iterator[Step]:
    seen: set[int] = set()
    for position in split.positions:
        usable = "cuts" if split.inside([position]) else "does not lie strictly inside"
        yield Step("position", f"{hex_of(position)} {'is there' if position in seen else usable}")
        seen.add(position)
    if not split.inside(split.positions):
        yield Step("decision", "no position to cut at: the bundle stays whole")


CUTS: Mapping[str, Callable[[Split, Readings], Iterator[Step]]] = {
    RANGE: _middle,
    TOPICS: _between_topics,
    POSITIONS: _given,
}
