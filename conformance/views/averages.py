"""Averages and sums as checks see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pulsar_conformance.conformance.trial import Json
from pulsar_conformance.conformance.views.plain import AnswerView, CaseView
from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.averages import FRAMES, MEAN, Average, average, carried, together
from pulsar_conformance.reference.cluster import Rates, average_of, never_measured


@dataclass(frozen=True)
class Sampled:
    """The samples of a bundle, and the windows that they fall into."""

    case: Json
    readings: Readings

    @cached_property
    def samples(self) -> tuple[Rates, ...]:
        """The oldest first."""
        return tuple(map(Rates.read, self.case["samples"]))

    @cached_property
    def unmeasured(self) -> Rates:
        """What counts before the first sample."""
        return never_measured(self.readings["kilobyte"])

    def window(self, frame: str) -> int:
        """So many samples a time frame is limited to."""
        return int(self.case[FRAMES[frame]])

    def average(self, frame: str) -> Rates:
        """The average in a time frame, by the reading `window`."""
        mean = MEAN[self.readings["window"]]
        return average(self.samples, self.window(frame), mean, self.unmeasured).rates


@dataclass(frozen=True)
class Owning:
    """A broker's bundles, and what is known of bundles."""

    case: Json
    readings: Readings

    @property
    def owned(self) -> list[str]:
        """The broker's bundles."""
        return list(self.case["owned"])

    def measured(self, bundle: str, frame: str) -> bool:
        """Whether there is a sample of a bundle in a time frame."""
        return average_of(self.case["bundles"].get(bundle), frame) is not None

    def carried(self, bundle: str, frame: str) -> Rates:
        """What a bundle counts for."""
        return carried(self.case["bundles"].get(bundle), frame, self.readings["kilobyte"])

    def total(self, frame: str) -> Rates:
        """What all of the broker's bundles count for."""
        return together(self.carried(bundle, frame) for bundle in self.owned)


def _known(answer: Json) -> dict[str, Average]:
    return {
        frame: Average(
            Rates.read(answer[frame]),
            int(answer[frame]["numSamples"]),
            int(answer[frame].get("maxSamples", answer[frame]["numSamples"])),
        )
        for frame in FRAMES
    }


CASES: Mapping[str, CaseView] = {
    "average.bundle": lambda case, _settings, readings: Sampled(case, readings),
    "average.broker": lambda case, _settings, readings: Owning(case, readings),
}

ANSWERS: Mapping[str, AnswerView] = {
    "average.bundle": lambda _case, answer: _known(answer),
    "average.broker": lambda _case, answer: {frame: Rates.read(answer[frame]) for frame in FRAMES},
}
