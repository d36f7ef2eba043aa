"""Placement as checks see it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pulsar_conformance.conformance.common.expect import POINTS, SHARE, Expect, near
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.shedding.quantities import EXACT
from pulsar_conformance.reference import Readings, Settings
from pulsar_conformance.reference.anti_affinity import Spread
from pulsar_conformance.reference.assignment import Assignment
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.numbers import Fraction, Percent, Rate, plain
from pulsar_conformance.reference.placement import Candidate, Placement, placement
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS, weighted_maximum


@dataclass(frozen=True)
class Placing:
    """A bundle to place, and the brokers that may take it."""

    case: Json
    settings: Settings
    readings: Readings

    @cached_property
    def placement(self) -> Placement:
        """The values by which the candidates are compared."""
        return placement(self.case, self.settings, self.readings)

    @cached_property
    def candidates(self) -> dict[str, Candidate]:
        """The candidates, by name."""
        return {one.name: one for one in self.placement.candidates}

    @cached_property
    def brokers(self) -> dict[str, Broker]:
        """The load reports of the candidates."""
        return {name: Broker.read(name, self.case["brokers"][name]) for name in self.candidates}

    def bundles(self, broker: str) -> list[str]:
        """The bundles that a broker reports, and those assigned to it since."""
        return [*self.brokers[broker].bundles, *self.case["preallocated"].get(broker, ())]

    @cached_property
    def owned(self) -> bool:
        """Whether a broker still owns the bundle."""
        reports = self.case["brokers"].values()
        return any(self.case["bundle"] in report.get("bundles", ()) for report in reports)


@dataclass(frozen=True)
class Spreading:
    """A namespace of an anti-affinity group to place."""

    case: Json
    settings: Settings
    spread: Spread

    def __getitem__(self, name: str) -> Any:
        return self.case[name]


@dataclass(frozen=True)
class Placed:
    """The broker that takes it, as answered; domains and candidates if the answer names them."""

    broker: str | None
    domains: tuple[str, ...] | None = None
    candidates: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return self.broker or "no broker"


Names = frozenset[str]


def left_out(placed: Placement, candidate: Candidate) -> bool | None:
    """Whether a candidate is overloaded; None if floating point might decide."""
    usage, threshold = candidate.usage.percent, placed.threshold
    if near(usage, threshold) and not EXACT.issuperset({usage, threshold}):
        return None
    return candidate not in placed.considered


def surely(placed: Placement, out: bool) -> list[Candidate]:
    """The candidates that are certainly overloaded, or certainly not."""
    return [one for one in placed.candidates if left_out(placed, one) is out]


def bounds(placed: Placement, candidate: Candidate) -> tuple[Rate, Rate | None]:
    """The lowest and the highest score that rounding may give a candidate.

    Where there is no weight, or where rounding decides whether there is one, it may be anything.
    """
    rate, weighing = candidate.rate, placed.readings["placement-score"]
    if weighing == "plain":
        return rate * (1 - SHARE), rate * (1 + SHARE)
    if weighing == "weighted-with-bundle":
        rate += placed.bundle_rate
    distance = placed.threshold - candidate.usage.percent
    if distance <= POINTS:
        return Fraction(0), None
    return rate * (1 - SHARE) / (distance + POINTS), rate * (1 + SHARE) / (distance - POINTS)


def allowed(placed: Placement) -> Names:
    """The candidates that an implementation may take for the one with the lowest score.

    All of them where none surely is considered.
    """
    sure = surely(placed, out=False)
    if not sure:
        return frozenset(one.name for one in placed.candidates)
    highest = [high for one in sure for _, high in (bounds(placed, one),) if high is not None]
    least = min(highest, default=None)
    return frozenset(
        one.name
        for one in placed.candidates
        if left_out(placed, one) is not True and (least is None or bounds(placed, one)[0] <= least)
    )


def with_rates(placed: Placement, rates: Mapping[str, Rate]) -> Placement:
    """The same case, with other rates to compare the candidates by."""
    changed = (replace(one, rate=rates[one.name]) for one in placed.candidates)
    return replace(placed, candidates=tuple(changed))


def with_usages(placed: Placement, usages: Mapping[str, Percent]) -> Placement:
    """The same case, with other usages of the candidates."""
    changed = (
        replace(one, usage=replace(one.usage, percent=usages[one.name]))
        for one in placed.candidates
    )
    return replace(placed, candidates=tuple(changed))


def ordinary(case: Placing, answer: Placed, expect: Expect) -> Placement:
    """Demands an unowned bundle, and an answer that names a candidate."""
    expect.given(not case.owned, "no broker has the bundle")
    expect.given(answer.broker in case.candidates, "a candidate is chosen")
    return case.placement


def told(placed: Placement, right: Names) -> str:
    """The allowed candidates, with the scores, in words."""
    named = (one for one in placed.candidates if one.name in right)
    return " or ".join(f"{one.name} ({_score(placed, one)})" for one in named) or "no broker"


def _score(placed: Placement, candidate: Candidate) -> str:
    score = placed.score(candidate) if candidate in placed.considered else None
    usage = f"{plain(candidate.usage.percent)} %"
    return usage if score is None else f"{usage}, score {plain(score, 4)}"


def placing_settled(case: Placing, _readings: Readings) -> bool:
    """At most one candidate may take the bundle, which nobody owns yet.

    It is the same one whether the weights of resources count or not: no document says that they do.
    """
    weighed = {name: _weighed(broker, case.settings) for name, broker in case.brokers.items()}
    either = allowed(case.placement) | allowed(with_usages(case.placement, weighed))
    return not case.owned and len(either) <= 1


def _weighed(broker: Broker, settings: Settings) -> Percent:
    """The usage of a broker by those weights that are known."""
    known = {*settings.given, *settings.defaults}
    weight = {
        name: settings.number(setting) if setting in known else Fraction(1)
        for name, setting in WEIGHT_SETTINGS.items()
    }
    return weighted_maximum(broker, weight).percent


def spreading_settled(case: Spreading, _readings: Readings) -> bool:
    """At most one candidate may take the namespace of a group, which nobody serves yet."""
    spread = case.spread
    served = Counter(one for names in case["owned"].values() for one in names)
    once = not served[spread.namespace] and max(served.values(), default=0) <= 1
    mixed = None in spread.in_domain and len(spread.in_domain) > 1
    return spread.group is not None and once and not mixed and len(spread.best) <= 1


def assigning_settled(case: Assignment, _readings: Readings) -> bool:
    """At most one broker may take the bundle: the documents leave open what comes first."""
    return len(case.permitted) <= 1
