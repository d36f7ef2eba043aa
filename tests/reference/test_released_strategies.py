"""Names of shedding strategies that a release does not have."""

import pytest
from pulsar_conformance.reference import Model

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
