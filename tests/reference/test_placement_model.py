"""The model places as in the documents' own examples, and takes turns where the choice is
random.
"""

import copy

import pytest
from pulsar_conformance.reference import Model

PROFILE = "documented-3.0"
BUNDLE = "t/ns/0x00000000_0xffffffff"
NAMESPACES = [f"t/Namespace{number}" for number in range(1, 9)]


def placing(**usages):
    return {
        "settings": {"loadBalancerBrokerOverloadedThresholdPercentage": 85},
        "bundle": BUNDLE,
        "candidates": list(usages),
        "brokers": {name: {"cpu": {"usage": u, "limit": 100}} for name, u in usages.items()},
        "bundles": {},
        "preallocated": {},
    }


def asked(model, *cases):
    return [model.answer("place.select", case)["broker"] for case in cases]


def test_overloaded_brokers_take_turns_each_question_by_itself():
    two, three = placing(b1=90, b2=95), placing(b1=90, b2=95, b3=99)
    model = Model(PROFILE)
    assert asked(model, two, three, two, three, two) == ["b1", "b1", "b2", "b2", "b1"]
    assert asked(model, three, three) == ["b3", "b1"]
    assert asked(Model(PROFILE), two, two) == ["b1", "b2"], "a new model begins anew"


LEAST_USAGE = {
    "loadBalancerLoadPlacementStrategy": "LeastResourceUsageWithWeight",
    "loadBalancerAverageResourceUsageDifferenceThresholdPercentage": 10,
}


@pytest.mark.parametrize(
    ("usages", "settings", "decision"),
    [
        ({"b1": 90, "b2": 95}, {}, "b1 or b2, by chance: all are overloaded"),
        ({"b1": 90}, {}, "b1: the only candidate, although overloaded"),
        ({"b1": 10, "b2": 30, "b3": 80}, LEAST_USAGE, "b1 or b2, by chance"),
        ({"b1": 70, "b2": 10}, LEAST_USAGE, "b2"),
        ({}, LEAST_USAGE, "nowhere"),
    ],
)
def test_chance_decides_only_between_several_brokers(usages, settings, decision):
    case = placing(**usages)
    case["settings"] |= settings
    steps = Model("documented-4.2").derive("place.select", case).steps
    assert [step.text for step in steps if step.label == "decision"] == [decision]


def test_where_nothing_is_left_to_chance_equal_questions_get_equal_answers():
    tied = placing(b1=50, b2=50, b3=60)
    before = copy.deepcopy(tied)
    assert asked(Model(PROFILE), tied, tied, tied) == ["b1"] * 3
    assert tied == before, "the case is left as it is"


def test_nobody_takes_a_bundle_without_candidates():
    assert asked(Model(PROFILE), placing()) == [None]


def played(domains, namespaces, candidates):
    """Place namespaces one after the other; return their brokers."""
    owned = {}
    for namespace in namespaces:
        case = {
            "settings": {},
            "domains": domains,
            "groups": dict.fromkeys(namespaces, "group"),
            "owned": owned,
            "candidates": candidates,
            "namespace": namespace,
        }
        answer = Model(PROFILE).answer("place.anti_affinity", case)
        owned.setdefault(answer["broker"], []).append(namespace)
        yield answer["broker"]


def test_the_assignment_sequence_of_the_documents():
    domains = {"Domain1": ["Broker1", "Broker2"], "Domain2": ["Broker3", "Broker4"]}
    brokers = [broker for members in domains.values() for broker in members]
    sequence = ["Broker1", "Broker3", "Broker2", "Broker4"]
    assert list(played(domains, NAMESPACES[:4], brokers)) == sequence
    assert list(played(domains, NAMESPACES, brokers)) == sequence * 2


@pytest.mark.parametrize("count", [4, 8])
def test_a_domain_with_one_broker_takes_its_half(count):
    domains = {"small": ["b1"], "large": ["b2", "b3", "b4"]}
    taken = list(played(domains, NAMESPACES[:count], ["b1", "b2", "b3", "b4"]))
    assert taken.count("b1") == count // 2


def test_brokers_in_no_domain_are_taken_together():
    taken = list(played({"north": ["b1"]}, NAMESPACES[:4], ["b1", "b2", "b3"]))
    assert taken == ["b1", "b2", "b1", "b3"]
