"""Policies decide where bundles go before the load does, in the rules and in their statements."""

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator

PROFILE = "documented-5.0"
ISOLATED = "transfer-within-policy"
"""Bundles that only a and b may have, of which c is the least loaded."""


def judge_nearest_permitted(without=()):
    """Judge by TRANSFER-09 an unload to b, by a case without some of its properties."""
    [(operation, case)] = fixtures.example_named(ISOLATED).questions
    case = {name: value for name, value in case.items() if name not in without}
    bundle = case["brokers"]["a"]["bundles"][2]
    answer = {"unload": [{"broker": "a", "bundle": bundle, "to": "b"}]}
    known = specs.load()
    evaluator = RuleEvaluator(known.defaults(PROFILE), known.default_readings(PROFILE))
    return evaluator.judge("TRANSFER-09", Trial.asking([(operation, case)]), [answer])


@pytest.mark.parametrize(
    ("without", "word"), [((), "allowed"), (("isolation",), "violated")], ids=["policy", "none"]
)
def test_bundles_need_not_go_to_the_least_loaded_broker_under_a_policy(without, word):
    assert judge_nearest_permitted(without).word == word


def test_the_statement_names_the_exception():
    statement = " ".join(specs.load().rules["TRANSFER-09"].statement.split())
    assert "no isolation policy or anti-affinity group restricts where they go" in statement
