"""Splitting a bundle in a release, `NamespaceService.splitAndOwnBundle`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from pulsar_conformance.reference.context import Settings
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.ranges import hex_of
from pulsar_conformance.reference.released.growth import FEWEST
from pulsar_conformance.reference.released.release import ReleasedWays
from pulsar_conformance.reference.splitting import POSITIONS, RANGE, TOPICS, Split, middle_by_name

DEFAULT = "defaultNamespaceBundleSplitAlgorithm"
SUPPORTED = "supportedNamespaceBundleSplitAlgorithms"
"""The setting with the algorithms that an administrator may request."""

FLOW = "flow_or_qps_equally_divide"
FLOW_PLACE = "FlowOrQpsEquallyDivideBundleSplitAlgorithm.getSplitBoundary"


def split_answer(
    split: Split, asked: str | None, by: str, settings: Settings, release: ReleasedWays
) -> Derivation:
    """Return a bundle's parts (itself if it is not split), or why the request fails."""
    if by != "admin":
        split = replace(split, positions=())
    algorithm, refused = _algorithm_of(split, asked, by, settings, release)
    if refused is None and algorithm == FLOW:
        if settings.value(DEFAULT) != FLOW and (by == "admin" or asked != FLOW):
            return _answer("failed", f"{FLOW} is not the default ({FLOW_PLACE})")
        return _whole(split, f"{FLOW} uses the traffic of topics, and there is none")
    if refused is None and algorithm == POSITIONS and not split.positions:
        refused = f"no positions are given ({release.place('default-positions')})"
    if refused is not None:
        return _answer("refused", refused)
    boundaries, whole = _boundaries(split, algorithm, release)
    if whole is not None and release.ways["one-hash-wide"] == "whole":
        return _whole(split, whole)
    if split.bundle.upper - split.bundle.lower <= 1:
        return _answer("refused", f"{split.bundle.name} is one hash wide")
    if whole is not None:
        return _whole(split, whole)
    if release.ways["cut-at-edge"] == "refused" and boundaries != sorted(
        one for one in boundaries if split.bundle.lower < one < split.bundle.upper
    ):
        place = release.place("cut-at-edge")
        return _answer("refused", f"the cut is at the edge of {split.bundle.name} ({place})")
    twice = [one for one, count in Counter(boundaries).items() if count > 1]
    if twice and release.ways["position-twice"] == "unanswered":
        place = release.place("position-twice")
        positions = ", ".join(map(hex_of, twice))
        why = f"{positions} given twice: the request is never answered ({place})"
        return _answer("failed", why)
    return _parts(split, algorithm, split.inside(boundaries), release)


def _algorithm_of(
    split: Split, asked: str | None, by: str, settings: Settings, release: ReleasedWays
) -> tuple[str, str | None]:
    """Return the algorithm that a release uses, and why it refuses the request, if it does.

    An automatic split names no algorithm: if one is given, it is the broker's default.
    """
    if release.ways["split-algorithms"] == "range":
        return RANGE, None
    default = str(settings.value(DEFAULT))
    if by != "admin":
        default, asked = _default_of_broker(default, asked), None
    refused = None
    if asked is not None and asked.strip():
        refused = _refused(split, asked, settings, release)
    known = [RANGE, TOPICS]
    if release.ways["default-positions"] != "range":
        known += [POSITIONS, FLOW]
    return next((one for one in (asked, default) if one in known), RANGE), refused


def _default_of_broker(default: str, asked: str | None) -> str:
    """Return the default algorithm of a broker with this setting; a blank name selects none."""
    if asked is None:
        return default
    return asked.strip() or RANGE


def _refused(split: Split, asked: str, settings: Settings, release: ReleasedWays) -> str | None:
    """Return why the admin API refuses an algorithm, or None."""
    way = release.ways["unsupported-algorithm"]
    place = release.place("unsupported-algorithm")
    if way != "followed" and asked not in str(settings.value(SUPPORTED)).split(","):
        after = ", and the bundle is split all the same" if way.endswith("followed") else ""
        return f"{SUPPORTED} does not name {asked}{after} ({place})"
    if asked.lower() == POSITIONS and not split.positions:
        return f"no positions are given ({place})"
    return None


def _boundaries(
    split: Split, algorithm: str, release: ReleasedWays
) -> tuple[list[int], str | None]:
    """Return an algorithm's boundaries, and why the bundle is not split, if it is not."""
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


def _parts(split: Split, algorithm: str, cuts: Sequence[int], release: ReleasedWays) -> Derivation:
    parts = split.bundle.cut(cuts)
    where = ", ".join(map(hex_of, cuts))
    halves = f" ({release.place('topic-halves')})" if algorithm == TOPICS else ""
    steps = (
        Step("algorithm", algorithm),
        Step("cut at", f"{where}{halves}"),
        *(Step("part", part.name) for part in parts),
    )
    return Derivation({"bundles": [part.name for part in parts]}, lambda: steps)


def _whole(split: Split, why: str) -> Derivation:
    return Derivation({"bundles": [split.bundle.name]}, lambda: (Step("stays whole", why),))


def _answer(how: str, why: str) -> Derivation:
    return Derivation({how: why}, lambda: (Step(how, why),))
