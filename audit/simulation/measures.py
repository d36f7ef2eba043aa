"""Figures of a simulation: whether unloads end, and at what cost."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Any

from pulsar_conformance.audit.simulation.course import BundleMove, SimulatedCourse, SimulatedCycle
from pulsar_conformance.audit.simulation.worlds import RecordedUnload
from pulsar_conformance.reference.cluster import percent_of
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.shedding import GRACE
from pulsar_conformance.reference.threshold import SHEDDER_THRESHOLD

UNAVAILABLE_SECONDS = 10
"""Seconds for which the topics of an unloaded bundle are assumed to be unavailable."""

USUAL_OVERLOAD = 85
PERIOD_REPETITIONS = 3
"""Number of consecutive repetitions at the end of a simulation that show a period."""

QUIET_DIVISOR = 4
"""A varying world is at rest only if the last 1 / `QUIET_DIVISOR` of its cycles unload nothing."""

DIGITS = 2


@dataclass(frozen=True)
class Measures:
    """Figures of one simulation. Usage is the percentage of a broker's busiest resource."""

    world: str
    variant: str
    cycles: int
    minutes: float
    rest: int | None
    """Number of cycles until the cluster is at rest; None if unloads continue or may continue."""
    period: int | None
    """Number of cycles after which the owners of all bundles repeat; None if they do not."""
    unloads: int
    unloads_of_one: int
    """Number of unloads of the most often unloaded bundle."""
    to_and_fro: int
    """Number of unloads that returned a bundle to the broker that it had just left."""
    kept: int
    """Number of unloads without effect, because placement chose the same broker."""
    failovers: int
    splits: int
    pause_seconds: int
    """Seconds for which topics were unavailable, added up over all unloaded bundles."""
    reconnects: int
    over_minutes: float
    """Minutes above the overload threshold, added up over all brokers."""
    spread_first: float
    spread_mean: float
    spread_last: float
    """Percentage points between the usages of the most and the least used broker at the end."""
    deviation_last: float

    def as_json(self) -> dict[str, Any]:
        """Return the figures by name."""
        return asdict(self)

    @property
    def outcome(self) -> str:
        """The number of cycles until unloads end; otherwise `never` and the period, or `ongoing`.

        `ongoing` means that unloads neither end nor repeat.
        """
        if self.rest is not None:
            return str(self.rest)
        return "ongoing" if self.period is None else f"never, {self.period}"


def measures_of(course: SimulatedCourse) -> Measures:
    """Return the figures of a simulation of at least one cycle."""
    return _Measured(course).measures


@dataclass(frozen=True)
class _Measured:
    course: SimulatedCourse

    @property
    def measures(self) -> Measures:
        course, cycles = self.course, self.course.cycles
        every = Counter(move.bundle for move in course.sheds)
        moves = [move for cycle in cycles for move in cycle.moves]
        spreads = [_usage_range(cycle) for cycle in cycles]
        rest = rest_of(course)
        return Measures(
            world=course.world.name,
            variant=course.variant,
            cycles=len(cycles),
            minutes=course.minutes,
            rest=rest,
            period=period_of(course),
            unloads=len(course.sheds),
            unloads_of_one=max(every.values(), default=0),
            to_and_fro=sum(1 for _ in immediate_returns(course))
            + sum(map(_returned_at_once, course.sheds)),
            kept=sum(cycle.kept for cycle in cycles),
            failovers=len(moves) - len(course.sheds),
            splits=sum(len(cycle.splits) for cycle in cycles),
            pause_seconds=UNAVAILABLE_SECONDS * len(moves),
            reconnects=sum(move.clients for move in moves),
            over_minutes=round(self._overloaded_minutes, DIGITS),
            spread_first=spreads[0],
            spread_mean=round(fmean(spreads), DIGITS),
            spread_last=spreads[-1],
            deviation_last=round(pstdev(cycles[-1].usage.values() or [0]), DIGITS),
        )

    @cached_property
    def _overloaded_minutes(self) -> float:
        course, threshold = self.course, overload_percentage(self.course)
        return sum(
            (course.minutes_at(cycle.number + 1) - course.minutes_at(cycle.number))
            * sum(used > threshold for used in cycle.usage.values())
            for cycle in course.cycles
        )


def overload_percentage(course: SimulatedCourse) -> float:
    """Return the usage in percent above which a broker counts as overloaded."""
    return float(str(course.settings.get(OVERLOAD_THRESHOLD, USUAL_OVERLOAD)))


def uncounted_overloads(course: SimulatedCourse) -> dict[str, dict[str, float]]:
    """Return the usages above the overload threshold, in the last cycle, that do not count as load.

    They are in percent, by resource and broker.
    """
    threshold, brokers = overload_percentage(course), course.question.get("brokers", {})
    found: dict[str, dict[str, float]] = {}
    for resource in course.uncounted:
        used = {name: float(percent_of(said.get(resource))) for name, said in brokers.items()}
        over = {name: percent for name, percent in used.items() if percent > threshold}
        found |= {resource: over} if over else {}
    return found


def random_placements(course: SimulatedCourse) -> dict[str, int]:
    """Return two numbers about placements in which the release chooses a broker at random.

    `placements` is their number, and `first_cycle` the cycle of the first. Empty if there are none.
    """
    drawn = {cycle.number: cycle.drawn for cycle in course.cycles if cycle.drawn}
    return {"placements": sum(drawn.values()), "first_cycle": min(drawn)} if drawn else {}


