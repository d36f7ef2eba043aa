"""If a release's configuration does not accept a setting, rules about it stay undecided."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.released.release import ReleasedWays

THRESHOLD = "loadBalancerBrokerOverloadedThresholdPercentage"
LOAD = {"msgThroughputIn": 5e7, "msgRateIn": 50, "numSamples": 1, "maxSamples": 10}
HALVES = ["shop/eu/0x00000000_0x80000000", "shop/eu/0x80000000_0xffffffff"]


def kept_all(profile, threshold):
    """Return the outcome of OVERLOAD-01 for an overloaded broker that sheds nothing."""
    traffic = {"msgThroughputIn": 1e8, "msgRateIn": 100}
    busy = {"cpu": {"usage": 99, "limit": 100}, **traffic, "bundles": HALVES}
    case = {
        "strategy": "OverloadShedder",
        "settings": {THRESHOLD: threshold},
        "brokers": {"broker-1": busy, "broker-2": {}},
        "bundles": {name: {"shortTermData": LOAD, "longTermData": LOAD} for name in HALVES},
        "recentlyUnloaded": {},
    }
    release = ReleasedWays.of(profile)
    evaluator = RuleEvaluator(specs.load().defaults(profile), Readings.of(profile), release)
    return evaluator.judge("OVERLOAD-01", Trial((Question("shed.select", case),)), [{"unload": []}])


@pytest.mark.parametrize("profile", ["documented-3.0", "released-2.10", "released-4.2"])
def test_a_threshold_in_whole_percent_is_judged(profile):
    assert kept_all(profile, 90).word == "violated"


def test_documents_take_a_threshold_of_half_a_percent():
    assert kept_all("documented-3.0", 90.5).word == "violated"


@pytest.mark.parametrize("profile", ["released-2.10", "released-4.2"])
def test_a_release_that_takes_whole_percents_is_not_held_to_documents(profile):
    outcome = kept_all(profile, 90.5)
    assert outcome.word == "not_reached"
    assert f"{THRESHOLD} takes whole numbers" in outcome.why
