"""REPORT: the content of load reports, and which load manager wrote them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.check import POINTS, Expect, check_exchanges, same
from pulsar_conformance.conformance.common.operation import FlatCase
from pulsar_conformance.conformance.common.trial import Exchange, Json, Question, Trial
from pulsar_conformance.conformance.drawing import composite, loads, names
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.load_data.averages import one_sample
from pulsar_conformance.conformance.load_data.operations import (
    READ,
    USAGE,
    MeasuredUsage,
    ReportCase,
    ReportContent,
)
from pulsar_conformance.conformance.load_data.usage import usage_case
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES, Broker
from pulsar_conformance.reference.numbers import exact, plain
from pulsar_conformance.reference.reports import CHANGES, COUNTS, LOAD, NESTED
from pulsar_conformance.reference.usage import maximum

COMMON: Json = {
    "webServiceUrl": "http://broker-1:8080",
    "webServiceUrlTls": None,
    "pulsarServiceUrl": "pulsar://broker-1:6650",
    "persistentTopicsEnabled": True,
    "brokerVersionString": "3.0.0",
    "protocols": {},
}
"""Fields of real load reports that an answer does not contain."""

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
"""A reported resource that the broker cannot measure."""


def draw_resources(random: Random) -> Json:
    """Return a broker's resources; any may be the busiest, absent, or without a limit."""
    kind = random.choice(("all", "some", "some", "even", "none"))
    if kind == "none":
        return {}
    if kind == "even":
        return {name: {"usage": 0.0, "limit": limit} for name, limit in loads.REAL_LIMITS.items()}
    used = loads.draw_usages(random, random.randint(1, 120), exact=random.random() < 0.3)
    for name in RESOURCES:
        if kind == "all":
            used.setdefault(name, {"usage": 0, "limit": loads.REAL_LIMITS[name]})
        elif random.random() < 0.15:
            used[name] = {"usage": 0.0, "limit": 0.0}
    return used


def _draw_totals(random: Random) -> Json:
    """Return a broker's rates and counts, and the bundles that it owns, gained and lost."""
    count = random.choice((0, 0, 1, 4, 30))
    known = names.bundles(random, count + 2)
    owned, gone = known[:count], known[count : count + random.choice((0, 1, 2))]
    stats = {bundle: {**one_sample(random), **_draw_statistics(random)} for bundle in owned}
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


def _draw_statistics(random: Random) -> Json:
    counts = {name: random.randrange(9) for name in ("topics", "producerCount", "consumerCount")}
    return {**counts, "cacheSize": random.randrange(1000)}


def _partial_report(random: Random, report: Json) -> Json:
    """Return a report with some fields removed."""
    share = random.choice((0, 0.2, 0.6, 1))
    return {name: value for name, value in report.items() if random.random() >= share}


def _shuffled(random: Random, report: Json) -> Json:
    return dict(random.sample(list(report.items()), len(report)))


def modular_report(random: Random, used: Json) -> Json:
    """Return a modular load manager's report with these resources."""
    return _shuffled(
        random, {**_partial_report(random, {**_draw_totals(random), **MODULAR}), **used}
    )


def simple_report(random: Random, used: Json) -> Json:
    """Return a simple load manager's report; sometimes, the resources are also at the top level."""
    totals = _draw_totals(random)
    load: Json = {name: totals[name] for name in totals if name.startswith(("msgRate", "num"))}
    load |= {
        "bundleStats": totals["lastStats"],
        "bundleGains": totals["lastBundleGains"],
        "bundleLosses": totals["lastBundleLosses"],
    }
    repeated = used if random.random() < 0.25 else {}
    return _shuffled(
        random, {**_partial_report(random, {**load, **SIMPLE}), NESTED: used, **repeated}
    )


def _with_unmeasured_bandwidth(random: Random, used: Json) -> Json:
    """Return the resources, sometimes with a bandwidth that could not be measured."""
    return {**used, "bandwidthIn": UNMEASURED} if random.random() < 0.1 else used


def report_question(report: Json) -> Question:
    """Return the question that asks to parse a report."""
    return Question("report.read", {"report": report})


