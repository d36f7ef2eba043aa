"""report.read: a load report, read by the release's own mapper and `LoadReportDeserializer`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pulsar_conformance.adapters.pulsar.jvm import Java, capital, java_class, mapper
from pulsar_conformance.adapters.pulsar.loads import RATES, RESOURCES
from pulsar_conformance.adapters.pulsar.release import (
    Answer,
    Case,
    Release,
    TurnedDown,
    Unsupported,
)

PACKAGE = "org.apache.pulsar.policies.data.loadbalancer"

MANAGERS = {"LoadReport": "simple", "LocalBrokerData": "modular"}
"""The load manager that wrote a report, by the class that the release reads it as."""

COUNTS = ("numTopics", "numBundles", "numProducers", "numConsumers")
STATS = ("topics", "producerCount", "consumerCount")
CHANGES = {
    "simple": {"lastBundleGains": "bundleGains", "lastBundleLosses": "bundleLosses"},
    "modular": {"lastBundleGains": "lastBundleGains", "lastBundleLosses": "lastBundleLosses"},
}
"""Fields for bundles gained and lost, with their names in the class."""


def read(_release: Release, case: Case) -> Answer:
    """Return the values of the report's getters. Errors: `TurnedDown` for a bad report."""
    manager, report = whose(case["report"])
    return {"manager": manager, "broker": said(report, manager)}


def whose(written: Case) -> tuple[str, Java]:
    """Return the manager that wrote a report, and the report. Errors: `TurnedDown`."""
    kind = java_class(f"{PACKAGE}.LoadManagerReport").class_
    try:
        report = mapper().readValue(json.dumps(written), kind)
    except java_class("com.fasterxml.jackson.core.JsonProcessingException") as error:
        raise TurnedDown(str(error.getOriginalMessage())) from None
    return MANAGERS[str(report.getClass().getSimpleName())], report


def said(report: Java, manager: str) -> dict[str, Any]:
    """Return the content of a report by this manager. Errors: `Unsupported`."""
    return {name: value for name, value in _each(report, manager) if value is not None}


def _each(report: Java, manager: str) -> Iterator[tuple[str, Any]]:
    for name in RESOURCES:
        yield name, _usage(_get(report, name))
    for name in RATES:
        yield name, float(_get(report, name))
    for name in COUNTS:
        yield name, int(_get(report, name))
    yield "bundles", _names(report.getBundles())
    for name, called in CHANGES[manager].items():
        yield name, _names(_get(report, called))
    yield "lastStats", _stats(report.getBundleStats())


def _get(report: Java, name: str) -> Java:
    return getattr(report, f"get{capital(name)}")()


def _usage(usage: Java) -> dict[str, float] | None:
    """Return usage and limit; None if a limit below 0 marks the resource as not measured.

    Errors: `Unsupported` for a usage below 0, which answers cannot contain.
    """
    if usage is None or usage.limit < 0:
        return None
    if usage.usage < 0:
        raise Unsupported(f"the release reads a usage of {float(usage.usage):g}; none is below 0")
    return {"usage": float(usage.usage), "limit": float(usage.limit)}


def _names(names: Java) -> list[str] | None:
    return None if names is None else sorted(map(str, names))


def _stats(stats: Java) -> dict[str, Any] | None:
    if stats is None:
        return None
    return {str(name): _one(one) for name, one in stats.items()}


def _one(stats: Java) -> dict[str, float]:
    rates = {name: float(getattr(stats, name)) for name in RATES}
    return {**rates, **{name: int(getattr(stats, name)) for name in STATS}}
