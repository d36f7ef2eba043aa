"""An answer may give a default value in its own type or as text, and in no other way."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.catalogue import OPERATIONS
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Model, Readings

PROFILE, OPERATION = "documented-3.0", "settings.defaults"
RULES = [rule.id for rule in specs.load().rules_of(PROFILE) if rule.area == "CONFIG"]
ANSWER = Model(PROFILE).answer(OPERATION, {})


def as_text(value):
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def judged(rule, answer):
    evaluator = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE, {}))
    return evaluator.judge(rule, Trial.of(OPERATION, {}), [answer]).word


def test_defaults_may_be_answered_as_text():
    text = {"settings": {name: as_text(value) for name, value in ANSWER["settings"].items()}}
    assert {rule for rule in RULES if judged(rule, text) != "allowed"} == set()
    assert OPERATIONS[OPERATION].matches(ANSWER, text)


@pytest.mark.parametrize("wrong", ["", "nan", "1e999999999", "5", 5, True, None])
def test_a_wrong_default_is_found(wrong):
    name = "defaultNumberOfNamespaceBundles"
    answer = {"settings": {**ANSWER["settings"], name: wrong}}
    assert [rule for rule in RULES if judged(rule, answer) != "allowed"] == ["CONFIG-01"]


def test_a_switch_is_no_number():
    name = "loadBalancerAutoBundleSplitEnabled"
    answer = {"settings": {**ANSWER["settings"], name: 1}}
    assert len([rule for rule in RULES if judged(rule, answer) != "allowed"]) == 1