@composite
def modular_reports(draw: st.DrawFn) -> Trial:
    """Draw a report by the modular load manager."""
    random = draw(randoms)
    return Trial(
        (
            report_question(
                modular_report(random, _with_unmeasured_bandwidth(random, draw_resources(random)))
            ),
        )
    )


@composite
def simple_reports(draw: st.DrawFn) -> Trial:
    """Draw a report by the simple load manager."""
    random = draw(randoms)
    return Trial(
        (
            report_question(
                simple_report(random, _with_unmeasured_bandwidth(random, draw_resources(random)))
            ),
        )
    )


def any_report() -> st.SearchStrategy[Trial]:
    """Return a strategy for reports by either load manager."""
    return st.one_of(modular_reports(), simple_reports())


@composite
def report_and_usage_questions(draw: st.DrawFn) -> Trial:
    """Draw a load report, and a question about the usage of its resources."""
    random = draw(randoms)
    used: dict[str, Any] = draw_resources(random)
    report = draw(st.sampled_from((modular_report, simple_report)))(random, used)
    usage = Question("usage.max", usage_case(used, weighted=False, settings={}))
    return Trial((report_question(report), usage))


def _assume_readable(case: ReportCase, expect: Expect) -> None:
    expect.given(case.read is not None, "it is a load report")


def _assume_modular(case: ReportCase, expect: Expect) -> None:
    """Assume that resources are at the top level, as in the modular load manager's reports."""
    _assume_readable(case, expect)
    expect.given(
        bool(case.top_level_resources) and not case.nested, "the modular load manager's report"
    )


def _assume_simple(case: ReportCase, expect: Expect) -> None:
    _assume_readable(case, expect)
    expect.given(
        bool(case.nested_resources) and not case.top_level_resources,
        "the simple load manager's report",
    )


def _assume_answered(answer: ReportContent, expect: Expect) -> None:
    expect.given(answer.refused is None, "the request was not refused")


def _assume_in_one_place(case: ReportCase, expect: Expect) -> None:
    _assume_readable(case, expect)
    expect.given(
        not (case.top_level_resources and case.nested), "its resources are all in one place"
    )


@READ.check("REPORT-01", draws=modular_reports())
def resources_at_the_top_are_modular(
    case: ReportCase, answer: ReportContent, expect: Expect
) -> None:
    """A report with resources at the top level is recognized as the modular load manager's."""
    _assume_modular(case, expect)
    expect.reached()
    expect.that(answer.manager == "modular", "a report of the modular load manager", answer)


@READ.check("REPORT-02", draws=simple_reports())
def nested_resources_are_simple(case: ReportCase, answer: ReportContent, expect: Expect) -> None:
    """A report with resources in systemResourceUsage is recognized as the simple load manager's."""
    _assume_simple(case, expect)
    expect.reached()
    expect.that(answer.manager == "simple", "a report of the simple load manager", answer)


@READ.check("REPORT-03", draws=any_report())
def usage_and_limit_are_kept(case: ReportCase, answer: ReportContent, expect: Expect) -> None:
    """Each reported resource keeps its usage and limit."""
    _assume_answered(answer, expect)
    _assume_in_one_place(case, expect)
    for name in RESOURCES:
        reported = case.known(name)
        if expect.reached(reported is not None):
            kept = _same_usage(reported, answer[name])
            expect.that(kept, f"{name}: {reported}", f"{name}: {answer[name]}")


def _same_usage(reported: Mapping[str, Any], answered: Mapping[str, Any] | None) -> bool:
    return answered is not None and all(
        same(exact(reported[part]), exact(answered[part])) for part in ("usage", "limit")
    )


def _same_rate(reported: float, answered: float | None) -> bool:
    return same(exact(reported), exact(answered or 0))


def _same_count(reported: int, answered: int | None) -> bool:
    return reported == (answered or 0)


def _same_bundles(reported: Iterable[str], answered: Iterable[str] | None) -> bool:
    return set(reported) == set(answered or ())


