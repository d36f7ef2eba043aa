"""Averages of samples, and sums over bundles. [DATA]"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pulsar_conformance.reference.cluster import (
    RATE_FIELDS,
    Json,
    Rates,
    average_of,
    unmeasured_rates,
)
from pulsar_conformance.reference.numbers import ZERO, Fraction, Rate, total

FRAMES: Mapping[str, str] = {"shortTermData": "shortSamples", "longTermData": "longSamples"}
"""The field of a case that gives the maximum number of samples of each time frame. [DATA-03]"""

Mean = Callable[[Sequence[Rate], int], Rate]
"""Function that averages values, oldest first, over a window of the given number of samples."""


def sliding(values: Sequence[Rate], window: int) -> Rate:
    """Return the mean of the last `window` values, or of all if there are fewer. [DATA-01, DATA-02]

    The values 1 to 11 in a window of 10 give (2 + 3 + ... + 11) / 10 = 6.5.
    """
    newest = values[-window:]
    return total(newest) / len(newest)


def fading(values: Sequence[Rate], window: int) -> Rate:
    """Return an average in which older values fade. [DATA-02]

    The average starts as the mean of the first `window` values; each later value then has the
    weight 1 / `window`. The values 1 to 11 in a window of 10 give ((10 - 1) x 5.5 + 11) / 10 =
    6.05.
    """
    first, later = values[:window], values[window:]
    whole = total(first)
    for value in later:
        whole = whole * (window - 1) / window + value
    return whole / len(first)


MEAN: Mapping[str, Mean] = {"sliding": sliding, "fading": fading}
"""The averaging function for each alternative of the reading `window`."""


@dataclass(frozen=True)
class Average:
    """A bundle's average rates in one time frame, and the number of samples."""

    rates: Rates
    samples: int
    window: int


def average(samples: Sequence[Rates], window: int, mean: Mean, unmeasured: Rates) -> Average:
    """Return the average of a bundle's samples in one time frame. [DATA-01 … 07]"""
    if not samples:
        return Average(unmeasured, 0, window)
    columns = zip(*(sample.each() for sample in samples), strict=True)
    rates = Rates(*(mean(column, window) for column in columns))
    return Average(rates, samples_counted(len(samples), window), window)


def samples_counted(taken: int, window: int) -> int:
    """Return the number of samples in a time frame, at most its window. [DATA-07]"""
    return min(taken, window)


def carried(bundle: Json | None, frame: str, kilobyte: str) -> Rates:
    """Return the rates that a bundle contributes to its broker in one time frame. [DATA-09]"""
    return average_of(bundle, frame) or unmeasured_rates(kilobyte)


def together(loads: Iterable[Rates]) -> Rates:
    """Return the sum of rates. [DATA-08]"""
    none = Rates(ZERO, ZERO, ZERO, ZERO)
    columns = zip(none.each(), *(load.each() for load in loads), strict=True)
    return Rates(*map(total, columns))


WINDOWS: Mapping[str, int] = {"shortTermData": 10, "longTermData": 1000}
"""The default maximum number of samples of each time frame. [DATA-03]"""

SUM_AFTER_SAMPLE: Mapping[str, Callable[[Rate, Rate, Rate, int], Rate]] = {
    "sliding": lambda total, oldest, new, _window: total - oldest + new,
    "fading": lambda total, _oldest, new, window: total * Fraction(window - 1, window) + new,
}
"""The sum of a full window after one more sample, for each alternative of the reading `window`.

[DATA-02]
"""


NOTHING = Rates(ZERO, ZERO, ZERO, ZERO)


def fields(rates: Rates) -> dict[str, Rate]:
    """Return the rates as exact numbers, by their field names in load data."""
    return dict(zip(RATE_FIELDS, rates.each(), strict=True))


@dataclass
class Frame:
    """One time frame of a bundle; adding a sample takes constant time."""

    window: int
    kind: str
    """The alternative of the reading `window`: how samples are averaged."""
    taken: deque[Rates] = field(default_factory=deque)
    totals: tuple[Rate, ...] = NOTHING.each()

    def add(self, rates: Rates) -> None:
        """Add a sample of rates; it replaces the oldest if the window is full."""
        full = len(self.taken) == self.window
        oldest = self.taken.popleft() if full else rates
        self.taken.append(rates)
        self.totals = tuple(
            SUM_AFTER_SAMPLE[self.kind](total, old, new, self.window) if full else total + new
            for total, old, new in zip(self.totals, oldest.each(), rates.each(), strict=True)
        )

    @property
    def rates(self) -> Rates:
        """The average over the samples."""
        return Rates(*(total / len(self.taken) for total in self.totals))

    @property
    def data(self) -> dict[str, Any]:
        """The averages as fields of bundle data."""
        return {**fields(self.rates), "numSamples": len(self.taken)}


class Samples:
    """Both time frames of one bundle."""

    def __init__(self, kind: str) -> None:
        self._frames = {name: Frame(window, kind) for name, window in WINDOWS.items()}
        self._rates: dict[str, Rates] = {}
        self.data: dict[str, Any] = {}
        """The averages in the format of bundle data; empty before the first sample."""

    def add(self, rates: Rates) -> bool:
        """Add a sample; return True if an average changed."""
        for frame in self._frames.values():
            frame.add(rates)
        averages = {name: frame.rates for name, frame in self._frames.items()}
        moving = averages != self._rates
        if moving:
            self._rates = averages
            self.data = {name: frame.data for name, frame in self._frames.items()}
        return moving

    @property
    def counted(self) -> dict[str, int]:
        """The number of long-term samples, and its maximum."""
        frame = self._frames["longTermData"]
        return {"numSamples": len(frame.taken), "maxSamples": frame.window}
