"""Splits: no document orders the parts of a bundle."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Model, Readings

PROFILE, EXAMPLES, SEED = "documented-3.0", 30, 7
RULES = [
    rule.id
    for rule in specs.load().rules_of(PROFILE)
    if "bundles.split" in rule.operations and rule.untestable is None
]


def backwards(answer):
    return {**answer, "bundles": answer["bundles"][::-1]} if "bundles" in answer else answer


@pytest.mark.parametrize("rule", RULES)
def test_parts_may_be_listed_in_any_order(rule):
    readings = specs.load().rules[rule].reading
    model = Model(PROFILE, readings)
    evaluator = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE, readings))
    outcomes = set()
    for trial in draw_trials(rule, PROFILE, SEED, EXAMPLES):
        answers = [model.answer(*question) for question in trial.questions]
        split = [
            backwards(answer) if question.operation == "bundles.split" else answer
            for question, answer in zip(trial.questions, answers, strict=True)
        ]
        outcomes.add(evaluator.judge(rule, trial, split).word)
    assert outcomes <= {"allowed", "not_reached"}
    assert "allowed" in outcomes


def test_parts_that_are_no_ranges_are_reported():
    case = {
        "bundle": "0x00000000_0xffffffff",
        "algorithm": "range_equally_divide",
        "by": "admin",
        "settings": {},
        "topics": [],
        "positions": [],
    }
    evaluator = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE, {}))
    answer = {"bundles": ["0x80000000_0xffffffff", "0x80000000_0x00000000"]}
    outcome = evaluator.judge("SPLIT-14", Trial.of("bundles.split", case), [answer])
    assert outcome.word == "violated"
