"""Checks of the rules about the long run, which judge simulations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from pulsar_conformance.audit.simulation.course import BundleMove, SimulatedCourse
from pulsar_conformance.audit.simulation.measures import (
    grace_cycles,
    immediate_returns,
    overload_percentage,
    period_of,
    rest_of,
)
from pulsar_conformance.specs import Rule, load
from pulsar_conformance.specs.text import counted

IN_BALANCE = 1
"""Maximum difference in usage between the brokers of a balanced cluster, in percentage points."""

MAX_IDLE_USAGE = 10
"""Maximum usage of a broker that counts as idle, in percent."""

TRAFFIC_TOLERANCE = 0.5
"""Tolerance of sums of traffic, in bytes per second."""


@dataclass(frozen=True)
class LoopFault:
    """A rule that a simulation violates: its first violation, and the number of its violations."""

    rule: Rule
    cycle: int
    text: str
    count: int

    @property
    def verdict(self) -> str:
        """`fail` for a `must` rule, `warn` for any other."""
        return "fail" if self.rule.level == "must" else "warn"


@cache
def loop_rules() -> Mapping[str, Rule]:
    """Return the rules that judge simulations, by ID."""
    return {rule.id: rule for rule in load().rules.values() if rule.judged_by}


Faults = Iterator[tuple[int, str]]
"""Violations of a rule: the number of the cycle, and a description of each."""


def _unloads_within_grace(course: SimulatedCourse) -> Faults:
    grace, last = grace_cycles(course) * course.minutes, dict[str, float]()
    for move in course.sheds:
        now = course.minutes_at(move.cycle)
        minutes = now - last.get(move.bundle, -math.inf)
        if minutes < grace:
            yield move.cycle, f"{move.bundle} is unloaded {minutes:g} min after its last unload"
        last[move.bundle] = now


def _moves_to_busier_brokers(course: SimulatedCourse) -> Faults:
    """Yield moves to a broker whose usage, with and without weights, is above the source's."""
    for cycle in course.cycles:
        for move in cycle.sheds:
            if all(_is_used_more(move, usage) for usage in (cycle.usage, cycle.weighted)):
                source, target = (cycle.usage[str(one)] for one in (move.source, move.target))
                percents = f"{target:g} %, from {move.source} at {source:g} %"
                back = any(_is_opposite(move, one) for one in cycle.sheds)
                swap = f", in exchange for bundles of {move.target}" if back else ""
                yield cycle.number, f"{move.bundle} goes to {move.target} at {percents}{swap}"


def _is_used_more(move: BundleMove, usage: Mapping[str, float]) -> bool:
    """True if a move's target has more usage than its source; false if a usage is unknown."""
    source, target = (usage.get(one or "") for one in (move.source, move.target))
    return source is not None and target is not None and target > source


def _is_opposite(move: BundleMove, other: BundleMove) -> bool:
    """True if two moves are between the same two brokers, in opposite directions."""
    return (move.source, move.target) == (other.target, other.source)


def _returns_within_period(course: SimulatedCourse) -> Faults:
    for first, second in immediate_returns(course):
        yield (
            second.cycle,
            f"{second.bundle} is back at {second.target}, its owner before cycle {first.cycle}",
        )


def _unloads_in_balance(course: SimulatedCourse) -> Faults:
    for cycle in course.cycles if course.world.is_constant else ():
        used = cycle.usage.values()
        if (
            not used
            or max(used) - min(used) > IN_BALANCE
            or max(used) > overload_percentage(course)
        ):
            return
        if cycle.sheds:
            spread = f"from {min(used):g} to {max(used):g} %"
            count = counted(len(cycle.sheds), "unload")
            yield cycle.number, f"{count} although the usage of all brokers is {spread}"


def _overload_beside_idle_brokers(course: SimulatedCourse) -> Faults:
    last, threshold = course.cycles[-1], overload_percentage(course)
    if rest_of(course) is None or len(last.usage) < 1:
        return
    owned = list(last.owners.values())
    idle = [name for name, used in last.usage.items() if used <= MAX_IDLE_USAGE]
    for name, used in last.usage.items():
        if used > threshold and idle and owned.count(name) > 1:
            yield last.number, f"{name} stays at {used:g} % while {idle[0]} is idle"


def _losses(course: SimulatedCourse) -> Faults:
    for cycle in course.cycles:
        for text in cycle.refused:
            yield cycle.number, text
        for bundle, owner in cycle.owners.items():
            if cycle.usage and owner not in cycle.usage:
                yield cycle.number, f"{bundle} has no owner"
        if (
            cycle.usage
            and abs(cycle.traffic - cycle.reported) > TRAFFIC_TOLERANCE
            and not cycle.refused
        ):
            yield cycle.number, f"{cycle.reported:.0f} of {cycle.traffic:.0f} bytes/s are reported"


def _endless_courses(course: SimulatedCourse) -> Faults:
    period = period_of(course)
    if course.world.is_constant and rest_of(course) is None and period is not None:
        yield len(course.cycles) - 1, f"the owners of all bundles repeat every {period} cycles"


CHECKS: Mapping[str, Callable[[SimulatedCourse], Faults]] = {
    "LOOP-01": _unloads_within_grace,
    "LOOP-02": _moves_to_busier_brokers,
    "LOOP-03": _returns_within_period,
    "LOOP-04": _unloads_in_balance,
    "LOOP-05": _overload_beside_idle_brokers,
    "LOOP-06": _losses,
    "LOOP-07": _endless_courses,
}


ENDLESS = "LOOP-07"
"""The rule that a cluster violates if it never comes to rest."""

CONSTANT_LOAD = frozenset({"LOOP-04", ENDLESS})
"""Rules that only clusters under constant load can violate."""


def loop_faults(course: SimulatedCourse) -> list[LoopFault]:
    """Return the rules that a simulation violates, each with its first violation."""
    return [fault for rule in loop_rules() if (fault := fault_of_rule(rule, course))]


def fault_of_rule(rule: str, course: SimulatedCourse) -> LoopFault | None:
    """Return a simulation's first violation of a rule; None if it has none."""
    faults = list(CHECKS[rule](course))
    return LoopFault(loop_rules()[rule], *faults[0], len(faults)) if faults else None
