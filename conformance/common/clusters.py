"""The legality of load data in any operation: brokers, their bundles, their usage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

from pulsar_conformance.conformance.common.operation import Problems
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.ranges import HashRange, namespace_of
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS


def cluster(case: Json, _settings: Settings) -> Problems:
    """Each bundle has one owner, and the ranges of a namespace do not overlap."""
    owners: dict[str, str] = {}
    for broker, report in case["brokers"].items():
        for bundle in report.get("bundles", ()):
            if bundle in owners:
                yield f"case.brokers.{broker}: {bundle} is owned by {owners[bundle]}, too"
            owners[bundle] = broker
        yield from report_of(broker, report)
    known = [*owners, *case["bundles"], *case.get("recentlyUnloaded", ())]
    for name in known:
        yield from range_of(name)
    yield from overlaps(owners, "case.brokers")


def report_of(broker: str, report: Json) -> Problems:
    """Every usage has a limit, of which it is a percentage."""
    for resource in WEIGHT_SETTINGS:
        used = report.get(resource, {"usage": 0, "limit": 100})
        if not used["limit"] and used["usage"]:
            yield f"case.brokers.{broker}.{resource}: a usage without a limit has no percentage"


def range_of(name: str) -> Problems:
    """A bundle's name ends in a range of hashes."""
    try:
        HashRange.parse(name)
    except ValueError as wrong:
        yield f"case: {wrong}"


def overlaps(owned: Iterable[str], place: str) -> Problems:
    """The ranges of a namespace do not overlap."""
    namespaces: dict[str, list[HashRange]] = defaultdict(list)
    for name in owned:
        namespaces[namespace_of(name)].append(HashRange.parse(name))
    for namespace, ranges in namespaces.items():
        for lower, upper in pairwise(sorted(ranges)):
            if upper.lower < lower.upper:
                yield f"{place}: {namespace}/{lower.name} overlaps {upper.name}"


def weights(settings: Settings) -> Problems:
    """Weights are shares of one."""
    for name in WEIGHT_SETTINGS.values():
        if not 0 <= settings.number(name) <= 1:
            yield f"case.settings.{name}: a weight lies between 0 and 1.0"


def bundles_of(case: Json) -> set[str]:
    """Every bundle that a case about a cluster names."""
    reports = case["brokers"].values()
    owned = {b for one in reports for key in ("bundles", "lastStats") for b in one.get(key, ())}
    return {*owned, *case["bundles"], *case.get("recentlyUnloaded", ())}
