"""`place.select`: which of the candidates takes a bundle?"""

from __future__ import annotations

from pulsar_conformance.conformance.core.likeness import same_field
from pulsar_conformance.conformance.core.operation import Operation, Problems
from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.conformance.facts.settled import placing_settled
from pulsar_conformance.conformance.operations.balancing.placing import named, placed
from pulsar_conformance.conformance.operations.clusters import cluster, range_of
from pulsar_conformance.conformance.operations.examples import LEFT, RIGHT, broker, bundle_data
from pulsar_conformance.conformance.views import Placing
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD


def _legal(case: Json, settings: Settings) -> Problems:
    settings.number(OVERLOAD_THRESHOLD)
    yield from cluster(case, settings)
    yield from range_of(case["bundle"])
    for one in (*case["candidates"], *case["preallocated"]):
        if one not in case["brokers"]:
            yield f"case.brokers: {one} is missing"
    owners = {
        bundle: name
        for name, report in case["brokers"].items()
        for bundle in report.get("bundles", ())
    }
    for name, bundles in case["preallocated"].items():
        for bundle in bundles:
            yield from range_of(bundle)
            if bundle == case["bundle"]:
                yield f"case.preallocated.{name}: {bundle} is still to be placed"
            if bundle in owners:
                yield f"case.preallocated.{name}: {bundle} is assigned to {owners[bundle]}"
            owners[bundle] = name


def _example(cpu: float) -> Json:
    return {
        "settings": {OVERLOAD_THRESHOLD: 85},
        "bundle": RIGHT,
        "candidates": ["broker-1", "broker-2"],
        "brokers": {"broker-1": broker(cpu, 0, []), "broker-2": broker(50.0, 4, [LEFT])},
        "bundles": bundle_data(),
        "preallocated": {},
    }


PLACE = Operation(
    id="place.select",
    view=Placing,
    read=placed,
    matches=same_field("broker"),
    examples=(_example(95.0), _example(50.0)),
    legal=_legal,
    names=frozenset({"brokers", "bundles", "candidates", "preallocated"}),
    named=named,
    settled=placing_settled,
)
