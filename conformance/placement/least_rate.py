"""PLACE: the broker on which a bundle is placed.

A rule about a single condition fails only if a mistake in that condition, and no other mistake,
explains the choice. If several mistakes explain the choice, the rule about the choice as a whole
fails instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from pulsar_conformance.conformance.common.check import POINTS, SHARE, Expect, near
from pulsar_conformance.conformance.common.trial import Asked, Json
from pulsar_conformance.conformance.placement import draw_placements as draws
from pulsar_conformance.conformance.placement.operations import PLACE
from pulsar_conformance.conformance.placement.quantities import (
    allowed_candidates,
    assume_unowned_and_placed,
    certain_candidates,
    compared_by_rate,
    is_left_out,
    with_rates,
    with_scores,
    with_usages,
)
from pulsar_conformance.conformance.placement.view import (
    UNMEASURED,
    ComparedBroker,
    ComparedBrokers,
    Placed,
    Placing,
    long_term_messages,
    measured_average,
)
from pulsar_conformance.reference.cluster import RESOURCES, Rates
from pulsar_conformance.reference.numbers import ZERO, Fraction, Rate, plain
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD

DOCUMENTED_THRESHOLD = Fraction(85)

Mistakes = Iterator[tuple[ComparedBrokers, str]]
"""Iterator of mistakes: the comparison to which each mistake leads, and its description."""


def _other_scores(case: Placing) -> Mistakes:
    for score in ("weighted", "plain", "weighted-with-bundle"):
        if score != case.readings["placement-score"]:
            readings = case.readings.with_value("placement-score", score)
            yield replace(case.comparison, readings=readings), f"by the score {score}"


def _overloaded_kept(case: Placing) -> Mistakes:
    most = max((one.usage for one in case.comparison.candidates), default=ZERO)
    readings = case.readings.with_value("placement-score", "plain")
    kept = replace(case.comparison, threshold=most + 1, readings=readings)
    yield kept, "if no overloaded broker were left out"


def _other_measures(case: Placing) -> Mistakes:
    for average, measure, mistake in (
        ("shortTermData", "messages", "by short-term data"),
        ("longTermData", "throughput", "by bytes"),
        ("longTermData", "messages_in", "by incoming messages"),
        ("longTermData", "messages_out", "by outgoing messages"),
    ):
        yield _comparison_with(case, partial(_average, average=average, measure=measure)), mistake
    latest = {name: broker.rates.messages for name, broker in case.brokers.items()}
    yield with_rates(case.comparison, latest), "by the latest report"


def _reports_alone(case: Placing) -> Mistakes:
    unassigned = replace(case, case={**case.case, "preallocated": {}})
    yield (
        with_rates(case.comparison, unassigned.rates(long_term_messages)),
        "by reported bundles alone",
    )


def _wrong_for_unsampled(case: Placing) -> Mistakes:
    yield _comparison_with(case, _measured), "if unmeasured bundles carried nothing"
    yield _comparison_with(case, _without_samples), "by the rates of bundles without a sample"


def _another_threshold(case: Placing) -> Mistakes:
    if case.comparison.threshold != DOCUMENTED_THRESHOLD:
        usual = replace(case.comparison, threshold=DOCUMENTED_THRESHOLD)
        yield usual, "with a threshold of 85 %"


def _another_default(case: Placing) -> Mistakes:
    if OVERLOAD_THRESHOLD not in case.settings.given:
        for other in (50, 70, 75, 80, 90, 95, 100):
            changed = replace(case.comparison, threshold=Fraction(other))
            yield changed, f"with a threshold of {other} %"


def _resource_overlooked(case: Placing) -> Mistakes:
    for gone in RESOURCES:
        usages = {
            name: max(percent for resource, percent in broker.percent.items() if resource != gone)
            for name, broker in case.brokers.items()
        }
        yield with_usages(case.comparison, usages), f"if {gone} did not count"


MISTAKES: Mapping[str, Callable[[Placing], Mistakes]] = {
    "PLACE-02": _other_scores,
    "PLACE-03": _other_measures,
    "PLACE-04": _overloaded_kept,
    "PLACE-07": _reports_alone,
    "PLACE-08": _wrong_for_unsampled,
    "PLACE-09": _another_threshold,
    "PLACE-10": _another_default,
    "PLACE-11": _resource_overlooked,
}
"""For each rule, the function that yields mistakes against it."""


def not_as_if(case: Placing, answer: Placed, rule: str, expect: Expect) -> None:
    """Reject a choice that a mistake against `rule`, but no mistake against another rule,
    explains.
    """
    comparison = assume_unowned_and_placed(case, answer, expect)
    right = allowed_candidates(comparison)
    for other, mistake in MISTAKES[rule](case):
        wrong = allowed_candidates(other)
        if expect.reached(not wrong & right) and answer.broker in wrong:
            best = with_scores(comparison, right)
            expect.that(
                may_result_from_other_mistake(case, answer, rule), best, f"{answer}, as {mistake}"
            )


def may_result_from_other_mistake(case: Placing, answer: Placed, but: str) -> bool:
    """True if the choice could result from a mistake against a rule other than `but`."""
    return any(
        answer.broker in allowed_candidates(other)
        for rule, mistakes in MISTAKES.items()
        if rule != but
        for other, _ in mistakes(case)
    )


def _average(bundle: Json | None, average: str, measure: str) -> Rate:
    """Return a bundle's measured or assumed traffic, for the given average and measure."""
    return Fraction(getattr(measured_average(bundle, average) or UNMEASURED, measure))


