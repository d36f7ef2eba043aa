"""The cycle in which a violation is planted: its case, and functions that set the usage in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.reference import Readings, Settings
from pulsar_conformance.reference.cluster import RATE_FIELDS, RESOURCES, Broker
from pulsar_conformance.reference.numbers import Fraction
from pulsar_conformance.reference.shedding import Cycle
from pulsar_conformance.reference.threshold import Levels

UnloadPairs = list[tuple[str, str]]
"""Pairs of a broker and the bundle that it unloads."""

SLIGHT_EXCESS = Fraction(2, 1000)
"""Percentage points between a threshold and a planted usage just above or below it.

This is twice the tolerance of floating point.
"""

SLIGHT_SHARE = Fraction(4, 100_000)
"""Share by which the traffic to shed is above or below the traffic of some bundles.

This is twice the tolerance of floating point.
"""

FULL = 100
LOWERED_USAGE = 0.9
"""Maximum usage of all other resources, as a share of the usage that `set_usage` sets."""


@dataclass
class PlantedCycle:
    """A cycle's `shed.select` case, which edits change, and the implementation that answers it."""

    case: Json
    profile: str
    readings: Mapping[str, str]
    answers: Callable[[Json], UnloadPairs]

    @cached_property
    def _evaluator(self) -> RuleEvaluator:
        return RuleEvaluator(
            specs.load().defaults(self.profile), Readings.of(self.profile, self.readings)
        )

    @property
    def correct_unloads(self) -> UnloadPairs:
        """The unloads that the implementation answers for the current case."""
        return self.answers(self.case)

    @property
    def cycle(self) -> Cycle:
        """The current case as a cycle of the model."""
        settings = Settings(self.case["settings"], self._evaluator.defaults)
        return Cycle(self.case, settings, self._evaluator.readings)

    def broken_rules(self, pairs: UnloadPairs) -> set[str] | None:
        """Return the rules that these unloads violate; None if the case is invalid.

        Only rules that an audit checks are considered.
        """
        # Imported late, since the options of `fleet` are parsed even if PySpark is not installed.
        from pulsar_conformance.audit.verdicts.checks import CHECKS

        trial = Trial.of(SHED.id, self.case)
        if trial_flaw(trial, self._evaluator.defaults, self._evaluator.readings) is not None:
            return None
        answer = {"unload": [{"broker": broker, "bundle": bundle} for broker, bundle in pairs]}
        rules = [
            rule.id
            for rule in specs.load().rules_of(self.profile)
            if SHED.id in rule.operations
            and rule.id in checks()
            and rule.id in CHECKS
            and rule.applies(self._evaluator.readings.choices)
        ]
        return {rule for rule in rules if self._evaluator.judge(rule, trial, [answer]).violated}

    def busiest_brokers(self) -> list[Broker]:
        """Return the brokers with at least two movable bundles, the most used first."""
        cycle = self.cycle
        usage = Levels(cycle).present
        able = [one for one in cycle.brokers.values() if len(cycle.movable(one)) > 1]
        return sorted(able, key=lambda one: -usage[one.name])

    def set_usage(self, broker: str, percent: Fraction | float, *resources: str) -> None:
        """Set the usage of some resources (by default the CPU) in percent.

        The broker's other resources are lowered to at most `LOWERED_USAGE` of this usage.
        """
        said = self.case["brokers"][broker]
        hot = resources or ("cpu",)
        for name in RESOURCES:
            used = said[name]
            most = float(percent) * (1 if name in hot else LOWERED_USAGE)
            now = 100 * used["usage"] / used["limit"]
            share = most if name in hot else min(now, most)
            said[name] = {**used, "usage": share * used["limit"] / 100}

    def scale_traffic(self, broker: str, factor: float) -> None:
        """Multiply the traffic in a broker's report by a factor."""
        said = self.case["brokers"][broker]
        said.update({name: factor * said[name] for name in RATE_FIELDS})

    def set_relative_to_average(self, broker: str, points: Fraction | float) -> bool:
        """Set a broker's usage to the average of all brokers plus `points` percentage points.

        The average includes the new usage. Return False if no usage above 0 and up to 100 % is
        possible.
        """
        usage = Levels(self.cycle).usage
        count = len(usage)
        others = sum((used for name, used in usage.items() if name != broker), Fraction(0))
        percent = (Fraction(points) + others / count) * count / (count - 1)
        if not 0 < percent <= FULL:
            return False
        self.set_usage(broker, percent)
        return True
