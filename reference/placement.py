"""Placement on the broker with the lowest long-term message rate, weighted by usage. [PLACE]"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pulsar_conformance.reference.anti_affinity import Spread
from pulsar_conformance.reference.cluster import (
    NEVER_MEASURED_MESSAGES,
    Broker,
    Json,
    average_of,
)
from pulsar_conformance.reference.context import Readings, Settings
from pulsar_conformance.reference.numbers import ZERO, Fraction, Percent, Rate, total
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.shedding import STRATEGY
from pulsar_conformance.reference.usage import Usage, maximum, weighted_maximum, weights

PLACEMENT_STRATEGY = "loadBalancerLoadPlacementStrategy"
LEAST_USAGE = "LeastResourceUsageWithWeight"
LEAST_RATE = "LeastLongTermMessageRate"
AVERAGE_SHEDDER = "AvgShedder"
BELOW_MEAN = "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"

LEFT_OUT: Mapping[str, Callable[[Percent, Percent], bool]] = {
    "eligible": lambda usage, threshold: usage > threshold,
    "excluded": lambda usage, threshold: usage >= threshold,
}
"""Functions that are true if a candidate's usage excludes it, by alternative of
`placement-at-threshold`.

[PLACE-04]
"""


@dataclass(frozen=True)
class Candidate:
    """A broker that may take the bundle, with its busiest resource and long-term message rate."""

    name: str
    usage: Usage
    rate: Rate


def weighted(rate: Rate, usage: Percent, threshold: Percent) -> Fraction | None:
    """Return a message rate multiplied by the weight 1 / (threshold - usage). [PLACE-02]

    At 45 % with a threshold of 85 %, the weight is 1/40. None at the threshold, where the weight is
    undefined.
    """
    return rate / (threshold - usage) if usage != threshold else None


SCORE: Mapping[str, Callable[[Candidate, Percent, Rate], Fraction | None]] = {
    "weighted": lambda one, threshold, _added: weighted(one.rate, one.usage.percent, threshold),
    "plain": lambda one, _threshold, _added: one.rate,
    "weighted-with-bundle": lambda one, threshold, added: weighted(
        one.rate + added, one.usage.percent, threshold
    ),
}
"""A candidate's score, for each alternative of the reading `placement-score`; the lowest wins.

[PLACE-02]
"""


@dataclass(frozen=True)
class Placement:
    """One bundle to place, its candidates and their scores."""

    candidates: Sequence[Candidate]
    threshold: Percent
    bundle_rate: Rate
    """Long-term messages per second of the bundle itself, in + out."""
    readings: Readings

    @cached_property
    def considered(self) -> tuple[Candidate, ...]:
        """The candidates that are not overloaded. [PLACE-04]"""
        left_out = LEFT_OUT[self.readings["placement-at-threshold"]]
        return tuple(
            one for one in self.candidates if not left_out(one.usage.percent, self.threshold)
        )

    def score(self, candidate: Candidate) -> Fraction | None:
        """Return a candidate's score; None if the formula is undefined for it."""
        score = SCORE[self.readings["placement-score"]]
        return score(candidate, self.threshold, self.bundle_rate)

    @cached_property
    def best(self) -> tuple[str, ...]:
        """The candidates with the lowest score, any of which may get the bundle.

        Candidates without a score may get it only if no candidate has a score. If all candidates
        are overloaded, all may get it. [PLACE-02, PLACE-05]
        """
        scores = {one.name: self.score(one) for one in self.considered}
        known = [score for score in scores.values() if score is not None]
        if not known:
            return tuple(scores) or tuple(one.name for one in self.candidates)
        least = min(known)
        return tuple(name for name, score in scores.items() if score == least)

    @property
    def by_chance(self) -> bool:
        """True if the choice is random because all candidates are overloaded. [PLACE-05]"""
        return not self.considered

    def chosen(self, turn: Callable[[], int]) -> str | None:
        """Return the broker that gets the bundle; None without candidates.

        It is the first of the best candidates; if all are overloaded, `turn` selects one of them.
        """
        if not self.best:
            return None
        return self.best[turn() % len(self.best) if self.by_chance else 0]


