"""`average.bundle`: what are the short-term and long-term averages of a bundle's samples?"""

from __future__ import annotations

from collections.abc import Mapping

from pulsar_conformance.conformance.core.likeness import same_sums
from pulsar_conformance.conformance.core.operation import Operation
from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.conformance.operations.examples import rates
from pulsar_conformance.conformance.views import Sampled
from pulsar_conformance.reference.averages import FRAMES, Average
from pulsar_conformance.reference.cluster import Rates


def _averages(_case: Sampled, answer: Json) -> Mapping[str, Average]:
    """The averages by time frame."""
    return {
        frame: Average(
            Rates.read(answer[frame]),
            int(answer[frame]["numSamples"]),
            int(answer[frame].get("maxSamples", answer[frame]["numSamples"])),
        )
        for frame in FRAMES
    }


def _matches(allowed: Json, answer: Json) -> bool:
    counted = (allowed[frame]["numSamples"] == answer[frame]["numSamples"] for frame in FRAMES)
    return same_sums(allowed, answer) and all(counted)


AVERAGE = Operation(
    id="average.bundle",
    view=lambda case, _settings, readings: Sampled(case, readings),
    read=_averages,
    matches=_matches,
    examples=tuple(
        {"samples": samples, "shortSamples": 10, "longSamples": 1000}
        for samples in ([], [rates(1), rates(2)])
    ),
)
