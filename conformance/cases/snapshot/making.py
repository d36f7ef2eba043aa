"""Making cases from saved data of a real cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pulsar_conformance.conformance.bundles.operations import SPLIT_CANDIDATES
from pulsar_conformance.conformance.cases.snapshot.reports import SavedReport
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.load_data.operations import READ, SUM, USAGE
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.reference.averages import FRAMES
from pulsar_conformance.reference.cluster import RATE_FIELDS
from pulsar_conformance.reference.ranges import namespace_of

WINDOWS: Mapping[str, int] = dict(zip(FRAMES, (10, 1000), strict=True))
"""Samples that a time frame holds at most, by the documents."""


@dataclass(frozen=True)
class Snapshot:
    """The reports by broker, the saved bundle data, and the settings."""

    reported: Mapping[str, SavedReport]
    data: Mapping[str, Json]
    settings: Mapping[str, Any]

    @cached_property
    def brokers(self) -> dict[str, Json]:
        """The report of each broker."""
        return {name: reported.broker for name, reported in self.reported.items()}

    @cached_property
    def owned(self) -> list[str]:
        """The bundles of all brokers."""
        return [name for broker in self.brokers.values() for name in broker.get("bundles", ())]

    @cached_property
    def latest(self) -> dict[str, Json]:
        """The reports' numbers for bundles without bundle data, as their first sample."""
        return {
            name: {frame: _one_sample(stats, window) for frame, window in WINDOWS.items()}
            for broker in self.brokers.values()
            for name, stats in broker.get("lastStats", {}).items()
            if name not in self.data
        }

    @cached_property
    def bundles(self) -> dict[str, Json]:
        """Each owned bundle with known data, in the order of the reports."""
        known = {**self.latest, **self.data}
        return {name: known[name] for name in self.owned if name in known}

    def notes(self) -> Iterator[str]:
        """Remarks for a person about what was left out or assumed."""
        for name, reported in self.reported.items():
            if reported.without_limit:
                yield f"{name}: left out, as without a limit: {', '.join(reported.without_limit)}"
        sampled = [name for name in self.owned if name in self.latest]
        if sampled:
            yield f"no bundle data of {_counted(sampled)}: the latest numbers count as one sample"
        unknown = [name for name in self.owned if name not in self.bundles]
        if unknown:
            yield f"neither bundle data nor latest numbers of {_counted(unknown)}"


def _one_sample(stats: Json, window: int) -> Json:
    rates = {name: stats[name] for name in RATE_FIELDS if name in stats}
    return {**rates, "numSamples": 1, "maxSamples": window}


def _counted(bundles: list[str]) -> str:
    return bundles[0] if len(bundles) == 1 else f"{len(bundles)} bundles"


def _unloaded(snapshot: Snapshot) -> list[Json]:
    return [
        {
            "strategy": None,
            "settings": dict(snapshot.settings),
            "brokers": snapshot.brokers,
            "bundles": snapshot.bundles,
            "recentlyUnloaded": {},
        }
    ]


def _split(snapshot: Snapshot) -> list[Json]:
    """Assumes that the bundles that brokers own are all bundles."""
    return [
        {
            "settings": dict(snapshot.settings),
            "leader": True,
            "brokers": snapshot.brokers,
            "bundles": snapshot.bundles,
            "namespaceBundles": dict(Counter(map(namespace_of, snapshot.owned))),
        }
    ]


def _usages(snapshot: Snapshot) -> list[Json]:
    settings = dict(snapshot.settings)
    return [
        {"settings": settings, "weighted": False, "broker": broker}
        for broker in snapshot.brokers.values()
    ]


def _averages(snapshot: Snapshot) -> list[Json]:
    return [
        {
            "bundles": {
                name: snapshot.bundles[name]
                for name in broker.get("bundles", ())
                if name in snapshot.bundles
            },
            "owned": broker.get("bundles", []),
        }
        for broker in snapshot.brokers.values()
    ]


def _reports(snapshot: Snapshot) -> list[Json]:
    return [{"report": reported.report} for reported in snapshot.reported.values()]


MAKERS: Mapping[str, Callable[[Snapshot], list[Json]]] = {
    SHED.id: _unloaded,
    SPLIT_CANDIDATES.id: _split,
    USAGE.id: _usages,
    SUM.id: _averages,
    READ.id: _reports,
}
"""The operations that reports tell enough about."""

OF_EACH_BROKER = (USAGE.id, SUM.id, READ.id)
"""Those that ask about each broker by itself, without its name."""


def trial_of(operation: str, snapshot: Snapshot) -> Trial:
    """The questions of an operation, in the order of the brokers."""
    return Trial.of(operation, *MAKERS[operation](snapshot))
