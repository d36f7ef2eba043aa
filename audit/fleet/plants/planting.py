"""A simulated history with planted violations, one per cycle."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.audit.fleet.cluster_history import SPLIT_AFTER, ClusterHistory
from pulsar_conformance.audit.fleet.plants.moment import PlantedCycle
from pulsar_conformance.audit.fleet.plants.plants import PLANTED_VIOLATIONS, PlantedViolation
from pulsar_conformance.audit.fleet.plants.splitting import PlannedSplit, SplitInput
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES

PLANTED = "planted "
"""Prefix of the `kind` of rows that say when and in which cluster a rule is violated.

These rows are not written to the history.
"""

SETTINGS_LEAD = 20_000
"""Milliseconds before a violation's cycle at which the settings that it needs are recorded."""

SETTINGS_END = 18_000
"""Milliseconds after a violation's cycle at which the former settings are recorded again."""

SPLIT_SETTINGS_END = SPLIT_AFTER + SETTINGS_END
"""Value used instead of `SETTINGS_END` for violations that concern a split."""

SINGLE_BUNDLE_RULE = "OVERLOAD-07"
"""The rule that only a broker with a single bundle can violate."""

MOVED_AWAY_AFTER = 40_000
"""Milliseconds from the start of a period until all but one of a broker's bundles move away."""

CYCLES_WITHOUT_VIOLATION = 6
"""Number of cycles without violations at the start, while the brokers still distribute their load.
"""


class ViolationPlanter(ClusterHistory):
    """The history of a cluster in which rules are violated, one per cycle."""

    left: list[str]

    def plant(self, rules: Sequence[str]) -> None:
        """Schedule a violation of each of these rules."""
        self.left = list(rules)
        self._wait = CYCLES_WITHOUT_VIOLATION
        self._due: PlannedSplit | None = None

    def run_cycle(self, now: int) -> None:
        """Run a cycle that violates the next rule; a correct one if no violation is due or
        possible.
        """
        self._wait -= 1
        if self.left and self._wait < 0:
            rule = self.left[0]
            if self._violate(rule, PLANTED_VIOLATIONS[rule], now):
                self.left.pop(0)
                self._wait = 1
                at = now + (SPLIT_AFTER if PLANTED_VIOLATIONS[rule].split else 0)
                self.records.append((PLANTED + rule, {"at": at, "cluster": self.world.name}))
                return
        super().run_cycle(now)

    def _violate(self, rule: str, plant: PlantedViolation, now: int) -> bool:
        """Run a cycle that violates `rule` and the rules in `plant.implies`, but no other rule.

        Return False if that is impossible in this cycle.
        """
        if plant.split is not None:
            return self._violate_split_rule(plant, now)
        if plant.edit is None or (plant.omits_due_action and self._broker_stops_after(now)):
            return False
        case = copy.deepcopy(self.shedding_case(now))
        planted = PlantedCycle(case, DEFAULT_PROFILE, self.fleet.readings, self.ask_adapter)
        pairs = plant.edit(planted)
        if pairs is None or planted.broken_rules(pairs) != {rule, *plant.implies}:
            return False
        if planted.broken_rules(planted.correct_unloads):
            return False
        for broker, said in self.live_reports().items():
            changed = case["brokers"][broker]
            said.update({name: changed[name] for name in (*RESOURCES, *RATE_FIELDS)})
        self._set_temporarily(case["settings"], now)
        self.unload(pairs, now)
        self.memory.remember_usage(case)
        return True

    def _broker_stops_after(self, now: int) -> bool:
        """True if a broker goes down just after the cycle.

        An audit would then not know if the broker was already down in the cycle.
        """
        period = (now // 1000 - self.fleet.period_start(0)) // self.fleet.period_seconds
        return any(restart.down == period for restart in self.world.events.restarts)

    def _set_temporarily(self, settings: Json, now: int, duration: int = SETTINGS_END) -> None:
        """Record these settings `SETTINGS_LEAD` ms before a cycle, and the former settings
        `duration` ms after it.
        """
        if settings != self.settings:
            self.record("settings", now - SETTINGS_LEAD, settings=settings)
            self.record("settings", now + duration, settings=self.settings)

    def _violate_split_rule(self, plant: PlantedViolation, now: int) -> bool:
        """Run a cycle, and plan a violation after it: a split, or a due split that does not happen.

        Return False if no bundle is suitable, or the history has another split at this time.
        """
        if any(
            now == 1000 * self.fleet.period_start(one) for one in self.world.events.splits.values()
        ):
            return False
        growth = SplitInput(self.live_reports(), dict(self.settings))
        self._due = plant.split(growth) if plant.split else None
        if self._due is None:
            return False
        self._set_temporarily(growth.settings, now, SPLIT_SETTINGS_END)
        super().run_cycle(now)
        return True

    def _apply_events(self, period: int) -> None:
        super()._apply_events(period)
        if self._due is not None:
            if self._due.split:
                at = 1000 * self.fleet.period_start(period) + SPLIT_AFTER
                self.split(self._due.bundle, at)
            self._due = None
        alone = self.left[:1] == [SINGLE_BUNDLE_RULE] and self._wait <= 0
        if alone and self.fleet.is_cycle_due(period + 1) and period + 1 < self.fleet.periods:
            self._leave_one_bundle(period)

    def _leave_one_bundle(self, period: int) -> None:
        """Move all but one of the first broker's bundles to others, as an administrator would."""
        first, *others = self.world.running()
        at = 1000 * self.fleet.period_start(period) + MOVED_AWAY_AFTER
        for place, bundle in enumerate(self.world.owned_bundles()[first][1:]):
            self.assign(bundle, others[place % len(others)], at + place)