def average_compared_usage(cycle: SimulatedCycle) -> float:
    """Return the average over all brokers of the usage that the strategy compared, in percent."""
    return round(fmean(cycle.compared_usage.values()), 1) if cycle.usage else 0.0


def limit_of(course: SimulatedCourse, cycle: SimulatedCycle) -> float | None:
    """Return the usage above which a broker sheds in a cycle; None if the strategy has no limit."""
    if course.strategy == "OverloadShedder":
        return overload_percentage(course)
    above = course.settings.get(SHEDDER_THRESHOLD)
    known = course.strategy == "ThresholdShedder" and above is not None
    return round(average_compared_usage(cycle) + float(str(above)), 1) if known else None


def grace_cycles(course: SimulatedCourse) -> int:
    """Return the number of cycles during which an unloaded bundle may not move."""
    return math.floor(float(str(course.settings.get(GRACE, 0))) / course.minutes)


def _usage_range(cycle: SimulatedCycle) -> float:
    used = cycle.usage.values()
    return round(max(used) - min(used), DIGITS) if used else 0.0


def rest_of(course: SimulatedCourse) -> int | None:
    """Return the number of cycles until unloads end; None if they may continue.

    Unloads have ended if the course is quiet and, in a static world, has also settled.
    """
    ended = is_quiet(course) and (course.settled or not course.world.is_static)
    return _last_shed(course) + 1 if ended else None


def is_quiet(course: SimulatedCourse) -> bool:
    """True if the last cycles have no unloads and the owners do not repeat.

    These cycles must last longer than a grace period, and all be after the last event. If the load
    or the number of topics varies, they must also be more than a quarter of all cycles.
    """
    if period_of(course) is not None:
        return False
    quiet = len(course.cycles) - 1 - max(_last_shed(course), course.last_event)
    needed = grace_cycles(course) + 1
    if not course.world.is_static:
        needed = max(needed, len(course.cycles) // QUIET_DIVISOR)
    return quiet > needed


def _last_shed(course: SimulatedCourse) -> int:
    """Return the number of the last cycle with an unload; -1 if there is none."""
    return max((move.cycle for move in course.sheds), default=-1)


def period_of(course: SimulatedCourse) -> int | None:
    """Return the number of cycles after which all bundles' owners repeat until the end; None if
    they do not.
    """
    if not course.world.is_constant:
        return None
    states = [tuple(sorted(cycle.owners.items(), key=str)) for cycle in course.cycles]
    numbered = {state: place for place, state in enumerate(states)}
    row = [numbered[state] for state in states[course.last_event :]]
    return shortest_period(row)


def shortest_period(row: Sequence[int]) -> int | None:
    """Return the smallest number of elements after which the end of a sequence repeats.

    None if it does not repeat. The end must repeat `PERIOD_REPETITIONS` times and must not be
    constant.
    """
    for period in range(1, len(row) // PERIOD_REPETITIONS + 1):
        end = row[-period * PERIOD_REPETITIONS :]
        if end[period:] == end[:-period] and len(set(end)) > 1:
            return period
    return None


def _returned_at_once(move: BundleMove) -> bool:
    return move.source == move.target


def immediate_returns(course: SimulatedCourse) -> Iterator[tuple[BundleMove, BundleMove]]:
    """Yield two consecutive unloads of a bundle whenever the second reversed the first."""
    by_bundle: dict[str, list[BundleMove]] = {}
    for move in course.sheds:
        by_bundle.setdefault(move.bundle, []).append(move)
    for moves in by_bundle.values():
        for first, second in pairwise(moves):
            if first.source == second.target != second.source:
                yield first, second


@dataclass(frozen=True)
class RecordedMatch:
    """A comparison of a simulation's unloads with the recorded unloads.

    Attributes:
        cycles: number of recorded cycles that were simulated.
        alike: number of cycles before the first cycle with different unloads.
        unloads: number of unloads recorded in all simulated cycles.
        recorded, simulated: unloads in the first cycle with different unloads.
    """

    cycles: int
    alike: int
    unloads: int
    recorded: frozenset[RecordedUnload] = frozenset()
    simulated: frozenset[RecordedUnload] = frozenset()


def match_with_recorded(course: SimulatedCourse) -> RecordedMatch | None:
    """Return how far unloads match the recorded ones; None without recorded cycles."""
    length = min(len(course.cycles), len(course.world.clock))
    if not length:
        return None
    recorded: dict[int, set[RecordedUnload]] = defaultdict(set)
    simulated: dict[int, set[RecordedUnload]] = defaultdict(set)
    for one in course.world.unloads:
        recorded[one.cycle].add(one)
    for move in course.sheds:
        unload = RecordedUnload(move.cycle, move.bundle, str(move.source), move.target)
        simulated[move.cycle].add(unload)
    unloads = sum(len(recorded[cycle]) for cycle in range(length))
    for cycle in range(length):
        if recorded[cycle] != simulated[cycle]:
            other = frozenset(recorded[cycle]), frozenset(simulated[cycle])
            return RecordedMatch(length, cycle, unloads, *other)
    return RecordedMatch(length, length, unloads)
