"""Violations that can be planted: for each rule a cycle that narrowly breaks it and no other rule.

Rules that are unavoidably broken with it are listed: a broker that sheds nothing sheds too little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pulsar_conformance.audit.fleet.plants import edits, splitting
from pulsar_conformance.audit.fleet.size import HISTORY, BadFleet

THRESHOLD, OVERLOAD, UNIFORM = "ThresholdShedder", "OverloadShedder", "UniformLoadShedder"


@dataclass(frozen=True)
class Plant:
    """How a rule is broken: by the unloads of a cycle, or by a split after it."""

    sentence: str
    edit: edits.Edit | None = None
    split: splitting.Edit | None = None
    strategies: tuple[str, ...] = ()
    """The strategies under which it can be planted; empty for any."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that the fleet needs."""
    readings: Mapping[str, str] = field(default_factory=dict)
    """Readings that the deciding implementation needs."""
    implies: tuple[str, ...] = ()
    """Rules that are unavoidably broken with it."""
    undetectable_because: str = ""
    """Why no audit of the history can find it; empty if one can."""
    omits_due_action: bool = False
    """True if the violation is an omission, so that no record marks the time of the cycle."""

    def left_open(self, cycles: bool) -> str:
        """Return why an audit may miss it, with cycles recorded or not; empty if it finds it."""
        if self.undetectable_because:
            return f"no audit finds it: {self.undetectable_because}"
        return (
            f"an audit may leave it undecided: {OMITTED}"
            if self.omits_due_action and not cycles
            else ""
        )


OMITTED = "without recorded cycles, this one may as well have run after later reports"


PLANTS: Mapping[str, Plant] = {
    "SHED-01": Plant("Load is shed while shedding is switched off.", edits.switched_off),
    "SHED-02": Plant("A broker unloads a bundle that another one owns.", edits.not_its_own),
    "SHED-03": Plant("A bundle is unloaded twice in one cycle.", edits.twice),
    "SHED-04": Plant(
        "A bundle is unloaded once more within the grace period.",
        edits.too_soon,
        strategies=(THRESHOLD, OVERLOAD),
    ),
    "SHED-07": Plant(
        "The heaviest bundle stays, and lighter ones go.",
        edits.lighter_first,
        strategies=(OVERLOAD,),
    ),
    "SHED-08": Plant(
        "A broker just over the overload threshold gives up nothing, under another strategy.",
        edits.overloaded_under_another,
        strategies=(THRESHOLD,),
        readings={"overload-scope": "all"},
        omits_due_action=True,
    ),
    "THRESHOLD-01": Plant(
        "A broker just over the average and the threshold gives up nothing.",
        edits.nothing,
        strategies=(THRESHOLD,),
        implies=("THRESHOLD-03",),
        omits_due_action=True,
    ),
    "THRESHOLD-02": Plant(
        "A broker just under the average and the threshold gives up a bundle.",
        edits.one_all_the_same,
        strategies=(THRESHOLD,),
    ),
    "THRESHOLD-03": Plant(
        "A broker gives up one bundle too few.", edits.too_little, strategies=(THRESHOLD,)
    ),
    "THRESHOLD-04": Plant(
        "A broker gives up one bundle too many.", edits.too_much, strategies=(THRESHOLD,)
    ),
    "THRESHOLD-05": Plant(
        "A broker gives up nothing that is over the limit because an idle one lowers it.",
        edits.not_for_the_idle,
        strategies=(THRESHOLD,),
        implies=("THRESHOLD-01", "THRESHOLD-03"),
        omits_due_action=True,
    ),
    "THRESHOLD-06": Plant(
        "A broker gives up nothing that is over the limit by the weights alone.",
        edits.not_by_weight,
        strategies=(THRESHOLD,),
        settings={"loadBalancerMemoryResourceWeight": 0.1},
        implies=("THRESHOLD-01", "THRESHOLD-03"),
        omits_due_action=True,
    ),
    "THRESHOLD-07": Plant(
        "A broker gives up a bundle that never used enough for it.",
        edits.never_so_high,
        strategies=(THRESHOLD,),
        settings={HISTORY: 0.5},
    ),
    "THRESHOLD-08": Plant(
        "A bundle goes for the sake of an idle broker, which is not switched on.",
        edits.for_an_idle_one,
        strategies=(THRESHOLD,),
        implies=("THRESHOLD-02",),
    ),
    "THRESHOLD-09": Plant(
        "Nobody unloads for a broker under the lower boundary.",
        edits.nothing_for_an_idle_one,
        strategies=(THRESHOLD,),
        settings={"lowerBoundarySheddingEnabled": True},
        omits_due_action=True,
    ),
    "THRESHOLD-10": Plant(
        "A bundle goes while all brokers use the same.",
        edits.while_level,
        strategies=(THRESHOLD,),
        settings={"lowerBoundarySheddingEnabled": True},
    ),
    "THRESHOLD-12": Plant(
        "The heaviest bundle stays, and lighter ones go.",
        edits.lighter_first,
        strategies=(THRESHOLD,),
        readings={"threshold-order": "traffic"},
    ),
    "OVERLOAD-01": Plant(
        "A broker just over the overload threshold gives up nothing.",
        edits.nothing,
        strategies=(OVERLOAD,),
        implies=("OVERLOAD-02",),
        omits_due_action=True,
    ),
    "OVERLOAD-02": Plant(
        "An overloaded broker gives up one bundle too few.",
        edits.too_little,
        strategies=(OVERLOAD,),
    ),
    "OVERLOAD-03": Plant(
        "An overloaded broker gives up one bundle too many.",
        edits.too_much,
        strategies=(OVERLOAD,),
    ),
    "OVERLOAD-04": Plant(
        "A broker just under the overload threshold gives up a bundle.",
        edits.one_all_the_same,
        strategies=(OVERLOAD,),
    ),
    "OVERLOAD-05": Plant(
        "An overloaded broker gives up two bundles instead of one.",
        edits.two_for_one,
        strategies=(OVERLOAD,),
        readings={"overload-amount": "one"},
    ),
    "OVERLOAD-06": Plant(
        "An overloaded broker gives up its second heaviest bundle.",
        edits.the_second,
        strategies=(OVERLOAD,),
        readings={"overload-amount": "one"},
    ),
    "OVERLOAD-07": Plant(
        "An overloaded broker gives up its only bundle.",
        edits.its_only_one,
        strategies=(OVERLOAD,),
    ),
    "OVERLOAD-09": Plant(
        "A broker gives up nothing that is overloaded by one resource alone.",
        edits.one_resource_over,
        strategies=(OVERLOAD,),
        implies=("OVERLOAD-01", "OVERLOAD-02"),
        omits_due_action=True,
    ),
    "OVERLOAD-10": Plant(
        "A broker just under 85 % gives up a bundle, where no threshold is set.",
        edits.one_all_the_same,
        strategies=(OVERLOAD,),
        settings={"loadBalancerBrokerOverloadedThresholdPercentage": None},
        implies=("OVERLOAD-04",),
    ),
    "UNIFORM-01": Plant(
        "The most loaded broker gives up nothing.",
        edits.nothing_to_even_out,
        strategies=(UNIFORM,),
        omits_due_action=True,
    ),
    "UNIFORM-02": Plant(
        "A bundle goes while the brokers differ by less than the thresholds.",
        edits.from_the_most_loaded,
        strategies=(UNIFORM,),
    ),
    "UNIFORM-03": Plant(
        "The least loaded broker gives up a bundle.",
        edits.from_the_least_loaded,
        strategies=(UNIFORM,),
    ),
    **{
        rule: Plant(sentence, edit, split, undetectable_because="".join(because))
        for rule, (sentence, edit, split, *because) in splitting.PLANTS.items()
    },
}
"""By the rule that each breaks."""


