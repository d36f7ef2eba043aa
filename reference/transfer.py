"""TransferShedder: moves bundles from the most to the least loaded brokers. [TRANSFER]"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import (
    ZERO,
    Fraction,
    Minutes,
    Percent,
    Rate,
    exact,
    plain,
    quantity,
    total,
)
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.placement import Assignment
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.sequences import Past
from pulsar_conformance.reference.shedding import (
    DELAY,
    HITS,
    LIFETIME,
    MAX_REPORTED_BUNDLES,
    MAX_SHEDDING_BROKERS,
    TRANSFER_ENABLED,
    TRANSFER_TARGET,
    WITH_POLICIES,
    Cycle,
    Unloads,
)
from pulsar_conformance.reference.threshold import Levels

TRANSFER_NUMBERS = (
    TRANSFER_TARGET,
    HITS,
    MAX_SHEDDING_BROKERS,
    DELAY,
    LIFETIME,
    MAX_REPORTED_BUNDLES,
    OVERLOAD_THRESHOLD,
)
"""The numeric settings of TransferShedder."""

MINUTE = 60
UNDERLOADED = Fraction(1, 2)
"""Largest fraction of the mean load that can count as underload. [TRANSFER-04]"""


@dataclass(frozen=True)
class Balance:
    """The load in percent and the traffic of each broker whose data are current."""

    cycle: Cycle
    load: Mapping[str, Percent]
    traffic: Mapping[str, Rate]

    @classmethod
    def of(cls, cycle: Cycle) -> Balance:
        """Return the load of brokers in a cycle, without brokers whose data are outdated.

        [TRANSFER-12]
        """
        longest, usage = cycle.settings.number(LIFETIME), Levels(cycle).usage
        fresh = [name for name in cycle.brokers if data_age(cycle, name) <= longest]
        rates = {name: cycle.rates_of(cycle.brokers[name]).throughput for name in fresh}
        return cls(cycle, {name: usage[name] for name in fresh}, rates)

    @cached_property
    def mean(self) -> Percent:
        """The mean load of the brokers, in percent."""
        return total(self.load.values()) / len(self.load)

    @cached_property
    def variance(self) -> Fraction:
        """The square of the standard deviation."""
        return total((one - self.mean) ** 2 for one in self.load.values()) / len(self.load)

    @property
    def target(self) -> Percent:
        """The highest acceptable standard deviation in points; a setting of 0.25 is 25 points."""
        return self.cycle.settings.number(TRANSFER_TARGET) * 100

    @property
    def deviates(self) -> bool:
        """True if the standard deviation exceeds the target. [TRANSFER-01]"""
        return self.variance > self.target**2

    @cached_property
    def low_bound(self) -> Percent:
        """The load below which a broker is underloaded. [TRANSFER-04]"""
        return self.mean * min(UNDERLOADED, self.target / 200)

    @cached_property
    def underloaded(self) -> list[str]:
        """The brokers without traffic or below the lower bound. [TRANSFER-03, TRANSFER-04]"""
        bound = self.low_bound
        return [name for name, one in self.load.items() if one < bound or not self.traffic[name]]

    @cached_property
    def overloaded(self) -> list[str]:
        """The brokers above the threshold and far enough above the mean. [TRANSFER-05]"""
        threshold, bound = self.cycle.settings.number(OVERLOAD_THRESHOLD), self.mean + self.target
        return [name for name, one in self.load.items() if one > threshold and one > bound]

    @cached_property
    def uneven(self) -> bool:
        """True if a condition for unloading holds. [TRANSFER-02]"""
        return bool(self.load) and bool(self.deviates or self.underloaded or self.overloaded)

    def after(self, source: str, target: str, carried: Rate) -> Balance:
        """Return the load after traffic has moved from one broker to another."""
        points = self.load[source] * carried / self.traffic[source]
        load = {**self.load, source: self.load[source] - points, target: self.load[target] + points}
        traffic = {**self.traffic, source: self.traffic[source] - carried}
        return Balance(self.cycle, load, {**traffic, target: self.traffic[target] + carried})


def data_age(cycle: Cycle, broker: str) -> Fraction:
    """Return the age of a broker's load data in seconds."""
    return exact(cycle.case["brokers"][broker].get("age", 0))