@dataclass(frozen=True)
class LeastUsage:
    """One bundle to place by LeastResourceUsageWithWeight."""

    usage: Mapping[str, Percent]
    """The weighted usage of each candidate."""
    below: Percent
    """Percentage points by which a candidate's usage must be below the mean."""

    @property
    def mean(self) -> Percent:
        """The candidates' mean usage."""
        return total(self.usage.values()) / len(self.usage)

    @property
    def best(self) -> list[str]:
        """The candidates far enough below the mean, or all candidates if none is. [PLACE-18]"""
        mean = self.mean if self.usage else ZERO
        low = [name for name, usage in self.usage.items() if usage + self.below <= mean]
        return low or list(self.usage)


@dataclass(frozen=True)
class PlannedPlacement:
    """One bundle to place by AvgShedder: on the planned broker, otherwise at random."""

    candidates: tuple[str, ...]
    overloaded: frozenset[str]
    plan: Mapping[str, str] | None

    @property
    def running(self) -> bool:
        """True if there is a plan and its unload attempt is in progress. [PLANNED-03]"""
        return self.plan is not None and self.plan["attempt"] == "running"

    @cached_property
    def best(self) -> tuple[str, ...]:
        """The candidates among which the choice is random. [PLANNED-02, PLANNED-06]"""
        if self.plan is None or not self.running:
            return self.candidates
        source, destination = self.plan["from"], self.plan["to"]
        others = tuple(one for one in self.candidates if one not in (source, destination))
        if destination not in self.candidates:  # PLANNED-04
            return others or self.candidates
        healthy = tuple(one for one in others if one not in self.overloaded)
        gives_way = destination in self.overloaded and healthy  # PLANNED-05
        return healthy if gives_way else (destination,)


def planned_placement(
    case: Mapping[str, Any], settings: Settings, readings: Readings
) -> PlannedPlacement:
    """Parse a `place.select` case for placement by AvgShedder."""
    placed = placement(case, settings, readings)
    considered = {one.name for one in placed.considered}
    overloaded = frozenset(one.name for one in placed.candidates) - considered
    return PlannedPlacement(tuple(case["candidates"]), overloaded, case.get("plan"))


def placer_name(settings: Settings, shedder: str | None = None) -> str:
    """Return the placement strategy in use, as a class name without the package.

    AvgShedder places bundles only if it is also the shedding strategy. `shedder` overrides the
    shedding strategy in the settings. [PLACE-19, PLANNED-01, PLANNED-07]
    """
    if PLACEMENT_STRATEGY not in settings.defaults:
        return LEAST_RATE
    placing = settings.text(PLACEMENT_STRATEGY).rpartition(".")[2]
    if placing != AVERAGE_SHEDDER:
        return placing
    shedding = shedder or settings.text(STRATEGY).rpartition(".")[2]
    return placing if shedding == AVERAGE_SHEDDER else LEAST_RATE


def least_usage(case: Mapping[str, Any], settings: Settings) -> LeastUsage:
    """Parse a `place.select` case for placement by LeastResourceUsageWithWeight."""
    weight = weights(settings)
    brokers = {name: Broker.read(name, case["brokers"][name]) for name in case["candidates"]}
    usage = {name: weighted_maximum(one, weight).percent for name, one in brokers.items()}
    return LeastUsage(usage, settings.number(BELOW_MEAN))


def long_term_messages(bundle: Json | None) -> Rate:
    """Return a bundle's long-term messages per second, in + out, or the assumed rate. [PLACE-08]"""
    average = average_of(bundle, "longTermData")
    return average.messages if average else Fraction(2 * NEVER_MEASURED_MESSAGES)


def rate_of(bundles: Iterable[str], data: Mapping[str, Json]) -> Rate:
    """Return the total long-term messages per second of bundles. [PLACE-03]"""
    return total(long_term_messages(data.get(bundle)) for bundle in bundles)


def placement(case: Mapping[str, Any], settings: Settings, readings: Readings) -> Placement:
    """Parse a `place.select` case under the given readings.

    A bundle assigned to a broker counts even before the broker reports it. [PLACE-07]
    """
    data = case["bundles"]

    def candidate(name: str) -> Candidate:
        broker = Broker.read(name, case["brokers"][name])
        bundles = dict.fromkeys((*broker.bundles, *case["preallocated"].get(name, ())))
        return Candidate(name, maximum(broker), rate_of(bundles, data))

    return Placement(
        tuple(map(candidate, case["candidates"])),
        settings.number(OVERLOAD_THRESHOLD),
        long_term_messages(data.get(case["bundle"])),
        readings,
    )


