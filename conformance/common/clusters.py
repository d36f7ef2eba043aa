"""Checks the load data in cases about clusters, and builds example cases."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from pulsar_conformance.conformance.common.operation import Problems
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.ranges import HashRange, namespace_of
from pulsar_conformance.reference.shedding import EXCLUDED
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS


def cluster_problems(case: Json, _settings: Settings) -> Problems:
    """Yield a problem for each bundle with two owners or a bad name, and for overlapping bundles.

    Also yield the problems of the brokers' reports.
    """
    owners: dict[str, str] = {}
    for broker, report in case["brokers"].items():
        for bundle in report.get("bundles", ()):
            if bundle in owners:
                yield f"case.brokers.{broker}: {bundle} is also owned by {owners[bundle]}"
            owners[bundle] = broker
        yield from report_problems(broker, report)
    for bundle in [*owners, *case["bundles"], *case.get("recentlyUnloaded", ())]:
        yield from bundle_name_problems(bundle)
    yield from overlap_problems(owners, "case.brokers")


def report_problems(broker: str, report: Json) -> Problems:
    """Yield a problem for each resource of a broker that is in use but has a limit of 0."""
    for resource in WEIGHT_SETTINGS:
        used = report.get(resource, {"usage": 0, "limit": 100})
        if not used["limit"] and used["usage"]:
            yield f"case.brokers.{broker}.{resource}: a usage above 0 needs a limit above 0"


def bundle_name_problems(bundle: str) -> Problems:
    """Yield a problem if a bundle's name does not end with a hash range."""
    try:
        HashRange.parse(bundle)
    except ValueError as error:
        yield f"case: {error}"


def overlap_problems(bundles: Iterable[str], place: str) -> Problems:
    """Yield a problem for each pair of a namespace's bundles whose ranges overlap."""
    namespaces: dict[str, list[HashRange]] = defaultdict(list)
    for bundle in bundles:
        namespaces[namespace_of(bundle)].append(HashRange.parse(bundle))
    for namespace, ranges in namespaces.items():
        for lower, upper in pairwise(sorted(ranges)):
            if upper.lower < lower.upper:
                yield f"{place}: {namespace}/{lower.name} overlaps {upper.name}"


def weight_problems(settings: Settings) -> Problems:
    """Yield a problem for each weight outside 0 to 1, the range that releases accept.

    Errors: `MissingSetting` for a weight that is not given.
    """
    for name in WEIGHT_SETTINGS.values():
        if not 0 <= settings.number(name) <= 1 and not settings.any_range:
            yield f"case.settings.{name}: a weight must be between 0 and 1.0"


def bundles_named_in(case: Json) -> set[str]:
    """Return the names of all bundles in a case about a cluster."""
    reports = case["brokers"].values()
    reported = {
        bundle
        for report in reports
        for field in ("bundles", "lastStats")
        for bundle in report.get(field, ())
    }
    return {*reported, *case["bundles"], *case.get("recentlyUnloaded", ())}


def is_part(bundle: str, whole: str) -> bool:
    """True if `bundle` lies within the hash range of `whole`, a bundle of the same namespace."""
    alike = namespace_of(bundle) == namespace_of(whole)
    return alike and HashRange.parse(whole).covers(HashRange.parse(bundle))


LEFT, RIGHT = "t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff"
TOPICS = [f"persistent://t/ns/orders-{number}" for number in range(4)]


def example_rates(scale: float) -> Json:
    """Return messages and bytes per second in both directions, scaled by `scale`."""
    return {
        "msgRateIn": 100.0 * scale,
        "msgRateOut": 200.0 * scale,
        "msgThroughputIn": 100_000.0 * scale,
        "msgThroughputOut": 200_000.0 * scale,
    }


def example_broker(cpu: float, load: float, bundles: list[str]) -> Json:
    """Return a broker's report: `cpu` in percent, `load` as a multiple of `example_rates`."""
    return {
        "cpu": {"usage": cpu, "limit": 100.0},
        "memory": {"usage": 512.0, "limit": 2048.0},
        "directMemory": {"usage": 128.0, "limit": 2048.0},
        "bandwidthIn": {"usage": 1000.0, "limit": 10000.0},
        "bandwidthOut": {"usage": 2000.0, "limit": 10000.0},
        **example_rates(load),
        "bundles": bundles,
        "lastStats": {
            bundle: {
                **example_rates(load / 2), "topics": 1200, "producerCount": 3, "consumerCount": 5
            }
            for bundle in bundles
        },
    }  # fmt: skip


def example_bundle_data() -> Json:
    """Return bundle data of two equally loaded bundles, `LEFT` and `RIGHT`."""
    average = {**example_rates(2), "numSamples": 10, "maxSamples": 10}
    return {bundle: {"shortTermData": average, "longTermData": average} for bundle in (LEFT, RIGHT)}


NAMESPACE = re.compile(r"[-=:.\w]+(/[-=:.\w]+){1,2}", re.ASCII)
"""Names of namespaces as Pulsar accepts them (NamedEntity.checkName)."""


def namespace_name_problems(names: Iterable[str], place: str) -> Problems:
    """Yield a problem for each text that Pulsar does not accept as a namespace's name."""
    for name in names:
        if not NAMESPACE.fullmatch(name):
            yield f"{place}: {name!r} is not the name of a namespace (letters, digits and -=:._)"


def contains_bundle(whole: str, bundle: str) -> bool:
    """True if two bundles have the same namespace, and `whole` contains the range of `bundle`."""
    alike = namespace_of(whole) == namespace_of(bundle)
    return alike and HashRange.parse(whole).covers(HashRange.parse(bundle))


def keeps_bundles(case: Mapping[str, Any], settings: Settings) -> bool:
    """True if exclusions or missing data could keep bundles of the case from moving."""
    reports = case["brokers"].values() if settings.given.get(EXCLUDED) else ()
    owned = (bundle for report in reports for bundle in report.get("bundles", ()))
    return any(is_excluded(bundle, settings) for bundle in owned) or bool(case.get("withoutData"))


def namespaces_not_shed(settings: Settings) -> set[str]:
    """Return the namespaces that a setting excludes from load shedding."""
    listed = str(settings.given.get(EXCLUDED) or "").split(",")
    return {name for one in listed if (name := one.strip())}


def is_excluded(bundle: str, settings: Settings) -> bool:
    """True if a setting names a bundle's namespace as excluded from load shedding."""
    excluded = namespaces_not_shed(settings)
    return bool(excluded) and namespace_of(bundle) in excluded


def namespaces_under_policies(case: Mapping[str, Any]) -> set[str]:
    """Return the namespaces with an isolation policy or an anti-affinity group."""
    isolated = (name for one in case.get("isolation", ()) for name in one["namespaces"])
    return {*case.get("groups", {}), *isolated}


def named_in_policies(case: Mapping[str, Any]) -> set[str]:
    """Return the brokers named in isolation policies, which may reject bundles of other
    namespaces.
    """
    policies = case.get("isolation", ())
    return {name for one in policies for name in (*one["primary"], *one["secondary"])}
