"""Cases that leave the answer open, so that an implementation may decide at random."""

import pytest
from pulsar_conformance.conformance.placement.quantities import placing_is_determined
from pulsar_conformance.conformance.placement.view import Placing
from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.context import Settings

READINGS = Readings.of("documented-3.0")
THRESHOLD = {"loadBalancerBrokerOverloadedThresholdPercentage": 10}
MEMORY = "loadBalancerMemoryResourceWeight"


def placing(settings, **brokers):
    case = {
        "bundle": "shop/us/0x00000000_0x80000000",
        "candidates": list(brokers),
        "brokers": brokers,
        "bundles": {},
        "preallocated": {},
    }
    return Placing(case, Settings({**THRESHOLD, **settings}, {}), READINGS)


def memory(percent):
    return {"memory": {"usage": percent, "limit": 100}}


@pytest.mark.parametrize("settings", [{}, {MEMORY: 1.0}, {MEMORY: 0.2}])
def test_a_candidate_overloaded_under_any_weights_leaves_one_choice(settings):
    """100 % of memory is above 10 %, and so is 20 %, its value with a weight of 0.2."""
    assert placing_is_determined(placing(settings, idle={}, full=memory(100)), READINGS)


@pytest.mark.parametrize("weight", [0.0, 0.05])
def test_a_candidate_overloaded_without_weights_only_leaves_the_choice_open(weight):
    """With these weights, 100 % of memory is 0 % or 5 %, below 10 %; no broker has traffic."""
    assert not placing_is_determined(placing({MEMORY: weight}, idle={}, full=memory(100)), READINGS)


def test_two_equal_candidates_leave_the_choice_open():
    assert not placing_is_determined(placing({}, one={}, other={}), READINGS)
