"""Metrics without bundles tell no traffic, so decisions that depend on it stay open."""

import pytest
from pulsar_conformance.conformance.commands.main import main

IMPL = "org.apache.pulsar.broker.loadbalance.impl."
EXPOSED = "exposeBundlesMetricsInPrometheus=true"
RESOURCES = ("cpu", "memory", "directMemory", "bandwidth_in", "bandwidth_out")


@pytest.fixture
def explained(tmp_path, capsys):
    """Explain brokers' metrics; return the status, standard output and standard error."""

    def explain(usages, *options, more=""):
        text = "".join(
            f'pulsar_lb_{name}_usage{{broker="{broker}"}} {usage}\n'
            for broker, usage in usages.items()
            for name in RESOURCES
        )
        file = tmp_path / "metrics.txt"
        file.write_text(text + more)
        status = main(["explain", "--metrics", str(file), "--release", "4.0.1", *options])
        said = capsys.readouterr()
        return status, " ".join(said.out.split()), " ".join(said.err.split())

    return explain


def strategy(name):
    return "--setting", f"loadBalancerLoadSheddingStrategy={IMPL}{name}"


BUSY = {"b1": 90.0, "b2": 20.0}


@pytest.mark.parametrize("name", ["ThresholdShedder", "OverloadShedder"])
def test_what_a_broker_over_the_limit_unloads_is_not_known(explained, name):
    status, out, err = explained(BUSY, *strategy(name))
    assert status == 2
    assert "answer undecidable the metrics have no traffic of b1, on which" in out
    assert "decision it depends on traffic, which is unknown b2" in out
    assert "0 B/s" not in out
    assert "unload nothing" not in out
    assert f"so the case has no traffic: set {EXPOSED}" in err


def test_what_brokers_below_the_limit_unload_is_known(explained):
    for name in ("ThresholdShedder", "OverloadShedder"):
        status, out, _ = explained({"b1": 60.0, "b2": 60.0}, *strategy(name))
        assert status == 0
        assert "answer unload nothing" in out


def test_a_strategy_that_compares_traffic_cannot_decide_without_it(explained):
    status, out, _ = explained({"b1": 30.0, "b2": 30.0}, *strategy("UniformLoadShedder"))
    assert status == 2
    assert "the metrics have no traffic of b1, b2, on which" in out
    assert "msg/s" not in out


def test_a_place_by_traffic_is_not_known_and_one_by_usage_is(explained):
    asked = ("--place", "acme/a/0x00000000_0x40000000")
    usages = {"b1": 80.0, "b2": 20.0}
    status, out, _ = explained(usages, *asked)
    assert (status, "undecidable the metrics have no traffic of b1, b2" in out) == (2, True)
    by_usage = f"loadBalancerLoadPlacementStrategy={IMPL}LeastResourceUsageWithWeight"
    status, out, _ = explained(usages, *asked, "--setting", by_usage)
    assert (status, "answer broker b2" in out) == (0, True)


def test_advice_that_was_followed_is_not_repeated(explained, tmp_path):
    conf = tmp_path / "broker.conf"
    conf.write_text(EXPOSED)
    _, _, err = explained(BUSY, "--conf", str(conf))
    assert f"although {EXPOSED}: save pulsar_bundle_* of each broker" in err
    assert f"set {EXPOSED}" not in err


def test_known_traffic_decides(explained):
    rates = "".join(
        f'pulsar_bundle_msg_throughput_in{{broker="b1", bundle="a/b/{name}"}} 4e7\n'
        for name in ("0x00000000_0x40000000", "0x40000000_0x80000000", "0x80000000_0xffffffff")
    )
    status, out, err = explained(BUSY, more=rates)
    assert status == 0
    assert "answer unload a/b/0x" in out
    assert "no traffic" not in err
    counted = rates.replace("msg_throughput_in", "topics_count")
    status, out, _ = explained(BUSY, more=counted)
    assert status == 2
