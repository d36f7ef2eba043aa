"""Answers to report.read, report.due and report.bundles by the release's own classes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pulsar_conformance.adapters.pulsar.jvm import (
    Java,
    call,
    capitalized,
    class_exists,
    field,
    java_class,
    json_mapper,
    methods,
)
from pulsar_conformance.adapters.pulsar.loads import MANAGER, RATES, RESOURCES
from pulsar_conformance.adapters.pulsar.manager import Manager
from pulsar_conformance.adapters.pulsar.release import (
    WITHOUT_EXTENSIBLE,
    Answer,
    Case,
    RejectedRequest,
    Release,
    Unsupported,
)
from pulsar_conformance.adapters.pulsar.service import Service

PACKAGE = "org.apache.pulsar.policies.data.loadbalancer"

MANAGERS = {"LoadReport": "simple", "LocalBrokerData": "modular"}
"""The load manager that wrote a report, by the class of the parsed report."""

COUNTS = ("numTopics", "numBundles", "numProducers", "numConsumers")
STATS = ("topics", "producerCount", "consumerCount")
CHANGES = {
    "simple": {"lastBundleGains": "bundleGains", "lastBundleLosses": "bundleLosses"},
    "modular": {"lastBundleGains": "lastBundleGains", "lastBundleLosses": "lastBundleLosses"},
}
"""For bundles gained and lost: the protocol's fields, and their names in each manager's reports."""


def read(_release: Release, case: Case) -> Answer:
    """Return the values that the getters of a parsed report return.

    Errors: `RejectedRequest` for an invalid report.
    """
    manager, report = parse_report(case["report"])
    return {"manager": manager, "broker": report_content(report, manager)}


def parse_report(written: Case) -> tuple[str, Java]:
    """Return the load manager that wrote a report, and the parsed report.

    Errors: `RejectedRequest`.
    """
    kind = java_class(f"{PACKAGE}.LoadManagerReport").class_
    try:
        report = json_mapper().readValue(json.dumps(written), kind)
    except java_class("com.fasterxml.jackson.core.JsonProcessingException") as error:
        raise RejectedRequest(str(error.getOriginalMessage())) from None
    return MANAGERS[str(report.getClass().getSimpleName())], report


def report_content(report: Java, manager: str) -> dict[str, Any]:
    """Return the content of a parsed report in the protocol's format. Errors: `Unsupported`."""
    return {name: value for name, value in _report_fields(report, manager) if value is not None}


def _report_fields(report: Java, manager: str) -> Iterator[tuple[str, Any]]:
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
    return getattr(report, f"get{capitalized(name)}")()


def _usage(usage: Java) -> dict[str, float] | None:
    """Return usage and limit; None for a negative limit, which means that usage was not measured.

    Errors: `Unsupported` for negative usage, which answers cannot contain.
    """
    if usage is None or usage.limit < 0:
        return None
    if usage.usage < 0:
        raise Unsupported(f"the release reads a usage below 0, {float(usage.usage):g}")
    return {"usage": float(usage.usage), "limit": float(usage.limit)}


def _names(names: Java) -> list[str] | None:
    return None if names is None else sorted(map(str, names))


def _stats(stats: Java) -> dict[str, Any] | None:
    if stats is None:
        return None
    return {str(name): _bundle_stats(one) for name, one in stats.items()}


def _bundle_stats(stats: Java) -> dict[str, float]:
    rates = {name: float(getattr(stats, name)) for name in RATES}
    return {**rates, **{name: int(getattr(stats, name)) for name in STATS}}


EXTENSIONS = "org.apache.pulsar.broker.loadbalance.extensions"
REPORTER = f"{EXTENSIONS}.reporter.BrokerLoadDataReporter"
LOAD_DATA = f"{EXTENSIONS}.data.BrokerLoadData"
NEVER_REPORTED = 0
"""Time of the last report, in milliseconds since 1970, if the broker has not written any report."""


