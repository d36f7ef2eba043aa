"""Events in a cluster: restarts, leader changes, splits, unloads by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from pulsar_conformance.audit.fleet.size import ENDS, Fleet

RESTART_HOURS = 6
"""Average number of hours between two broker restarts in a cluster."""

LEADER_HOURS = 8
SPLIT_HOURS = 4
BY_HAND_HOURS = 3

FEWEST_BROKERS = 3
"""Number of brokers below which none goes down, so that bundles have a choice of brokers."""

DOWN = (2, 9)
"""Minimum and maximum number of periods for which a broker is down."""

STAYS_DOWN = 0.25
"""Probability that the last broker that goes down stays down."""


@dataclass(frozen=True)
class Restart:
    """The periods during which a broker is down, possibly without end."""

    broker: int
    down: int
    up: int

    def covers(self, period: int) -> bool:
        """True if the broker does not report in a period."""
        return self.down <= period < self.up

    def ends(self, fleet: Fleet) -> bool:
        """True if the broker never returns."""
        return self.up > fleet.periods


@dataclass(frozen=True)
class Events:
    """All events of a cluster; brokers, bundles and periods are given by number."""

    restarts: tuple[Restart, ...]
    leaders: Mapping[int, int]
    """Leader by the first period of its term, in which no cycle runs."""
    splits: Mapping[int, int]
    """Period of its split, for each bundle that is split."""
    by_hand: Mapping[int, int]
    """Period of its unload, for each bundle that is unloaded by hand."""


def events_of(fleet: Fleet, cluster: int) -> Events:
    """Return a cluster's events, which depend only on the fleet and its number."""
    chance = Random(f"{fleet.seed}/{cluster}/events")
    restarts = _restarts(fleet, chance)
    leaders, splits = _leaders(fleet, chance, restarts), _splits(fleet, chance, restarts)
    return Events(restarts, leaders, splits, _by_hand(fleet, cluster, splits))


def _restarts(fleet: Fleet, chance: Random) -> tuple[Restart, ...]:
    """Return one restart per part of the history, so that no two brokers are down together."""
    grid = fleet.periods // fleet.cycle_periods
    count = max(1, fleet.hours // RESTART_HOURS)
    room = grid // count
    if fleet.brokers < FEWEST_BROKERS or room < 4:
        return ()
    found = []
    for place in range(count):
        down = (place * room + chance.randrange(1, room - 1)) * fleet.cycle_periods
        end = (place + 1) * room * fleet.cycle_periods
        up = min(down + chance.randrange(*DOWN), end)
        stays = 1 if ENDS in fleet.troubles else STAYS_DOWN
        if place == count - 1 and chance.random() < stays:
            up = fleet.periods + 1
        found.append(Restart(chance.randrange(fleet.brokers), down, up))
    return tuple(found)


def _leaders(fleet: Fleet, chance: Random, restarts: tuple[Restart, ...]) -> Mapping[int, int]:
    """Return the first leader, changes every few hours, and changes when the leader goes down."""
    grid = range(fleet.cycle_periods, fleet.periods, fleet.cycle_periods)
    wanted = fleet.hours // LEADER_HOURS
    changes = set(chance.sample(grid, min(wanted, len(grid))))
    found = {0: chance.randrange(fleet.brokers)}
    leader = found[0]
    for period in grid:
        gone = {restart.broker for restart in restarts if restart.covers(period)}
        others = [one for one in range(fleet.brokers) if one != leader and one not in gone]
        if others and (leader in gone or period in changes):
            leader = found[period] = chance.choice(others)
    return found


def _splits(fleet: Fleet, chance: Random, restarts: tuple[Restart, ...]) -> Mapping[int, int]:
    """Return splits in cycles that are not close to a restart."""
    near = {p for one in restarts for p in range(one.down - 2, min(one.up, fleet.periods) + 2)}
    grid = [
        p
        for p in range(2 * fleet.cycle_periods, fleet.periods, fleet.cycle_periods)
        if p not in near
    ]
    count = min(max(1, fleet.hours // SPLIT_HOURS), len(grid), fleet.of_cluster)
    bundles = chance.sample(range(fleet.of_cluster), count)
    return dict(zip(bundles, sorted(chance.sample(grid, count)), strict=True))


def _by_hand(fleet: Fleet, cluster: int, splits: Mapping[int, int]) -> Mapping[int, int]:
    """Return unloads by hand, of bundles that are never split."""
    chance = Random(f"{fleet.seed}/{cluster}/by hand")
    whole = [one for one in range(fleet.of_cluster) if one not in splits]
    periods = range(1, fleet.periods)
    count = min(max(1, fleet.hours // BY_HAND_HOURS), len(whole), len(periods))
    bundles = chance.sample(whole, count)
    return dict(zip(bundles, chance.sample(periods, count), strict=True))
