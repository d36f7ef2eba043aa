"""Averages of load over samples, and their sums. [DATA]"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pulsar_conformance.reference.cluster import Json, Rates, average_of, never_measured
from pulsar_conformance.reference.numbers import ZERO, Rate, total

FRAMES: Mapping[str, str] = {"shortTermData": "shortSamples", "longTermData": "longSamples"}
"""The two time frames, and the number of samples that each is limited to. [DATA-03]"""

Mean = Callable[[Sequence[Rate], int], Rate]
"""Average of values, the oldest first, in a window of that many samples."""


def sliding(values: Sequence[Rate], window: int) -> Rate:
    """Mean of the newest values, or of all values until the window is full. [DATA-01, DATA-02]

    1 to 11 in a window of 10: (2 + 3 + ... + 11) / 10 = 6.5.
    """
    newest = values[-window:]
    return total(newest) / len(newest)


def fading(values: Sequence[Rate], window: int) -> Rate:
    """The mean until the window is full; then each value replaces one of its share. [DATA-02]

    1 to 11 in a window of 10: ((10 - 1) x 5.5 + 11) / 10 = 6.05.
    """
    first, later = values[:window], values[window:]
    whole = total(first)
    for value in later:
        whole = whole * (window - 1) / window + value
    return whole / len(first)


MEAN: Mapping[str, Mean] = {"sliding": sliding, "fading": fading}
"""Function by alternative of the reading `window`."""


@dataclass(frozen=True)
class Average:
    """Average rates of a bundle in one time frame, and their number of samples."""

    rates: Rates
    samples: int
    window: int


def average(samples: Sequence[Rates], window: int, mean: Mean, unmeasured: Rates) -> Average:
    """The average of all samples of a bundle in one time frame. [DATA-01 … 07]"""
    if not samples:
        return Average(unmeasured, 0, window)
    columns = zip(*(sample.each() for sample in samples), strict=True)
    rates = Rates(*(mean(column, window) for column in columns))
    return Average(rates, samples_counted(len(samples), window), window)


def samples_counted(taken: int, window: int) -> int:
    """Number of samples of a time frame, at most its window. [DATA-07]"""
    return min(taken, window)


def carried(bundle: Json | None, frame: str, kilobyte: str) -> Rates:
    """Rates by which a bundle counts in one time frame of its broker. [DATA-09]"""
    return average_of(bundle, frame) or never_measured(kilobyte)


def together(loads: Iterable[Rates]) -> Rates:
    """Rates of a broker: the sum over its bundles. [DATA-08]"""
    none = Rates(ZERO, ZERO, ZERO, ZERO)
    columns = zip(none.each(), *(load.each() for load in loads), strict=True)
    return Rates(*map(total, columns))