def known(rules: Sequence[str]) -> list[Plant]:
    """Return the plants of these rules. Errors: `BadFleet` for a rule without one."""
    for rule in rules:
        if rule not in PLANTS:
            raise BadFleet(f"--plant {rule}: it is no plant; there are {', '.join(PLANTS)}")
    return [PLANTS[rule] for rule in rules]


def strategy_for(rules: Sequence[str], given: str | None) -> str:
    """Return a strategy under which all of these can be planted; the given one, if any.

    Errors: `BadFleet`.
    """
    strategy = given
    for rule, plant in zip(rules, known(rules), strict=True):
        if strategy is None and plant.strategies:
            strategy = plant.strategies[0]
        if plant.strategies and strategy not in plant.strategies:
            strategies = " or ".join(plant.strategies)
            raise BadFleet(f"--plant {rule}: it takes --strategy {strategies}, not {strategy}")
    return strategy or THRESHOLD


def settings_for(rules: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given settings and those that plants need. Errors: `BadFleet`."""
    needed = [(rule, plant.settings) for rule, plant in zip(rules, known(rules), strict=True)]
    return _with(needed, given, "--setting")


def readings_for(rules: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the given readings and those that plants need. Errors: `BadFleet`."""
    needed = [(rule, plant.readings) for rule, plant in zip(rules, known(rules), strict=True)]
    return _with(needed, given, "--reading")


def _with(
    needed: Sequence[tuple[str, Mapping[str, Any]]], given: Mapping[str, Any], option: str
) -> dict[str, Any]:
    made = dict(given)
    for rule, values in needed:
        for name, value in values.items():
            if made.setdefault(name, value) != value:
                raise BadFleet(f"--plant {rule}: it takes {option} {name}={value}")
    return made
