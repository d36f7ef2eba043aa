"""PLACE-18, PLACE-19, PLANNED: placement by the configured strategy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

from hypothesis import strategies as st
from pulsar_conformance import specs
from pulsar_conformance.conformance.common.check import POINTS, Expect
from pulsar_conformance.conformance.common.trial import Asked, Json, Trial
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.placement import draw_placements as draws
from pulsar_conformance.conformance.placement.least_rate import ERROR_RATE
from pulsar_conformance.conformance.placement.operations import PLACE
from pulsar_conformance.conformance.placement.quantities import (
    Names,
    allowed_candidates,
    assume_unowned_and_placed,
    certain_brokers,
    either,
    placing_strategy,
    with_scores,
)
from pulsar_conformance.conformance.placement.view import Placed, Placing
from pulsar_conformance.reference.numbers import ZERO, Fraction
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.placement import (
    AVERAGE_SHEDDER,
    BELOW_MEAN,
    LEAST_RATE,
    LEAST_USAGE,
    PLACEMENT_STRATEGY,
)
from pulsar_conformance.reference.ranges import HashRange
from pulsar_conformance.reference.shedding import PACKAGE, STRATEGY
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS

AllAsked = Sequence[Asked[Placing, Placed]]

RUNNING = "running"
"""State of an attempt to unload, during which the plan of the attempt is in effect."""


def _bundles_of(place: int, random: Random) -> list[str]:
    """Return the names of up to eight bundles of broker number `place`."""
    ends = [(place << 8) + number << 16 for number in range(random.randint(0, 8) + 1)]
    return [f"shop/us/{HashRange(*two).name}" for two in pairwise(ends)]


def _case(random: Random, settings: Json, usages: dict[str, int]) -> Json:
    """Return a case of brokers with this CPU usage, and a bundle that may go to any of them."""
    reports = {
        name: {"cpu": {"usage": one, "limit": 100}, "bundles": _bundles_of(index, random)}
        for index, (name, one) in enumerate(usages.items())
    }
    return {
        "settings": settings,
        "bundle": "shop/eu/0x00000000_0x80000000",
        "candidates": random.sample(list(usages), len(usages)),
        "brokers": reports,
        "bundles": {},
        "preallocated": {},
    }


def _names(random: Random, *counts: int) -> list[str]:
    """Return broker names; their number is one of `counts`."""
    return [f"broker-{place}" for place in random.sample(range(100), random.choice(counts))]


def _below_the_mean(random: Random) -> Trial:
    """Return a trial of brokers, some of which may be below the mean by the configured margin."""
    names = _names(random, 2, 3, 4, 5, 6, 8, 12)
    usages = [random.randint(5, 25), *(random.randint(5, 95) for _ in names[2:]), 95]
    below = random.choice((None, 0, 5, 10, 20))
    settings: Json = {PLACEMENT_STRATEGY: PACKAGE + LEAST_USAGE}
    settings |= {} if below is None else {BELOW_MEAN: below}
    case = _case(random, settings, dict(zip(names, usages, strict=True)))
    return Trial.of(PLACE.id, *[case] * random.choice((1, 2, 4)))


@PLACE.check_together("PLACE-18", draws=randoms.map(_below_the_mean))
def a_candidate_below_the_mean_gets_the_bundle(asked: AllAsked, expect: Expect) -> None:
    """Under LeastResourceUsageWithWeight, a candidate far enough below the mean gets the bundle."""
    for case, answer in asked:
        expect.given(placing_strategy(case) == LEAST_USAGE, f"{LEAST_USAGE} places")
        expect.given(len(case.brokers) > 0, "there are candidates")
        surely_low, low = (_candidates_below(case, margin) for margin in (-POINTS, POINTS))
        if expect.reached(bool(surely_low)):
            expect.that(answer.broker in low, f"one of {', '.join(sorted(low))}", answer)


def _candidates_below(case: Placing, margin: Fraction) -> Names:
    """Return the candidates whose usage is at most the limit plus `margin`.

    The limit is the mean usage of all candidates minus the setting `BELOW_MEAN`. If `margin` is
    negative, candidates just below the limit are left out.
    """
    weighted = {name: _weighted_usage(case, name) for name in case.brokers}
    bound = sum(weighted.values(), ZERO) / len(weighted) - case.settings.number(BELOW_MEAN)
    return frozenset(name for name, usage in weighted.items() if usage <= bound + margin)


def _weighted_usage(case: Placing, name: str) -> Fraction:
    """Return a broker's weighted usage."""
    percent = case.brokers[name].percent.items()
    return max(case.settings.number(WEIGHT_SETTINGS[one]) * used for one, used in percent)


