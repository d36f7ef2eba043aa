"""`shed.select`: which bundles do the brokers of a cluster give up in one cycle of shedding?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pulsar_conformance.conformance.core.operation import Naming, Operation, Problems
from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.conformance.facts.settled import cycle_settled
from pulsar_conformance.conformance.operations.clusters import bundles_of, cluster, weights
from pulsar_conformance.conformance.operations.examples import LEFT, RIGHT, broker, bundle_data
from pulsar_conformance.conformance.views import Unloading
from pulsar_conformance.reference import Settings, threshold, uniform
from pulsar_conformance.reference.ranges import HashRange, namespace_of
from pulsar_conformance.reference.shedding import PACKAGE, STRATEGY, Cycle


def _legal(case: Json, settings: Settings) -> Problems:
    yield from cluster(case, settings)
    strategy = (case["strategy"] or settings.text(STRATEGY)).removeprefix(PACKAGE)
    if strategy == "ThresholdShedder":
        settings.number(threshold.SHEDDER_THRESHOLD)
        yield from weights(settings)
        if any(report.get("usageHistory") for report in case["brokers"].values()):
            yield from history_share(settings)
    if strategy == "UniformLoadShedder":
        settings.number(uniform.RATE_THRESHOLD)
        settings.number(uniform.THROUGHPUT_THRESHOLD)
    owned = {b for report in case["brokers"].values() for b in report.get("bundles", ())}
    yield from _moved(owned, case["recentlyUnloaded"])


def history_share(settings: Settings) -> Problems:
    """The weight of a broker's earlier usage is a share of one."""
    if not 0 <= settings.number(threshold.HISTORY_SHARE) <= 1:
        yield f"case.settings.{threshold.HISTORY_SHARE}: a share lies between 0 and 1"


def _moved(owned: set[str], recently: Mapping[str, float]) -> Problems:
    """A recently unloaded bundle is one of today's bundles or contained it: bundles never merge."""
    parts = [(namespace_of(bundle), HashRange.parse(bundle), bundle) for bundle in owned]
    for name in recently:
        moved, namespace = HashRange.parse(name), namespace_of(name)
        for space, part, bundle in parts:
            apart = part.upper <= moved.lower or moved.upper <= part.lower
            if space == namespace and not (apart or moved.covers(part)):
                yield f"case.recentlyUnloaded: {name} is a part of {bundle}; bundles never merge"


def _unloading(case: Cycle, answer: Json) -> Unloading:
    return Unloading(case, tuple((one["broker"], one["bundle"]) for one in answer["unload"]))


def _matches(allowed: Json, answer: Json) -> bool:
    """Compares the bundles of each broker in order."""
    return _by_broker(allowed["unload"]) == _by_broker(answer["unload"])


def _by_broker(unload: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in unload:
        found.setdefault(one["broker"], []).append(one["bundle"])
    return found


def _named(case: Json, answer: Json) -> list[Naming]:
    unload = answer["unload"]
    return [
        Naming([one["broker"] for one in unload], case["brokers"]),
        Naming([one["bundle"] for one in unload], bundles_of(case)),
    ]


def _same(_case: Json, answer: Json) -> object:
    return sorted((one["broker"], one["bundle"]) for one in answer["unload"])


def _example(cpu: float) -> Json:
    return {
        "strategy": "OverloadShedder",
        "settings": {},
        "brokers": {"broker-1": broker(cpu, 4, [LEFT, RIGHT]), "broker-2": broker(10.0, 0, [])},
        "bundles": bundle_data(),
        "recentlyUnloaded": {},
    }


SHED = Operation(
    id="shed.select",
    view=Cycle,
    read=_unloading,
    matches=_matches,
    examples=(_example(95.0), _example(50.0)),
    legal=_legal,
    names=frozenset({"brokers", "bundles", "recentlyUnloaded"}),
    named=_named,
    same=_same,
    settled=cycle_settled,
    said_by_case={STRATEGY: "strategy"},
)
