"""Where every candidate is overloaded, none has to be less loaded than an overloaded one."""

from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Readings

PROFILE = "documented-3.0"
STRATEGY = "org.apache.pulsar.broker.loadbalance.impl.LeastLongTermMessageRate"


def test_any_of_several_overloaded_candidates_may_take_the_bundle():
    brokers = {
        name: {"cpu": {"usage": usage, "limit": 100.0}} for name, usage in (("a", 90), ("b", 95))
    }
    case = {
        "settings": {"loadBalancerLoadPlacementStrategy": STRATEGY},
        "bundle": "shop/us/0x00000000_0x80000000",
        "candidates": ["a", "b"],
        "brokers": brokers,
        "bundles": {},
        "preallocated": {},
    }
    evaluator = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE, {}))
    trial = Trial.of("place.select", case)
    assert evaluator.legal(trial)
    words = {name: evaluator.judge("PLACE-13", trial, [{"broker": name}]).word for name in "ab"}
    assert words == {"a": "not_reached", "b": "not_reached"}
