"""Failing trials are reduced to few questions and small legal cases, always the same ones."""

import json
from itertools import islice, pairwise
from random import Random

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.engine.attribute import outcome_without_answer
from pulsar_conformance.conformance.engine.evaluate import Fault, RuleEvaluator
from pulsar_conformance.conformance.engine.reduce import (
    reduce,
    smallest_unanswered,
    with_candidate_limit,
)
from pulsar_conformance.conformance.engine.reduce_steps import simpler_numbers
from pulsar_conformance.reference import Model, Readings

PROFILE = "documented-3.0"
DEFAULTS = specs.load().defaults(PROFILE)
EVALUATOR = RuleEvaluator(DEFAULTS, Readings.of(PROFILE))
MODEL = Model(PROFILE)
ASKS = 120
MB = 1_000_000


def without_margin(case):
    """Answer with unloads of only the excess of overloaded brokers, without the margin."""
    threshold = case["settings"].get("loadBalancerBrokerOverloadedThresholdPercentage", 85)
    unload = []
    for name, broker in case["brokers"].items():
        data = {b: case["bundles"].get(b, {}) for b in broker.get("bundles", ())}
        sizes = {
            b: one.get("shortTermData", {}).get("msgThroughputIn", 0) for b, one in data.items()
        }
        left = (broker.get("cpu", {"usage": 0})["usage"] - threshold) / 100
        left *= broker.get("msgThroughputIn", 0)
        for bundle in sorted(sizes, key=sizes.get, reverse=True):
            if left > 0:
                unload.append({"broker": name, "bundle": bundle})
                left -= sizes[bundle]
    return {"unload": unload}


def busiest_alone(case):
    """Answer with unloads of only the broker with the highest CPU usage."""
    right = MODEL.answer("shed.select", case)["unload"]
    used = {name: one["cpu"]["usage"] for name, one in case["brokers"].items() if "cpu" in one}
    busiest = max(used, key=used.get, default=None)
    return {"unload": [one for one in right if one["broker"] == busiest]}


class Judge:
    """Callable that returns, for each trial, whether a stand-in's answers break a rule."""

    def __init__(self, rule, standin):
        self.rule, self.standin, self.asks = rule, standin, 0

    def __call__(self, trials):
        self.asks += 1
        return [self.fails(trial) for trial in trials]

    def fails(self, trial):
        if trial_flaw(trial, DEFAULTS):
            return False
        answers = [self.standin(case) for _, case in trial.questions]
        return EVALUATOR.judge(self.rule, trial, answers).violated


def report(random, brokers=60, bundles=20):
    """Return a large case like an operator's report, with one broker over the threshold."""
    case = {"strategy": "OverloadShedder", "settings": {}, "brokers": {}, "bundles": {}}
    case["settings"] = {"loadBalancerBrokerOverloadedThresholdPercentage": 85}
    hot = random.randrange(brokers)
    width = (1 << 32) // (brokers * bundles)
    ends = [f"0x{width * place:08x}" for place in range(brokers * bundles)] + ["0xffffffff"]
    names = [f"t/ns/{low}_{high}" for low, high in pairwise(ends)]
    random.shuffle(names)
    for place in range(brokers):
        own = names[place * bundles : (place + 1) * bundles]
        sizes = [random.randrange(1, 40) * MB + random.randrange(MB) for _ in own]
        for name, size in zip(own, sizes, strict=True):
            load = {"msgRateIn": size / 1000, "msgThroughputIn": size, "numSamples": 7}
            case["bundles"][name] = {"shortTermData": load, "longTermData": load}
        cpu = 97.25 if place == hot else round(random.uniform(5, 84), 2)
        case["brokers"][f"broker-{place}"] = {
            "cpu": {"usage": cpu, "limit": 100},
            "memory": {"usage": round(random.uniform(0, 0.8) * 8192, 1), "limit": 8192},
            "msgRateIn": sum(sizes) / 1000,
            "msgThroughputIn": sum(sizes),
            "bundles": own,
        }
    return case | {"recentlyUnloaded": {names[0]: 45, names[-1]: 400}}


def anonymous(trial):
    """Return a key of a case that does not depend on the names and order of its brokers."""
    [(_, case)] = trial.questions
    brokers = [one | {"bundles": len(one.get("bundles", ()))} for one in case["brokers"].values()]
    named = {name: len(value) for name, value in case.items() if isinstance(value, dict)}
    return json.dumps([named, case["settings"], sorted(map(json.dumps, brokers))])


def numbers_in(value):
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [number for one in inner for number in numbers_in(one)]
    return [value] if isinstance(value, int | float) else []


def test_a_report_of_60_brokers_shrinks_to_the_same_few_from_anywhere():
    minima = set()
    for start in range(3):
        trial = Trial.of("shed.select", report(Random(start)))
        judge = Judge("OVERLOAD-01", lambda case: {"unload": []})
        assert judge.fails(trial)
        small = reduce(trial, judge)
        assert judge.fails(small)
        assert judge.asks <= ASKS
        minima.add(anonymous(small))
        [(_, case)] = small.questions
        assert len(case["brokers"]) == 2
        assert len({b for one in case["brokers"].values() for b in one.get("bundles", ())}) == 2
        assert case["bundles"] == case["recentlyUnloaded"] == {}
    assert len(minima) == 1, minima


