"""How namespaces are divided, and their bundles split. [BUNDLE, SPLIT]"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from pulsar_conformance.reference import bundles, candidate_steps, split_steps, splitting
from pulsar_conformance.reference.candidates import Growth
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.door import Answer, Case, Door
from pulsar_conformance.reference.ranges import HASHED, HASHES, hash_of, hex_of, ranges_of
from pulsar_conformance.reference.released.growth import Growing
from pulsar_conformance.reference.released.loads import Leader
from pulsar_conformance.reference.released.release import ReleasedWays

ROUNDED = (splitting.TOPICS, "rounded-down")
"""An algorithm, and the way in which a release takes it."""


def create(door: Door, case: Case) -> Derivation:
    """[BUNDLE-01 … 03]"""
    asked, why = case["bundles"], "as asked"
    if asked is None:
        why = "defaultNumberOfNamespaceBundles"
        asked = door.settings(case).number(why)
    count = int(asked)

    def explain() -> Iterator[Step]:
        yield Step("bundles", f"{count}, {why}")
        yield Step("width", f"2^32 / {count} = {HASHES // count} hashes, the last the rest")

    return Derivation({"boundaries": bundles.boundaries(count)}, explain)


def locate(door: Door, case: Case) -> Derivation:
    """[BUNDLE-04 … 13]"""
    ranges = ranges_of(case["boundaries"])
    locate = bundles.LOCATE[door.readings["partitions"]]
    names = [ranges[locate(ranges, topic)].name for topic in case["topics"]]

    def explain() -> Iterator[Step]:
        yield Step("hashes", HASHED)
        counted = bundles.COUNTED[door.readings["partitions"]]
        for topic, name in zip(case["topics"], names, strict=True):
            first, further = counted(topic)
            of = "" if first == topic else f"that of {first}, and {further} bundles on: "
            yield Step(topic, f"hash {hex_of(hash_of(first))}, {of}in {name}")

    return Derivation({"bundles": names}, explain)


def split(door: Door, case: Case) -> Derivation:
    """[SPLIT-10 … 19]"""
    split = splitting.Split.of(case["bundle"], case["topics"], case["positions"])
    algorithm = splitting.algorithm_of(
        case["algorithm"], case["by"], door.settings(case), door.readings
    )
    parts = splitting.parts(split, algorithm, door.readings)
    release = door.release
    if release is not None and (algorithm, release.ways["topic-halves"]) == ROUNDED:
        return _rounded_down(split, release)
    explain = partial(split_steps.steps, split, algorithm, door.readings, parts)
    return Derivation({"bundles": [part.name for part in parts]}, explain)


def _rounded_down(split: splitting.Split, release: ReleasedWays) -> Derivation:
    """Two parts by topics as a release cuts them."""
    positions, (below, above) = [], (0, 0)
    if len(split.hashes) > 1:
        middle = len(split.hashes) // 2
        below, above = split.hashes[middle - 1], split.hashes[middle]
        positions = split.inside([below + (above - below) // 2])
    parts = split.bundle.cut(positions)

    def explain() -> Iterator[Step]:
        between = f"half-way between {hex_of(below)} and {hex_of(above)}, rounded down"
        where = ", ".join(map(hex_of, positions)) or "nowhere"
        yield Step("middle", f"{between}: {where} ({release.place('topic-halves')})")
        for part in parts:
            yield Step("part", part.name)

    return Derivation({"bundles": [part.name for part in parts]}, explain)


def split_candidates(door: Door, case: Case) -> Derivation:
    """[SPLIT-01 … 09]"""
    if door.release is not None:
        growing = Growing(Leader(case, door.settings(case), door.release))
        decided = {"split": list(growing.split), "unload": list(growing.unload)}
        return Derivation(decided, growing.steps)
    growth = Growth(case, door.settings(case), door.readings)
    answer = {"split": list(growth.split), "unload": list(growth.unload)}
    return Derivation(answer, partial(candidate_steps.steps, growth))


ANSWERS: Mapping[str, Answer] = {
    "bundles.create": create,
    "bundles.locate": locate,
    "bundles.split": split,
    "bundles.split_candidates": split_candidates,
}
