"""Explanations under a release parse values of settings as its brokers do."""

import json
from pathlib import Path

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.conformance.commands.main import main

REPORTS = Path(fixtures.__file__).parent / "reports" / "three-brokers" / "modular"
WEIGHT = "loadBalancerCPUResourceWeight"
RANGE = "Pulsar accepts it, but it should be between 0 and 1"
PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."


@pytest.fixture
def explained(tmp_path, capsys):
    """Return a function that explains with lines of broker.conf: status, explanation and notes."""

    def explain(lines, *words, folder=REPORTS, command="explain"):
        conf = tmp_path / "broker.conf"
        conf.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        given = ["--conf", str(conf)] if lines else []
        status = main([command, str(folder), *given, *words])
        out, err = capsys.readouterr()
        return status, out if command == "case" else " ".join(out.split()), " ".join(err.split())

    return explain


# ServiceConfiguration has no limits for weights. Broker-1 has 72 % of CPU.
@pytest.mark.parametrize(
    "words", [(), ("--release", "3.0.7"), ("--judge-by", "released-2.10")]
)  # The reports name their release.
def test_a_weight_outside_its_range_counts_under_a_release(explained, words):
    status, out, err = explained([f"{WEIGHT}=2"], *words)
    assert status == 0
    assert "144 % of cpu, with its weight" in out
    assert f"broker.conf:1: {WEIGHT}=2: {RANGE}" in err
    status, out, err = explained([], "--setting", f"{WEIGHT}=2", *words)
    assert status == 0
    assert "144 % of cpu, with its weight" in out
    assert f"--setting {WEIGHT}=2: {RANGE}" in err


def test_a_weight_outside_its_range_is_refused_by_documents(explained):
    for lines, words in (([f"{WEIGHT}=2"], ()), ([], ("--setting", f"{WEIGHT}=2"))):
        status, _, err = explained(lines, *words, "--judge-by", "documented-3.0")
        assert status == 2
        assert f"{WEIGHT}=2: it must be between 0 and 1" in err


def test_a_case_of_a_release_may_have_such_a_weight(explained, tmp_path):
    words = ("--release", "2.10.2")
    status, out, _ = explained([f"{WEIGHT}=2"], *words, command="case")
    file = tmp_path / "case.json"
    file.write_text(out, "utf-8")
    assert json.loads(out)["case"]["settings"][WEIGHT] == 2
    status, out, _ = explained([], folder=file)
    assert status == 0
    assert "except 144 % of cpu: over 100 % (ThresholdShedder.updateAvgResourceUsage)" in out
    assert explained([], "--judge-by", "documented-3.0", folder=file)[0] == 2


def test_values_are_those_that_a_broker_reads(explained):
    status, _, err = explained(["loadBalancerSheddingEnabled=yes"], "--release", "3.0.7")
    assert status == 0
    assert "yes is read as false, since only true means true" in err
    status, _, err = explained([f"{WEIGHT}=much"], "--release", "3.0.7")
    assert status == 2
    assert f"{WEIGHT}=much: it takes a number" in err


def test_a_difference_of_the_default_strategy_is_reported(explained):
    _, _, err = explained([], "--release", "2.10.2")
    assert "Does ThresholdShedder count the resources of a broker that are over 100 %? Not" in err
    _, _, err = explained([f"loadBalancerLoadSheddingStrategy={PACKAGE}OverloadShedder"])
    assert "over 100 %" not in err


