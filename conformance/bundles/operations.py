"""Bundles as questions: creating, locating and splitting them, and which ones to split."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from pulsar_conformance.conformance.bundles.quantities import growth_settled, locating_settled
from pulsar_conformance.conformance.bundles.view import Chosen, Found, Locating, Parts
from pulsar_conformance.conformance.common.clusters import bundles_of, cluster
from pulsar_conformance.conformance.common.examples import LEFT, RIGHT, TOPICS, broker, bundle_data
from pulsar_conformance.conformance.common.likeness import same_field
from pulsar_conformance.conformance.common.operation import Naming, Operation, Problems
from pulsar_conformance.conformance.common.plain import Plain
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference import MissingSetting, Readings, Settings
from pulsar_conformance.reference.candidates import Growth
from pulsar_conformance.reference.ranges import (
    FULL_UPPER,
    HASHES,
    HashRange,
    hash_of,
    namespace_of,
    ranges_of,
)
from pulsar_conformance.reference.splitting import SELECTING_SETTING

NUMBER = "defaultNumberOfNamespaceBundles"


def _legal_creation(case: Json, settings: Settings) -> Problems:
    count, said = case["bundles"], "case.bundles"
    if count is None:
        count, said = settings.number(NUMBER), f"case.settings.{NUMBER}"
    if count != int(count) or not 1 <= count < HASHES:
        yield f"{said}: {float(count):g} bundles cannot be made of {HASHES} hashes"


def _boundaries(_case: Plain, answer: Json) -> list[str]:
    boundaries: list[str] = answer["boundaries"]
    return boundaries


CREATE = Operation(
    id="bundles.create",
    view=lambda case, settings, _readings: Plain(case, settings),
    read=_boundaries,
    matches=same_field("boundaries"),
    examples=tuple({"bundles": number, "settings": {}} for number in (16, 2, None)),
    legal=_legal_creation,
    said_by_case={NUMBER: "bundles"},
)


def _legal_location(case: Json, _settings: Settings) -> Problems:
    ends = [int(boundary, 16) for boundary in case["boundaries"]]
    if len(ends) < 2 or ends[0] != 0 or ends[-1] != FULL_UPPER:
        yield "case.boundaries: they go from 0x00000000 to 0xffffffff"
    if any(low >= high for low, high in pairwise(ends)):
        yield "case.boundaries: they ascend, each once"


def _named_location(case: Json, answer: Json) -> list[Naming]:
    return [Naming(answer["bundles"], [part.name for part in ranges_of(case["boundaries"])])]


def _same(case: Json, answer: Json) -> object:
    return sorted(zip(case["topics"], answer["bundles"], strict=False))


ALL = ["0x00000000", "0xffffffff"]
HALVES = ["0x00000000", "0x80000000", "0xffffffff"]

LOCATE = Operation(
    id="bundles.locate",
    view=lambda case, settings, _readings: Locating(case, settings),
    read=lambda case, answer: Found(case, tuple(answer["bundles"])),
    matches=same_field("bundles"),
    examples=tuple({"boundaries": cuts, "topics": TOPICS} for cuts in (ALL, HALVES)),
    legal=_legal_location,
    names=frozenset({"boundaries", "topics"}),
    named=_named_location,
    same=_same,
    settled=locating_settled,
)


WHOLE = "0x00000000_0xffffffff"


def _legal_split(case: Json, settings: Settings) -> Problems:
    try:
        bundle = HashRange.parse(case["bundle"])
    except ValueError as wrong:
        yield f"case.bundle: {wrong}"
        return
    selecting = {*settings.given, *settings.defaults} & set(SELECTING_SETTING.values())
    if case["algorithm"] is None and not selecting:
        raise MissingSetting(SELECTING_SETTING["default"])
    outside = [topic for topic in case["topics"] if hash_of(topic) not in bundle]
    if case["bundle"] != WHOLE and outside:
        yield f"case.topics: {outside[0]} is outside {case['bundle']}"
    if len(set(case["topics"])) < len(case["topics"]):
        yield "case.topics: a topic is named twice"


def _needed(case: Json, settings: Settings, readings: Readings) -> None:
    """The setting that selects the algorithm (by the reading `split-key`) if none is named."""
    if case["algorithm"] is None:
        settings.text(SELECTING_SETTING[readings["split-key"]])


def _example_split(algorithm: str, positions: list[str]) -> Json:
    return {
        "bundle": WHOLE,
        "algorithm": algorithm,
        "by": "admin",
        "settings": {"defaultNamespaceBundleSplitAlgorithm": "range_equally_divide"},
        "topics": TOPICS,
        "positions": positions,
    }


SPLIT = Operation(
    id="bundles.split",
    view=lambda case, settings, _readings: Plain(case, settings),
    read=lambda _case, answer: Parts(tuple(answer.get("bundles", ())), answer.get("refused")),
    matches=same_field("bundles"),
    examples=(
        _example_split("range_equally_divide", []),
        _example_split("specified_positions_divide", ["0x10000000"]),
    ),
    legal=_legal_split,
    needs=_needed,
    refusable=True,
    names=frozenset({"topics", "positions"}),
    said_by_case=dict.fromkeys(SELECTING_SETTING.values(), "algorithm"),
)


def _legal_candidates(case: Json, settings: Settings) -> Problems:
    yield from cluster(case, settings)
    owned: dict[str, int] = defaultdict(int)
    for report in case["brokers"].values():
        for bundle in report.get("bundles", ()):
            owned[namespace_of(bundle)] += 1
    for namespace, count in owned.items():
        if case["namespaceBundles"].get(namespace, 0) < count:
            yield f"case.namespaceBundles: {namespace} has at least {count} bundles"


def _matches(allowed: Json, answer: Json) -> bool:
    """Compares the bundles as sets."""
    return all(set(allowed[name]) == set(answer[name]) for name in ("split", "unload"))


def _named_candidates(case: Json, answer: Json) -> list[Naming]:
    return [Naming((*answer["split"], *answer["unload"]), bundles_of(case))]


def _example_candidates(leader: bool) -> Json:
    return {
        "settings": {},
        "leader": leader,
        "brokers": {"broker-1": broker(50.0, 4, [LEFT, RIGHT])},
        "bundles": bundle_data(),
        "namespaceBundles": {"t/ns": 2},
    }


SPLIT_CANDIDATES = Operation(
    id="bundles.split_candidates",
    view=Growth,
    read=lambda _case, answer: Chosen(tuple(answer["split"]), tuple(answer["unload"])),
    matches=_matches,
    examples=(_example_candidates(True), _example_candidates(False)),
    legal=_legal_candidates,
    names=frozenset({"brokers", "bundles"}),
    named=_named_candidates,
    settled=growth_settled,
)
