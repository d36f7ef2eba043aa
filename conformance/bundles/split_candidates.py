"""`bundles.split_candidates`: which bundles does the leader split and unload by itself?"""

from __future__ import annotations

from collections import defaultdict

from pulsar_conformance.conformance.core.operation import Naming, Operation, Problems
from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.conformance.facts.settled import growth_settled
from pulsar_conformance.conformance.operations.clusters import bundles_of, cluster
from pulsar_conformance.conformance.operations.examples import LEFT, RIGHT, broker, bundle_data
from pulsar_conformance.conformance.views import Chosen
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.candidates import Growth
from pulsar_conformance.reference.ranges import namespace_of


def _legal(case: Json, settings: Settings) -> Problems:
    yield from cluster(case, settings)
    owned: dict[str, int] = defaultdict(int)
    for report in case["brokers"].values():
        for bundle in report.get("bundles", ()):
            owned[namespace_of(bundle)] += 1
    for namespace, count in owned.items():
        if case["namespaceBundles"].get(namespace, 0) < count:
            yield f"case.namespaceBundles: {namespace} has at least {count} bundles"


def _matches(allowed: Json, answer: Json) -> bool:
    """Compares the bundles as sets."""
    return all(set(allowed[name]) == set(answer[name]) for name in ("split", "unload"))


def _named(case: Json, answer: Json) -> list[Naming]:
    return [Naming((*answer["split"], *answer["unload"]), bundles_of(case))]


def _example(leader: bool) -> Json:
    return {
        "settings": {},
        "leader": leader,
        "brokers": {"broker-1": broker(50.0, 4, [LEFT, RIGHT])},
        "bundles": bundle_data(),
        "namespaceBundles": {"t/ns": 2},
    }


SPLIT_CANDIDATES = Operation(
    id="bundles.split_candidates",
    view=Growth,
    read=lambda _case, answer: Chosen(tuple(answer["split"]), tuple(answer["unload"])),
    matches=_matches,
    examples=(_example(True), _example(False)),
    legal=_legal,
    names=frozenset({"brokers", "bundles"}),
    named=_named,
    settled=growth_settled,
)