def _measured(bundle: Json | None) -> Rate:
    """Return a bundle's measured message rate, or zero if it has no samples."""
    rates = measured_average(bundle)
    return rates.messages if rates else ZERO


def _without_samples(bundle: Json | None) -> Rate:
    """Return the message rate in a bundle's data, even if it has no samples."""
    return Rates.read((bundle or {}).get("longTermData", {})).messages


def _comparison_with(case: Placing, rate: Callable[[Json | None], Rate]) -> ComparedBrokers:
    """Return a comparison of the candidates in which `rate` gives the rates of bundles."""
    return with_rates(case.comparison, case.rates(rate))


ERROR_RATE = 1e-6
"""Maximum probability that a fair random choice fails a trial of PLACE-05.

The probability that some one of k candidates is never chosen in n repetitions is at most k (1 -
1/k)^n: 1.3 in ten million for 4 candidates and 60 repetitions, and less for fewer candidates.
"""


@PLACE.check(
    "PLACE-01",
    draws=draws.placing(
        draws.balanced,
        draws.around_the_threshold,
        draws.none_eligible,
        draws.with_equal_usage,
        fewest=1,
    ),
)
def a_candidate_gets_the_bundle(case: Placing, answer: Placed, expect: Expect) -> None:
    """If there are candidates, one of them gets the bundle."""
    expect.reached(bool(case.candidates))
    allowed = f"one of {', '.join(case.candidates)}"
    expect.that(answer.broker in case.candidates or not case.candidates, allowed, answer)


@PLACE.check(
    "PLACE-02", draws=draws.placing(draws.balanced, draws.with_weights, draws.around_the_threshold)
)
def the_least_score_decides(case: Placing, answer: Placed, expect: Expect) -> None:
    """Among candidates that are not overloaded, one with the lowest score gets the bundle."""
    comparison = assume_unowned_and_placed(case, answer, expect)
    expect.given(
        bool(certain_candidates(comparison, out=False)), "not all candidates are overloaded"
    )
    taken = case.candidates[str(answer.broker)]
    expect.given(is_left_out(comparison, taken) is not True, "no overloaded candidate is chosen")
    right = allowed_candidates(comparison)
    considered = [one for one in comparison.candidates if is_left_out(comparison, one) is not True]
    expect.reached(len(right) < len(considered))
    expect.that(
        answer.broker in right,
        with_scores(comparison, right),
        _names_with_scores(comparison, taken),
    )


def _names_with_scores(comparison: ComparedBrokers, taken: ComparedBroker) -> str:
    return with_scores(comparison, frozenset({taken.name}))


@PLACE.check("PLACE-03", draws=draws.placing(draws.with_other_measures))
def long_term_messages_count(case: Placing, answer: Placed, expect: Expect) -> None:
    """Candidates are compared by their bundles' long-term message rates in both directions."""
    not_as_if(case, answer, "PLACE-03", expect)


@PLACE.check_together("PLACE-04", draws=draws.placing(draws.around_the_threshold))
def overloaded_brokers_are_left_out(
    exchanges: Sequence[Asked[Placing, Placed]], expect: Expect
) -> None:
    """A broker above the threshold is chosen only if all candidates are above it."""
    for case, answer in exchanges:
        _not_overloaded(case, answer, expect)


def _not_overloaded(case: Placing, answer: Placed, expect: Expect) -> None:
    comparison = compared_by_rate(case, expect)
    out = {one.name: one for one in certain_candidates(comparison, out=True)}
    others = [one.name for one in certain_candidates(comparison, out=False)]
    if expect.reached(bool(out and others)) and answer.broker in out:
        usage = plain(out[answer.broker].usage)
        allowed = f"{' or '.join(others)}, not over {plain(comparison.threshold)} %"
        expect.that(False, allowed, f"{answer} at {usage} %")


@PLACE.check_together("PLACE-05", draws=draws.asked_repeatedly())
def chance_decides_where_all_are_overloaded(
    exchanges: Sequence[Asked[Placing, Placed]], expect: Expect
) -> None:
    """If all candidates are overloaded, each gets the bundle at least once in many repetitions.

    The question is asked 60 times; `ERROR_RATE` gives the probability of a wrong verdict.
    """
    case: Placing = exchanges[0].case
    expect.given(
        all(one.case.case == case.case for one in exchanges), "one question, asked repeatedly"
    )
    comparison, count = compared_by_rate(case, expect), len(case.candidates)
    every = len(certain_candidates(comparison, out=True)) == count > 1
    expect.given(every, "several candidates, all overloaded")
    missed_by_chance = count * (1 - 1 / count) ** len(exchanges)
    if expect.reached(missed_by_chance <= ERROR_RATE):
        taken = [one.answer.broker for one in exchanges]
        missed = [name for name in case.candidates if name not in taken]
        allowed = f"each of {', '.join(case.candidates)} at least once"
        answered = f"never {', '.join(missed)} in {len(exchanges)} repetitions"
        expect.that(not missed, allowed, answered)


