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
"""Minimum number of brokers of a cluster in which brokers restart.

With fewer, the bundles of a stopped broker would have only one destination.
"""

PERIODS_DOWN = (2, 9)
"""Range of the number of periods for which a broker is down; the upper bound is excluded."""

STAYS_DOWN_PROBABILITY = 0.25
"""Probability that the last broker to go down does not come up again."""


@dataclass(frozen=True)
class Restart:
    """The periods during which a broker is down; some brokers never come up again."""

    broker: int
    down: int
    up: int

    def covers(self, period: int) -> bool:
        """True if the broker is down in a period."""
        return self.down <= period < self.up

    def has_no_end(self, fleet: Fleet) -> bool:
        """True if the broker never comes up again."""
        return self.up > fleet.periods


@dataclass(frozen=True)
class Events:
    """All events in a cluster. Numbers identify brokers, bundles and periods."""

    restarts: tuple[Restart, ...]
    leaders: Mapping[int, int]
    """Broker that becomes leader, by the first period of its term. No cycle runs in this period."""
    splits: Mapping[int, int]
    """Period of the split, by bundle. Bundles that are never split are missing."""
    unloads_by_hand: Mapping[int, int]
    """Period of the unload by hand, by bundle. Bundles that are never unloaded by hand are missing.
    """


def draw_events(fleet: Fleet, cluster: int) -> Events:
    """Draw the events of a cluster; they depend only on the fleet and the number of the cluster."""
    chance = Random(f"{fleet.seed}/{cluster}/events")
    restarts = _draw_restarts(fleet, chance)
    leaders, splits = _draw_leaders(fleet, chance, restarts), _draw_splits(fleet, chance, restarts)
    return Events(restarts, leaders, splits, _draw_unloads_by_hand(fleet, cluster, splits))


def _draw_restarts(fleet: Fleet, chance: Random) -> tuple[Restart, ...]:
    """Divide the history into equal parts, and draw one restart in each.

    No two brokers are down at the same time.
    """
    grid = fleet.periods // fleet.cycle_periods
    count = max(1, fleet.hours // RESTART_HOURS)
    room = grid // count
    if fleet.brokers < FEWEST_BROKERS or room < 4:
        return ()
    found = []
    for place in range(count):
        down = (place * room + chance.randrange(1, room - 1)) * fleet.cycle_periods
        end = (place + 1) * room * fleet.cycle_periods
        up = min(down + chance.randrange(*PERIODS_DOWN), end)
        stays = 1 if ENDS in fleet.troubles else STAYS_DOWN_PROBABILITY
        if place == count - 1 and chance.random() < stays:
            up = fleet.periods + 1
        found.append(Restart(chance.randrange(fleet.brokers), down, up))
    return tuple(found)


def _draw_leaders(fleet: Fleet, chance: Random, restarts: tuple[Restart, ...]) -> Mapping[int, int]:
    """Draw the leaders: the first one, a new one every few hours, and one whenever the leader goes
    down.
    """
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


def _draw_splits(fleet: Fleet, chance: Random, restarts: tuple[Restart, ...]) -> Mapping[int, int]:
    """Draw bundles to split, and the period of each split.

    A cycle is due at the start of each of these periods, and none of them is close to a restart.
    """
    near = {p for one in restarts for p in range(one.down - 2, min(one.up, fleet.periods) + 2)}
    grid = [
        p
        for p in range(2 * fleet.cycle_periods, fleet.periods, fleet.cycle_periods)
        if p not in near
    ]
    count = min(max(1, fleet.hours // SPLIT_HOURS), len(grid), fleet.initial_bundles)
    bundles = chance.sample(range(fleet.initial_bundles), count)
    return dict(zip(bundles, sorted(chance.sample(grid, count)), strict=True))


def _draw_unloads_by_hand(
    fleet: Fleet, cluster: int, splits: Mapping[int, int]
) -> Mapping[int, int]:
    """Draw bundles to unload by hand, and the period of each unload. These bundles are
    never split.
    """
    chance = Random(f"{fleet.seed}/{cluster}/by hand")
    whole = [one for one in range(fleet.initial_bundles) if one not in splits]
    periods = range(1, fleet.periods)
    count = min(max(1, fleet.hours // BY_HAND_HOURS), len(whole), len(periods))
    bundles = chance.sample(whole, count)
    return dict(zip(bundles, chance.sample(periods, count), strict=True))
