"""Load data of the extensible load manager in operators' formats: metrics and messages."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main

EXTENSIBLE = "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl"
MANAGER = f"loadManagerClassName={EXTENSIBLE}"
USAGES = {"cpu": 10, "memory": 95, "directMemory": 2, "bandwidth_in": 3, "bandwidth_out": 4}


def metrics_of(broker, smoothed, **usages):
    lines = [
        f'pulsar_lb_{name}_usage{{broker="{broker}",metric="loadBalancing"}} {usage}.0'
        for name, usage in {**USAGES, **usages}.items()
    ]
    feature = f'{{broker="{broker}",feature="max_ema",metric="loadBalancing"}}'
    maximum = f'{{broker="{broker}",feature="max",metric="loadBalancing"}}'
    lines += [f"pulsar_lb_resource_usage{feature} {smoothed}"] if smoothed is not None else []
    return "\n".join([*lines, f"pulsar_lb_resource_usage{maximum} 0.95"]) + "\n"


@pytest.fixture
def explained(tmp_path, capsys):
    """Return a function that explains metrics and returns the status, the output and the notes."""

    def ask(text, *options, command="explain"):
        file = tmp_path / "metrics.txt"
        file.write_text(text, "utf-8")
        status = main([command, "--metrics", str(file), *options])
        out, err = capsys.readouterr()
        return status, " ".join(out.split()), " ".join(err.split())

    return ask


BOTH = metrics_of("b1", 0.30) + metrics_of("b2", 0.90, memory=90)


# A broker reports its smoothed usage as max_ema; its current usage is another value.
def test_the_smoothed_usage_of_the_metrics_is_the_one_that_decides(explained):
    status, out, err = explained(BOTH, "--release", "3.0.7", "--setting", MANAGER)
    assert status == 0
    assert "b1 95 % of memory; smoothed 30 %" in out
    assert "b2 90 % of memory; smoothed 90 %" in out
    assert "mean 60 %" in out
    assert "usageHistory is unknown" not in err


# By default, earlier usage counts 0.9: even with 0 before, 0.1 x 95 % is more than 5 %.
def test_a_smoothed_usage_that_nothing_explains_is_not_used(explained):
    text = metrics_of("b1", 0.05) + metrics_of("b2", 0.90, memory=90)
    status, out, err = explained(text, "--release", "3.0.7", "--setting", MANAGER)
    assert status == 0
    assert "max_ema is 5 %, but no earlier usage gives that with a weighted usage of 95 %" in err
    assert "b1 95 % of memory; smoothed 95 %" in out


def test_metrics_of_the_extensible_manager_are_not_explained_as_the_modular_ones(explained):
    status, out, err = explained(BOTH, "--release", "3.0.7")
    assert (status, out) == (2, "")
    assert "only the extensible load manager writes pulsar_lb_resource_usage" in err
    assert f"--setting {MANAGER}" in err


def test_the_largest_usage_of_a_report_is_no_question_for_the_extensible_manager(explained):
    options = ("--operation", "usage.max", "--release", "3.0.7", "--setting", MANAGER)
    status, out, err = explained(BOTH, *options, command="case")
    assert (status, out) == (2, "")
    assert "usage.max applies only to the modular and simple load managers" in err


def test_metrics_without_a_smoothed_usage_are_read_as_before(explained):
    text = metrics_of("b1", None) + metrics_of("b2", None)
    status, out, _ = explained(text, "--release", "3.0.7")
    assert status == 0
    assert "b1" in out


LOAD = {"weightedMaxEMA": 0.9, "msgThroughputEMA": 9e6, "bundleCount": 2, "updatedAt": 1000}
TOP = [
    {"bundleName": "t/n/0x00000000_0x40000000", "stats": {"msgThroughputIn": 3e6}},
    {"bundleName": "t/n/0x40000000_0x80000000", "stats": {"msgThroughputIn": 6e6}},
]


def message(broker, content):
    return f"key:[{broker}], properties:[], content:{json.dumps(content)}"


@pytest.fixture
def consumed(tmp_path, capsys):
    """Return a function that explains messages and returns the status, the output and the notes."""

    def ask(*lines):
        file = tmp_path / "consumed.log"
        file.write_text("\n".join(["2026-01-01 INFO Connected", *lines]) + "\n", "utf-8")
        status = main(["explain", str(file), "--release", "4.0.7"])
        out, err = capsys.readouterr()
        return status, " ".join(out.split()), " ".join(err.split())

    return ask


def test_what_a_consumer_prints_of_the_topics_is_read(consumed):
    idle = {**LOAD, "weightedMaxEMA": 0.1, "msgThroughputEMA": 0}
    status, out, _ = consumed(
        message("b1:8080", {**LOAD, "weightedMaxEMA": 0.2}),
        "----- got message -----",
        message("b1:8080", LOAD),
        message("b2:8080", idle),
        message("b1:8080", {"topBundlesLoadData": TOP}),
        message("b2:8080", {"topBundlesLoadData": []}),
    )
    assert status == 0
    assert "b1:8080 90 % b2:8080 10 %" in out
    assert "t/n/0x00000000_0x40000000" in out


def test_top_bundles_of_a_broker_without_load_data_are_reported(consumed):
    status, _, err = consumed(message("b1:8080", {"topBundlesLoadData": TOP}))
    assert status == 2
    assert "the top bundles of b1:8080, but not that broker's load data" in err


def test_a_message_that_is_cut_is_reported(consumed):
    status, _, err = consumed(message("b1:8080", LOAD).replace("0.9", "0..9"))
    assert status == 2
    assert "the message of b1:8080" in err


def removal(broker, content="null"):
    return f"publishTime:[1], eventTime:[0], key:[{broker}], properties:[], content:{content}"


IDLE = {**LOAD, "weightedMaxEMA": 0.1}
TOP_DATA = {"topBundlesLoadData": TOP}


# AbstractCmdConsume.interpretMessage prints the times first in newer versions.
def test_fields_before_the_key_are_read(consumed):
    newer = [
        f"publishTime:[1], eventTime:[0], {message(*one)}" for one in (("b1", LOAD), ("b2", IDLE))
    ]
    status, out, _ = consumed(*newer)
    assert (status, "b1 90 % b2 10 %" in out) == (0, True)


# TableViewLoadDataStoreImpl.removeAsync publishes a message without a value.
@pytest.mark.parametrize("content", ["null", ""])
def test_a_message_without_content_removes_the_data_of_its_broker(consumed, content):
    others = [message("b1", LOAD), message("b2", IDLE)]
    gone = removal("b3", content)
    status, out, err = consumed(*others, message("b3", {**LOAD, "weightedMaxEMA": 0.7}), gone)
    assert (status, "b3" in out) == (0, False)
    assert "b3: left out, since a message without content removed its load data" in err
    _, out, err = consumed(*others, gone, message("b3", LOAD))
    assert ("b3 90 %" in out, "left out" in err) == (True, False)
    status, _, err = consumed(message("b1", LOAD), removal("b1", content))
    assert (status, "the latest message for each of b1 deletes its load data" in err) == (2, True)


def test_a_message_that_removes_top_bundles_leaves_the_load_data(consumed):
    loads = [message("b1", LOAD), message("b2", IDLE)]
    top = [message("b1", TOP_DATA), removal("b1"), message("b2", TOP_DATA)]
    status, out, err = consumed(*loads, *top)
    assert (status, "left out" in err) == (0, False)
    assert "b1 90 %" in out
    assert "save them as b1-top-bundles.json" in out


# Between messages of both topics, a message without content may be of either.
def test_a_message_of_an_unknown_topic_is_not_guessed(consumed):
    loads = [message("b1", LOAD), message("b2", IDLE)]
    top = [message(broker, TOP_DATA) for broker in ("b1", "b2")]
    unknown = ([*loads, removal("b1"), *top], [*loads, *top, removal("b3")])
    for lines in (
        unknown[0],
        [message("b3", LOAD), *unknown[1]],
        [*loads, *top, *loads, *top, removal("b1")],
    ):
        status, _, err = consumed(*lines)
        assert (status, "cannot tell whether a message without content" in err) == (2, True)
    line = "[persistent://pulsar/system/loadbalancer-top-bundles-load-data] Subscribing"
    status, out, err = consumed(*loads, line, removal("b1"), *top)
    assert (status, "b1 90 %" in out, "left out" in err) == (0, True, False)
    status, out, err = consumed(*loads, removal("b1"), line, *top)
    assert (status, "b1: left out" in err) == (0, True)


# ModularLoadManagerImpl alone reads exposeBundlesMetricsInPrometheus.
def test_no_setting_makes_the_extensible_manager_expose_bundles(explained):
    _, _, err = explained(BOTH, "--release", "4.0.7", "--setting", MANAGER)
    assert "the extensible load manager exposes no bundles in metrics" in err
    assert "set exposeBundlesMetricsInPrometheus" not in err


def test_a_manager_that_is_given_is_no_changed_setting(explained):
    _, out, _ = explained(BOTH, "--release", "4.0.7", "--setting", MANAGER)
    assert "the changed settings affect neither" not in out


# TransferShedder.isTransferable asks the policies of the namespace; they are not applied here.
def test_bundles_with_policies_go_only_if_these_permit_it(tmp_path, capsys):
    for name, load in (("b1", 0.9), ("b2", 0.1)):
        one = {**LOAD, "weightedMaxEMA": load, "msgThroughputIn": 9e6, "msgThroughputOut": 0}
        (tmp_path / f"{name}.json").write_text(json.dumps(one))
        bundles = TOP if name == "b1" else []
        top = tmp_path / f"{name}-top-bundles.json"
        top.write_text(json.dumps({"topBundlesLoadData": bundles}))
    policy = {
        "namespaces": ["t/n"],
        "primary": ["b1"],
        "secondary": [],
        "auto_failover_policy": {
            "policy_type": "min_available",
            "parameters": {"min_limit": "1", "usage_threshold": "100"},
        },
    }
    isolation = tmp_path.with_suffix(".policies")
    isolation.write_text(json.dumps({"own": policy}))
    words = ["explain", str(tmp_path), "--isolation", str(isolation), "--release", "4.0.7"]
    given = "loadBalancerSheddingBundlesWithPoliciesEnabled=true"
    assert main([*words, "--setting", given]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "answer: from b1 to b2 first, if the policies of t/n permit it, at most" in out
    assert main(words) == 0
    assert "permit it, at most" not in " ".join(capsys.readouterr().out.split())


# TransferShedder counts hits first; then the traffic of brokers and their top bundles decide.
def test_what_comes_later_depends_on_traffic_that_metrics_lack(explained):
    text = metrics_of("b1", 0.90) + metrics_of("b2", 0.10, memory=10)
    _, out, _ = explained(text, "--release", "4.2.4", "--setting", MANAGER)
    assert "nothing goes either" not in out
    assert "later it depends on the traffic of brokers, which the metrics do not have" in out


# TransferShedder.isUnderLoaded compares msgThroughputEMA, of which there is no metric.
def test_a_hit_that_depends_on_traffic_is_unknown(explained):
    text = metrics_of("b1", 0.62) + metrics_of("b2", 0.31)
    asked = (text, "--release", "4.2.4", "--setting", MANAGER)
    status, out, _ = explained(*asked)
    assert status == 0
    assert "underloaded unknown: b2 has 31 % and unknown traffic" in out
    assert "of the traffic of b1" in out
    assert "hits 0 or 1, depending on traffic, in a row" in out
    assert "later it depends on the traffic of brokers" in out
    assert "0 B/s" not in out
    hits = "loadBalancerSheddingConditionHitCountThreshold=0"
    status, out, _ = explained(*asked, "--setting", hits)
    assert (status, "undecidable" in out, "hits 0 or 1" in out) == (2, True, True)
    _, out, _ = explained(*asked, "--setting", "loadBalancerBrokerLoadTargetStd=0.1")
    assert "hits 1 in a row" in out


def test_a_broker_with_a_small_load_is_a_hit_whatever_its_traffic(explained):
    text = "".join(metrics_of(f"b{n}", 0.5, memory=50) for n in range(9))
    idle = metrics_of("b9", 0.02, cpu=2, memory=2)
    _, out, _ = explained(text + idle, "--release", "4.2.4", "--setting", MANAGER)
    assert "underloaded b9: b9 has 2 % and unknown traffic" in out
    assert "hits 1 in a row" in out
