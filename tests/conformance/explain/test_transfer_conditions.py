"""The conditions of a release's TransferShedder, as `explain` prints them."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main

STRATEGY = "loadBalancerLoadSheddingStrategy=TransferShedder"
MB = 1_000_000


def bundle(number):
    return f"t/ns/0x{number}0000000_0x{number + 1}0000000"


def report(cpu, *megabytes, first=0, **more):
    stats = {
        bundle(first + place): {"msgThroughputIn": one * MB, "msgRateIn": 100.0}
        for place, one in enumerate(megabytes)
    }
    return {
        "cpu": {"usage": cpu, "limit": 100},
        "bundles": list(stats),
        "lastStats": stats,
        "msgThroughputIn": sum(megabytes) * MB,
        "brokerVersionString": "4.0.7",
        **more,
    }


@pytest.fixture
def explained(tmp_path, capsys):
    def explain(*options, **reports):
        for broker, one in reports.items():
            (tmp_path / f"{broker}.json").write_text(json.dumps(one))
        assert main(["explain", str(tmp_path), "--setting", STRATEGY, *options]) == 0
        return " ".join(capsys.readouterr().out.split())

    return explain


BUSY, OTHER = report(90, 40, 30, 20), report(41, 10, 8, first=4)
FULL = {"memory": {"usage": 55, "limit": 100}}


def test_the_overloaded_broker_is_a_hit_and_what_would_go_is_named(explained):
    heap = ("--setting", "loadBalancerMemoryResourceWeight=1")
    out = explained(*heap, a=BUSY, b=OTHER | FULL, c=report(48, 9, 7, first=7))
    assert "a 90 % of cpu; smoothed 90 % (BrokerLoadData.updateWeightedMaxEMA)" in out
    assert "b 55 % of memory; smoothed 55 %" in out
    assert "deviation 0.1837 <= 0.25" in out
    assert "underloaded none: c has 48 % and 16 MB/s; underloaded is under 0.125 of the" in out
    assert "mean, 8.04 %, or under 0.125 of the 90 MB/s of a" in out
    assert "overloaded a: a has 90 %; overloaded is over 85 % (loadBalancerBrokerOver" in out
    assert "over mean + target, 89.33 %" in out
    assert "hits 1 in a row since the last unload; more than 3 are needed" in out
    assert "later these bundles go, if the loads are the same once there are enough hits" in out
    assert f"would go {bundle(2)} = 20 MB/s, from a to c" in out


def test_the_underloaded_broker_is_a_hit(explained):
    out = explained(a=report(40, 40, 30), b=report(30, 9, first=4), c=report(25, 2, first=7))
    assert "underloaded c: c has 25 % and 2 MB/s;" in out
    assert "overloaded none: a has 40 %; overloaded is over 85 %" in out
    assert "hits 1 in a row" in out


def test_without_a_condition_nothing_would_go(explained):
    out = explained(a=report(40, 20, 30), b=report(38, 40, first=4))
    assert "hits 0 in a row" in out
    assert "would go" not in out
    assert "later" not in out


def test_enough_hits_are_counted_and_the_unloads_follow(explained):
    needed = "loadBalancerSheddingConditionHitCountThreshold=0"
    out = explained("--setting", needed, a=BUSY, b=OTHER, c=report(10, 9, first=7))
    assert "hits 1 in a row since the last unload; more than 0 are needed" in out
    assert f"goes {bundle(2)} = 20 MB/s, from a to c" in out
    assert "would go" not in out


def test_a_weight_is_named(explained):
    half = "loadBalancerCPUResourceWeight=0.5"
    out = explained("--setting", half, a=BUSY, b=OTHER)
    assert "a 45 % of cpu, with its weight 0.5; smoothed 45 %" in out
