"""Load data that brokers write: when, and for which bundles. [REPORT-13 … 22]"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pulsar_conformance.reference.cluster import Broker, Rates
from pulsar_conformance.reference.context import Settings
from pulsar_conformance.reference.numbers import ZERO, Fraction, Percent, exact
from pulsar_conformance.reference.reports import (
    MAX_BUNDLES,
    MAX_MINUTES,
    MIN_MILLIS,
    THRESHOLD,
)
from pulsar_conformance.reference.usage import weighted_maximum, weights

MILLIS, SECONDS = 1000, 60
"""Milliseconds in a second, and seconds in a minute."""


def change_in_percent(before: Fraction, now: Fraction) -> Percent | None:
    """Return a change as a percentage of the written value; None for a rise from 0. [REPORT-13]

    From 1000 to 1110 messages per second, the change is 11 %.
    """
    if before == 0:
        return ZERO if now == 0 else None
    return abs(now - before) * 100 / before


@dataclass(frozen=True)
class ReportDue:
    """A `report.due` case: the data last written, the current data, and the seconds in between."""

    case: Mapping[str, Any]
    settings: Settings

    @cached_property
    def changes(self) -> dict[str, Percent | None]:
        """The change of each measure since the last write: usage in points, all others in percent.

        None stands for a rise from 0. [REPORT-13]
        """
        before, now = (Broker.read("broker", self.case[name]) for name in ("written", "now"))
        counts = (exact(self.case[name].get("numBundles", 0)) for name in ("written", "now"))
        then, since = map(self.usage, ("written", "now"))
        return {
            "messages": change_in_percent(before.rates.messages, now.rates.messages),
            "bytes": change_in_percent(before.rates.throughput, now.rates.throughput),
            "bundles": change_in_percent(*counts),
            "usage": abs(since - then),
        }

    def usage(self, name: str) -> Percent:
        """Return the usage in percent to compare; `name` is `written` or `now`. [REPORT-13]"""
        broker = Broker.read("broker", self.case[name])
        return weighted_maximum(broker, weights(self.settings)).percent

    @cached_property
    def changed(self) -> list[str]:
        """The measures that changed by more than the threshold. [REPORT-13, REPORT-14]"""
        most = self.settings.number(THRESHOLD)
        return [name for name, one in self.changes.items() if one is None or one > most]

    @property
    def first(self) -> bool:
        """True if the broker has not written load data yet. [REPORT-17]"""
        return self.case["written"] is None

    @property
    def too_soon(self) -> bool:
        """True before the minimum interval has passed. [REPORT-16]"""
        return exact(self.case["seconds"]) * MILLIS < self.settings.number(MIN_MILLIS)

    @property
    def late(self) -> bool:
        """True after the maximum interval has passed. [REPORT-15]"""
        return exact(self.case["seconds"]) > self.settings.number(MAX_MINUTES) * SECONDS

    @property
    def due(self) -> bool:
        """True if the broker writes its load data now."""
        if self.first:
            return True
        return not self.too_soon and (self.late or bool(self.changed))


@dataclass(frozen=True)
class TopBundles:
    """A `report.bundles` case: bundles with their load, and how many to report."""

    case: Mapping[str, Any]
    settings: Settings

    @property
    def most(self) -> int:
        """The maximum number of bundles to report. [REPORT-18, REPORT-19, REPORT-21]"""
        each = int(self.settings.number(MAX_BUNDLES))
        if each < 0:
            return len(self.case["stats"])
        leads = self.case["manager"] == "modular"
        return each * (int(self.case["brokerCount"]) if leads else 1)

    @property
    def reported(self) -> list[str]:
        """The busiest bundles, by bytes, then by messages per second. [REPORT-20]"""
        rates = {name: Rates.read(one) for name, one in self.case["stats"].items()}
        loads = {name: (one.throughput, one.messages) for name, one in rates.items()}
        busiest = sorted(loads, key=lambda name: loads[name], reverse=True)
        return busiest[: self.most]
