"""Answers about creating, locating and splitting bundles. [BUNDLE, SPLIT]"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pulsar_conformance.reference import splitting
from pulsar_conformance.reference.candidates import Growth
from pulsar_conformance.reference.context import Answer, Case, Context, Refused
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.ranges import (
    COUNTED,
    HASHES,
    LOCATE,
    ascend,
    boundaries,
    hash_of,
    hex_of,
    ranges_of,
)

SPLIT_CANDIDATES = "bundles.split_candidates"
DEFAULT_BUNDLES = "defaultNumberOfNamespaceBundles"
DEFAULT_SYSTEM_BUNDLES = "defaultNumberOfSystemNamespaceBundles"

SETTING_OF: Mapping[str, str | None] = {
    "admin": DEFAULT_BUNDLES,
    "standalone": DEFAULT_BUNDLES,
    "system": DEFAULT_SYSTEM_BUNDLES,
    "heartbeat": None,
}
"""Setting that gives the number of bundles of a new namespace, by the namespace's creator.

None means that the namespace has one bundle. [BUNDLE-16]
"""


def create(context: Context, case: Case) -> Derivation:
    """Answer `bundles.create`. [BUNDLE-01 … 03, BUNDLE-14 … 16]"""
    asked, setting = case["bundles"], SETTING_OF[case.get("creator", "admin")]
    if asked is None:
        asked = 1 if setting is None else context.settings(case).number(setting)
    count = int(asked)
    if count <= 0:
        raise Refused(f"a namespace has at least one bundle, not {count}")

    def explain() -> Iterator[Step]:
        given = "as asked" if case["bundles"] else setting or "as for every heartbeat namespace"
        yield Step("bundles", f"{count}, {given}")
        yield Step("width", f"2^32 / {count} = {HASHES // count} hashes, the last the rest")

    return Derivation({"boundaries": boundaries(count)}, explain)


def locate(context: Context, case: Case) -> Derivation:
    """Answer `bundles.locate`. [BUNDLE-04 … 13]"""
    ranges = ranges_of(case["boundaries"])
    if not ascend(case["boundaries"]):
        raise ValueError("boundaries do not ascend from 0x00000000 to 0xffffffff")
    locate = LOCATE[context.readings["partitions"]]
    names = [ranges[locate(ranges, topic)].name for topic in case["topics"]]

    def explain() -> Iterator[Step]:
        yield Step("hashes", context.hash_note)
        counted = COUNTED[context.readings["partitions"]]
        for topic, name in zip(case["topics"], names, strict=True):
            first, further = counted(topic)
            on = "1 bundle" if further == 1 else f"{further} bundles"
            of = "" if first == topic else f"that of {first}, and {on} on: "
            yield Step(topic, f"hash {hex_of(hash_of(first))}, {of}in {name}")

    return Derivation({"bundles": names}, explain)


def split(context: Context, case: Case) -> Derivation:
    """Answer `bundles.split`. [SPLIT-10 … 19, SPLIT-28 … 30]"""
    split = splitting.Split.of(case["bundle"], case["topics"], case["positions"])
    asked, by, settings = case["algorithm"], case["by"], context.settings(case)
    algorithm = splitting.algorithm_of(asked, by, settings, context.readings)
    if algorithm == splitting.BY_RATES:
        limits = splitting.PartLimits.of(settings, context.readings)
        split = split.with_loads(case["topics"], case.get("topicLoads", {}), limits)
    parts = splitting.parts(split, algorithm, context.readings)

    def explain() -> Iterator[Step]:
        from pulsar_conformance.reference.split_steps import split_steps

        return split_steps(split, algorithm, context, parts)

    return Derivation({"bundles": [part.name for part in parts]}, explain)


def split_candidates(context: Context, case: Case) -> Derivation:
    """Answer `bundles.split_candidates`. [SPLIT-01 … 09]"""
    growth = Growth(case, context.settings(case), context.readings)
    answer = {"split": list(growth.split), "unload": list(growth.unload)}

    def explain() -> Iterator[Step]:
        from pulsar_conformance.reference.split_steps import candidate_steps

        return candidate_steps(growth)

    return Derivation(answer, explain)


ANSWERS: Mapping[str, Answer] = {
    "bundles.create": create,
    "bundles.locate": locate,
    "bundles.split": split,
    SPLIT_CANDIDATES: split_candidates,
}
