"""Load reports as brokers write them, of either load manager, complete and partial."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Question, Trial
from pulsar_conformance.conformance.drawing import loads, names
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.load_data.draw_averages import one_sample
from pulsar_conformance.conformance.load_data.usage import usage_case
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES
from pulsar_conformance.reference.reports import NESTED

COMMON: Json = {
    "webServiceUrl": "http://broker-1:8080",
    "webServiceUrlTls": None,
    "pulsarServiceUrl": "pulsar://broker-1:6650",
    "persistentTopicsEnabled": True,
    "brokerVersionString": "3.0.0",
    "protocols": {},
}
"""Fields of every real report that a broker of the protocol does not have."""

MODULAR: Json = {
    **COMMON,
    "lastUpdate": 1_700_000_000_000,
    "advertisedListeners": {},
    "maxResourceUsage": 0.42,
    "loadReportType": "LocalBrokerData",
}

SIMPLE: Json = {
    **COMMON,
    "timestamp": 1_700_000_000_000,
    "overLoaded": False,
    "underLoaded": True,
    **{
        f"{when}{what}": 0.0 for when in ("allocated", "preAllocated") for what in ("CPU", "Memory")
    },
    "loadReportType": "LoadReport",
}

UNMEASURED = {"usage": -1.0, "limit": -1.0}
"""A resource that a broker cannot measure, as it reports it."""


def resources(random: Random) -> Json:
    """Return a broker's resources: any of them the busiest, some missing, some without a limit."""
    kind = random.choice(("all", "some", "some", "even", "none"))
    if kind == "none":
        return {}
    if kind == "even":
        return {name: {"usage": 0.0, "limit": limit} for name, limit in loads.REAL_LIMITS.items()}
    used = loads.usages(random, random.randint(1, 120), exact=random.random() < 0.3)
    for name in RESOURCES:
        if kind == "all":
            used.setdefault(name, {"usage": 0, "limit": loads.REAL_LIMITS[name]})
        elif random.random() < 0.15:
            used[name] = {"usage": 0.0, "limit": 0.0}
    return used


def _totals(random: Random) -> Json:
    """Return a broker's rates and counts, and the bundles that it has, gained and lost."""
    count = random.choice((0, 0, 1, 4, 30))
    known = names.bundles(random, count + 2)
    owned, gone = known[:count], known[count : count + random.choice((0, 1, 2))]
    stats = {bundle: {**one_sample(random), **_stats(random)} for bundle in owned}
    totals: Json = {rate: sum(one.get(rate, 0) for one in stats.values()) for rate in RATE_FIELDS}
    return {
        **totals,
        "numTopics": sum(one["topics"] for one in stats.values()),
        "numBundles": count,
        "numProducers": sum(one["producerCount"] for one in stats.values()),
        "numConsumers": sum(one["consumerCount"] for one in stats.values()),
        "bundles": owned,
        "lastBundleGains": random.sample(owned, random.randint(0, min(count, 4))),
        "lastBundleLosses": gone,
        "lastStats": stats,
    }


def _stats(random: Random) -> Json:
    counts = {name: random.randrange(9) for name in ("topics", "producerCount", "consumerCount")}
    return {**counts, "cacheSize": random.randrange(1000)}


def _in_part(random: Random, report: Json) -> Json:
    """Return a report that lacks a share of its fields."""
    share = random.choice((0, 0.2, 0.6, 1))
    return {name: value for name, value in report.items() if random.random() >= share}


def _shuffled(random: Random, report: Json) -> Json:
    return dict(random.sample(list(report.items()), len(report)))


def modular(random: Random, used: Json) -> Json:
    """Return a report of the modular load manager with these resources."""
    return _shuffled(random, {**_in_part(random, {**_totals(random), **MODULAR}), **used})


def simple(random: Random, used: Json) -> Json:
    """Return a report of the simple load manager; real ones repeat resources at the top level."""
    totals = _totals(random)
    load: Json = {name: totals[name] for name in totals if name.startswith(("msgRate", "num"))}
    load |= {
        "bundleStats": totals["lastStats"],
        "bundleGains": totals["lastBundleGains"],
        "bundleLosses": totals["lastBundleLosses"],
    }
    repeated = used if random.random() < 0.25 else {}
    return _shuffled(random, {**_in_part(random, {**load, **SIMPLE}), NESTED: used, **repeated})


def _unmeasured(random: Random, used: Json) -> Json:
    """Return the same resources, sometimes with a bandwidth that cannot be measured."""
    return {**used, "bandwidthIn": UNMEASURED} if random.random() < 0.1 else used


def reading(report: Json) -> Question:
    """Return a question that gives a report to be read."""
    return Question("report.read", {"report": report})


@st.composite
def modular_reports(draw: st.DrawFn) -> Trial:
    """A report of the modular load manager."""
    random = draw(randoms)
    return Trial((reading(modular(random, _unmeasured(random, resources(random)))),))


@st.composite
def simple_reports(draw: st.DrawFn) -> Trial:
    """A report of the simple load manager."""
    random = draw(randoms)
    return Trial((reading(simple(random, _unmeasured(random, resources(random)))),))


def any_report() -> st.SearchStrategy[Trial]:
    """A report of either load manager."""
    return st.one_of(modular_reports(), simple_reports())


@st.composite
def monitored(draw: st.DrawFn) -> Trial:
    """A report of either load manager, and the usage of the resources in it."""
    random = draw(randoms)
    used: dict[str, Any] = resources(random)
    report = draw(st.sampled_from((modular, simple)))(random, used)
    usage = Question("usage.max", usage_case(used, weighted=False, settings={}))
    return Trial((reading(report), usage))
