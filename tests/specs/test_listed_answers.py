"""The worked examples of SHED-08 list every answer that the rule allows."""

from itertools import permutations

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Readings

PROFILE = "documented-3.0"
JUDGING = ("SHED-02", "SHED-03", "SHED-08")
EXAMPLES = [one for one in fixtures.examples() if "SHED-08" in one.rules]


def unloads_of(case):
    """Yield every list of unloads of owned bundles, the brokers in their order."""
    owned = [
        {"broker": name, "bundle": bundle}
        for name, broker in case["brokers"].items()
        for bundle in broker.get("bundles", ())
    ]
    places = {name: place for place, name in enumerate(case["brokers"])}
    for count in range(len(owned) + 1):
        for unload in permutations(owned, count):
            order = [places[one["broker"]] for one in unload]
            if order == sorted(order):
                yield list(unload)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one.id)
def test_every_answer_that_the_rule_allows_is_listed(example):
    [(operation, case)] = example.questions
    readings = Readings.of(PROFILE, example.readings)
    evaluator = RuleEvaluator(specs.load().defaults(PROFILE), readings)
    trial = Trial((Question(operation, case),))
    allowed = [
        unload
        for unload in unloads_of(case)
        if not any(
            evaluator.judge(rule, trial, [{"unload": unload}]).word == "violated"
            for rule in JUDGING
        )
    ]
    listed = [answer["unload"] for [answer] in example.allowed]
    assert sorted(map(str, listed)) == sorted(map(str, allowed))
