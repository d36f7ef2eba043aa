"""What brokers reported of a bundle, sample by sample, for as long as it is remembered. [DATA]"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulsar_conformance.reference.cluster import RATE_FIELDS, Rates
from pulsar_conformance.reference.numbers import Fraction, Rate

WINDOWS: Mapping[str, int] = {"shortTermData": 10, "longTermData": 1000}
"""The two time frames, and how many samples each holds. [DATA-03]"""

PUSHED: Mapping[str, Callable[[Rate, Rate, Rate, int], Rate]] = {
    "sliding": lambda total, oldest, new, _window: total - oldest + new,
    "fading": lambda total, _oldest, new, window: total * Fraction(window - 1, window) + new,
}
"""The sum of a full window after one more sample, by the reading `window`. [DATA-02]"""


def fields(rates: Rates) -> dict[str, Rate]:
    """Rates under the names of load data, exact."""
    return dict(zip(RATE_FIELDS, rates.each(), strict=True))


@dataclass
class Frame:
    """One time frame of one bundle; a sample more costs the same however many there are."""

    window: int
    kind: str
    """The reading `window`."""
    taken: deque[Rates] = field(default_factory=deque)
    totals: tuple[Rate, ...] | None = None
    """None as long as all samples are equal."""

    def add(self, rates: Rates) -> None:
        """Takes one more sample."""
        last = self.taken[-1] if self.taken else rates
        if self.totals is None and last != rates:
            self.totals = tuple(rate * len(self.taken) for rate in last.each())
        full = len(self.taken) == self.window
        oldest = self.taken.popleft() if full else None
        self.taken.append(rates)
        if self.totals is not None:
            self.totals = tuple(
                PUSHED[self.kind](total, old, new, self.window) if full else total + new
                for total, old, new in zip(
                    self.totals, (oldest or rates).each(), rates.each(), strict=True
                )
            )

    @property
    def data(self) -> dict[str, Any]:
        """The average in the shape of bundle data."""
        count = len(self.taken)
        rates = self.taken[-1]
        if self.totals is not None:
            rates = Rates(*(total / count for total in self.totals))
        return {**fields(rates), "numSamples": count, "maxSamples": self.window}


class Samples:
    """Both time frames of one bundle."""

    def __init__(self, kind: str) -> None:
        self._frames = {name: Frame(window, kind) for name, window in WINDOWS.items()}
        self._data: dict[str, Any] | None = None

    def add(self, rates: Rates) -> bool:
        """Takes one more sample; whether an average may be another one now."""
        first = self._data is None
        for frame in self._frames.values():
            frame.add(rates)
        moving = first or any(frame.totals is not None for frame in self._frames.values())
        if moving:
            self._data = {name: frame.data for name, frame in self._frames.items()}
        return moving

    @property
    def counted(self) -> dict[str, int]:
        """On how many samples the long term stands, and on how many at most."""
        frame = self._frames["longTermData"]
        return {"numSamples": len(frame.taken), "maxSamples": frame.window}

    @property
    def data(self) -> dict[str, Any]:
        """In the shape of bundle data; empty before the first sample."""
        return self._data or {}
