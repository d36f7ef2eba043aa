"""Placement strategies of releases (`ModularLoadManagerStrategy.selectBroker`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pulsar_conformance.reference.context import Settings
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import Fraction, messages, plain
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.released.configuration import PACKAGE
from pulsar_conformance.reference.released.java import in_map_order, in_set_order
from pulsar_conformance.reference.released.loads import Leader, as_percent, brokers_by_address

FRAME = "longTermData"
STRATEGY = "loadBalancerLoadPlacementStrategy"
DIFFERENCE = "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"
BOTH = frozenset({"AvgShedder"})
"""Strategies that both place and shed bundles."""
PAIR = "ModularLoadManagerImpl.initialize"
LEAST_RATE, LEAST_USAGE = "LeastLongTermMessageRate", "LeastResourceUsageWithWeight"
IN_TURN = "RoundRobinBrokerSelector"


def why_strategies_conflict(settings: Settings, shedding: str) -> str | None:
    """Return why no load manager starts with these placement and shedding strategies, or None.

    A class that is both a placement and a shedding strategy has to be set as both.
    """
    if STRATEGY not in settings.given or shedding in BOTH:
        return None
    placing = settings.text(STRATEGY)
    if placing.removeprefix(PACKAGE) not in BOTH:
        return None
    return f"{placing} is also a shedding strategy, but {shedding} is set to shed ({PAIR})"


@dataclass(frozen=True)
class ReleasedPlacement:
    """Placement of one bundle among candidates by a strategy that has made no earlier decision."""

    known: Leader
    candidates: Sequence[str]
    instead: str | None = None
    """The strategy to use instead of the configured strategy."""
    table: int | None = None
    """Capacity of the hash set of candidates; None if Java constructs the set from a collection."""
    turn: int = 0
    """Number of earlier calls of a strategy that chooses in turn."""

    @cached_property
    def strategy(self) -> str:
        """Class name of the strategy, without Pulsar's package."""
        if self.instead is not None:
            return self.instead
        settings = self.known.settings
        known = STRATEGY in settings.given or STRATEGY in settings.defaults
        return settings.text(STRATEGY).removeprefix(PACKAGE) if known else LEAST_RATE

    @property
    def threshold(self) -> float:
        """The overload threshold as a fraction."""
        return self.known.number(OVERLOAD_THRESHOLD) / 100.0

    @cached_property
    def usage(self) -> dict[str, tuple[float, str]]:
        """Each candidate's usage as a fraction, and its busiest resource."""
        weighted = self.known.way("overload-usage") == "weighted"
        return {name: self.known.usage(name, weighted) for name in self.candidates}

    @cached_property
    def overloaded(self) -> frozenset[str]:
        """The candidates above the threshold."""
        return frozenset(one for one in self.candidates if self.usage[one][0] > self.threshold)

    @cached_property
    def rates(self) -> dict[str, float]:
        """Each candidate's long-term message rate."""
        return {name: self._rate(name) for name in self.candidates}

    @cached_property
    def best(self) -> Sequence[str]:
        """The candidates from which the strategy chooses at random."""
        return CHOICE[self.strategy](self) if self.candidates else ()

    @cached_property
    def ordered(self) -> list[str]:
        """The candidates in the iteration order of their hash map or hash set."""
        brokers = brokers_by_address(self.candidates, self.known.release.addresses)
        names = (
            in_set_order(brokers) if self.table is None else in_map_order(brokers, size=self.table)
        )
        return [brokers[one] for one in names]

    @property
    def fails(self) -> bool:
        """True if the strategy throws an exception because there is no candidate.

        The exception is thrown by `AvgShedder.getExpectedBroker`.
        """
        return self.strategy == "AvgShedder" and not self.candidates

    def _rate(self, name: str) -> float:
        """Return the message rate of a candidate's reported and newly assigned bundles."""
        owned = self.known.owned(name)
        given = self.known.case["preallocated"].get(name, ())
        ahead = [one for one in given if one not in owned]
        return self._sum(ahead) + self._sum(owned)

    def _sum(self, bundles: Sequence[str]) -> float:
        """Return the sum of bundles' message rates, added in the given order."""
        total = 0.0
        for bundle in bundles:
            total += self.known.traffic(bundle, "msgRate", FRAME)
        return total

    def steps(self) -> Iterator[Step]:
        """Yield each candidate's usage and score, and the decision, as steps."""
        if self.strategy == LEAST_USAGE and self.candidates:
            yield from self._usage_steps()
            return
        if self.strategy != LEAST_RATE:
            yield Step("strategy", self.strategy)
        yield Step("threshold", f"{plain(as_percent(self.threshold))} %")
        overloaded = ": overloaded, left out" if self._leaves_out_overloaded else ": overloaded"
        for name in filter(self.candidates.__contains__, self.known.case["brokers"]):
            usage, resource = self.usage[name]
            at = f"{plain(as_percent(usage))} % of {resource}"
            out = overloaded if name in self.overloaded else ""
            yield Step(name, f"{at}, {messages(Fraction(self.rates[name]))} long-term{out}")
        yield Step("decision", self._decision())

    def _usage_steps(self) -> Iterator[Step]:
        """Yield each candidate's weighted usage, and the limit derived from their mean."""
        yield Step("strategy", self.strategy)
        for name in filter(self.candidates.__contains__, self.known.case["brokers"]):
            usage, resource = self.weighted[name]
            yield Step(name, f"{plain(as_percent(usage))} % of {resource}, with its weight")
        mean, points = plain(as_percent(self.mean)), plain(as_percent(self.apart))
        limit = plain(as_percent(self.mean - self.apart))
        yield Step("mean", f"{mean} %")
        yield Step("limit", f"{mean} - {points} = {limit} % ({DIFFERENCE})")
        names = " or ".join(self.best)
        drawn = ", drawn" if len(self.best) > 1 else ""
        why = "no more than the limit" if self.below else "no broker is at the limit or below"
        yield Step("decision", f"{names}{drawn}: {why} ({self.strategy})")

    @cached_property
    def weighted(self) -> dict[str, tuple[float, str]]:
        """Each candidate's weighted usage as a fraction, and its busiest resource.

        Candidates are in the order in which LeastResourceUsageWithWeight adds their usages.
        """
        return {name: self.known.usage(name, weighted=True) for name in self.ordered}

    @cached_property
    def mean(self) -> float:
        """The mean of the candidates' weighted usage."""
        total = 0.0
        for usage, _ in self.weighted.values():
            total += usage
        return total / len(self.weighted)

    @property
    def apart(self) -> float:
        """The difference by which a candidate's usage must be below the mean, as a fraction."""
        return self.known.number(DIFFERENCE) / 100.0

    @cached_property
    def below(self) -> Sequence[str]:
        """The candidates whose weighted usage is far enough below the mean."""
        return sorted(
            name for name, (used, _) in self.weighted.items() if used + self.apart <= self.mean
        )

    @property
    def _leaves_out_overloaded(self) -> bool:
        """True if the strategy leaves out overloaded candidates, since some are not overloaded."""
        return self.strategy == LEAST_RATE and not self.overloaded.issuperset(self.candidates)

    def _decision(self) -> str:
        names = " or ".join(self.best)
        if not self.best:
            return "nowhere: no broker may take it"
        if self.strategy == IN_TURN and len(self.candidates) > 1:
            turn = self.turn % len(self.candidates)
            others = ", ".join((*self.ordered[turn + 1 :], *self.ordered[:turn]))
            return f"{names} first, then {others}: in turn since the leader's start ({IN_TURN})"
        if self.strategy != LEAST_RATE:
            return f"{names}{', drawn' if len(self.best) > 1 else ''} ({self.strategy})"
        if self.overloaded.issuperset(self.candidates):
            return f"{names}, drawn: all are overloaded"
        if len(self.best) > 1:
            place = self.known.release.place("placement-draw")
            return f"{names}, drawn: all have the least ({place})"
        return f"{names}: the least"


