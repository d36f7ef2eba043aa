"""Averages of bundles in a leader's memory: fading as in releases, or sliding."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

from pulsar_conformance.audit.simulation.worlds import Json, Rates
from pulsar_conformance.reference.averages import WINDOWS
from pulsar_conformance.reference.cluster import RATE_FIELDS

FINE = 1024
"""Number of which all fading averages are multiples, 1/1024, so that sums of them are exact."""

SHORT, LONG = WINDOWS


def rates_by_name(rates: Rates) -> dict[str, float]:
    """Return rates by the names of their fields."""
    return dict(zip(RATE_FIELDS, rates, strict=True))


class FadingAverages(dict[str, Json]):
    """The load data of each bundle: averages over the short and the long time frame.

    In a full window, each new sample has a weight of one divided by the size of the window.
    """

    def establish(self, bundle: str, rates: Rates) -> None:
        """Set a bundle's averages as if it had always had these rates."""
        self[bundle] = {
            frame: {**rates_by_name(rates), "numSamples": size, "maxSamples": size}
            for frame, size in WINDOWS.items()
        }

    def sample(self, rates: Mapping[str, Rates]) -> None:
        """Add a sample of each of these bundles. [DATA-01]"""
        zero = {**rates_by_name((0.0, 0.0, 0.0, 0.0)), "numSamples": 0}
        unsampled = {frame: {**zero, "maxSamples": size} for frame, size in WINDOWS.items()}
        for bundle, now in rates.items():
            short, long = self.get(bundle, unsampled).values()
            self[bundle] = {SHORT: _with_sample(short, now), LONG: _with_sample(long, now)}


def _with_sample(data: Json, rates: Rates) -> Json:
    """Return averages with one more sample, or `data` itself if nothing changes.

    A simulation spends most of its time here. Most bundles send as much as they receive, so that
    two of the four averages are usually equal.
    """
    messages_in, messages_out, bytes_in, bytes_out, count, most = data.values()
    if count == most and (messages_in, messages_out, bytes_in, bytes_out) == rates:
        return data
    messages_in_now, messages_out_now, bytes_in_now, bytes_out_now = rates
    size = count + 1 if count < most else most
    messages = _updated(messages_in, messages_in_now, size)
    carried = _updated(bytes_in, bytes_in_now, size)
    same_messages = messages_in == messages_out and messages_in_now == messages_out_now
    same_bytes = bytes_in == bytes_out and bytes_in_now == bytes_out_now
    return {
        "msgRateIn": messages,
        "msgRateOut": messages if same_messages else _updated(messages_out, messages_out_now, size),
        "msgThroughputIn": carried,
        "msgThroughputOut": carried if same_bytes else _updated(bytes_out, bytes_out_now, size),
        "numSamples": size,
        "maxSamples": most,
    }


def _updated(average: float, now: float, count: int) -> float:
    """Return an average updated with the value `now`, whose weight is one divided by `count`."""
    if average == now:
        return average
    return round((average * (count - 1) + now) / count * FINE) / FINE


class SlidingAverages(Mapping[str, Json]):
    """The short-term load data of each bundle: means of its latest samples. [DATA-03]"""

    def __init__(self) -> None:
        self._latest: dict[str, deque[Rates]] = {}

    def sample(self, rates: Mapping[str, Rates]) -> None:
        """Add a sample of each of these bundles. [DATA-01]"""
        for bundle, now in rates.items():
            if bundle not in self._latest:
                self._latest[bundle] = deque(maxlen=WINDOWS[SHORT])
            self._latest[bundle].append(now)

    def __contains__(self, bundle: object) -> bool:
        return bundle in self._latest

    def __getitem__(self, bundle: str) -> Json:
        latest = self._latest[bundle]
        count = len(latest)
        means = [sum(values) / count for values in zip(*latest, strict=True)]
        data: Json = dict(zip(RATE_FIELDS, means, strict=True))
        return {SHORT: {**data, "numSamples": count, "maxSamples": latest.maxlen}}

    def __iter__(self) -> Iterator[str]:
        return iter(self._latest)

    def __len__(self) -> int:
        return len(self._latest)
