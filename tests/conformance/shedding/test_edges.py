"""Edges of checks of shedding that no drawn case needs to reach."""

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.common.trial import Trial, copied
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.conformance.shedding.quantities import busiest_is_certain
from pulsar_conformance.conformance.shedding.view import SheddingCycle
from pulsar_conformance.reference import Model, Readings
from pulsar_conformance.reference.context import Settings

SEED, EXAMPLES = 3, 20


def evaluator(profile):
    return RuleEvaluator(specs.load().defaults(profile), Readings.of(profile, {}))


@pytest.mark.parametrize(("strategy", "certain"), [("Uniform", False), ("Overload", True)])
def test_two_brokers_may_be_the_busiest_by_two_measures(strategy, certain):
    rates = {"a": {"msgRateIn": 90, "msgThroughputIn": 1}, "b": {"msgRateIn": 1}}
    rates["b"]["msgThroughputIn"] = 9e6
    brokers = {name: {**one, "bundles": []} for name, one in rates.items()}
    names = {"Uniform": "UniformLoadShedder", "Overload": "OverloadShedder"}
    case = {"strategy": names[strategy], "brokers": brokers, "bundles": {}, "recentlyUnloaded": {}}
    cycle = SheddingCycle(case, Settings({}, {}), Readings.of("documented-3.0", {}))
    assert busiest_is_certain(cycle) is certain


def test_a_broker_without_history_has_its_present_usage():
    profile = "documented-3.0"
    words = set()
    for drawn in draw_trials("THRESHOLD-16", profile, SEED, EXAMPLES):
        [question] = drawn.questions
        case = copied(question.case)
        next(iter(case["brokers"].values())).pop("usageHistory", None)
        trial = Trial.of(question.operation, case)
        answer = Model(profile).answer(question.operation, case)
        words.add(evaluator(profile).judge("THRESHOLD-16", trial, [answer]).word)
    assert words <= {"allowed", "not_reached"}


def test_shedding_too_little_far_above_the_average_breaks_one_rule_alone():
    profile, rules = "documented-4.2", [f"THRESHOLD-{n:02}" for n in (1, 2, 3, 4, 6, 8, 20)]
    [case] = [
        one.questions[0][1]
        for one in fixtures.examples()
        if one.id == "threshold-too-little-to-shed"
    ]
    shed = {"unload": [{"broker": "broker1", "bundle": "shop/eu/0x00000000_0x40000000"}]}
    trial = Trial.of("shed.select", case)
    judged = {rule: evaluator(profile).judge(rule, trial, [shed]) for rule in rules}
    assert [rule for rule in rules if judged[rule].word == "violated"] == ["THRESHOLD-20"]
    assert "broker1 would shed at most 9 MB/s, not over 10 MB/s" in str(judged["THRESHOLD-20"])


def test_spaces_around_excluded_namespaces_do_not_matter():
    profile, setting = "documented-4.2", "loadBalancerSheddingExcludedNamespaces"
    trials = [
        trial
        for trial in draw_trials("TRANSFER-16", profile, SEED, EXAMPLES)
        if trial.questions[0].case["settings"].get(setting)
    ]
    for trial in trials:
        case = copied(trial.questions[0].case)
        case["settings"][setting] = f" {case['settings'][setting].replace(',', ' , ')} "
        spaced, model = Trial.of("shed.select", case), Model(profile)
        answer = model.answer("shed.select", trial.questions[0].case)
        assert model.answer("shed.select", case) == answer
        assert evaluator(profile).judge("TRANSFER-16", spaced, [answer]).word == "allowed"
    assert trials


@pytest.mark.parametrize(
    ("measure", "field"),
    [("throughput", "msgThroughputIn"), ("message-rate", "msgRateIn")],
)
def test_only_the_measure_that_counts_is_needed_to_judge_a_broker(measure, field):
    """The documents' one broker at 0 beside ten at 80 needs no rates but those of the reading."""
    ranges = [f"shop/eu/0x{place:02x}000000_0x{place + 1:02x}000000" for place in range(20)]
    busy = {"cpu": {"usage": 80, "limit": 100}, field: 40_000_000}
    brokers = {f"b{at}": {**busy, "bundles": ranges[2 * at : 2 * at + 2]} for at in range(10)}
    average = {"numSamples": 10, "maxSamples": 10, field: 20_000_000}
    case = {
        "strategy": "ThresholdShedder",
        "settings": {
            "loadBalancerBrokerThresholdShedderPercentage": 10,
            "lowerBoundarySheddingEnabled": True,
        },
        "brokers": {**brokers, "idle": {"bundles": []}},
        "bundles": {one: {"shortTermData": average, "longTermData": average} for one in ranges},
        "recentlyUnloaded": {},
    }
    words = {}
    for choice in ("throughput", "message-rate"):
        chosen = {"shed-measure": choice, "lower-boundary": "average-minus-threshold"}
        judge = RuleEvaluator(
            specs.load().defaults("documented-3.0"), Readings.of("documented-3.0", chosen)
        )
        trial = Trial.of("shed.select", case)
        words[choice] = judge.judge("THRESHOLD-09", trial, [{"unload": []}]).word
        own = Model("documented-3.0", chosen).answer("shed.select", case)
        assert judge.judge("THRESHOLD-09", trial, [own]).word != "violated"
    other = "message-rate" if measure == "throughput" else "throughput"
    assert words == {measure: "violated", other: "not_reached"}
