"""Each testable rule has a check, and enough legal drawn trials that reach the check."""

from functools import cache

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.drawing.drawing import draw
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Model, Readings
from sampling import one_in

EXAMPLES = 100
JUDGED = 2
"""One in this many legal cases is judged here; `nox -s conformance` judges the model on others."""

CLUSTERS = ("shed.select", "bundles.split_candidates", "place.select")
MODEL_PROFILES = (
    "documented-3.0",
    "documented-2.10",
    "documented-2.4",
    "unwritten-3.0",
    "documented-4.0",
    "documented-4.2",
    "documented-5.0",
)
"""The profiles of documents that the model follows."""

RELEASED = tuple(f"released-{version}" for version in ("5.0", "4.2", "4.0", "3.0", "2.10", "2.4"))
PROFILES = (*MODEL_PROFILES, *RELEASED)
"""Profiles; a rule is tested under the first profile that has the rule."""

RULES = specs.load().rules
TESTABLE = [rule for rule in RULES if RULES[rule].untestable is None]


def profile_of(rule_id):
    return next(one for one in PROFILES if one in RULES[rule_id].profiles)


@cache
def drawn(rule_id):
    """Return the trials that the rule's strategy draws, legal or not."""
    return draw(checks()[rule_id].draws, EXAMPLES, f"checks/{rule_id}")


@cache
def legal(rule_id):
    defaults = specs.load().defaults(profile_of(rule_id))
    return [trial for trial in drawn(rule_id) if trial_flaw(trial, defaults) is None]


def test_each_testable_rule_has_a_check_and_each_check_a_rule():
    assert set(checks()) == set(TESTABLE)


@pytest.mark.parametrize("rule_id", TESTABLE)
def test_the_reference_keeps_each_rule_and_reaches_its_guard(rule_id):
    profile, rule = profile_of(rule_id), RULES[rule_id]
    evaluator = RuleEvaluator(specs.load().defaults(profile), Readings.of(profile, rule.reading))
    model = Model(profile, rule.reading, neutral=True)
    words = []
    for trial in legal(rule_id)[::JUDGED]:
        answers = [model.answer(*question) for question in trial.questions]
        words.append(evaluator.judge(rule_id, trial, answers).word)
    reached = {"allowed"} if profile in MODEL_PROFILES else {"allowed", "violated"}
    assert reached & set(words)
    # Rules about any answer ask of every line, and no broker.conf of a release holds some settings.
    answered = profile in MODEL_PROFILES and not rule.any_operation
    declined = () if answered else ("unsupported",)
    assert set(words) <= {*reached, "not_reached", *declined}


@pytest.mark.parametrize("rule_id", TESTABLE)
def test_almost_all_drawn_cases_are_legal(rule_id):
    # Rules about any answer also draw questions about strategies of newer documents.
    least = 0.7 if RULES[rule_id].any_operation else 0.8
    assert len(legal(rule_id)) > least * len(drawn(rule_id))


@pytest.mark.parametrize(
    "rule_id", [rule for rule in TESTABLE if set(RULES[rule].operations) & set(CLUSTERS)]
)
def test_clusters_are_as_large_as_real_ones(rule_id):
    large = 0
    about_clusters = [trial for trial in legal(rule_id) if trial.operation in CLUSTERS]
    for trial in about_clusters:
        case = trial.questions[0].case
        brokers = case["brokers"]
        bundles = sum(len(broker.get("bundles", ())) for broker in brokers.values())
        assigned = sum(map(len, case.get("preallocated", {}).values()))
        large += len(brokers) >= 5 and bundles + assigned >= 20
    assert large >= 0.3 * len(about_clusters), f"{large} of {len(about_clusters)}"


@pytest.mark.parametrize("rule_id", one_in(4, TESTABLE))
def test_equal_seeds_draw_equal_cases(rule_id):
    again = draw(checks()[rule_id].draws, 10, f"again/{rule_id}")
    assert again == draw(checks()[rule_id].draws, 10, f"again/{rule_id}")


@pytest.mark.parametrize("rule_id", ["REPORT-09", "SPLIT-11"])
def test_a_question_of_another_operation_that_fails_is_left_unanswered(rule_id):
    """A rule about two operations counts as unanswered if any question is answered by a failure."""
    profile = profile_of(rule_id)
    model = Model(profile)
    evaluator = RuleEvaluator(specs.load().defaults(profile), Readings.of(profile))
    trial = legal(rule_id)[0]
    answers = [model.answer(*question) for question in trial.questions]
    for place in range(len(answers)):
        failing = [*answers[:place], {"failed": "oh"}, *answers[place + 1 :]]
        assert evaluator.judge(rule_id, trial, failing).unanswered