def _demand_kept(
    names: Iterable[str],
    alike: Callable[[Any, Any], bool],
    case: ReportCase,
    answer: ReportContent,
    expect: Expect,
) -> None:
    """Demand that the answer has the values of the report in the fields `names`.

    Fields that the report lacks are ignored. A field that the answer lacks counts as 0 or as an
    empty list of bundles.
    """
    _assume_answered(answer, expect)
    _assume_modular(case, expect)
    for name in names:
        reported = case.known(name)
        if expect.reached(reported is not None):
            answered = answer[name]
            expect.that(alike(reported, answered), f"{name}: {reported}", f"{name}: {answered}")


@READ.check("REPORT-04", draws=modular_reports())
def rates_are_kept(case: ReportCase, answer: ReportContent, expect: Expect) -> None:
    """An answer has the total rates of the report."""
    _demand_kept(RATE_FIELDS, _same_rate, case, answer, expect)


@READ.check("REPORT-05", draws=modular_reports())
def counts_are_kept(case: ReportCase, answer: ReportContent, expect: Expect) -> None:
    """An answer has the report's numbers of topics, bundles, producers and consumers."""
    _demand_kept(COUNTS, _same_count, case, answer, expect)


@READ.check("REPORT-06", draws=modular_reports())
def bundles_are_kept(case: ReportCase, answer: ReportContent, expect: Expect) -> None:
    """An answer has the bundles of the report."""
    _demand_kept(("bundles",), _same_bundles, case, answer, expect)


@READ.check("REPORT-07", draws=modular_reports())
def gains_and_losses_are_kept(case: ReportCase, answer: ReportContent, expect: Expect) -> None:
    """An answer has the gained and lost bundles of the report."""
    _demand_kept(CHANGES, _same_bundles, case, answer, expect)


@READ.check("REPORT-08", draws=any_report())
def nothing_is_made_up(case: ReportCase, answer: ReportContent, expect: Expect) -> None:
    """A resource or load field that is absent from the report is absent or empty in the answer."""
    _assume_answered(answer, expect)
    _assume_readable(case, expect)
    absent = [
        name
        for name in RESOURCES
        if name not in (*case.top_level_resources, *case.nested_resources)
    ]
    if case.top_level_resources and not case.nested:
        absent += [name for name in LOAD if case.report.get(name) is None]
    for name in absent:
        expect.reached()
        answered = answer[name]
        expect.that(_is_empty(answered), f"no {name}: the report has none", answered)


def _is_empty(value: Any) -> bool:
    return not (value["usage"] if isinstance(value, Mapping) and "usage" in value else value)


@check_exchanges("REPORT-09", draws=report_and_usage_questions())
def max_is_the_largest_percentage(exchanges: Sequence[Exchange], expect: Expect) -> None:
    """A broker's usage is the largest percentage among the resources in its report."""
    in_order = [one.operation for one in exchanges] == [READ.id, USAGE.id]
    expect.given(in_order, "a report, and the usage of its broker")
    (case, content), (usage, measured) = READ.typed(exchanges[0]), USAGE.typed(exchanges[1])
    _assume_answered(content, expect)
    _assume_reported(case, usage, expect)
    expect.reached()
    _demand_maximum(content, measured, expect)


def _assume_reported(case: ReportCase, usage: FlatCase, expect: Expect) -> None:
    """Assume that the question about usage is unweighted and has the resources of the report."""
    expect.given(not usage["weighted"], "the question is about unweighted usage")
    _assume_in_one_place(case, expect)
    known = {name: case.known(name) for name in RESOURCES}
    asked_for = {name: usage["broker"].get(name) for name in RESOURCES}
    expect.given(known == asked_for, "the question is about the reported resources")


def _demand_maximum(content: ReportContent, measured: MeasuredUsage, expect: Expect) -> None:
    percent = maximum(Broker.read("broker", content.broker)).percent
    close = abs(measured.percent - percent) <= POINTS or same(measured.percent, percent)
    expect.that(close, f"MAX {plain(percent, 4)} %", f"{plain(measured.percent, 4)} %")
