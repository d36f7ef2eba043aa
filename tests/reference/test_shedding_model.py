"""The model sheds as its rules say, even if brokers carry no traffic."""

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


def moved(strategy, settings, messages, cycles=1):
    """Return the last cycle's derivation as text; b1's bundles have these messages per second."""
    names = [f"t/ns/0x{n:x}0000000_0x{n + 1:x}0000000" for n in range(len(messages))]
    reports = {
        "b1": {"cpu": {"usage": 70, "limit": 100}, "bundles": names, **rates(sum(messages))},
        "b2": {"cpu": {"usage": 20, "limit": 100}, "bundles": [], **rates(1000)},
    }
    known = {
        name: {"shortTermData": {**rates(rate), "numSamples": 10}}
        for name, rate in zip(names, messages, strict=True)
    }
    cycle = {"brokers": reports, "bundles": known, "recentlyUnloaded": {}}
    operation, case = "shed.select", {"strategy": strategy, "settings": settings, **cycle}
    if cycles > 1:
        row = [{"minutes": 1, **cycle}] * cycles
        operation = "shed.cycles"
        case = {"strategy": strategy, "settings": settings, "cycles": row}
    steps = Model("documented-4.2").derive(operation, case).explain()
    return [f"{step.label.strip()}: {step.text}" for step in steps]


def rates(messages):
    return {"msgRateIn": messages, "msgThroughputIn": messages * 1000}


def test_average_shedder_is_explained_by_hits_amount_and_destination():
    """(10000 - 1000) x 0.5 = 4500: the bundle of 4000 goes, and the bundle of 6000 stays."""
    told = moved("AvgShedder", {"maxUnloadPercentage": 0.5}, [6000, 4000], cycles=2)
    assert "pair: b1 and b2: 70 - 20 = 50 points apart" in told
    assert "hits: over the high threshold of 40 in 2 cycles in a row, 2 needed" in told
    assert "to shed: (10000 msg/s - 1000 msg/s) x 0.5 (maxUnloadPercentage) = 4500 msg/s" in told
    assert "destination: b2, the least used broker" in told


def test_uniform_shedder_is_explained_by_its_share_and_least_amounts():
    """0.2 of 9 MB/s is 1.8 MB/s. With 0.1, 0.9 MB/s and 900 messages are below both minimums."""
    told = moved("UniformLoadShedder", {}, [8500, 1500])
    assert any("9 MB/s x 0.2 = 1.8 MB/s" in step for step in told), told
    few = moved("UniformLoadShedder", {"maxUnloadPercentage": 0.1}, [8500, 1500])
    assert any("0.1 of the differences is too little" in step for step in few), few
