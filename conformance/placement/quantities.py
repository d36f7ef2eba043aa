"""Quantities of a placement, with comparisons that allow for rounding.

A comparison returns None if rounding could decide it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from pulsar_conformance.conformance.common.check import POINTS, SHARE, Expect, near
from pulsar_conformance.conformance.placement.view import (
    Assigning,
    ComparedBroker,
    ComparedBrokers,
    Placed,
    Placing,
    Spreading,
)
from pulsar_conformance.conformance.shedding.quantities import EXACT
from pulsar_conformance.reference import Readings, Settings
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.numbers import ZERO, Percent, Rate, plain
from pulsar_conformance.reference.placement import AVERAGE_SHEDDER, LEAST_RATE, PLACEMENT_STRATEGY
from pulsar_conformance.reference.shedding import STRATEGY
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS

Names = frozenset[str]


def is_left_out(comparison: ComparedBrokers, candidate: ComparedBroker) -> bool | None:
    """True if a candidate is excluded as overloaded; None if its usage is near the threshold."""
    usage, threshold = candidate.usage, comparison.threshold
    if near(usage, threshold) and not EXACT.issuperset({usage, threshold}):
        return None
    return not comparison.considers(candidate)


def certain_candidates(comparison: ComparedBrokers, out: bool) -> list[ComparedBroker]:
    """Return the candidates that are certainly excluded (if `out`) or certainly not excluded."""
    return [one for one in comparison.candidates if is_left_out(comparison, one) is out]


def score_bounds(
    comparison: ComparedBrokers, candidate: ComparedBroker
) -> tuple[Rate, Rate | None]:
    """Return the lowest and highest score that a candidate can have, allowing for rounding.

    If the formula divides by nearly 0, any score is possible, and the highest is None.
    """
    rate = comparison.compared_rate(candidate)
    if comparison.readings["placement-score"] == "plain":
        return rate * (1 - SHARE), rate * (1 + SHARE)
    distance = comparison.threshold - candidate.usage
    if distance <= POINTS:
        return ZERO, None
    return rate * (1 - SHARE) / (distance + POINTS), rate * (1 + SHARE) / (distance - POINTS)


def allowed_candidates(comparison: ComparedBrokers) -> Names:
    """Return the candidates that can have the lowest score, allowing for rounding.

    If no candidate is certainly eligible, all candidates are returned.
    """
    considered = certain_candidates(comparison, out=False)
    if not considered:
        return frozenset(one.name for one in comparison.candidates)
    highest = [score_bounds(comparison, one)[1] for one in considered]
    least = min((high for high in highest if high is not None), default=None)
    return frozenset(
        one.name
        for one in comparison.candidates
        if is_left_out(comparison, one) is not True
        and (least is None or score_bounds(comparison, one)[0] <= least)
    )


def with_rates(comparison: ComparedBrokers, rates: Mapping[str, Rate]) -> ComparedBrokers:
    """Return a copy of the comparison with other rates of candidates."""
    changed = (replace(one, rate=rates[one.name]) for one in comparison.candidates)
    return replace(comparison, candidates=tuple(changed))


def with_usages(comparison: ComparedBrokers, usages: Mapping[str, Percent]) -> ComparedBrokers:
    """Return a copy of the comparison with other usages of candidates."""
    changed = (replace(one, usage=usages[one.name]) for one in comparison.candidates)
    return replace(comparison, candidates=tuple(changed))


def placing_strategy(case: Placing) -> str | None:
    """Return the placement strategy in force; None if the documents leave it open.

    They do so if AvgShedder is set to place bundles but another strategy sheds.
    """
    settings = case.settings
    if PLACEMENT_STRATEGY not in settings.defaults:
        return LEAST_RATE
    placing = _class_in(settings, PLACEMENT_STRATEGY)
    if placing != AVERAGE_SHEDDER or _class_in(settings, STRATEGY) == AVERAGE_SHEDDER:
        return placing
    return None if PLACEMENT_STRATEGY in settings.given else LEAST_RATE


def _class_in(settings: Settings, name: str) -> str:
    return settings.text(name).rpartition(".")[2]


def compared_by_rate(case: Placing, expect: Expect) -> ComparedBrokers:
    """Return the comparison of candidates, assuming that message rates decide."""
    expect.given(placing_strategy(case) == LEAST_RATE, "message rates decide")
    return case.comparison


def certain_brokers(case: Placing, out: bool) -> Names:
    """Return the candidates that are certainly overloaded (if `out`) or certainly not overloaded.

    Candidates are returned only if this is certain both with and without resource weights.
    """
    weighted = {
        name: _weighted_usage(broker, case.settings) for name, broker in case.brokers.items()
    }
    both = (case.comparison, with_usages(case.comparison, weighted))
    plain_ones, weighted_ones = (
        {one.name for one in certain_candidates(each, out)} for each in both
    )
    return frozenset(plain_ones & weighted_ones)


def assume_unowned_and_placed(case: Placing, answer: Placed, expect: Expect) -> ComparedBrokers:
    """Return the comparison of candidates, assuming that rates decide.

    Also assume that no broker owns the bundle, and that the answer is a candidate.
    """
    expect.given(not case.owned, "no broker has the bundle")
    expect.given(answer.broker in case.candidates, "a candidate is chosen")
    return compared_by_rate(case, expect)


def with_scores(comparison: ComparedBrokers, names: Names) -> str:
    """Format candidates with usage and score: "broker-1 (20 %, score 3) or broker-2 (30 %, …)"."""
    named = (one for one in comparison.candidates if one.name in names)
    return (
        " or ".join(f"{one.name} ({_score_text(comparison, one)})" for one in named) or "no broker"
    )


def _score_text(comparison: ComparedBrokers, candidate: ComparedBroker) -> str:
    score = comparison.score(candidate) if comparison.considers(candidate) else None
    usage = f"{plain(candidate.usage)} %"
    return usage if score is None else f"{usage}, score {plain(score, 4)}"


def either(names: Iterable[str | None]) -> str:
    """Format names as alternatives, such as "broker-1 or broker-2"."""
    return " or ".join(sorted(name for name in names if name)) or "nothing"


def placing_is_determined(case: Placing, _readings: Readings) -> bool:
    """True if exactly one candidate is allowed, and no broker owns the bundle yet.

    The same candidate must be allowed with and without resource weights, because no document says
    whether weights count.
    """
    named = str(case.settings.given.get(PLACEMENT_STRATEGY, LEAST_RATE))
    if named.rpartition(".")[2] != LEAST_RATE or placing_strategy(case) != LEAST_RATE:
        return False
    weighted = {
        name: _weighted_usage(broker, case.settings) for name, broker in case.brokers.items()
    }
    either_way = allowed_candidates(case.comparison) | allowed_candidates(
        with_usages(case.comparison, weighted)
    )
    return not case.owned and len(either_way) <= 1


def _weighted_usage(broker: Broker, settings: Settings) -> Percent:
    """Return the usage of a broker's busiest resource; weights count if set or documented."""
    known = {*settings.given, *settings.defaults}
    return max(
        percent * (settings.number(WEIGHT_SETTINGS[one]) if WEIGHT_SETTINGS[one] in known else 1)
        for one, percent in broker.percent.items()
    )


def spreading_is_determined(case: Spreading, _readings: Readings) -> bool:
    """True if no broker serves the namespace yet, and at most one candidate is allowed."""
    spread = case.spread
    served = Counter(one for names in case["owned"].values() for one in names)
    once = not served[spread.namespace] and max(served.values(), default=0) <= 1
    return (
        spread.group is not None
        and once
        and not spread.only_some_have_a_domain
        and len(spread.best) <= 1
    )


def assigning_is_determined(case: Assigning, _readings: Readings) -> bool:
    """True if at most one broker is permitted.

    If several are permitted, the documents do not say which of the other conditions comes first.
    """
    return len(case.permitted) <= 1
