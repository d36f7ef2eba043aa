"""Mistakes that one could make in placing a bundle, each told apart from the others.

A rule that names one condition of the choice is broken by a choice that only the neglect of that
condition explains; what several mistakes explain is left to the rule about the choice itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from pulsar_conformance.conformance.common.expect import Expect
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.placement import quantities as placing
from pulsar_conformance.conformance.placement.view import Placed, Placing
from pulsar_conformance.reference.cluster import RESOURCES, Rates, average_of, never_measured
from pulsar_conformance.reference.numbers import ZERO, Fraction, Rate
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.placement import SCORE, Placement, rate_of

DOCUMENTED_THRESHOLD = Fraction(85)

Mistakes = Iterator[tuple[Placement, str]]
"""What a mistake makes of a placement, with what it is."""


def _other_scores(case: Placing) -> Mistakes:
    for score in SCORE:
        if score != case.readings["placement-score"]:
            readings = case.readings.but("placement-score", score)
            yield replace(case.placement, readings=readings), f"by the score {score}"


def _overloaded_kept(case: Placing) -> Mistakes:
    most = max((one.usage.percent for one in case.placement.candidates), default=ZERO)
    readings = case.readings.but("placement-score", "plain")
    kept = replace(case.placement, threshold=most + 1, readings=readings)
    yield kept, "if none were left out"


def _other_measures(case: Placing) -> Mistakes:
    for frame, measure, mistake in (
        ("shortTermData", "messages", "by the short term"),
        ("longTermData", "throughput", "by bytes"),
        ("longTermData", "messages_in", "by what comes in"),
        ("longTermData", "messages_out", "by what goes out"),
    ):
        yield _counting(case, partial(_average, frame=frame, measure=measure)), mistake
    latest = {name: broker.rates.messages for name, broker in case.brokers.items()}
    yield placing.with_rates(case.placement, latest), "by the latest report"


def _reports_alone(case: Placing) -> Mistakes:
    data = case.case["bundles"]
    rates = {name: rate_of(broker.bundles, data) for name, broker in case.brokers.items()}
    yield placing.with_rates(case.placement, rates), "by the reports alone"


def _unsampled_otherwise(case: Placing) -> Mistakes:
    yield _counting(case, _measured), "if they carried nothing"
    yield _counting(case, _noted), "by numbers without a sample"


def _another_threshold(case: Placing) -> Mistakes:
    if case.placement.threshold != DOCUMENTED_THRESHOLD:
        usual = replace(case.placement, threshold=DOCUMENTED_THRESHOLD)
        yield usual, "with a threshold of 85 %"


def _another_default(case: Placing) -> Mistakes:
    if OVERLOAD_THRESHOLD not in case.settings.given:
        for other in (50, 70, 75, 80, 90, 95, 100):
            changed = replace(case.placement, threshold=Fraction(other))
            yield changed, f"with a threshold of {other} %"


def _resource_overlooked(case: Placing) -> Mistakes:
    for gone in RESOURCES:
        usages = {
            name: max(percent for resource, percent in broker.percent.items() if resource != gone)
            for name, broker in case.brokers.items()
        }
        yield placing.with_usages(case.placement, usages), f"if {gone} did not count"


MISTAKES: Mapping[str, Callable[[Placing], Mistakes]] = {
    "PLACE-02": _other_scores,
    "PLACE-03": _other_measures,
    "PLACE-04": _overloaded_kept,
    "PLACE-07": _reports_alone,
    "PLACE-08": _unsampled_otherwise,
    "PLACE-09": _another_threshold,
    "PLACE-10": _another_default,
    "PLACE-11": _resource_overlooked,
}
"""By the rule that forbids them."""


def not_as_if(case: Placing, answer: Placed, rule: str, expect: Expect) -> None:
    """Demands that the choice is not one that only this rule's mistake explains."""
    placed = placing.ordinary(case, answer, expect)
    right = placing.allowed(placed)
    for other, mistake in MISTAKES[rule](case):
        wrong = placing.allowed(other)
        if expect.reached(not wrong & right) and answer.broker in wrong:
            told = placing.told(placed, right)
            expect.that(explained(case, answer, rule), told, f"{answer}, as {mistake}")


def explained(case: Placing, answer: Placed, but: str) -> bool:
    """Whether a mistake that another rule forbids explains the choice."""
    return any(
        answer.broker in placing.allowed(other)
        for rule, mistakes in MISTAKES.items()
        if rule != but
        for other, _ in mistakes(case)
    )


def _average(bundle: Json | None, frame: str, measure: str) -> Rate:
    """What was measured of a bundle, or is assumed; in one window, by one measure."""
    rates = average_of(bundle, frame) or never_measured("decimal")
    return Fraction(getattr(rates, measure))


def _measured(bundle: Json | None) -> Rate:
    """What was measured; nothing where nothing was."""
    average = average_of(bundle, "longTermData")
    return average.messages if average else ZERO


def _noted(bundle: Json | None) -> Rate:
    """What stands in the data, whether there was a sample or not."""
    return Rates.read((bundle or {}).get("longTermData", {})).messages


def _counting(case: Placing, rate: Callable[[Json | None], Rate]) -> Placement:
    """The placement, were bundles to count otherwise."""
    data = case.case["bundles"]
    rates = {
        name: sum((rate(data.get(bundle)) for bundle in case.bundles(name)), ZERO)
        for name in case.candidates
    }
    return placing.with_rates(case.placement, rates)