def _by_any_score(case: Placing) -> Names:
    """Return the candidates that are best under at least one alternative of `placement-score`."""
    scores = (case.readings.with_value("placement-score", one) for one in SCORES.values)
    each = (allowed_candidates(replace(case.comparison, readings=one)) for one in scores)
    return frozenset().union(*each)


SCORES = specs.load().readings["placement-score"]


def _by_each_strategy(random: Random) -> Trial:
    """Return a trial of busy brokers without bundles and idle brokers with bundles."""
    names = _names(random, 2, 3, 4, 8, 10)
    busy = names[: min(len(names) // 2, 2)]
    usages = dict.fromkeys(names, random.randint(5, 20))
    usages |= dict.fromkeys(busy, random.choice((70, 80)))
    case = _case(random, {OVERLOAD_THRESHOLD: 85, BELOW_MEAN: 2}, usages)
    for name in busy:
        case["brokers"][name]["bundles"] = []
    for name in names[len(busy) :]:
        owned = case["brokers"][name]["bundles"]
        owned += [f"bank/core/{HashRange(len(case['bundles']), len(case['bundles']) + 1).name}"]
        rate = {"msgRateIn": random.randint(5000, 9000), "numSamples": 10}
        case["bundles"] |= {one: {"longTermData": rate} for one in owned}
    strategies = random.sample((LEAST_RATE, LEAST_USAGE), 2)
    named = [{**case["settings"], PLACEMENT_STRATEGY: PACKAGE + one} for one in strategies]
    return Trial.of(PLACE.id, *[{**case, "settings": settings} for settings in named])


@PLACE.check_together("PLACE-19", draws=randoms.map(_by_each_strategy))
def the_strategy_that_is_set_places(asked: AllAsked, expect: Expect) -> None:
    """The configured strategy places: no broker is chosen that only another strategy allows."""
    for case, answer in asked:
        expect.given(PLACEMENT_STRATEGY in case.settings.given, "a placement strategy is set")
        strategy = placing_strategy(case)
        expect.given(
            strategy in (LEAST_RATE, LEAST_USAGE), "the strategy is one of two documented ones"
        )
        expect.given(bool(case.brokers) and not case.owned, "the bundle is to be placed")
        by_rate = _by_any_score(case)
        by_usage = _candidates_below(case, POINTS) or frozenset(case.brokers)
        right, other = (by_rate, by_usage) if strategy == LEAST_RATE else (by_usage, by_rate)
        if expect.reached(bool(right) and not right & other):
            expect.that(answer.broker not in other, f"{either(right)}, by {strategy}", answer)


def _planned_case(random: Random, attempt: str = RUNNING) -> Json:
    """Return a case with a plan whose destination may be overloaded or gone."""
    names = _names(random, 3, 3, 4, 8, 10)
    threshold, most = random.choice(((85, 80), (60, 50), (90, 70)))
    over, healthy = (random.choice((one, one, one + 5)) for one in (threshold + 1, most - 40))
    usages = {name: random.choice((over, healthy, most)) for name in names}
    source, destination, *others = random.sample(names, len(names))
    usages[source] = random.choice((most, most, over))
    usages[destination] = random.choice((healthy, most, over, over))
    if random.random() < 0.3:
        usages |= dict.fromkeys(others, over)
    if random.random() < 0.1:
        usages[destination] = over - 2 if usages[destination] == over else over
    settings = {OVERLOAD_THRESHOLD: threshold, **_avg_shedder_settings(random)}
    case = _case(random, settings, usages)
    gone = {destination: 0.3, source: 0.2}
    kept = [one for one in case["candidates"] if random.random() >= gone.get(one, 0)]
    plan = {"from": source, "to": destination, "attempt": attempt}
    return {**case, "candidates": kept, "plan": plan}


def _avg_shedder_settings(random: Random) -> Json:
    """Return settings with AvgShedder for both shedding and placement, or none: the default."""
    named = dict.fromkeys((STRATEGY, PLACEMENT_STRATEGY), PACKAGE + AVERAGE_SHEDDER)
    return random.choice((named, named, {}))


def _running_trial(random: Random) -> Trial:
    """Return a trial with a plan in effect; its question is asked once or several times."""
    case = _planned_case(random)
    return Trial.of(PLACE.id, *[case] * random.choice((1, 4, 8)))


def _repeated_trials(*attempts: str) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials that ask one question 60 times.

    The case has a plan, made by an attempt to unload; `attempts` lists possible states of this
    attempt. Without `attempts`, there is no plan.
    """

    def cluster(number: int) -> Trial:
        random = Random(number)
        case = _planned_case(random, random.choice(attempts or (RUNNING,)))
        if not attempts:
            del case["plan"]
        case["candidates"] = random.sample(list(case["brokers"]), random.choice((2, 3)))
        return Trial.of(PLACE.id, *[case] * draws.REPETITIONS)

    return st.integers(0, draws.REPEATED_CLUSTERS - 1).map(cluster)


def _cases_with_plan(asked: AllAsked, expect: Expect) -> Iterator[tuple[Placing, Placed]]:
    """Yield the cases with their answers, assuming an AvgShedder plan in effect.

    Also assume that no broker owns the bundle.
    """
    for case, answer in asked:
        expect.given(placing_strategy(case) == AVERAGE_SHEDDER, f"{AVERAGE_SHEDDER} places")
        plan = case.case.get("plan")
        expect.given(plan is not None and plan["attempt"] == RUNNING, "a plan is in effect")
        expect.given(not case.owned, "no broker has the bundle")
        yield case, answer


def _source_and_destination(case: Placing) -> tuple[str, str]:
    """Return the source and the destination in the case's plan."""
    return case.case["plan"]["from"], case.case["plan"]["to"]


@PLACE.check_together("PLANNED-02", draws=randoms.map(_running_trial))
def a_planned_bundle_goes_where_it_was_planned(asked: AllAsked, expect: Expect) -> None:
    """The planned destination gets the bundle, unless it is overloaded and others are healthy."""
    for case, answer in _cases_with_plan(asked, expect):
        healthy = (
            case.brokers.keys() - certain_brokers(case, out=True) - {*_source_and_destination(case)}
        )
        destination = _source_and_destination(case)[1]
        holds = destination in certain_brokers(case, out=False) or not healthy
        if expect.reached(destination in case.brokers and holds):
            expect.that(answer.broker == destination, f"{destination}, as planned", answer)


@PLACE.check_together("PLANNED-04", draws=randoms.map(_running_trial))
def the_source_does_not_get_the_bundle_back(asked: AllAsked, expect: Expect) -> None:
    """If the destination is gone, a candidate other than the source gets the bundle."""
    for case, answer in _cases_with_plan(asked, expect):
        source, destination = _source_and_destination(case)
        others = case.brokers.keys() - {source}
        gone = destination not in case.brokers
        if expect.reached(gone and source in case.brokers and bool(others)):
            expect.that(answer.broker != source, f"{either(others)}, not the source", answer)


@PLACE.check_together("PLANNED-05", draws=randoms.map(_running_trial))
def only_a_healthy_broker_replaces_an_overloaded_one(asked: AllAsked, expect: Expect) -> None:
    """An overloaded destination is not replaced by an overloaded candidate or the source."""
    for case, answer in _cases_with_plan(asked, expect):
        source, destination = _source_and_destination(case)
        overloaded = certain_brokers(case, out=True)
        right = case.brokers.keys() - overloaded - {source} | {destination}
        wrong = case.brokers.keys() - right
        if expect.reached(destination in overloaded and bool(wrong)):
            expect.that(answer.broker not in wrong, either(right), answer)


def _demand_each_candidate_chosen(asked: AllAsked, expect: Expect) -> None:
    """Demand that each candidate gets the bundle in at least one of many repetitions."""
    case = asked[0].case
    same = all(one.case.case == case.case for one in asked)
    expect.given(same and not case.owned, "one question about a bundle without owner, repeated")
    expect.given(placing_strategy(case) == AVERAGE_SHEDDER, f"{AVERAGE_SHEDDER} places")
    count = len(case.candidates)
    missed_by_chance = count * (1 - 1 / max(count, 1)) ** len(asked)
    if expect.reached(count > 1 and missed_by_chance <= ERROR_RATE):
        missed = case.candidates.keys() - {one.answer.broker for one in asked}
        never = f"never {', '.join(sorted(missed))} in {len(asked)} repetitions"
        expect.that(not missed, f"each of {', '.join(case.candidates)} at least once", never)


@PLACE.check_together("PLANNED-03", draws=_repeated_trials("completed", "failed"))
def a_plan_ends_with_its_attempt(asked: AllAsked, expect: Expect) -> None:
    """Once the attempt to unload is over, each candidate gets the bundle in some repetitions."""
    plan = asked[0].case.case.get("plan")
    expect.given(plan is not None and plan["attempt"] != RUNNING, "the attempt of a plan is over")
    _demand_each_candidate_chosen(asked, expect)


@PLACE.check_together("PLANNED-06", draws=_repeated_trials())
def chance_decides_without_a_plan(asked: AllAsked, expect: Expect) -> None:
    """Without a plan, each candidate gets the bundle in some repetitions."""
    expect.given("plan" not in asked[0].case.case, "there is no plan")
    _demand_each_candidate_chosen(asked, expect)


def _beside_another_shedder() -> st.SearchStrategy[Trial]:
    """Return a strategy for trials with a shedding strategy set, but no placement strategy."""

    def trial(case: Json, shedder: str) -> Trial:
        settings = {**case["settings"], STRATEGY: PACKAGE + shedder}
        settings.pop(PLACEMENT_STRATEGY, None)
        return Trial.of(PLACE.id, *[{**case, "settings": settings}] * 2)

    others = st.sampled_from(("ThresholdShedder", "OverloadShedder", "UniformLoadShedder"))
    return st.builds(trial, draws.cases(draws.with_equal_usage, draws.balanced), others)


@PLACE.check_together("PLANNED-07", draws=_beside_another_shedder())
def rates_decide_beside_another_shedder(asked: AllAsked, expect: Expect) -> None:
    """If only a shedding strategy is set, a candidate with the lowest score is chosen."""
    for case, answer in asked:
        expect.given(STRATEGY in case.settings.given, "a shedding strategy is set")
        expect.given(PLACEMENT_STRATEGY not in case.settings.given, "no placement strategy is set")
        default = str(case.settings.defaults.get(PLACEMENT_STRATEGY, ""))
        expect.given(default.endswith(f".{AVERAGE_SHEDDER}"), f"{AVERAGE_SHEDDER} is the default")
        assume_unowned_and_placed(case, answer, expect)
        right = _by_any_score(case)
        if expect.reached(len(right) < len(case.candidates)):
            expect.that(answer.broker in right, with_scores(case.comparison, right), answer)
