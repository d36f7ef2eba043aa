"""Violations that can be planted: each violates one rule, by a small margin, in one cycle.

`implies` lists the rules that are inevitably violated as well. For example, a broker that sheds
nothing also sheds too little.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import yaml
from pulsar_conformance.audit.fleet.plants import edits, splitting
from pulsar_conformance.audit.fleet.size import BadFleet

THRESHOLD, OVERLOAD, UNIFORM = "ThresholdShedder", "OverloadShedder", "UniformLoadShedder"


@dataclass(frozen=True)
class PlantedViolation:
    """A violation of a rule that can be planted: in a cycle's unloads or in a split after the
    cycle.
    """

    sentence: str
    edit: edits.Edit | None = None
    split: splitting.Edit | None = None
    strategies: tuple[str, ...] = ()
    """Strategies under which the violation can be planted; empty if any will do."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that the fleet needs."""
    readings: Mapping[str, str] = field(default_factory=dict)
    """Readings that the deciding implementation needs."""
    implies: tuple[str, ...] = ()
    """Rules that the violation inevitably violates as well."""
    undetectable_because: str = ""
    """Reason why no audit of a history finds the violation; empty if audits find it."""
    omits_due_action: bool = False
    """True if the violation is an omission, so that no unload shows when its cycle ran."""

    undecided_because: str = ""
    """Reason why an audit cannot decide if the rule is violated; empty if it can."""

    def why_undetected(self, cycles: bool) -> str:
        """Return why an audit might not find the violation; empty if an audit finds it.

        `cycles` is true if the history has records of cycles.
        """
        if self.undetectable_because:
            return f"no audit finds it: {self.undetectable_because}"
        if self.undecided_because:
            return f"an audit leaves it undecided: {self.undecided_because}"
        omitted = self.omits_due_action and not cycles
        return f"an audit may leave it undecided: {OMITTED}" if omitted else ""


OMITTED = "cycles are not recorded, so this one may have run after later reports"


def _read_plants() -> Iterator[tuple[str, PlantedViolation]]:
    text = files(__package__).joinpath("plants.yaml").read_text("utf-8")
    for rule, fields in yaml.safe_load(text).items():
        edit = getattr(edits, fields.pop("edit", ""), None)
        split = getattr(splitting, fields.pop("split", ""), None)
        strategies, implies = (tuple(fields.pop(name, ())) for name in ("strategies", "implies"))
        yield (
            rule,
            PlantedViolation(
                edit=edit, split=split, strategies=strategies, implies=implies, **fields
            ),
        )


PLANTED_VIOLATIONS: Mapping[str, PlantedViolation] = dict(_read_plants())
"""Violations that can be planted, by rule."""


def violations_of_rules(rules: Sequence[str]) -> list[PlantedViolation]:
    """Return the violation of each of these rules.

    Errors: `BadFleet` if no violation of a rule can be planted.
    """
    for rule in rules:
        if rule not in PLANTED_VIOLATIONS:
            raise BadFleet(
                f"--plant {rule}: violations of this rule cannot be planted; choose from "
                f"{', '.join(PLANTED_VIOLATIONS)}"
            )
    return [PLANTED_VIOLATIONS[rule] for rule in rules]


def strategy_for(rules: Sequence[str], given: str | None) -> str:
    """Return a strategy under which all these rules can be violated; `given`, if it is not None.

    Errors: `BadFleet` if there is no such strategy, or if the rules cannot be violated under
    `given`.
    """
    strategy = given
    for rule, plant in zip(rules, violations_of_rules(rules), strict=True):
        if strategy is None and plant.strategies:
            strategy = plant.strategies[0]
        if plant.strategies and strategy not in plant.strategies:
            strategies = " or ".join(plant.strategies)
            raise BadFleet(f"--plant {rule}: it needs --strategy {strategies}, not {strategy}")
    return strategy or THRESHOLD


def settings_for(rules: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given settings, and the settings that violations of these rules need.

    Errors: `BadFleet` if they contradict each other.
    """
    needed = [
        (rule, plant.settings)
        for rule, plant in zip(rules, violations_of_rules(rules), strict=True)
    ]
    return _merged(needed, given, "--setting")


def readings_for(rules: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the given readings, and the readings that violations of these rules need.

    Errors: `BadFleet` if they contradict each other.
    """
    needed = [
        (rule, plant.readings)
        for rule, plant in zip(rules, violations_of_rules(rules), strict=True)
    ]
    return _merged(needed, given, "--reading")


def _merged(
    needed: Sequence[tuple[str, Mapping[str, Any]]], given: Mapping[str, Any], option: str
) -> dict[str, Any]:
    made = dict(given)
    for rule, values in needed:
        for name, value in values.items():
            if made.setdefault(name, value) != value:
                raise BadFleet(f"--plant {rule}: it needs {option} {name}={value}")
    return made