def test_a_sum_does_not_hold_on_to_all_that_adds_up_to_it():
    judge = Judge("OVERLOAD-02", without_margin)
    starts = (Trial.of("shed.select", report(Random(seed), brokers=5)) for seed in range(100))
    for trial in islice(filter(judge.fails, starts), 3):
        judge.asks = 0
        small = reduce(trial, judge)
        [(_, case)] = small.questions
        assert judge.fails(small)
        assert judge.asks <= ASKS
        assert len(case["brokers"]) <= 3
        assert len({b for one in case["brokers"].values() for b in one.get("bundles", ())}) <= 3
        assert all(len(f"{number:.0f}".strip("0")) <= 2 for number in numbers_in(case))


def test_bundles_that_just_suffice_together_become_fewer():
    """Four bundles that carry exactly the required 80 % of 950 MB/s become three or fewer."""
    case = report(Random(4), brokers=2, bundles=4)
    case["settings"] = {"loadBalancerBrokerOverloadedThresholdPercentage": 25}
    hot = max(case["brokers"].values(), key=lambda one: one["cpu"]["usage"])
    hot |= {"cpu": {"usage": 100, "limit": 100}, "msgThroughputIn": 950 * MB}
    for bundle, size in zip(hot["bundles"], (40, 260, 260, 200), strict=True):
        load = {"msgThroughputIn": size * MB, "numSamples": 1}
        case["bundles"][bundle] = {"shortTermData": load}
    trial = Trial.of("shed.select", case)
    judge = Judge("OVERLOAD-02", without_margin)
    assert judge.fails(trial)
    [(_, small)] = reduce(trial, judge).questions
    assert len({b for one in small["brokers"].values() for b in one.get("bundles", ())}) <= 3


def test_several_questions_shrink_together_and_stay_a_trial():
    before = report(Random(5), brokers=8)
    after = json.loads(json.dumps(before))
    hot = max(before["brokers"], key=lambda name: before["brokers"][name]["cpu"]["usage"])
    for name, broker in after["brokers"].items():
        if name != hot:
            broker["cpu"]["usage"] = 99.5
    trial = Trial.of("shed.select", before, after)
    judge = Judge("OVERLOAD-08", busiest_alone)
    assert judge.fails(trial)
    small = reduce(trial, judge)
    assert judge.fails(small)
    assert len(small.questions) == 2
    assert [len(case["brokers"]) for _, case in small.questions] == [2, 2]
    assert trial_flaw(small, DEFAULTS) is None


def test_what_is_smallest_stays_as_it_is():
    judge = Judge("OVERLOAD-02", without_margin)
    small = reduce(Trial.of("shed.select", report(Random(1), brokers=4)), judge)
    assert reduce(small, judge) == small


@pytest.mark.parametrize("verdict", [True, False])
def test_it_ends_whatever_fails(verdict):
    trial = Trial.of("shed.select", report(Random(2), brokers=3, bundles=4))
    small = reduce(trial, lambda trials: [verdict] * len(trials))
    assert (small == trial) is not verdict


def test_nothing_that_does_not_fail_is_kept():
    """If only the original trial fails, it is returned unchanged."""
    trial = Trial.of("shed.select", report(Random(3), brokers=3, bundles=4))
    assert reduce(trial, lambda trials: [one == trial for one in trials]) == trial


@pytest.mark.parametrize(
    ("number", "plainest_first"),
    [
        (0, []),
        (1, [0]),
        (97.25, [0, 1, 10, 100, 1000, 97]),
        (0.3, [0, 1, 10, 100, 1000]),
        (MB, [0]),
        (123 * MB, [0, MB, 10 * MB, 100 * MB, 1000 * MB, 120 * MB]),
    ],
)
def test_plainer_numbers(number, plainest_first):
    assert [one for one in simpler_numbers(number) if one in plainest_first] == plainest_first
    assert number not in simpler_numbers(number)


def test_traffic_stays_in_everyday_amounts():
    trial = Trial.of("shed.select", report(Random(0), brokers=3, bundles=4))
    judge = Judge("OVERLOAD-02", without_margin)
    [(_, case)] = reduce(trial, judge).questions
    carried = [broker.get("msgThroughputIn", 0) for broker in case["brokers"].values()]
    assert all(rate == 0 or rate >= MB for rate in carried)
    assert any(carried)


def test_what_fails_in_each_half_is_reduced_to_one_question():
    trial = Trial(Trial.of("shed.select", report(Random(0), brokers=2)).questions * 8)
    small = reduce(trial, with_candidate_limit(lambda trials: [True] * len(trials), 10_000))
    assert len(small.questions) == 1


def test_several_questions_without_an_answer_stay_as_they_are():
    case = {"settings": {}, "weighted": False, "broker": {}}
    trial = Trial((Question("usage.max", case), Question("usage.max", case)))
    fault = Fault(trial, [{"failed": "why"}, {"percent": 0}], outcome_without_answer("failed: why"))
    assert smallest_unanswered(None, fault, None) == fault
