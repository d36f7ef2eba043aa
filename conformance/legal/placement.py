"""Legal bundles and namespaces to place."""

from __future__ import annotations

from collections.abc import Mapping

from pulsar_conformance.conformance.legal.invariant import Invariant, Problems
from pulsar_conformance.conformance.legal.loads import cluster, range_of
from pulsar_conformance.conformance.trial import Json
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.placement import THRESHOLD


def _select(case: Json, settings: Settings) -> Problems:
    settings.number(THRESHOLD)
    yield from cluster(case, settings)
    yield from range_of(case["bundle"])
    for broker in (*case["candidates"], *case["preallocated"]):
        if broker not in case["brokers"]:
            yield f"case.brokers: {broker} is missing"
    owners = {
        bundle: broker
        for broker, report in case["brokers"].items()
        for bundle in report.get("bundles", ())
    }
    for broker, bundles in case["preallocated"].items():
        for bundle in bundles:
            yield from range_of(bundle)
            if bundle == case["bundle"]:
                yield f"case.preallocated.{broker}: {bundle} is still to be placed"
            if bundle in owners:
                yield f"case.preallocated.{broker}: {bundle} is assigned to {owners[bundle]}"
            owners[bundle] = broker


def _anti_affinity(case: Json, _settings: Settings) -> Problems:
    home: dict[str, str] = {}
    for domain, brokers in case["domains"].items():
        for broker in brokers:
            if broker in home:
                yield f"case.domains.{domain}: {broker} is registered in {home[broker]}"
            home[broker] = domain


INVARIANTS: Mapping[str, Invariant] = {
    "place.select": _select,
    "place.anti_affinity": _anti_affinity,
}
