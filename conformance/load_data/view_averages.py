"""Averages and sums, as checks see them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.averages import FRAMES, MEAN, average, carried, together
from pulsar_conformance.reference.cluster import Rates, average_of, never_measured


@dataclass(frozen=True)
class Sampled:
    """The samples of a bundle, and the windows over which they are averaged."""

    case: Json
    readings: Readings

    @cached_property
    def samples(self) -> tuple[Rates, ...]:
        """The samples, the oldest first."""
        return tuple(map(Rates.read, self.case["samples"]))

    @cached_property
    def unmeasured(self) -> Rates:
        """The values that count before the first sample."""
        return never_measured(self.readings["kilobyte"])

    def window(self, frame: str) -> int:
        """The number of samples to which a time frame is limited."""
        return int(self.case[FRAMES[frame]])

    def average(self, frame: str) -> Rates:
        """The average in a time frame, by the reading `window`."""
        mean = MEAN[self.readings["window"]]
        return average(self.samples, self.window(frame), mean, self.unmeasured).rates


@dataclass(frozen=True)
class Owning:
    """A broker's bundles, and the averages that are known for bundles."""

    case: Json
    readings: Readings

    @property
    def owned(self) -> list[str]:
        """The broker's bundles."""
        return list(self.case["owned"])

    def measured(self, bundle: str, frame: str) -> bool:
        """Whether a bundle has a sample in a time frame."""
        return average_of(self.case["bundles"].get(bundle), frame) is not None

    def carried(self, bundle: str, frame: str) -> Rates:
        """The rates with which a bundle counts."""
        return carried(self.case["bundles"].get(bundle), frame, self.readings["kilobyte"])

    def total(self, frame: str) -> Rates:
        """The sum over all of the broker's bundles."""
        return together(self.carried(bundle, frame) for bundle in self.owned)
