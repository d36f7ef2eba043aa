"""Placement by message rates: cases at which no strategy aims."""

from fractions import Fraction

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.drawing.loads import as_average
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.conformance.placement.quantities import allowed_candidates
from pulsar_conformance.conformance.placement.view import ComparedBroker, ComparedBrokers
from pulsar_conformance.reference import Readings

PROFILE = "documented-3.0"
STRATEGY = "org.apache.pulsar.broker.loadbalance.impl.LeastLongTermMessageRate"
RULES = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE, {}))


def both_ways(rate):
    """Return a load that is the same by every measure."""
    measures = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
    return dict.fromkeys(measures, rate / 2)


def verdicts(rule, usages, rates):
    """Return a rule's verdict on each choice among brokers with these usages and message rates."""
    owned = {
        name: f"shop/eu/0x0{place}000000_0x0{place + 1}000000" for place, name in enumerate(rates)
    }
    case = {
        "settings": {"loadBalancerLoadPlacementStrategy": STRATEGY},
        "bundle": "shop/us/0x00000000_0x80000000",
        "candidates": [*usages],
        "brokers": {
            name: {
                "cpu": {"usage": usage, "limit": 100.0},
                **both_ways(rates.get(name, 0)),
                "bundles": [owned[name]] if name in owned else [],
            }
            for name, usage in usages.items()
        },
        "bundles": {
            owned[name]: {
                term: as_average(both_ways(rate), 1000, 1000)
                for term in ("longTermData", "shortTermData")
            }
            for name, rate in rates.items()
        },
        "preallocated": {},
    }
    trial = Trial.of("place.select", case)
    assert trial_flaw(trial, RULES.defaults) is None
    return {name: RULES.judge(rule, trial, [{"broker": name}]).word for name in usages}


def test_any_of_several_overloaded_candidates_may_take_the_bundle():
    words = verdicts("PLACE-13", {"a": 90, "b": 95}, {})
    assert words == {"a": "not_reached", "b": "not_reached"}


def test_a_choice_that_only_a_default_of_80_explains_is_found():
    """The best at 80 is the second, at 75 the first, and from 81 to the default of 85 the third.

    At 80, the scores are 2.081 / 80 = 0.0260, 1 / 40 = 0.0250 and 0.2593 / 10 = 0.0259.
    """
    rates = {"first": 2.081e6, "second": 1e6, "third": 0.2593e6}
    words = verdicts("PLACE-10", {"first": 0, "second": 40, "third": 70}, rates)
    assert words == {"first": "violated", "second": "violated", "third": "allowed"}


@pytest.mark.parametrize("score", ["plain", "weighted", "weighted-with-bundle"])
def test_a_rate_that_rounding_could_make_the_least_is_allowed(score):
    rates = {"least": 1_000_000, "almost": 1_000_010, "more": 1_000_100}
    compared = ComparedBrokers(
        tuple(ComparedBroker(name, Fraction(40), Fraction(rate)) for name, rate in rates.items()),
        Fraction(85),
        Fraction(0),
        Readings.of(PROFILE, {"placement-score": score}),
    )
    assert allowed_candidates(compared) == {"least", "almost"}
