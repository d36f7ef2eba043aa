"""Drawn cases vary names, notation and size, so that documented rules find mistakes with these."""

import copy

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.conformance.any_answer.transformations import (
    RENAMED_BROKERS,
    edits_to_plain_names,
)
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.conformance.engine.reduce import reduce
from pulsar_conformance.reference import Readings

PROFILE = "documented-3.0"
EVALUATOR = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE))
OVERLOAD_THRESHOLD = "loadBalancerBrokerOverloadedThresholdPercentage"


def cuts_the_port(answer):
    unload = [{**one, "broker": one["broker"].split(":")[0]} for one in answer["unload"]]
    return {"unload": unload}


def lowers_capitals(answer):
    return {"broker": answer["broker"] and answer["broker"].lower()}


MISTAKES_WITH_ANSWERS = [
    (("SHED-02",), cuts_the_port),
    (("PLACE-07",), lowers_capitals),
]


def knows_no_domain_beyond_ascii(case):
    domains = {name: brokers for name, brokers in case["domains"].items() if name.isascii()}
    return {**case, "domains": domains}


def takes_0_for_unset(case):
    settings = {name: value for name, value in case["settings"].items() if value != 0}
    return {**case, "settings": settings}


def knows_64_candidates(case):
    return {**case, "candidates": case["candidates"][:64]}


def forgets_unloads_for_idle_brokers(case):
    on = case["settings"].get("lowerBoundarySheddingEnabled") is True
    return {**case, "recentlyUnloaded": {}} if on else case


MISTAKES_WITH_CASES = [
    (("ANTI-01", "ANTI-03", "ANTI-04"), knows_no_domain_beyond_ascii),
    (("OVERLOAD-04",), takes_0_for_unset),
    (("SPLIT-01",), takes_0_for_unset),
    (("SPLIT-03",), takes_0_for_unset),
    (("PLACE-02", "PLACE-03", "PLACE-06", "PLACE-07"), knows_64_candidates),
    (("THRESHOLD-09",), forgets_unloads_for_idle_brokers),
]


def words(drawn_for, answer_of):
    """Return the verdicts of all rules of an operation on wrong answers to `drawn_for`'s trials."""
    model = ReferenceConnection("reference", PROFILE, {})
    [operation] = specs.load().rules[drawn_for[0]].operations
    rules = [
        one.id
        for one in specs.load().rules_of(PROFILE)
        if one.operations == (operation,) and not one.any_operation and one.untestable is None
    ]
    found = set()
    for trial in (trial for rule in drawn_for for trial in draw_trials(rule, PROFILE, 0, 100)):
        answers = [answer_of(model, *copy.deepcopy(one)) for one in trial.questions]
        right = [model._answer(*copy.deepcopy(one)) for one in trial.questions]
        if answers != right:
            found |= {EVALUATOR.judge(one, trial, answers).word for one in rules}
    return found


@pytest.mark.parametrize(("rules", "mistake"), MISTAKES_WITH_ANSWERS)
def test_a_mistake_with_the_names_of_an_answer_is_found(rules, mistake):
    assert "violated" in words(rules, lambda model, *question: mistake(model._answer(*question)))


@pytest.mark.parametrize(("rules", "mistake"), MISTAKES_WITH_CASES)
def test_a_mistake_with_a_case_is_found(rules, mistake):
    def wrong(model, operation, case):
        return model._answer(operation, mistake(case))

    assert "violated" in words(rules, wrong)


def test_a_broker_has_one_new_name_in_all_questions():
    trial = Trial.of(
        "shed.select",
        {"brokers": {"broker-2": {}}, "settings": {}},
        {"brokers": {"broker-1": {}, "broker-2": {}}, "settings": {}},
    )
    first, second = RENAMED_BROKERS[1].of_all(trial).questions
    assert [*first.case["brokers"]] == ["10.0.0.0:6651"]
    assert [*second.case["brokers"]] == ["10.0.0.0:6650", "10.0.0.0:6651"]


def overloaded(names):
    brokers = {
        name: {"cpu": {"usage": 95, "limit": 100}, "msgThroughputIn": 0, "bundles": []}
        for name in names
    }
    return Trial.of(
        "shed.select",
        {"strategy": "OverloadShedder", "settings": {}, "brokers": brokers}
        | {"bundles": {}, "recentlyUnloaded": {}},
    )


def test_a_reduced_case_has_plain_names_unless_names_matter():
    trial = overloaded(["10.0.0.7:6650"])

    def fails_with_a_broker(trials):
        return [len(one.questions[0].case["brokers"]) == 1 for one in trials]

    def fails_with_a_port(trials):
        return [any(":" in name for name in one.questions[0].case["brokers"]) for one in trials]

    assert [*reduce(trial, fails_with_a_broker).questions[0].case["brokers"]] == ["broker-0"]
    assert [*reduce(trial, fails_with_a_port).questions[0].case["brokers"]] == ["10.0.0.7:6650"]


def test_plain_names_stay():
    assert not [*edits_to_plain_names(overloaded(["broker-1", "broker-12"]))]


def test_released_pulsar_is_asked_by_the_names_that_it_allows():
    trials = draw_trials("PLACE-04", "released-3.0", 0, 100)
    names = {name for trial in trials for name in trial.questions[0].case["brokers"]}
    assert all(name.startswith("broker-") for name in names)
