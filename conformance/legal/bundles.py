"""Legal questions about namespaces and their bundles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise

from pulsar_conformance.conformance.legal.invariant import Invariant, Needed, Problems
from pulsar_conformance.conformance.legal.loads import cluster
from pulsar_conformance.conformance.trial import Json
from pulsar_conformance.reference import MissingSetting, Readings, Settings, splitting
from pulsar_conformance.reference.ranges import FULL_UPPER, HASHES, HashRange, hash_of, namespace_of

FULL_RANGE = "0x00000000_0xffffffff"


def _create(case: Json, settings: Settings) -> Problems:
    count = case["bundles"]
    if count is None:
        count = settings.number("defaultNumberOfNamespaceBundles")
    if count != int(count) or not 1 <= count < HASHES:
        yield f"case.bundles: {float(count):g} bundles cannot be made of {HASHES} hashes"


def _locate(case: Json, _settings: Settings) -> Problems:
    ends = [int(boundary, 16) for boundary in case["boundaries"]]
    if len(ends) < 2 or ends[0] != 0 or ends[-1] != FULL_UPPER:
        yield "case.boundaries: they go from 0x00000000 to 0xffffffff"
    if any(low >= high for low, high in pairwise(ends)):
        yield "case.boundaries: they ascend, each once"


def _split(case: Json, settings: Settings) -> Problems:
    try:
        bundle = HashRange.parse(case["bundle"])
    except ValueError as wrong:
        yield f"case.bundle: {wrong}"
        return
    selecting = {*settings.given, *settings.defaults} & set(splitting.SELECTING_SETTING.values())
    if case["algorithm"] is None and not selecting:
        raise MissingSetting(splitting.SELECTING_SETTING["default"])
    outside = [topic for topic in case["topics"] if hash_of(topic) not in bundle]
    if case["bundle"] != FULL_RANGE and outside:
        yield f"case.topics: {outside[0]} lies outside of {case['bundle']}"
    if len(set(case["topics"])) < len(case["topics"]):
        yield "case.topics: a topic is named twice"


def _candidates(case: Json, settings: Settings) -> Problems:
    yield from cluster(case, settings)
    owned: dict[str, int] = defaultdict(int)
    for report in case["brokers"].values():
        for bundle in report.get("bundles", ()):
            owned[namespace_of(bundle)] += 1
    for namespace, count in owned.items():
        if case["namespaceBundles"].get(namespace, 0) < count:
            yield f"case.namespaceBundles: {namespace} has at least {count} bundles"


def _selected(case: Json, settings: Settings, readings: Readings) -> None:
    """With no algorithm named, the setting that selects one by the reading `split-key`."""
    if case["algorithm"] is None:
        settings.text(splitting.SELECTING_SETTING[readings["split-key"]])


NEEDED: Mapping[str, Needed] = {"bundles.split": _selected}

INVARIANTS: Mapping[str, Invariant] = {
    "bundles.create": _create,
    "bundles.locate": _locate,
    "bundles.split": _split,
    "bundles.split_candidates": _candidates,
}
