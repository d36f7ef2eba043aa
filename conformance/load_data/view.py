"""Load data as checks see them: averages, usages, and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.averages import FRAMES, MEAN, average, carried, together
from pulsar_conformance.reference.cluster import (
    RESOURCES,
    Rates,
    average_of,
    never_measured,
)
from pulsar_conformance.reference.numbers import Fraction
from pulsar_conformance.reference.reports import NESTED, Report, Unreadable, read


@dataclass(frozen=True)
class Measured:
    """A usage as answered."""

    percent: Fraction
    resource: str | None


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


@dataclass(frozen=True)
class Reported:
    """A load report with any content."""

    report: Json

    @cached_property
    def read(self) -> Report | None:
        """The report as the model reads it, or None if it cannot be read."""
        try:
            return read(self.report)
        except Unreadable:
            return None

    def known(self, name: str) -> Any:
        """The report's value for a name of the protocol, or None."""
        return None if self.read is None else self.read.broker.get(name)

    @property
    def nested(self) -> bool:
        """Whether it has `systemResourceUsage`."""
        return self.report.get(NESTED) is not None

    @property
    def at_the_top(self) -> list[str]:
        """The resources at the top level of the report."""
        return [name for name in RESOURCES if self.report.get(name) is not None]

    @property
    def below(self) -> list[str]:
        """The resources in `systemResourceUsage`."""
        nested = self.report.get(NESTED)
        named = nested if isinstance(nested, Mapping) else {}
        return [name for name in RESOURCES if named.get(name) is not None]


@dataclass(frozen=True)
class Said:
    """The content of a report, as answered, or the refusal."""

    manager: str | None
    broker: Json
    refused: str | None

    def __getitem__(self, name: str) -> Any:
        return self.broker.get(name)

    def __str__(self) -> str:
        return f"refused: {self.refused}" if self.manager is None else self.manager