# UniformLoadShedder 2.10.1:79-81 leaves out brokers with at most one bundle; 2.11.0 does not.
@pytest.mark.parametrize(("release", "left_out"), [("2.10.1", True), ("3.0.7", False)])
def test_a_broker_that_uniform_load_shedder_leaves_out_is_reported(
    explained, tmp_path, release, left_out
):
    folder = tmp_path / "reports"
    folder.mkdir()
    for file in REPORTS.glob("*.json"):
        report = json.loads(file.read_text("utf-8"))
        if file.name == "broker-3.json":
            report |= {"bundles": report["bundles"][:1], "lastStats": {}}
        (folder / file.name).write_text(json.dumps(report), "utf-8")
    line = f"loadBalancerLoadSheddingStrategy={PACKAGE}UniformLoadShedder"
    _, out, _ = explained([line], "--release", release, folder=folder)
    why = "left out it has a single bundle, so it is not compared with others"
    assert out.count(why) == out.count(" left out ") == left_out


STRATEGY = "loadBalancerLoadSheddingStrategy"
NEW_NAME = "loadBalancerBandwidthInResourceWeight"
LACKING = f"{NEW_NAME}: Pulsar 3.0.7 has no such setting; it was added in 4.0.7 at the latest"


# ServiceConfiguration of 3.0.7 has the spelling Bandwith alone.
def test_a_setting_that_a_release_lacks_changes_nothing_wherever_it_is_given(explained, tmp_path):
    usual = explained([], "--release", "3.0.7")[1]
    for lines, words in (([f"{NEW_NAME}=0.1"], ()), ([], ("--setting", f"{NEW_NAME}=0.1"))):
        status, out, err = explained(lines, "--release", "3.0.7", *words)
        assert (status, out) == (0, usual)
        assert LACKING in err
        _, out, err = explained(lines, "--release", "3.0.7", *words, command="case")
        assert LACKING in err
        assert not any("ResourceWeight" in name for name in json.loads(out)["case"]["settings"])
    file = tmp_path / "case.json"
    file.write_text(out, "utf-8")  # The output names released-3.0, the profile of 3.0.7.
    _, out, err = explained([], "--setting", f"{NEW_NAME}=0.1", folder=file)
    assert LACKING in err
    assert "with the changed settings" not in out


def test_a_setting_is_named_as_it_is_given(explained):
    _, _, err = explained([], "--release", "4.2.4", "--setting", f"{NEW_NAME}=100")
    assert f"--setting {NEW_NAME}=100: {RANGE}" in err
    _, _, err = explained([f"{NEW_NAME}=100"], "--release", "4.2.4")
    assert f"broker.conf:1: {NEW_NAME}=100: {RANGE}" in err
    _, _, err = explained([], "--judge-by", "released-3.0", "--setting", f"{NEW_NAME}=0.5")
    assert LACKING in err


# AvgShedder came in 3.0.6, 3.2.4 and 3.3.1; createLoadSheddingStrategy falls back without it.
@pytest.mark.parametrize("release", ["2.10.5", "3.0.5", "3.1.0", "3.2.3"])
def test_a_strategy_that_a_version_lacks_does_not_decide(explained, tmp_path, release):
    asked = f"{STRATEGY}={PACKAGE}AvgShedder"
    for lines, words in (([], ("--setting", asked)), ([asked], ())):
        status, out, err = explained(lines, "--release", release, *words)
        assert status == 0
        assert "strategy OverloadShedder" in out
        told = f"Pulsar {release} has no AvgShedder, so OverloadShedder runs instead"
        assert told in (err if lines else out)
        assert "the leader has found each pair of brokers" not in err
    out = explained([], "--release", release, command="case")[1]
    file = tmp_path / "case.json"
    data = json.loads(out)
    data["case"]["strategy"] = f"{PACKAGE}AvgShedder"
    file.write_text(json.dumps(data), "utf-8")
    _, out, _ = explained([], "--release", release, folder=file)
    assert "strategy OverloadShedder" in out


@pytest.mark.parametrize("words", [("--release", "3.2.4"), ("--judge-by", "released-3.0")])
def test_a_strategy_that_a_version_has_decides(explained, words):
    _, out, _ = explained([], *words, "--setting", f"{STRATEGY}={PACKAGE}AvgShedder")
    assert "strategy AvgShedder" in out
    assert "no effect" not in out