def _least_rate(placing: ReleasedPlacement) -> Sequence[str]:
    """Return the candidates with the lowest long-term message rate.

    Overloaded candidates are considered only if all are overloaded.
    """
    scores = {name: rate for name, rate in placing.rates.items() if name not in placing.overloaded}
    least = min(scores.values(), default=0.0)
    if not scores or least == float("inf"):
        return sorted(placing.candidates)
    return sorted(name for name, score in scores.items() if score == least)


def _least_usage(placing: ReleasedPlacement) -> Sequence[str]:
    """Return the candidates whose weighted usage is far enough below the mean, or else all."""
    return placing.below or sorted(placing.ordered)


def _next_in_turn(placing: ReleasedPlacement) -> Sequence[str]:
    """Return the candidate whose turn it is, in the iteration order of the hash set."""
    return [placing.ordered[placing.turn % len(placing.ordered)]]


def _planned_destination(placing: ReleasedPlacement) -> Sequence[str]:
    """Return only the planned destination if it is a candidate, or else all candidates.

    The plan applies even after the attempt to unload the bundle has ended.
    """
    plan = placing.known.case.get("plan")
    return [plan["to"]] if plan and plan["to"] in placing.candidates else sorted(placing.candidates)


CHOICE: Mapping[str, Callable[[ReleasedPlacement], Sequence[str]]] = {
    LEAST_RATE: _least_rate,
    LEAST_USAGE: _least_usage,
    IN_TURN: _next_in_turn,
    "AvgShedder": _planned_destination,
}
"""For each strategy, the function that returns the candidates for its random choice."""