def due(release: Release, case: Case) -> Answer:
    """Return whether the load manager's own trigger demands a report.

    Errors: `Unsupported` within the minimum interval, during which releases do not call the
    trigger, and for a load manager that the release lacks.
    """
    configuration = release.configuration(case["settings"])
    least = _least_millis(release, configuration)
    if case["written"] is not None and case["seconds"] * 1000 < least:
        raise Unsupported(
            f"the release checks whether a report is due only every {least} ms (PulsarService), "
            "and the last report is more recent"
        )
    if case["manager"] == "extensible" and not class_exists(REPORTER):
        raise Unsupported(WITHOUT_EXTENSIBLE)
    trigger, write = TRIGGERS[case["manager"]]
    java = Service(configuration).shells.unconstructed_object(trigger)
    field(java, "conf").set(java, configuration)
    ago = int(case["seconds"] * 1000)
    at = (
        NEVER_REPORTED
        if case["written"] is None
        else int(java_class(CLOCK).currentTimeMillis()) - ago
    )
    for name, report in (("lastData", case["written"] or {}), ("localData", case["now"])):
        field(java, name).set(java, write(release, report, at, configuration))
    return {"due": bool(call(java, "needBrokerDataUpdate"))}


def _least_millis(release: Release, configuration: Java) -> int:
    """Return the milliseconds between two checks of the trigger; 2.4 has a constant interval."""
    if not release.configurations.knows(MIN_MILLIS):
        return int(java_class(SHARED).LOAD_REPORT_UPDATE_MIMIMUM_INTERVAL)
    return int(configuration.getLoadBalancerReportUpdateMinIntervalMillis())


MIN_MILLIS = "loadBalancerReportUpdateMinIntervalMillis"
SHARED = "org.apache.pulsar.broker.loadbalance.impl.LoadManagerShared"
CLOCK = "java.lang.System"


def _modular_data(release: Release, report: Case, at: int, _configuration: Java) -> Java:
    """Return load data in the form that the modular manager stores."""
    local = release.loads.parse_local(report)
    local.setNumBundles(report.get("numBundles", 0))
    local.setLastUpdate(at)
    return local


def _extensible_data(release: Release, report: Case, at: int, configuration: Java) -> Java:
    """Return load data in the form that the extensible manager stores."""
    found, local = java_class(LOAD_DATA)(), release.loads.parse_local(report)
    usage = java_class(f"{PACKAGE}.SystemResourceUsage")()
    for name in RESOURCES:
        getattr(usage, f"set{capitalized(name)}")(_get(local, name))
    bytes_each_way = (local.getMsgThroughputIn(), local.getMsgThroughputOut())
    rates = (*bytes_each_way, local.getMsgRateIn(), local.getMsgRateOut())
    counts = (report.get("numBundles", 0), report.get("numTopics", 0))
    update = max(methods(found, "update"), key=lambda one: one.getParameterCount())
    given = (usage, *rates, *counts)[: update.getParameterCount() - 1]
    found.update(*given, configuration)
    found.setReportedAt(at)
    return found


TRIGGERS = {"modular": (MANAGER, _modular_data), "extensible": (REPORTER, _extensible_data)}
"""For each load manager, the class that triggers reports, and the function that builds its input.
"""


TOP_BUNDLES_CLASS = f"{EXTENSIONS}.models.TopKBundles"


def top_bundles(release: Release, case: Case) -> Answer:
    """Return the bundles that a load manager selects for its report. Errors: `Unsupported`."""
    configuration = release.configuration(case["settings"])
    service = Service(configuration)
    if case["manager"] == "extensible":
        if not class_exists(TOP_BUNDLES_CLASS):
            raise Unsupported(WITHOUT_EXTENSIBLE)
        most = configuration.getLoadBalancerMaxNumberOfBundlesInBundleLoadReport()
        stats = java_class("java.util.HashMap")()
        measured = list(release.loads.parse_stats(list(case["stats"].values())))
        for name, one in zip(case["stats"], measured, strict=True):
            stats.put(name, one)
        top = java_class(TOP_BUNDLES_CLASS)(service.pulsar)
        top.update(stats, most)
        found = top.getLoadData().getTopBundlesLoadData()
        return {"bundles": [str(one.bundleName()) for one in found]}
    with Manager(service) as manager:
        if not methods(manager.java, SELECT_METHOD):
            raise Unsupported("the release reports every bundle instead of selecting some")
        averages = {
            name: {"shortTermData": one, "longTermData": one}
            for name, rates in case["stats"].items()
            if (one := {**rates, "numSamples": 10})
        }
        brokers: dict[str, Case] = {f"broker-{place}": {} for place in range(case["brokerCount"])}
        release.loads.fill_load_data(manager.load_data, brokers, averages)
        count = int(call(manager.java, SELECT_METHOD))
        chosen = list(field(manager.java, "bundleArr").get(manager.java))[:count]
        return {"bundles": [str(entry.getKey()) for entry in chosen]}


SELECT_METHOD = "selectTopKBundle"
"""Method that selects the bundles whose load the leader writes."""
