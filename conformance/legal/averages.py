"""Legal samples, and bundles of one broker."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from pulsar_conformance.conformance.legal.invariant import Invariant, Problems, none
from pulsar_conformance.conformance.legal.loads import overlaps, range_of
from pulsar_conformance.conformance.trial import Json
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.averages import FRAMES
from pulsar_conformance.reference.cluster import RATE_FIELDS


def _broker(case: Json, _settings: Settings) -> Problems:
    """The bundles do not overlap, and what they carry together is a number of JSON."""
    for name in (*case["owned"], *case["bundles"]):
        yield from range_of(name)
    yield from overlaps(case["owned"], "case.owned")
    known = [case["bundles"].get(name, {}) for name in case["owned"]]
    for frame in FRAMES:
        for rate in RATE_FIELDS:
            if sum(one.get(frame, {}).get(rate, 0) for one in known) > sys.float_info.max / 2:
                yield f"case.bundles: the {frame} of {rate} are too large to be added up"


INVARIANTS: Mapping[str, Invariant] = {"average.bundle": none, "average.broker": _broker}