def host_of_id(broker: str) -> str:
    """Return the host of a broker ID, without the port. [ISOLATION-12]"""
    return broker.rpartition(":")[0]


def matches_any(regexes: Iterable[str], text: str) -> bool:
    """True if any regex matches the whole string. [ISOLATION-12]"""
    return any(re.fullmatch(one, text) for one in regexes)


def brokers_under(brokers: Iterable[str], regexes: Sequence[str]) -> tuple[str, ...]:
    """Return the brokers whose host matches one of the regexes."""
    return tuple(one for one in brokers if matches_any(regexes, host_of_id(one)))


def eligible(policies: Sequence[Json], namespace: str, brokers: Sequence[str]) -> tuple[str, ...]:
    """Return the brokers that isolation policies, given by regexes, permit for a namespace."""
    own = [one for one in policies if matches_any(one["namespaces"], namespace)]
    if not own:
        reserved = {broker for one in policies for broker in brokers_under(brokers, one["primary"])}
        return tuple(one for one in brokers if one not in reserved)
    primary = brokers_under(brokers, own[0]["primary"])
    if len(primary) >= own[0]["minLimit"]:
        return primary
    return tuple(dict.fromkeys((*primary, *brokers_under(brokers, own[0]["secondary"]))))


def permitted_by(
    policies: Sequence[Mapping[str, Any]], namespace: str, brokers: Iterable[str]
) -> tuple[str, ...]:
    """Return the brokers that isolation policies, given by broker names, permit for a namespace.

    [PLACE-14]
    """
    own = [one for one in policies if namespace in one["namespaces"]]
    if not own:
        dedicated = {name for one in policies for name in one["primary"]}
        return tuple(name for name in brokers if name not in dedicated)
    [policy] = own
    primary = tuple(name for name in brokers if name in policy["primary"])
    if len(primary) >= policy["least"]:
        return primary
    beside = (name for name in brokers if name in policy["secondary"])
    return tuple(dict.fromkeys((*primary, *beside)))


@dataclass(frozen=True)
class Assignment:
    """A `place.broker` case, read under the given readings."""

    case: Mapping[str, Any]
    settings: Settings
    readings: Readings

    @property
    def namespace(self) -> str:
        """The namespace of the bundle."""
        return namespace_of(self.case["bundle"])

    @cached_property
    def serving(self) -> dict[str, list[str]]:
        """The bundles that each broker reported, and bundles assigned to it since its report."""
        ahead = self.case["preallocated"]
        return {
            name: [*report.get("bundles", ()), *ahead.get(name, ())]
            for name, report in self.case["brokers"].items()
        }

    @property
    def policies(self) -> Sequence[Json]:
        """The isolation policies, given by regexes or by names of brokers."""
        given: Sequence[Json] = self.case.get("policies") or self.case["isolation"]
        return given

    @property
    def own_policy(self) -> Json | None:
        """The isolation policy of the bundle's namespace; None if it has none."""
        return next((one for one in self.policies if self.matches(one["namespaces"])), None)

    def matches(self, namespaces: Iterable[str]) -> bool:
        """True if a policy's namespaces include that of the bundle."""
        if self.case.get("policies"):
            return matches_any(namespaces, self.namespace)
        return self.namespace in namespaces

    def lists(self, policy: Json, kind: str, broker: str) -> bool:
        """True if a policy has a broker among its `primary` or `secondary` ones."""
        if self.case.get("policies"):
            return bool(brokers_under([broker], policy[kind]))
        return broker in policy[kind]

    @cached_property
    def permitted(self) -> Sequence[str]:
        """The brokers that the isolation policies permit for the bundle. [PLACE-14]"""
        brokers, policies = tuple(self.case["brokers"]), self.case["isolation"]
        if self.case.get("policies"):
            return eligible(self.case["policies"], self.namespace, brokers)
        return permitted_by(policies, self.namespace, brokers)

    @cached_property
    def spread(self) -> Spread:
        """The distribution of the namespace's anti-affinity group over brokers. [ANTI-17]"""
        return Spread(
            self.namespace,
            self.case["groups"],
            self.case["domains"],
            {name: {*map(namespace_of, bundles)} for name, bundles in self.serving.items()},
            self.permitted,
            self.readings["domain-counts"],
        )
