"""Samples of a bundle's load within the two time frames. [DATA]"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulsar_conformance.reference.cluster import RATE_FIELDS, Rates
from pulsar_conformance.reference.numbers import ZERO, Fraction, Rate

WINDOWS: Mapping[str, int] = {"shortTermData": 10, "longTermData": 1000}
"""The two time frames, and the number of samples of each. [DATA-03]"""

PUSHED: Mapping[str, Callable[[Rate, Rate, Rate, int], Rate]] = {
    "sliding": lambda total, oldest, new, _window: total - oldest + new,
    "fading": lambda total, _oldest, new, window: total * Fraction(window - 1, window) + new,
}
"""The sum of a full window after one more sample, by the reading `window`. [DATA-02]"""


NOTHING = Rates(ZERO, ZERO, ZERO, ZERO)


def fields(rates: Rates) -> dict[str, Rate]:
    """Rates under the names of load data, exact."""
    return dict(zip(RATE_FIELDS, rates.each(), strict=True))


@dataclass
class Frame:
    """One time frame of one bundle; adding a sample takes constant time."""

    window: int
    kind: str
    """The reading `window`."""
    taken: deque[Rates] = field(default_factory=deque)
    totals: tuple[Rate, ...] = NOTHING.each()

    def add(self, rates: Rates) -> None:
        """Add a sample."""
        full = len(self.taken) == self.window
        oldest = self.taken.popleft() if full else rates
        self.taken.append(rates)
        self.totals = tuple(
            PUSHED[self.kind](total, old, new, self.window) if full else total + new
            for total, old, new in zip(self.totals, oldest.each(), rates.each(), strict=True)
        )

    @property
    def rates(self) -> Rates:
        """The average over the samples."""
        return Rates(*(total / len(self.taken) for total in self.totals))

    @property
    def data(self) -> dict[str, Any]:
        """Averages in the shape of bundle data."""
        return {**fields(self.rates), "numSamples": len(self.taken)}


class Samples:
    """Both time frames of one bundle."""

    def __init__(self, kind: str) -> None:
        self._frames = {name: Frame(window, kind) for name, window in WINDOWS.items()}
        self._rates: dict[str, Rates] = {}
        self.data: dict[str, Any] = {}
        """Averages in the shape of bundle data; empty before the first sample."""

    def add(self, rates: Rates) -> bool:
        """Add a sample, and return True if an average changed."""
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
        """Number of samples of the long term, and its maximum."""
        frame = self._frames["longTermData"]
        return {"numSamples": len(frame.taken), "maxSamples": frame.window}
