"""The Spark engine follows every reading that it is asked to follow."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.plan import Plan
from pulsar_conformance.conformance.run import Run
from standins.sparks import NAME, spark

assert spark
pytestmark = pytest.mark.usefixtures("spark")

PROFILE = "documented-3.0"
SHED, SPLIT, GROW = "shed.select", "bundles.split", "bundles.split_candidates"
CONCERNS = {
    "overload-trigger": {SHED},
    "overload-amount": {SHED},
    "overload-scope": {SHED},
    "shed-measure": {SHED},
    "threshold-trigger": {SHED},
    "threshold-target": {SHED},
    "threshold-released": {SHED},
    "lower-boundary": {SHED},
    "uniform-trigger": {SHED},
    "uniform-difference": {SHED},
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
}
"""The operations that a reading changes the answers of."""

UNTOUCHED = {"split-destination", "unload-topic", "unload-destination", "absent-manager"}
"""Readings of what it is not asked."""

OTHERS = [
    (name, value)
    for name in CONCERNS
    for value in specs.load().readings[name].values
    if value != specs.load().default_readings(PROFILE)[name]
]


def test_every_reading_is_thought_of():
    assert {*CONCERNS, *UNTOUCHED} == set(specs.load().readings)


@pytest.mark.parametrize(("name", "value"), OTHERS, ids="=".join)
def test_every_rule_holds_under_every_reading(name, value, tmp_path):
    plan = Plan.make([NAME], [PROFILE], [f"{name}={value}"], examples=15, root=tmp_path)
    run = Run(plan, NAME, PROFILE)
    rules = [rule for rule in plan.rules_of(PROFILE) if CONCERNS[name] & set(rule.operations)]
    run.prepare(rules)
    verdicts = {rule.id: run.verdict(rule) for rule in rules}
    assert run.respondent.readings[name] == value
    run.close()
    found = {one.verdict for one in verdicts.values()}
    assert found <= {"pass", "not_applicable", "unexercised"}, verdicts
    assert "pass" in found
