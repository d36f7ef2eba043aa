"""`bundles.locate`: which bundle of a namespace holds each topic?"""

from __future__ import annotations

from itertools import pairwise

from pulsar_conformance.conformance.core.likeness import same_field
from pulsar_conformance.conformance.core.operation import Naming, Operation, Problems
from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.conformance.facts.settled import locating_settled
from pulsar_conformance.conformance.operations.examples import TOPICS
from pulsar_conformance.conformance.views import Found, Locating
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.ranges import FULL_UPPER, ranges_of


def _legal(case: Json, _settings: Settings) -> Problems:
    ends = [int(boundary, 16) for boundary in case["boundaries"]]
    if len(ends) < 2 or ends[0] != 0 or ends[-1] != FULL_UPPER:
        yield "case.boundaries: they go from 0x00000000 to 0xffffffff"
    if any(low >= high for low, high in pairwise(ends)):
        yield "case.boundaries: they ascend, each once"


def _named(case: Json, answer: Json) -> list[Naming]:
    return [Naming(answer["bundles"], [part.name for part in ranges_of(case["boundaries"])])]


def _same(case: Json, answer: Json) -> object:
    return sorted(zip(case["topics"], answer["bundles"], strict=False))


WHOLE = ["0x00000000", "0xffffffff"]
HALVES = ["0x00000000", "0x80000000", "0xffffffff"]

LOCATE = Operation(
    id="bundles.locate",
    view=lambda case, settings, _readings: Locating(case, settings),
    read=lambda case, answer: Found(case, tuple(answer["bundles"])),
    matches=same_field("bundles"),
    examples=tuple({"boundaries": cuts, "topics": TOPICS} for cuts in (WHOLE, HALVES)),
    legal=_legal,
    names=frozenset({"boundaries", "topics"}),
    named=_named,
    same=_same,
    settled=locating_settled,
)
