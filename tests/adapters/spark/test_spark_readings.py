"""The Spark engine follows the alternative of every reading that a run sets."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run
from standins.sparks import NAME, spark

assert spark
pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

PROFILE = "documented-3.0"
SHED, SPLIT, GROW = "shed.select", "bundles.split", "bundles.split_candidates"
CONCERNS = {
    "overload-trigger": {SHED},
    "overload-amount": {SHED},
    "overload-scope": {SHED},
    "shed-measure": {SHED},
    "expensive-measure": {SHED},
    "shed-window": {SHED},
    "broker-rates": {SHED},
    "threshold-trigger": {SHED},
    "threshold-target": {SHED},
    "threshold-released": {SHED},
    "threshold-order": {SHED},
    "lower-boundary": {SHED},
    "lower-boundary-amount": {SHED},
    "uniform-trigger": {SHED},
    "uniform-difference": {SHED},
    "uniform-multiplier": {SHED},
    "grace-of": {SHED},
    "grace-edge": {SHED},
    "kilobyte": {SHED, GROW, "average.bundle", "average.broker", "place.select"},
    "window": {"average.bundle"},
    "placement-at-threshold": {"place.select"},
    "placement-score": {"place.select"},
    "split-rate-window": {GROW},
    "megabyte": {GROW},
    "split-key": {SPLIT},
    "split-ways": {SPLIT},
    "range-halves": {SPLIT},
    "partitions": {"bundles.locate"},
    "domain-counts": {"place.anti_affinity"},
}
"""The operations whose answers depend on each reading."""

UNTOUCHED = {
    "split-destination",
    "unload-topic",
    "unload-destination",
    "absent-manager",
    "grace-starts",
    "second-domain",
    "channel-transfer",
}
"""Readings about operations that the engine does not offer."""

OTHERS = [
    (name, value)
    for name in CONCERNS
    for value in specs.load().open_values(PROFILE, name)
    if value != specs.load().default_readings(PROFILE)[name]
]


def test_every_reading_is_thought_of():
    assert {*CONCERNS, *UNTOUCHED} == set(specs.load().readings)


TOGETHER = 3
"""Number of groups of readings that change together; the thorough tests change each alone."""

GROUPS = [dict(OTHERS[first::TOGETHER]) for first in range(TOGETHER)]
ALONE = [pytest.param(dict([one]), marks=pytest.mark.thorough) for one in OTHERS]


def test_each_reading_is_followed_in_a_group():
    assert sorted(one for group in GROUPS for one in group.items()) == sorted(OTHERS)


def title(others):
    return f"{len(others)} together" if len(others) > 1 else "=".join(*others.items())


@pytest.mark.parametrize("others", [*GROUPS, *ALONE], ids=title)
def test_every_rule_holds_under_every_reading(others, tmp_path):
    every = specs.load().rules_of(PROFILE)
    operations = set().union(*(CONCERNS[name] for name in others))
    concerned = [rule.id for rule in every if operations & set(rule.operations)]
    readings = [f"{name}={value}" for name, value in others.items()]
    plan = Plan.make([NAME], [PROFILE], readings, concerned, examples=15, root=tmp_path)
    run = Run(plan, NAME, PROFILE)
    rules = plan.rules_of(PROFILE)
    run.prepare()
    verdicts = {rule.id: run.verdict(rule) for rule in rules}
    assert {name: run.readings.chosen[name] for name in others} == others
    run.close()
    found = {one.verdict for one in verdicts.values()}
    assert found <= {"pass", "not_applicable", "unexercised"}, verdicts
    assert "pass" in found
