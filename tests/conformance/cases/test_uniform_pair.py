"""The brokers that UniformLoadShedder compares, by version."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main

UNIFORM = "org.apache.pulsar.broker.loadbalance.impl.UniformLoadShedder"


def loaded(name, rate, throughput):
    """Return a report with two bundles that share these messages and bytes per second."""
    start = int(name[1:]) * 2
    bundles = [f"t/ns/0x{n}0000000_0x{n + 1}0000000" for n in (start, start + 1)]
    stats = {one: {"msgRateIn": rate / 2, "msgThroughputIn": throughput / 2} for one in bundles}
    return {
        "cpu": {"usage": 50, "limit": 100},
        "msgRateIn": rate,
        "msgThroughputIn": throughput,
        "bundles": bundles,
        "lastStats": stats,
    }


@pytest.fixture
def shed(tmp_path, capsys):
    """Return a function that explains the unloads, given messages and bytes by broker."""

    def asked(release, traffic, *options):
        for name, carried in traffic.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(loaded(name, *carried)))
        setting = f"loadBalancerLoadSheddingStrategy={UNIFORM}"
        words = ["explain", str(tmp_path), "--release", release, "--setting", setting, *options]
        assert main(words) == 0
        return " ".join(capsys.readouterr().out.split())

    return asked


def test_the_brokers_compared_are_named(shed):
    """The pair need not contain the first broker (apache/pulsar#21174)."""
    traffic = {"b0": (5600, 56e6), "b1": (60000, 30e6), "b2": (15000, 30e6)}
    off = ("--setting", "loadBalancerMsgRateDifferenceShedderThreshold=0")
    out = shed("3.0.7", traffic, *off)
    assert "messages b0 5600 msg/s to b1 60000 msg/s" in out
    assert "b2 30 MB/s to b0 56 MB/s" in out or "b1 30 MB/s to b0 56 MB/s" in out


def test_before_the_pairs_were_separate_either_minimum_was_enough(shed):
    """UniformLoadShedder.findBundlesForUnloading of 3.0.0 joins both minimums by `||`."""
    traffic = {"b0": (840, 40e6), "b1": (160, 4e6)}
    assert "enough by the other measure: 7.2 MB/s" in shed("3.0.0", traffic)
    assert "less than the 1000 msg/s of minUnloadMessage" in shed("3.0.7", traffic)
