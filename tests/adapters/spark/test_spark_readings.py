"""The Spark engine follows every reading that it is asked to follow."""

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
"""The operations that a reading changes the answers of."""

UNTOUCHED = {
    "split-destination",
    "unload-topic",
    "unload-destination",
    "absent-manager",
    "grace-starts",
    "second-domain",
    "channel-transfer",
}
"""Readings of what it is not asked."""

OTHERS = [
    (name, value)
    for name in CONCERNS
    for value in specs.load().open_values(PROFILE, name)
    if value != specs.load().default_readings(PROFILE)[name]
]


def test_every_reading_is_thought_of():
    assert {*CONCERNS, *UNTOUCHED} == set(specs.load().readings)


SAMPLED = 3
"""One reading in this many is followed with all other tests; the thorough tests follow each."""


def followed():
    """Yield each reading of another value, marked if it takes part in the thorough tests alone."""
    for number, one in enumerate(OTHERS):
        marks = () if number % SAMPLED == 0 else pytest.mark.thorough
        yield pytest.param(*one, id="=".join(one), marks=marks)


@pytest.mark.parametrize(("name", "value"), list(followed()))
def test_every_rule_holds_under_every_reading(name, value, tmp_path):
    every = specs.load().rules_of(PROFILE)
    concerned = [rule.id for rule in every if CONCERNS[name] & set(rule.operations)]
    reading = [f"{name}={value}"]
    plan = Plan.make([NAME], [PROFILE], reading, concerned, examples=15, root=tmp_path)
    run = Run(plan, NAME, PROFILE)
    rules = plan.rules_of(PROFILE)
    run.prepare()
    verdicts = {rule.id: run.verdict(rule) for rule in rules}
    assert run.readings.chosen[name] == value
    run.close()
    found = {one.verdict for one in verdicts.values()}
    assert found <= {"pass", "not_applicable", "unexercised"}, verdicts
    assert "pass" in found
