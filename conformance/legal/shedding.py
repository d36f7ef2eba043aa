"""Legal cycles of shedding."""

from __future__ import annotations

from collections.abc import Mapping

from pulsar_conformance.conformance.legal.invariant import Invariant, Problems
from pulsar_conformance.conformance.legal.loads import cluster, weights
from pulsar_conformance.conformance.trial import Json
from pulsar_conformance.reference import Settings, threshold, uniform
from pulsar_conformance.reference.ranges import HashRange, namespace_of
from pulsar_conformance.reference.shedding import PACKAGE, STRATEGY


def _shed(case: Json, settings: Settings) -> Problems:
    yield from cluster(case, settings)
    strategy = (case["strategy"] or settings.text(STRATEGY)).removeprefix(PACKAGE)
    if strategy == "ThresholdShedder":
        settings.number(threshold.THRESHOLD)
        yield from weights(settings)
        if any(report.get("usageHistory") for report in case["brokers"].values()):
            yield from _history_share(settings)
    if strategy == "UniformLoadShedder":
        settings.number(uniform.RATE_THRESHOLD)
        settings.number(uniform.THROUGHPUT_THRESHOLD)
    owned = {b for report in case["brokers"].values() for b in report.get("bundles", ())}
    yield from _moved(owned, case["recentlyUnloaded"])


def _history_share(settings: Settings) -> Problems:
    if not 0 <= settings.number(threshold.HISTORY_SHARE) <= 1:
        yield f"case.settings.{threshold.HISTORY_SHARE}: a share lies between 0 and 1"


def _moved(owned: set[str], recently: Mapping[str, float]) -> Problems:
    """Bundles are split, never merged: what moved was the bundle or one that held it."""
    for name in recently:
        moved = HashRange.parse(name)
        for bundle in owned:
            part = HashRange.parse(bundle)
            apart = part.upper <= moved.lower or moved.upper <= part.lower
            if namespace_of(bundle) == namespace_of(name) and not (apart or moved.covers(part)):
                yield f"case.recentlyUnloaded: {name} is a part of {bundle}; bundles never merge"


INVARIANTS: Mapping[str, Invariant] = {"shed.select": _shed}
