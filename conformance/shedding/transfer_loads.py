"""Loads of brokers as TransferShedder sees them, with its conditions for unloading."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pulsar_conformance.conformance.common.check import POINTS, SHARE, near
from pulsar_conformance.conformance.shedding.view import SheddingCycle
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.numbers import ZERO, Fraction, Percent, exact, total
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.shedding import (
    EXCLUDED,
    LIFETIME,
    MAX_REPORTED_BUNDLES,
    TRANSFER_TARGET,
)


@dataclass(frozen=True)
class LoadsOfCycle:
    """The loads of brokers with current data, and TransferShedder's conditions for unloading.

    A condition is None if rounding could decide it, or if the documents leave it open.
    """

    cycle: SheddingCycle

    @cached_property
    def load(self) -> dict[str, Percent]:
        """The load, in percent, of each broker with current data."""
        usages = self.cycle.weighted_usage.items()
        return {name: usage for name, usage in usages if not self.outdated(name)}

    def outdated(self, broker: str) -> bool:
        """True if a broker's load data are too old to count."""
        return age_of(self.cycle, broker) > self.cycle.settings.number(LIFETIME)

    @cached_property
    def mean(self) -> Percent:
        """The mean load of the brokers, in percent."""
        return total(self.load.values()) / len(self.load)

    @cached_property
    def target(self) -> Percent:
        """The target for the standard deviation, in points."""
        return 100 * self.cycle.settings.number(TRANSFER_TARGET)

    @property
    def deviates(self) -> bool | None:
        """True if the deviation exceeds the target, None if only the sample deviation does."""
        squares = total((one - self.mean) ** 2 for one in self.load.values())
        count = len(self.load)
        if squares / count > (self.target + POINTS) ** 2:
            return True
        least = max(self.target - POINTS, Fraction(0)) ** 2
        return False if count > 1 and squares / (count - 1) < least else None

    @property
    def idle(self) -> bool:
        """True if a broker has no traffic."""
        rates = (self.cycle.rates_of(self.cycle.brokers[name]) for name in self.load)
        return any(not one.messages and not one.throughput for one in rates)

    @property
    def underloaded(self) -> bool | None:
        """True if a broker's load is below the documented fraction of the mean."""
        bound = self.mean * min(Fraction(1, 2), self.target / 200)
        if any(near(one, bound) for one in self.load.values()):
            return None
        return any(one < bound for one in self.load.values())

    @property
    def overloaded(self) -> bool | None:
        """True if a broker is above the threshold, and above the mean by more than the target."""
        bounds = (self.cycle.settings.number(OVERLOAD_THRESHOLD), self.mean + self.target)
        if any(near(one, bound) for one in self.load.values() for bound in bounds):
            return None
        return any(one > max(bounds) for one in self.load.values())

    @property
    def uneven(self) -> bool | None:
        """True if a condition for unloading holds."""
        found = (self.deviates, self.idle, self.underloaded, self.overloaded)
        return True if True in found else None if None in found else False

    @cached_property
    def ends(self) -> tuple[Broker, Broker] | None:
        """The least and the most loaded broker; None if another broker's load is near theirs."""
        order = sorted(self.load, key=lambda name: self.load[name])
        if len(order) < 2:
            return None
        loads = [self.load[name] for name in order]
        apart = not (near(loads[0], loads[1]) or near(loads[-2], loads[-1]))
        low, high = (self.cycle.brokers[order[place]] for place in (0, -1))
        return (low, high) if apart else None

    @property
    def can_move(self) -> bool:
        """True if every most loaded broker has a bundle below half its gap to the least loaded.

        Such a bundle has to be one that policies of other namespaces do not restrict.
        """
        if len(self.load) < 2 or keeps_bundles(self.cycle):
            return False
        least, most = min(self.load.values()), max(self.load.values())
        share = (most - least) / 2 / most * (1 - SHARE) if most else ZERO
        idle = {name for name, one in self.load.items() if near(one, least)}
        busy = (self.cycle.brokers[name] for name, one in self.load.items() if near(one, most))
        return not idle & named_in_policies(self.cycle) and all(
            self._has_small_bundle(broker, share) for broker in busy
        )

    def _has_small_bundle(self, broker: Broker, share: Fraction) -> bool:
        """True if a broker can certainly move a bundle with less than `share` of its traffic."""
        limit = share * self.cycle.rates_of(broker).throughput
        top = self.cycle.settings.number(MAX_REPORTED_BUNDLES)
        under = namespaces_under_policies(self.cycle)
        movable = {one: self.cycle.measured(one) for one in self.cycle.movable(broker)}
        measured = {one: rates.throughput for one, rates in movable.items() if rates}
        free = [rate for one, rate in measured.items() if namespace_of(one) not in under]
        return any(0 < one < limit for one in free) and len(free) > 2 and len(measured) <= top


def age_of(cycle: SheddingCycle, broker: str) -> Fraction:
    """Return the age of a broker's load data in seconds."""
    return exact(cycle.case["brokers"][broker].get("age", 0))


def is_restricted(cycle: SheddingCycle) -> bool:
    """True if policies, exclusions or missing data could keep bundles from moving."""
    return keeps_bundles(cycle) or any(cycle.case.get(name) for name in ("isolation", "groups"))


def keeps_bundles(cycle: SheddingCycle) -> bool:
    """True if exclusions or missing data could keep any bundle from moving."""
    return bool(cycle.settings.given.get(EXCLUDED)) or bool(cycle.case.get("withoutData"))


def namespaces_under_policies(cycle: SheddingCycle) -> set[str]:
    """Return the namespaces with an isolation policy or an anti-affinity group."""
    isolated = (name for one in cycle.case.get("isolation", ()) for name in one["namespaces"])
    return {*cycle.case.get("groups", {}), *isolated}


def named_in_policies(cycle: SheddingCycle) -> set[str]:
    """Return the brokers of isolation policies, which may not take bundles of other namespaces."""
    policies = cycle.case.get("isolation", ())
    return {name for one in policies for name in (*one["primary"], *one["secondary"])}