@PLACE.check("PLACE-06", draws=draws.placing(draws.one_worse_than_another))
def the_more_used_receives_less(case: Placing, answer: Placed, expect: Expect) -> None:
    """A broker is not chosen if another broker has lower usage and no higher rate."""
    comparison = assume_unowned_and_placed(case, answer, expect)
    considered = certain_candidates(comparison, out=False)
    for one in comparison.candidates:
        better = next((other for other in considered if _is_better(comparison, other, one)), None)
        if better is not None and expect.reached(is_left_out(comparison, one) is not True):
            allowed = f"{_usage_and_rate(better)} before {_usage_and_rate(one)}"
            expect.that(answer.broker != one.name, allowed, answer)


def _is_better(comparison: ComparedBrokers, broker: ComparedBroker, other: ComparedBroker) -> bool:
    """True if `broker` is better than `other`: it has lower usage and a lower rate.

    The rates may be equal if the score depends on usage.
    """
    used_less = broker.usage < other.usage - POINTS
    fewer = broker.rate * (1 + SHARE) < other.rate * (1 - SHARE)
    weighs = comparison.readings["placement-score"] != "plain"
    return used_less and (fewer or (weighs and ZERO < broker.rate <= other.rate))


def _usage_and_rate(broker: ComparedBroker) -> str:
    return f"{broker.name} ({plain(broker.usage)} %, {plain(broker.rate)} msg/s)"


@PLACE.check("PLACE-07", draws=draws.placing(draws.with_preallocated))
def assigned_bundles_count_at_once(case: Placing, answer: Placed, expect: Expect) -> None:
    """Bundles assigned to a broker count before it reports them."""
    not_as_if(case, answer, "PLACE-07", expect)


@PLACE.check("PLACE-08", draws=draws.placing(draws.never_measured))
def never_measured_bundles_count_50_each_way(case: Placing, answer: Placed, expect: Expect) -> None:
    """A bundle without samples counts as 50 msg/s in each direction."""
    not_as_if(case, answer, "PLACE-08", expect)


@PLACE.check("PLACE-09", draws=draws.placing(draws.with_another_threshold))
def the_threshold_that_is_set_decides(case: Placing, answer: Placed, expect: Expect) -> None:
    """A set threshold other than 85 % decides which brokers are excluded, and affects scores."""
    not_as_if(case, answer, "PLACE-09", expect)


@PLACE.check("PLACE-10", draws=draws.placing(draws.around_the_default_threshold))
def the_threshold_is_85_by_default(case: Placing, answer: Placed, expect: Expect) -> None:
    """If no threshold is set, 85 % decides which brokers are excluded, and affects scores."""
    expect.given(OVERLOAD_THRESHOLD not in case.settings.given, "no threshold is set")
    not_as_if(case, answer, "PLACE-10", expect)


@PLACE.check("PLACE-11", draws=draws.placing(draws.one_resource_each))
def each_resource_counts(case: Placing, answer: Placed, expect: Expect) -> None:
    """All five resources count in a broker's usage."""
    not_as_if(case, answer, "PLACE-11", expect)


@PLACE.check_together("PLACE-12", draws=draws.before_and_after_load_change())
def the_assignment_follows_the_load(
    exchanges: Sequence[Asked[Placing, Placed]], expect: Expect
) -> None:
    """When the load changes so that another candidate is best, the bundle goes there."""
    expect.given(len(exchanges) == 2, "a cluster before and after a change")
    (before, first), (after, second) = exchanges
    same = ("settings", "bundle", "candidates")
    expect.given(all(before.case[key] == after.case[key] for key in same), "only loads change")
    then = allowed_candidates(assume_unowned_and_placed(before, first, expect))
    now = allowed_candidates(assume_unowned_and_placed(after, second, expect))
    expect.given(first.broker in then, "the best candidate was chosen before")
    if expect.reached(not then & now) and second.broker == first.broker:
        best = with_scores(after.comparison, now)
        expect.that(
            may_result_from_other_mistake(after, second, "PLACE-12"), best, f"{second}, as before"
        )


@PLACE.check("PLACE-13", draws=draws.placing(draws.overloaded_with_few_messages))
def the_bundle_goes_to_a_less_loaded_broker(case: Placing, answer: Placed, expect: Expect) -> None:
    """The usage of the chosen broker is lower than that of every overloaded broker."""
    comparison = assume_unowned_and_placed(case, answer, expect)
    out = certain_candidates(comparison, out=True)
    overloaded = [one for one in out if not near(one.usage, comparison.threshold)]
    if expect.reached(bool(overloaded and certain_candidates(comparison, out=False))):
        usage = case.candidates[str(answer.broker)].usage
        least = min(overloaded, key=lambda one: one.usage)
        allowed = f"a broker used less than {_usage_and_rate(least)}"
        expect.that(usage < least.usage, allowed, f"{answer} at {plain(usage)} %")
