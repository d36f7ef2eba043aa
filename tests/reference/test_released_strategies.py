"""Names of shedding strategies that a release does not have."""

import json
from pathlib import Path

import pytest
from pulsar_conformance.reference import Model

CASES = Path(__file__).parents[2] / "fixtures" / "cases"

IMPL = "org.apache.pulsar.broker.loadbalance.impl."
TYPO = f"{IMPL}Treshold"
STRATEGY = "loadBalancerLoadSheddingStrategy"

BUNDLES = {"t/ns/0x00000000_0x80000000": 6_000_000, "t/ns/0x80000000_0xffffffff": 4_000_000}
CASE = {
    "brokers": {
        "b1": {
            "cpu": {"usage": 95, "limit": 100},
            "msgThroughputIn": 10_000_000,
            "bundles": list(BUNDLES),
        },
        "b2": {"cpu": {"usage": 10, "limit": 100}, "bundles": []},
    },
    "bundles": {
        name: {"shortTermData": data, "longTermData": data}
        for name, rate in BUNDLES.items()
        for data in [{"msgThroughputIn": rate, "numSamples": 10}]
    },
    "recentlyUnloaded": {},
    "settings": {},
}


def derive(profile, **changes):
    return Model(profile).derive("shed.select", {**CASE, **changes})


@pytest.mark.parametrize("profile", ["released-2.10", "released-3.0"])
def test_overload_shedder_runs_instead_of_a_class_that_pulsar_does_not_have(profile):
    overloaded = derive(profile, strategy="OverloadShedder").answer
    assert overloaded["unload"]
    found = derive(profile, strategy=TYPO)
    assert found.answer == overloaded
    assert found.steps[0].text.startswith(f"{TYPO}: OverloadShedder runs instead (Modular")
    assert derive(profile, strategy=None, settings={STRATEGY: TYPO}).answer == overloaded


@pytest.mark.parametrize(
    ("profile", "name"),
    [("released-3.0", "org.example.Own"), ("released-3.0", "Own"), ("released-4.2", TYPO)],
)
def test_a_plug_in_or_a_broker_that_does_not_start_has_no_answer(profile, name):
    assert "unsupported" in derive(profile, strategy=name).answer


def test_a_broker_is_not_compared_with_itself_as_if_it_were_two():
    case = json.loads((CASES / "shed.select" / "425a5e87a077.json").read_text("utf-8"))["case"]
    [line] = [
        one
        for one in Model("released-2.10").derive("shed.select", case).lines()
        if one.strip().startswith("throughput ")
    ]
    assert "broker-1, 19 GB/s, is both the least and the most loaded: not over 1 (" in line


@pytest.mark.parametrize(
    ("profile", "others"),
    [("documented-3.0", True), ("unwritten-3.0", False), ("released-3.0", False)],
)
def test_other_hashes_are_allowed_only_where_no_rule_states_one(profile, others):
    case = {"topics": ["persistent://shop/eu/a", "persistent://shop/eu/b"], "positions": []}
    case |= {"bundle": "0x00000000_0xffffffff", "by": "admin", "settings": {}}
    case |= {"algorithm": "topic_count_equally_divide"}
    located = {"boundaries": ["0x00000000", "0xffffffff"], "topics": case["topics"]}
    for operation, asked in (("bundles.split", case), ("bundles.locate", located)):
        lines = Model(profile).derive(operation, asked).lines()
        said = [one for one in lines if one.startswith("hashes ")]
        assert any("other implementations may differ" in one for one in said) == others
        assert said or profile == "released-3.0"