class Transfer(NamedTuple):
    """The traffic to move from one broker to another, and the bundles that move, if any."""

    source: str
    target: str
    amount: Rate
    bundles: tuple[str, ...]


@dataclass(frozen=True)
class TransferPlan:
    """The moves of a cycle, or the reason why there are none."""

    cycle: Cycle

    @cached_property
    def balance(self) -> Balance:
        """The load before any move."""
        return Balance.of(self.cycle)

    @cached_property
    def past(self) -> Sequence[Past]:
        """The earlier cycles, oldest first."""
        earlier: Sequence[Past] = self.cycle.case.get("earlier", ())
        return earlier

    @cached_property
    def hits(self) -> int:
        """Number of consecutive cycles with an imbalance, up to this cycle. [TRANSFER-06]"""
        found = 0
        for index, one in enumerate(self.past):
            found = hits_after(one, self.past[:index], found)
        return found + 1 if self.balance.uneven else 0

    @property
    def obstacle(self) -> str:
        """The reason for moving nothing; empty if bundles may move. [TRANSFER-06, -11, -13]"""
        if skipped := _why_skipped(self.cycle, self.past, exact(0)):
            return skipped
        if not self.balance.uneven:
            return "the load is even enough"
        needed = self.cycle.settings.number(HITS)
        if self.hits <= needed:
            hits = quantity(self.hits, "cycle")
            return f"found in {hits} in a row; more than {plain(needed)} needed"
        return ""

    @cached_property
    def moves(self) -> tuple[Transfer, ...]:
        """The moves of the cycle in order: from the most to the least loaded broker, then from the
        second most to the second least loaded, and so on.

        [TRANSFER-09]
        """
        return tuple(one for one in self.attempts if one.bundles)

    @cached_property
    def attempts(self) -> tuple[Transfer, ...]:
        """The pairs of brokers that were tried, in order; a pair has no bundles if none could move.

        [TRANSFER-09]
        """
        return () if self.obstacle else tuple(self._attempts())

    def _attempts(self) -> Iterator[Transfer]:
        balance, most = self.balance, self.cycle.settings.number(MAX_SHEDDING_BROKERS)
        order = sorted(balance.load, key=lambda name: (balance.load[name], name))
        done = 0
        while len(order) > 1 and done < most and balance.uneven:
            source, target = order.pop(), order[0]
            amount = _amount_to_move(balance, source, target)
            bundles = tuple(_fitting_bundles(self.cycle, source, target, amount))
            if bundles:
                done, order = done + 1, order[1:]
                carried = total(self.cycle.rates(one).throughput for one in bundles)
                balance = balance.after(source, target, carried)
            yield Transfer(source, target, amount, bundles)


def hits_after(one: Past, past: Sequence[Past], before: int) -> int:
    """Return the number of consecutive hits after a cycle, given the number before it.

    [TRANSFER-06]
    """
    if one.hits is not None:
        return one.hits
    uneven = Balance.of(one.cycle).uneven
    skipped = _why_skipped(one.cycle, past, one.ago)
    if one.unloads or not (skipped or uneven):
        return 0
    return before if skipped else before + 1


def _why_skipped(cycle: Cycle, past: Sequence[Past], ago: Minutes) -> str:
    """Return why TransferShedder skips a cycle that ran `ago` minutes ago; empty if it does not.

    [TRANSFER-11, -13]
    """
    delay, longest = cycle.settings.number(DELAY), cycle.settings.number(LIFETIME)
    for one in past:
        for name in sorted(one.sources.intersection(cycle.brokers)):
            age = data_age(cycle, name)
            passed = (one.ago - ago) * MINUTE - age
            if age <= longest and passed < delay:
                return too_soon_text(name, passed, delay)
    missing = cycle.case.get("withoutData", ())
    return f"no load data of {', '.join(missing)}" if missing else ""


def too_soon_text(name: str, passed: Fraction, delay: Fraction) -> str:
    """Return the remark that a broker reported its load too soon after its last unload."""
    needed = f"{plain(delay)} are needed ({DELAY})"
    if passed < 0:
        return f"{name} has not reported its load since its last unload; {needed}"
    return f"{name} reported its load {quantity(passed, 'second')} after its last unload; {needed}"


