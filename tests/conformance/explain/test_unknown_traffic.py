"""Metrics without bundles show no traffic, so decisions that depend on it stay open."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main

IMPL = "org.apache.pulsar.broker.loadbalance.impl."
EXPOSED = "exposeBundlesMetricsInPrometheus=true"
RESOURCES = ("cpu", "memory", "directMemory", "bandwidth_in", "bandwidth_out")


@pytest.fixture
def explained(tmp_path, capsys):
    """Return a function that explains brokers' metrics and returns the status and both outputs."""

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
    assert "answer undecidable the metrics lack traffic of b1, on which" in out
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
    assert "the metrics lack traffic of b1, b2, on which" in out
    assert "msg/s" not in out


def test_a_place_by_traffic_is_not_known_and_one_by_usage_is(explained):
    asked = ("--place", "acme/a/0x00000000_0x40000000")
    usages = {"b1": 80.0, "b2": 20.0}
    status, out, _ = explained(usages, *asked)
    assert (status, "undecidable the metrics lack traffic of b1, b2" in out) == (2, True)
    by_usage = f"loadBalancerLoadPlacementStrategy={IMPL}LeastResourceUsageWithWeight"
    status, out, _ = explained(usages, *asked, "--setting", by_usage)
    assert (status, "answer broker b2" in out) == (0, True)


def test_advice_that_was_followed_is_not_repeated(explained, tmp_path):
    conf = tmp_path / "broker.conf"
    conf.write_text(EXPOSED)
    _, _, err = explained(BUSY, "--conf", str(conf))
    assert f"although {EXPOSED}: save pulsar_bundle_* of each broker" in err
    assert f"set {EXPOSED}" not in err


RATES = ("msg_throughput_in", "msg_throughput_out", "msg_rate_in", "msg_rate_out")
RANGES = ("0x00000000_0x40000000", "0x40000000_0x80000000", "0x80000000_0xffffffff")


def rates_of(metrics, ranges=RANGES, value=4e7):
    return "".join(
        f'pulsar_bundle_{metric}{{broker="b1", bundle="a/b/{name}"}} {value}\n'
        for metric in metrics
        for name in ranges
    )


def test_known_traffic_decides(explained):
    status, out, err = explained(BUSY, more=rates_of(RATES))
    assert status == 0
    assert "answer unload a/b/0x" in out
    assert "no traffic" not in err
    assert "the metrics lack" not in err
    status, out, _ = explained(BUSY, more=rates_of(["topics_count"]))
    assert status == 2


# ThresholdShedder adds the throughput in both directions, and asks for no message rate.
def test_a_decision_by_a_rate_that_the_metrics_lack_is_not_known(explained):
    status, out, err = explained(BUSY, more=rates_of(RATES[:1]))
    assert status == 2
    assert (
        "b1: the metrics lack pulsar_bundle_msg_throughput_out of 3 bundles, so it counts as 0"
        in err
    )
    assert "undecidable the metrics lack traffic of b1" in out
    status, out, err = explained(BUSY, more=rates_of(RATES[:2]))
    assert (status, "answer unload a/b/0x" in out) == (0, True)
    assert "lack pulsar_bundle_msg_rate_in of 3 bundles" in err
    status, _, err = explained(BUSY, more=rates_of(RATES) + rates_of(RATES[1:], ["0xa_0xb"]))
    assert (status, "lack pulsar_bundle_msg_throughput_in of 1 bundle," in err) == (2, True)


def test_earlier_samples_of_a_series_are_reported(explained, tmp_path, capsys):
    times = ("1000", "61000")
    text = rates_of(RATES) + "".join(
        f'pulsar_lb_cpu_usage{{broker="b1"}} {usage} {at}\n'
        for usage, at in zip((1, 2), times, strict=True)
    )
    told = "only the newest sample of each series is used"
    assert told in explained(BUSY, more=text)[2]
    assert told not in explained(BUSY)[2]
    series = [
        {
            "metric": {"__name__": f"pulsar_lb_{name}_usage", "broker": broker},
            "values": [[1000, "30"], [1060, "50"], [1120, "80"]],
        }
        for name in RESOURCES
        for broker in ("b1", "b2")
    ]
    file = tmp_path / "range.json"
    file.write_text(json.dumps({"data": {"resultType": "matrix", "result": series}}))
    main(["explain", "--metrics", str(file), "--release", "4.0.1"])
    said = " ".join(capsys.readouterr().err.split())
    assert f"{told}; to use all, up to 3 per series, make a history with import" in said
