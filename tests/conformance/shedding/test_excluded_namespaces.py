"""Bundles of excluded namespaces: they stay under every strategy, and nothing must replace them."""

from collections import Counter
from functools import cache

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import copied
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Model, Readings
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.shedding import EXCLUDED, excluded_namespaces, short_name

PROFILES = ("documented-4.2", "documented-5.0")
RULE, OPERATION, SEED, EXAMPLES = "SHED-17", "shed.select", 5, 100
STRATEGIES = {
    *("ThresholdShedder", "OverloadShedder", "UniformLoadShedder"),
    *("AvgShedder", "TransferShedder"),
}


def ways_to_read(profile):
    """Return the default readings of a profile, and readings with one other alternative each."""
    usual = Readings.of(profile, {})
    others = [
        Readings.of(profile, {name: choice})
        for name in ("overload-amount", "overload-scope", "threshold-order", "shed-measure")
        for choice in specs.load().readings[name].values
        if choice != usual[name]
    ]
    return [usual, *others]


@cache
def cases(profile, questions=1):
    drawn = draw_trials(RULE, profile, SEED, EXAMPLES)
    return tuple(one for one in drawn if len(one.questions) == questions)


def without_list(case):
    settings = {name: value for name, value in case["settings"].items() if name != EXCLUDED}
    return {**copied(case), "settings": settings}


def excluded_in(case):
    return excluded_namespaces(case["settings"].get(EXCLUDED, ""))


def strategy_of(case):
    return short_name(case["strategy"])


@pytest.mark.parametrize("profile", PROFILES)
def test_drawn_cases_have_a_bundle_that_each_strategy_would_shed(profile):
    would, spaced = Counter(), 0
    for trial in cases(profile):
        case = trial.questions[0].case
        answer = Model(profile).answer(OPERATION, without_list(case))
        gone = [one["bundle"] for one in answer["unload"]]
        would[strategy_of(case)] += any(namespace_of(b) in excluded_in(case) for b in gone)
        spaced += " " in case["settings"][EXCLUDED]
    assert {name for name, count in would.items() if count} == STRATEGIES
    assert 0 < spaced < len(cases(profile))


@pytest.mark.parametrize("profile", PROFILES)
def test_a_strategy_may_choose_excluded_bundles_that_then_stay(profile):
    """No rule demands that others go instead, nor that a broker with such a bundle sheds at all."""
    defaults, reached = specs.load().defaults(profile), Counter()
    rules = [
        rule.id
        for rule in specs.load().rules_of(profile)
        if rule.operations == (OPERATION,) and rule.untestable is None
    ]
    for readings in ways_to_read(profile):
        applying = [rule for rule in rules if specs.load().rules[rule].applies(readings.choices)]
        model, judge = Model(profile, readings.choices), RuleEvaluator(defaults, readings)
        for trial in cases(profile):
            case = trial.questions[0].case
            chosen = model.answer(OPERATION, without_list(case))["unload"]
            kept = [one for one in chosen if namespace_of(one["bundle"]) not in excluded_in(case)]
            for rule in applying:
                outcome = judge.judge(rule, trial, [{"unload": kept}])
                assert outcome.word != "violated", (rule, str(outcome), case)
                reached[rule] += outcome.word == "allowed"
    assert all(reached[rule] for rule in (RULE, "OVERLOAD-04", "THRESHOLD-02"))


def answers_and_outcome(profile, trial, answer_with_list):
    """Return the model's unloads without and with the list, and the rule's outcome.

    `answer_with_list`, if it is not None, is judged instead of the model's unloads with the list.
    """
    [without, listing] = trial.questions
    unloads = Model(profile).answer(OPERATION, without.case)["unload"]
    judge = RuleEvaluator(specs.load().defaults(profile), Readings.of(profile, {}))
    with_list = Model(profile).answer(OPERATION, listing.case)["unload"]
    answered = with_list if answer_with_list is None else answer_with_list
    answers = [{"unload": unloads}, {"unload": answered}]
    return unloads, with_list, judge.judge(RULE, trial, answers)


@pytest.mark.parametrize("profile", PROFILES)
def test_similar_names_exclude_nothing(profile):
    words = Counter()
    for trial in cases(profile, questions=2):
        unloads, with_list, right = answers_and_outcome(profile, trial, None)
        assert with_list == unloads
        words[right.word] += 1
        if right.word == "allowed":
            assert answers_and_outcome(profile, trial, [])[2].word == "violated"
    assert set(words) == {"allowed", "not_reached"}
    assert words["allowed"] > 5


@pytest.mark.parametrize("profile", ["documented-3.0", "documented-4.0"])
def test_the_list_counts_only_where_documents_name_the_setting(profile):
    shed = set()
    for trial in cases("documented-4.2"):
        case = trial.questions[0].case
        if strategy_of(case) == "OverloadShedder":
            answer = Model(profile).answer(OPERATION, case)
            assert answer == Model(profile).answer(OPERATION, without_list(case))
            shed |= {namespace_of(one["bundle"]) for one in answer["unload"]} & excluded_in(case)
    assert shed
