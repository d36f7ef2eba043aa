"""The model sheds what the statements of its rules say, also where nothing is carried."""

import pytest
from pulsar_conformance.reference import Model

BUNDLES = ["t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff"]
SILENT = dict.fromkeys(("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut"), 0)


@pytest.mark.parametrize("strategy", ["OverloadShedder", "ThresholdShedder"])
def test_a_broker_without_traffic_sheds_one_bundle_for_its_usage(strategy):
    average = {**SILENT, "numSamples": 10, "maxSamples": 1000}
    case = {
        "strategy": strategy,
        "settings": {"loadBalancerBrokerThresholdShedderPercentage": 10},
        "brokers": {
            "b1": {"cpu": {"usage": 95, "limit": 100}, "bundles": BUNDLES, **SILENT},
            "b2": {"cpu": {"usage": 5, "limit": 100}, "bundles": [], **SILENT},
        },
        "bundles": {name: {"shortTermData": average, "longTermData": average} for name in BUNDLES},
        "recentlyUnloaded": {},
    }
    assert Model("documented-3.0").answer("shed.select", case)["unload"] == [
        {"broker": "b1", "bundle": BUNDLES[0]}
    ]
