"""Mistakes that one could make in placing a bundle, each told apart from the others.

A rule that names one condition of the choice is broken by a choice that only the neglect of that
condition explains; what several mistakes explain is left to the rule about the choice itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from pulsar_conformance.conformance.common.expect import POINTS, SHARE, Expect, near
from pulsar_conformance.conformance.common.trial import Asked, Json
from pulsar_conformance.conformance.placement import draw_placements as draws
from pulsar_conformance.conformance.placement import quantities as placing
from pulsar_conformance.conformance.placement.operations import PLACE
from pulsar_conformance.conformance.placement.quantities import Placed, Placing
from pulsar_conformance.reference.cluster import RESOURCES, Rates, average_of, never_measured
from pulsar_conformance.reference.numbers import ZERO, Fraction, Rate, plain
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.placement import SCORE, Candidate, Placement, rate_of

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


ERROR_RATE = 1e-6
"""A chooser that takes each candidate alike fails PLACE-05 in at most so many of its trials.

It misses one of k candidates in n asks with a chance of at most k (1 - 1/k)^n: 1.3 in ten million
for 4 candidates and 60 asks, less for fewer. Trials that would tell less are not judged.
"""


@PLACE.check(
    "PLACE-01",
    draws=draws.placing(draws.balanced, draws.around_the_threshold, draws.none_eligible, fewest=1),
)
def a_candidate_takes_it(case: Placing, answer: Placed, expect: Expect) -> None:
    """Where there are candidates, one of them takes the bundle."""
    expect.reached(bool(case.candidates))
    allowed = f"one of {', '.join(case.candidates)}"
    expect.that(answer.broker in case.candidates or not case.candidates, allowed, answer)


@PLACE.check(
    "PLACE-02", draws=draws.placing(draws.balanced, draws.weighted, draws.around_the_threshold)
)
def the_least_score_decides(case: Placing, answer: Placed, expect: Expect) -> None:
    """Of the candidates that are not overloaded, one with the least score takes the bundle."""
    placed = placing.ordinary(case, answer, expect)
    expect.given(bool(placing.surely(placed, out=False)), "not all are overloaded")
    taken = case.candidates[str(answer.broker)]
    expect.given(placing.left_out(placed, taken) is not True, "no overloaded one is chosen")
    right = placing.allowed(placed)
    considered = [one for one in placed.candidates if placing.left_out(placed, one) is not True]
    expect.reached(len(right) < len(considered))
    expect.that(answer.broker in right, placing.told(placed, right), _given(placed, taken))


def _given(placed: Placement, taken: Candidate) -> str:
    return placing.told(placed, frozenset({taken.name}))


@PLACE.check("PLACE-03", draws=draws.placing(draws.with_other_measures))
def long_term_messages_count(case: Placing, answer: Placed, expect: Expect) -> None:
    """It is the long-term rate of messages, both ways, of all bundles that is compared."""
    not_as_if(case, answer, "PLACE-03", expect)


@PLACE.check_together("PLACE-04", draws=draws.placing(draws.around_the_threshold))
def overloaded_brokers_are_left_out(
    asked: Sequence[Asked[Placing, Placed]], expect: Expect
) -> None:
    """A broker over the threshold is not chosen while another candidate is not over it."""
    for case, answer in asked:
        _not_overloaded(case, answer, expect)


def _not_overloaded(case: Placing, answer: Placed, expect: Expect) -> None:
    placed = case.placement
    out = {one.name: one for one in placing.surely(placed, out=True)}
    others = [one.name for one in placing.surely(placed, out=False)]
    if expect.reached(bool(out and others)) and answer.broker in out:
        usage = plain(out[answer.broker].usage.percent)
        allowed = f"{' or '.join(others)}, not over {plain(placed.threshold)} %"
        expect.that(False, allowed, f"{answer} at {usage} %")


@PLACE.check_together("PLACE-05", draws=draws.asked_again())
def chance_decides_where_all_are_overloaded(
    asked: Sequence[Asked[Placing, Placed]], expect: Expect
) -> None:
    """Asked many times, each of the overloaded candidates takes the bundle at least once.

    The same question is asked 60 times; `ERROR_RATE` says how often chance itself fails.
    """
    case: Placing = asked[0].case
    expect.given(all(one.case.case == case.case for one in asked), "one question, asked again")
    placed, count = case.placement, len(case.candidates)
    every = len(placing.surely(placed, out=True)) == count > 1
    expect.given(every, "several candidates, all overloaded")
    missed_by_chance = count * (1 - 1 / count) ** len(asked)
    if expect.reached(missed_by_chance <= ERROR_RATE):
        taken = [one.answer.broker for one in asked]
        missed = [name for name in case.candidates if name not in taken]
        allowed = f"each of {', '.join(case.candidates)} now and then"
        answered = f"never {', '.join(missed)} in {len(asked)} asks"
        expect.that(not missed, allowed, answered)


@PLACE.check("PLACE-06", draws=draws.placing(draws.one_worse_than_another))
def the_more_used_receives_less(case: Placing, answer: Placed, expect: Expect) -> None:
    """No broker is chosen that is used more than another and carries no less."""
    placed = placing.ordinary(case, answer, expect)
    sure = placing.surely(placed, out=False)
    for one in placed.candidates:
        better = next((other for other in sure if _better(placed, other, one)), None)
        if better is not None and expect.reached(placing.left_out(placed, one) is not True):
            allowed = f"{_standing(better)} before {_standing(one)}"
            expect.that(answer.broker != one.name, allowed, answer)


def _better(placed: Placement, one: Candidate, other: Candidate) -> bool:
    """Whether the first is used less and carries fewer messages, or as many where usage weighs."""
    used_less = one.usage.percent < other.usage.percent - POINTS
    fewer = one.rate * (1 + SHARE) < other.rate * (1 - SHARE)
    weighs = placed.readings["placement-score"] != "plain"
    return used_less and (fewer or (weighs and ZERO < one.rate <= other.rate))


def _standing(one: Candidate) -> str:
    return f"{one.name} ({plain(one.usage.percent)} %, {plain(one.rate)} msg/s)"


@PLACE.check("PLACE-07", draws=draws.placing(draws.with_preallocated))
def assigned_bundles_count_at_once(case: Placing, answer: Placed, expect: Expect) -> None:
    """Bundles that a broker was assigned but does not report yet count as the others do."""
    not_as_if(case, answer, "PLACE-07", expect)


@PLACE.check("PLACE-08", draws=draws.placing(draws.never_measured))
def never_measured_bundles_count_50_each_way(case: Placing, answer: Placed, expect: Expect) -> None:
    """A bundle without a sample counts 50 msg/s in and 50 out."""
    not_as_if(case, answer, "PLACE-08", expect)


@PLACE.check("PLACE-09", draws=draws.placing(draws.with_another_threshold))
def the_threshold_that_is_set_decides(case: Placing, answer: Placed, expect: Expect) -> None:
    """Another threshold than 85 % leaves out and weighs accordingly."""
    not_as_if(case, answer, "PLACE-09", expect)


@PLACE.check("PLACE-10", draws=draws.placing(draws.by_default))
def the_threshold_is_85_by_default(case: Placing, answer: Placed, expect: Expect) -> None:
    """Where no threshold is set, brokers are left out over 85 %, and weighed by it."""
    expect.given(OVERLOAD_THRESHOLD not in case.settings.given, "no threshold is set")
    not_as_if(case, answer, "PLACE-10", expect)


@PLACE.check("PLACE-11", draws=draws.placing(draws.one_resource_each))
def each_resource_counts(case: Placing, answer: Placed, expect: Expect) -> None:
    """None of the five resources may be overlooked."""
    not_as_if(case, answer, "PLACE-11", expect)


@PLACE.check_together("PLACE-12", draws=draws.before_and_after())
def the_assignment_follows_the_load(
    asked: Sequence[Asked[Placing, Placed]], expect: Expect
) -> None:
    """When another candidate has become the best one, it is another that takes the bundle."""
    expect.given(len(asked) == 2, "a cluster before and after")
    (before, first), (after, second) = asked
    same = ("settings", "bundle", "candidates")
    expect.given(all(before.case[key] == after.case[key] for key in same), "only loads change")
    then = placing.allowed(placing.ordinary(before, first, expect))
    now = placing.allowed(placing.ordinary(after, second, expect))
    expect.given(first.broker in then, "the best one was chosen before")
    if expect.reached(not then & now) and second.broker == first.broker:
        told = placing.told(after.placement, now)
        expect.that(explained(after, second, "PLACE-12"), told, f"{second}, as before")


@PLACE.check("PLACE-13", draws=draws.placing(draws.shed_before))
def it_goes_to_a_less_loaded_broker(case: Placing, answer: Placed, expect: Expect) -> None:
    """Where a broker is overloaded and another is not, the bundle goes to one used less."""
    placed = placing.ordinary(case, answer, expect)
    out = placing.surely(placed, out=True)
    overloaded = [one for one in out if not near(one.usage.percent, placed.threshold)]
    if expect.reached(bool(overloaded and placing.surely(placed, out=False))):
        usage = case.candidates[str(answer.broker)].usage.percent
        least = min(overloaded, key=lambda one: one.usage.percent)
        allowed = f"a broker used less than {_standing(least)}"
        expect.that(usage < least.usage.percent, allowed, f"{answer} at {plain(usage)} %")
