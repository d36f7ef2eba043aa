"""A simulated history with planted violations, each in one cycle."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.audit.fleet.cluster_history import SPLIT_AFTER, ClusterHistory
from pulsar_conformance.audit.fleet.leader import shedding_case
from pulsar_conformance.audit.fleet.plants.moment import PlantedCycle
from pulsar_conformance.audit.fleet.plants.plants import PLANTS, Plant
from pulsar_conformance.audit.fleet.plants.splitting import Due, SplitInput
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES

PLANTED = "planted "
"""Prefix of the kind of rows that note when a rule is broken; they are not records."""

BACK_AFTER, BEFORE = 18_000, 20_000
"""Milliseconds from a cycle until its own settings end, and from their start to the cycle."""

SPLIT_BY = SPLIT_AFTER + BACK_AFTER
"""Milliseconds from a cycle until settings about a split end."""

LONELY, LEFT_AFTER = "OVERLOAD-07", 40_000
"""The rule that needs a broker with one bundle, and milliseconds until it has only one left."""

SETTLED = 6
"""Number of first cycles in which nothing is planted, while load is still being distributed."""


class Planting(ClusterHistory):
    """A cluster's history in which rules are violated, one after another."""

    left: list[str]

    def plant(self, rules: Sequence[str]) -> None:
        """Schedule violations of these rules."""
        self.left = list(rules)
        self._wait = SETTLED
        self._due: Due | None = None

    def cycle(self, now: int) -> None:
        """Plant the next violation in this cycle if possible; otherwise run the cycle correctly."""
        self._wait -= 1
        if self.left and self._wait < 0:
            rule = self.left[0]
            if self._broken(rule, PLANTS[rule], now):
                self.left.pop(0)
                self._wait = 1
                at = now + (SPLIT_AFTER if PLANTS[rule].split else 0)
                self.records.append((PLANTED + rule, {"at": at, "cluster": self.world.name}))
                return
        super().cycle(now)

    def _broken(self, rule: str, plant: Plant, now: int) -> bool:
        if plant.split is not None:
            return self._split_wrong(plant, now)
        if plant.edit is None or (plant.omits_due_action and self._one_goes_down(now)):
            return False
        known = self.live_reports(now)
        case = copy.deepcopy(shedding_case(now, self.settings, known, self.memory))
        moment = PlantedCycle(case, DEFAULT_PROFILE, self.fleet.readings, self.ask)
        pairs = plant.edit(moment)
        if pairs is None or moment.broken_rules(pairs) != {rule, *plant.implies}:
            return False
        if moment.broken_rules(moment.honest):
            return False
        for broker, said in known.items():
            changed = case["brokers"][broker]
            said.update({name: changed[name] for name in (*RESOURCES, *RATE_FIELDS)})
        self._set_for_now(case["settings"], now)
        self.unload(pairs, now)
        self.remember(case)
        return True

    def _one_goes_down(self, now: int) -> bool:
        """True if a broker goes down right after the cycle, so it may already be down."""
        period = (now // 1000 - self.fleet.start_of(0)) // self.fleet.period_seconds
        return any(restart.down == period for restart in self.world.events.restarts)

    def _set_for_now(self, settings: Json, now: int, until: int = BACK_AFTER) -> None:
        """Record settings that apply only from this cycle until `until` milliseconds after it."""
        if settings != self.settings:
            self.record("settings", now - BEFORE, settings=settings)
            self.record("settings", now + until, settings=self.settings)

    def _split_wrong(self, plant: Plant, now: int) -> bool:
        """Run a cycle after which a bundle is split, or not split, in violation of a rule."""
        if any(now == 1000 * self.fleet.start_of(one) for one in self.world.events.splits.values()):
            return False
        growth = SplitInput(self.live_reports(now), dict(self.settings))
        self._due = plant.split(growth) if plant.split else None
        if self._due is None:
            return False
        self._set_for_now(growth.settings, now, SPLIT_BY)
        super().cycle(now)
        return True

    def _apply_events(self, period: int) -> None:
        super()._apply_events(period)
        if self._due is not None:
            if self._due.split:
                at = 1000 * self.fleet.start_of(period) + SPLIT_AFTER
                self.split(self.world.number[self._due.bundle], at)
            self._due = None
        alone = self.left[:1] == [LONELY] and self._wait <= 0
        if alone and self.fleet.cycle_at(period + 1) and period + 1 < self.fleet.periods:
            self._leave_one(period)

    def _leave_one(self, period: int) -> None:
        """Move all but one of a broker's bundles to other brokers, as an administrator would."""
        first, *others = self.world.up(period)
        at = 1000 * self.fleet.start_of(period) + LEFT_AFTER
        for place, number in enumerate(self.world.owned(first).tolist()[1:]):
            self.assign(number, others[place % len(others)], at + place)