def _amount_to_move(balance: Balance, source: str, target: str) -> Rate:
    """Return the traffic to move so that two brokers' loads become equal. [TRANSFER-09]"""
    high, low = balance.load[source], balance.load[target]
    return balance.traffic[source] * (high - low) / 2 / high if high else ZERO


def _fitting_bundles(cycle: Cycle, source: str, target: str, amount: Rate) -> Iterator[str]:
    """Yield the bundles that fit into an amount, most traffic first. [TRANSFER-14 … 17]"""
    left = amount
    for bundle in transferable(cycle, cycle.brokers[source]):
        carried = cycle.rates(bundle).throughput
        if carried <= left and _may_take(cycle, bundle, target):
            left -= carried
            yield bundle


def transferable(cycle: Cycle, broker: Broker) -> list[str]:
    """Return the bundles that may leave a broker, most traffic first. [TRANSFER-14, -16, -17]"""
    top = int(cycle.settings.number(MAX_REPORTED_BUNDLES))
    measured = [one for one in broker.bundles if measured_throughput(cycle, one)]
    reported = sorted(measured, key=lambda one: (-measured_throughput(cycle, one), one))[:top]
    return [one for one in reported if not (cycle.blocked(one) or kept_by_policy(cycle, one))]


def measured_throughput(cycle: Cycle, bundle: str) -> Rate:
    """Return a bundle's average throughput; 0 if it has no samples."""
    rates = cycle.measured(bundle)
    return rates.throughput if rates else ZERO


def kept_by_policy(cycle: Cycle, bundle: str) -> str:
    """Return why policies keep a bundle on its broker; empty if they do not. [TRANSFER-14, -16]"""
    namespace, settings = namespace_of(bundle), cycle.settings
    if cycle.excluded(bundle):
        return f"{namespace} is excluded"
    if has_policies(cycle.case, namespace) and not settings.flag(WITH_POLICIES):
        return f"{namespace} has an isolation policy or an anti-affinity group"
    return ""


def has_policies(case: Mapping[str, Any], namespace: str) -> bool:
    """True if a namespace has an isolation policy or an anti-affinity group."""
    isolated = any(namespace in one["namespaces"] for one in case.get("isolation", ()))
    return isolated or namespace in case.get("groups", {})


def _may_take(cycle: Cycle, bundle: str, target: str) -> bool:
    """True if policies allow a broker to take a bundle. [TRANSFER-15]"""
    assignment = assignment_under_policies(cycle, bundle)
    return assignment is None or target in assignment.spread.best


def assignment_under_policies(cycle: Cycle, bundle: str) -> Assignment | None:
    """Return the assignment of a bundle under policies; None in a cluster without policies.

    [TRANSFER-15]
    """
    if not {"isolation", "groups"}.intersection(cycle.case):
        return None
    none: Mapping[str, Any] = {"isolation": (), "groups": {}, "domains": {}, "preallocated": {}}
    case = {**none, **cycle.case, "bundle": bundle}
    return Assignment(case, cycle.settings, cycle.readings)


def unloads(cycle: Cycle) -> Iterator[Unloads]:
    """Yield each broker's unloads, with destinations if transfer is enabled. [TRANSFER-10]"""
    plan, named = TransferPlan(cycle), cycle.settings.flag(TRANSFER_ENABLED)
    by_source = {one.source: one for one in plan.moves}
    for name in cycle.brokers:
        move = by_source.get(name)
        bundles = move.bundles if move else ()
        to = dict.fromkeys(bundles, move.target) if move and named else {}
        yield Unloads(name, bundles, partial(_steps, plan, name), to)


def preface(cycle: Cycle) -> Iterator[Step]:
    """Yield as steps the loads, each condition, and the number of hits."""
    from pulsar_conformance.reference.transfer_steps import transfer_conditions

    yield from transfer_conditions(cycle)


def _steps(plan: TransferPlan, name: str) -> Iterator[Step]:
    from pulsar_conformance.reference.transfer_steps import transfers_of_broker

    yield from transfers_of_broker(plan, name)
