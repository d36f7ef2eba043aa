"""`average.broker`: what do a broker's bundles carry together?"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from pulsar_conformance.conformance.core.likeness import same_sums
from pulsar_conformance.conformance.core.operation import Operation, Problems
from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.conformance.operations.clusters import overlaps, range_of
from pulsar_conformance.conformance.operations.examples import LEFT, bundle_data
from pulsar_conformance.conformance.views import Owning
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.averages import FRAMES
from pulsar_conformance.reference.cluster import RATE_FIELDS, Rates


def _legal(case: Json, _settings: Settings) -> Problems:
    """The bundles do not overlap, and what they carry together is a number of JSON."""
    for name in (*case["owned"], *case["bundles"]):
        yield from range_of(name)
    yield from overlaps(case["owned"], "case.owned")
    known = [case["bundles"].get(name, {}) for name in case["owned"]]
    for frame in FRAMES:
        for rate in RATE_FIELDS:
            if sum(one.get(frame, {}).get(rate, 0) for one in known) > sys.float_info.max / 2:
                yield f"case.bundles: the {frame} of {rate} are too large to be added up"


def _sums(_case: Owning, answer: Json) -> Mapping[str, Rates]:
    """The sums by time frame."""
    return {frame: Rates.read(answer[frame]) for frame in FRAMES}


SUM = Operation(
    id="average.broker",
    view=lambda case, _settings, readings: Owning(case, readings),
    read=_sums,
    matches=same_sums,
    examples=tuple({"bundles": bundle_data(), "owned": owned} for owned in ([LEFT], [])),
    legal=_legal,
    names=frozenset({"bundles", "owned"}),
)
