"""Policies decide where bundles go before the load does, in the rules and in their statements."""

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.draw import draw_trials
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


def judge_no_unload(case):
    """Judge by TRANSFER-01 an answer that unloads nothing."""
    known = specs.load()
    evaluator = RuleEvaluator(known.defaults(PROFILE), known.default_readings(PROFILE))
    return evaluator.judge("TRANSFER-01", Trial.of("shed.select", case), [{"unload": []}]).word


@pytest.mark.parametrize("kind", ["groups", "isolation"])
def test_policies_of_other_namespaces_keep_nothing_from_moving(kind):
    drawn = [one.questions[0].case for one in draw_trials("TRANSFER-01", PROFILE, 0, 100)]
    beside = [case for case in drawn if case.get(kind)]
    assert beside
    assert {judge_no_unload(case) for case in beside} == {"violated"}
    bound = [{**case, "groups": dict.fromkeys(namespaces(case), "apart")} for case in beside]
    assert {judge_no_unload(case) for case in bound} == {"not_reached"}


def namespaces(case):
    return sorted({bundle.rpartition("/")[0] for bundle in case["bundles"]})


def test_a_least_loaded_broker_of_a_policy_need_not_receive_anything():
    drawn = [one.questions[0].case for one in draw_trials("TRANSFER-01", PROFILE, 0, 100)]
    beside = [case for case in drawn if case.get("isolation")]
    every = [
        {**case, "isolation": [{**case["isolation"][0], "primary": sorted(case["brokers"])}]}
        for case in beside
    ]
    assert {judge_no_unload(case) for case in every} == {"not_reached"}
