"""`place.broker`: which broker is a bundle assigned to, all things considered?"""

from __future__ import annotations

from collections import Counter

from pulsar_conformance.conformance.core.likeness import same_field
from pulsar_conformance.conformance.core.operation import Naming, Operation, Problems
from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.conformance.facts.settled import assigning_settled
from pulsar_conformance.conformance.operations.balancing.place_anti_affinity import SPREAD
from pulsar_conformance.conformance.operations.balancing.place_select import PLACE
from pulsar_conformance.conformance.operations.balancing.placing import placed
from pulsar_conformance.conformance.operations.clusters import overlaps
from pulsar_conformance.conformance.operations.examples import LEFT, RIGHT, broker, bundle_data
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.assignment import Assignment
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD


def _legal(case: Json, settings: Settings) -> Problems:
    yield from PLACE.legal({**case, "candidates": []}, settings)
    yield from SPREAD.legal(case, settings)
    owned = [one for report in case["brokers"].values() for one in report.get("bundles", ())]
    if case["bundle"] in owned:
        yield f"case.brokers: {case['bundle']} is still to be placed"
    ahead = [one for names in case["preallocated"].values() for one in names]
    yield from overlaps([*owned, *ahead, case["bundle"]], "case")
    under = Counter(one for policy in case["isolation"] for one in policy["namespaces"])
    for name, count in under.items():
        if count > 1:
            yield f"case.isolation: {name} is under {count} policies"
    for name in case["versions"]:
        if name not in case["brokers"]:
            yield f"case.brokers: {name} is missing"


def _named(case: Json, answer: Json) -> list[Naming]:
    taken = [answer["broker"]] if answer["broker"] is not None else []
    return [Naming((*taken, *answer.get("candidates", ())), case["brokers"])]


def _example(cpu: float) -> Json:
    return {
        "settings": {OVERLOAD_THRESHOLD: 85},
        "bundle": RIGHT,
        "brokers": {"broker-1": broker(cpu, 0, []), "broker-2": broker(50.0, 4, [LEFT])},
        "bundles": bundle_data(),
        "preallocated": {},
        "domains": {},
        "groups": {},
        "isolation": [],
        "versions": {},
    }


ASSIGN = Operation(
    id="place.broker",
    view=Assignment,
    read=placed,
    matches=same_field("broker"),
    examples=(_example(95.0), _example(50.0)),
    legal=_legal,
    names=frozenset({"brokers", "bundles", "preallocated", "domains", "groups", "versions"}),
    named=_named,
    settled=assigning_settled,
)
