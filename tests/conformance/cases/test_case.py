"""`pulsar-conformance case` makes a case from reports and bundle data of a real cluster."""

import io
import json
import shutil
import sys
from pathlib import Path

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.cases.settings_files import read_settings
from pulsar_conformance.conformance.cases.snapshot import MAKERS
from pulsar_conformance.conformance.commands.main import main

SAVED = Path(fixtures.__file__).parent / "reports" / "three-brokers"
THRESHOLD = "loadBalancerBrokerThresholdShedderPercentage"
OVERLOAD = "org.apache.pulsar.broker.loadbalance.impl.OverloadShedder"
BUNDLE = "shop/eu/0x00000000_0x40000000"
IDLE = "shop/us/0x80000000_0xc0000000"
"""A bundle of broker-3 with statistics, but without bundle data."""


@pytest.fixture
def made(capsys):
    """Return a function that makes a case: it returns the case's JSON, and the notes."""

    def make(*options, kind="modular"):
        words = ["case", "--reports", str(SAVED / kind), *map(str, options)]
        assert main(words) == 0
        said = capsys.readouterr()
        return json.loads(said.out), said.err

    return make


@pytest.fixture
def reports(tmp_path):
    """Provide a folder with reports of the modular load manager, which a test may change."""
    return Path(shutil.copytree(SAVED / "modular", tmp_path / "reports"))


def edited(file, **fields):
    """Change fields of the report in a file; None removes a field."""
    report = {**json.loads(file.read_text("utf-8")), **fields}
    file.write_text(json.dumps({name: one for name, one in report.items() if one is not None}))


def explained(case, monkeypatch, capsys, *options):
    stdin = io.TextIOWrapper(io.BytesIO(json.dumps(case).encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["explain", "-", *options]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("kind", ["modular", "simple"])
def test_reports_of_either_manager_make_the_same_cycle(made, kind):
    options = ("--bundle-data", SAVED / "bundle-data", "--conf", SAVED / "broker.conf")
    options += ("--release", "3.0.7")
    judged = () if kind == "modular" else ("--judge-by", "released-3.0")
    case, _ = made(*options, *judged, kind=kind)
    assert case["ask"] == "shed.select"
    brokers = case["case"]["brokers"]
    assert list(brokers) == ["broker-1", "broker-2", "broker-3"]
    assert brokers["broker-1"]["cpu"] == {"usage": 864.0, "limit": 1200.0}
    assert brokers["broker-1"]["msgThroughputOut"] == 61_000_000
    assert len(brokers["broker-1"]["bundles"]) == 4
    assert case["case"]["bundles"][BUNDLE]["shortTermData"] == {
        "msgRateIn": 12000.0,
        "msgRateOut": 18000.0,
        "msgThroughputIn": 12_000_000.0,
        "msgThroughputOut": 18_000_000.0,
        "numSamples": 10,
        "maxSamples": 10,
    }
    assert case["case"]["settings"][THRESHOLD] == 10
    assert case["case"]["strategy"] is None
    assert case["case"] == made(*options)[0]["case"]


def test_from_reports_to_a_derivation_in_two_commands(made, monkeypatch, capsys):
    case, _ = made("--profile", "documented-3.0")
    out = explained(case, monkeypatch, capsys)
    assert f"{THRESHOLD} is not set: 10, the default of released-3.0" in " ".join(out.split())
    assert "average   (72 + 34 + 24) / 3 = 43.33 %" in out
    assert f"unload  {BUNDLE} of broker-1" in out
    out = explained(case, monkeypatch, capsys, "--setting", f"{THRESHOLD}=30")
    assert "unload  nothing" in out


@pytest.mark.parametrize("kind", ["modular", "simple"])
@pytest.mark.parametrize("operation", MAKERS)
def test_every_operation_can_be_made_and_explained(made, operation, kind, monkeypatch, capsys):
    options = ("--setting", f"{THRESHOLD}=10", "--operation", operation)
    options += () if kind == "modular" else ("--judge-by", "released-2.10")
    case, said = made(*options, kind=kind)
    out = explained(case, monkeypatch, capsys)
    assert operation in out
    assert "answer" in out
    asked = case.get("trial", [case])
    assert len(asked) == (3 if "in this order" in said else 1)


def test_settings_come_from_the_conf_and_then_from_the_command_line(made, tmp_path):
    conf = tmp_path / "broker.conf"
    conf.write_text(f"{THRESHOLD}=10\nloadBalancerSheddingGracePeriodMinutes=20\n")
    own = specs.load().profile("released-3.0").hidden
    case, _ = made("--conf", conf, "--setting", f"{THRESHOLD}=40")
    assert case["case"]["settings"] == {
        **own,
        THRESHOLD: 40,
        "loadBalancerSheddingGracePeriodMinutes": 20,
    }
    left_out = "loadBalancerSheddingGracePeriodMinutes="
    case, _ = made("--conf", conf, "--setting", left_out)
    assert case["case"]["settings"] == {**own, THRESHOLD: 10}


def test_a_broker_conf_is_read_as_java_reads_it(tmp_path):
    conf = tmp_path / "broker.conf"
    conf.write_text(
        "### --- Load balancer --- ###\n"
        "! another comment\n"
        "\n"
        "zookeeperServers=a:2181,b:2181\n"
        f"  {THRESHOLD} = 10  \n"
        "loadBalancerOverrideBrokerNicSpeedGbps=\n"
        "loadBalancerSheddingEnabled:true\n"
        "loadBalancerLoadSheddingStrategy=org.apache.pulsar.broker.\\\n"
        "    loadbalance.impl.OverloadShedder\n"
        "loadBalancerHistoryResourcePercentage=0.9\n"
        "loadBalancerNamespaceBundleMaxTopics=500\n"
        "loadBalancerNamespaceBundleMaxTopics=700"
    )
    assert read_settings(conf).values == {
        THRESHOLD: 10,
        "loadBalancerSheddingEnabled": True,
        "loadBalancerLoadSheddingStrategy": OVERLOAD,
        "loadBalancerHistoryResourcePercentage": 0.9,
        "loadBalancerNamespaceBundleMaxTopics": 700,
    }


def test_the_settings_of_a_running_broker_are_read_as_its_admin_api_writes_them(tmp_path):
    conf = tmp_path / "runtime.json"
    told = {
        THRESHOLD: "10",
        "loadBalancerOverrideBrokerNicSpeedGbps": "Optional[1.0]",
        "loadBalancerSheddingEnabled": "true",
        "loadBalancerLoadSheddingStrategy": OVERLOAD,
        "loadBalancerHistoryResourcePercentage": "0.9",
        "loadBalancerBandwidthInResourceWeight": "0.5",
        "loadBalancerNamespaceBundleMaxTopics": 700,
        "defaultNumberOfNamespaceBundles": "null",
        "brokerClientTrustCertsFilePath": "",
        "zookeeperServers": None,
        "brokerInterceptors": ["a", "b"],
    }
    conf.write_text(json.dumps(told))
    assert read_settings(conf).values == {
        THRESHOLD: 10,
        "loadBalancerOverrideBrokerNicSpeedGbps": 1,
        "loadBalancerSheddingEnabled": True,
        "loadBalancerLoadSheddingStrategy": OVERLOAD,
        "loadBalancerHistoryResourcePercentage": 0.9,
        "loadBalancerBandwithInResourceWeight": 0.5,
        "loadBalancerNamespaceBundleMaxTopics": 700,
    }
    conf.write_text(
        json.dumps({**told, "loadBalancerOverrideBrokerNicSpeedGbps": "Optional.empty"})
    )
    assert "loadBalancerOverrideBrokerNicSpeedGbps" not in read_settings(conf).values


def test_a_file_names_its_broker(made, reports, capsys):
    for old, new in (("broker-1", "b1.example.com%3A8080"), ("broker-2", "b2:8080")):
        (reports / f"{old}.json").rename(reports / f"{new}.json")
    (reports / "notes.txt").write_text("no report")
    assert main(["case", "--reports", str(reports), "--setting", f"{THRESHOLD}=10"]) == 0
    brokers = json.loads(capsys.readouterr().out)["case"]["brokers"]
    assert list(brokers) == ["b1.example.com:8080", "b2:8080", "broker-3"]


def test_bundle_data_may_lie_in_folders_in_encoded_names_or_in_one_object(made, tmp_path):
    folders = SAVED / "bundle-data"
    flat, whole = tmp_path / "flat", tmp_path / "bundle-data.json"
    flat.mkdir()
    every = {}
    for file in folders.rglob("*.json"):
        name = file.relative_to(folders).as_posix().removesuffix(".json")
        (flat / f"{name.replace('/', '%2F')}.json").write_text(file.read_text())
        every[name] = json.loads(file.read_text())
    whole.write_text(json.dumps(every))
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "all.json").write_text(json.dumps(every))
    setting = ("--setting", f"{THRESHOLD}=10")
    found = [made(*setting, "--bundle-data", path)[0] for path in (folders, flat, whole, inside)]
    assert found[0]["case"]["bundles"][BUNDLE]["longTermData"]["numSamples"] == 412
    assert found[1:] == found[:1] * 3


def test_without_bundle_data_the_latest_numbers_are_one_sample(made):
    setting = ("--setting", f"{THRESHOLD}=10")
    case, said = made(*setting)
    assert case["case"]["bundles"][BUNDLE]["longTermData"] == {
        "msgRateIn": 12000.0,
        "msgRateOut": 18000.0,
        "msgThroughputIn": 12_000_000.0,
        "msgThroughputOut": 18_000_000.0,
        "numSamples": 1,
        "maxSamples": 1000,
    }
    assert "no bundle data of 8 bundles: the latest rates count as one sample" in said
    case, said = made(*setting, "--bundle-data", SAVED / "bundle-data")
    assert case["case"]["bundles"][IDLE]["shortTermData"]["numSamples"] == 1
    assert f"no bundle data of {IDLE}:" in said


def test_a_bundle_of_which_nothing_is_known_was_never_measured(reports, capsys):
    for file in reports.iterdir():
        edited(file, lastStats={})
    assert main(["case", "--reports", str(reports), "--setting", f"{THRESHOLD}=10"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["case"]["bundles"] == {}
    assert "neither bundle data nor latest rates of 8 bundles" in said.err


def test_what_was_not_measured_is_left_out(reports, capsys):
    unlimited, unmeasured = {"usage": 4.0, "limit": 0.0}, {"usage": -1.0, "limit": -1.0}
    edited(reports / "broker-1.json", bandwidthIn=unlimited, memory=unmeasured)
    assert main(["case", "--reports", str(reports), "--setting", f"{THRESHOLD}=10"]) == 0
    said = capsys.readouterr()
    broker = json.loads(said.out)["case"]["brokers"]["broker-1"]
    assert not {"bandwidthIn", "memory"} & set(broker)
    assert "broker-1: resources left out, since they have no limit: bandwidthIn" in said.err
    assert "broker-1: resources left out, since not measured (limit -1): memory" in said.err


def test_rates_that_a_report_does_not_have_are_summed_over_its_bundles(made, reports, capsys):
    edited(reports / "broker-1.json", msgRateIn=None, msgThroughputIn=7.0)
    assert main(["case", "--reports", str(reports), "--setting", f"{THRESHOLD}=10"]) == 0
    broker = json.loads(capsys.readouterr().out)["case"]["brokers"]["broker-1"]
    assert broker["msgRateIn"] == 39_000
    assert broker["msgThroughputIn"] == 7


def test_the_throughput_in_a_simple_report_is_not_believed(tmp_path, capsys):
    # Pulsar's class writes the message rates there a second time.
    reports = Path(shutil.copytree(SAVED / "simple", tmp_path / "simple"))
    edited(reports / "broker-1.json", msgThroughputIn=39000.0, msgThroughputOut=61000.0)
    words = ("--setting", f"{THRESHOLD}=10", "--judge-by", "released-2.10")
    assert main(["case", "--reports", str(reports), *words]) == 0
    broker = json.loads(capsys.readouterr().out)["case"]["brokers"]["broker-1"]
    assert (broker["msgThroughputIn"], broker["msgThroughputOut"]) == (39_000_000, 61_000_000)


def no_json(reports):
    (reports / "broker-2.json").write_text("<html>")
    return ()


def no_report(reports):
    (reports / "broker-2.json").write_text("{}")
    return ()


def no_files(reports):
    shutil.rmtree(reports)
    reports.mkdir()
    return ()


def twice(reports):
    shutil.copy(reports / "broker-1.json", reports / "broker%2D1.json")
    edited(reports / "broker-1.json", webServiceUrl="http://other:8080")
    return ()


def two_owners(reports):
    shutil.copy(reports / "broker-1.json", reports / "broker-4.json")
    edited(reports / "broker-4.json", webServiceUrl="http://broker-4.example.com:8080")
    return ("--setting", f"{THRESHOLD}=10")


def conf_of(text):
    def write(reports):
        (reports / "broker.conf").write_text(text)
        return ("--conf", reports / "broker.conf")

    return write


def no_data(reports):
    data = reports.parent / "data"
    data.mkdir()
    (data / "what.json").write_text('{"a": 1}')
    return ("--bundle-data", data)


def no_averages(reports):
    data = reports.parent / "data.json"
    data.write_text(json.dumps({BUNDLE: {"topics": 3}}))
    return ("--bundle-data", data)


def options(*words):
    return lambda _reports: words


MISTAKES = {
    "no JSON": (no_json, "broker-2.json: it isn't JSON (Expecting value, character 1)"),
    "no report": (no_report, "broker-2.json: it is not a load report: it has neither"),
    "no files": (no_files, "reports: there is no *.json file in it"),
    "a broker twice": (twice, "broker-1.json: there is already a report of broker-1; keep one"),
    "a bundle twice": (two_owners, "is also owned by broker-1"),
    "a wrong value in the conf": (
        conf_of(f"a=b\n{THRESHOLD}=ten\n"),
        f"broker.conf:2: {THRESHOLD}=ten: it takes a whole number",
    ),
    "another file than a conf": (
        conf_of("metadataStoreUrl=zk:localhost:2181\n"),
        "broker.conf: it has no load balancing settings that can be read; give a broker.conf",
    ),
    "a runtime configuration cut short": (
        conf_of(f'{{"{THRESHOLD}": "10"'),
        "broker.conf: it isn't JSON",
    ),
    "a wrong value in a runtime configuration": (
        conf_of(f'{{"{THRESHOLD}": "Optional[ten]"}}'),
        f"broker.conf: {THRESHOLD}=ten: it takes a whole number",
    ),
    "a setting that is a list there": (
        conf_of(f'{{"{THRESHOLD}": [10]}}'),
        f"broker.conf: {THRESHOLD} is list, not a single value",
    ),
    "no conf": (options("--conf", "nowhere.conf"), "nowhere.conf: No such file or directory"),
    "no bundle data": (
        no_data,
        "what.json: neither its name nor its content names bundles",
    ),
    "bundle data without averages": (no_averages, "data.json: it is not bundle data, which has"),
    "no folder": (options("--bundle-data", "nowhere"), "nowhere: it is not a folder"),
    "an unknown setting": (
        options("--setting", f"{THRESHOLD}s=3"),
        f"{THRESHOLD}s is not a setting;",
    ),
    "an unknown operation": (
        options("--operation", "place.select"),
        "place.select is not an operation for load reports; choose from shed.select,",
    ),
    "a setting of another type": (
        options("--setting", f"{THRESHOLD}=ten"),
        f"{THRESHOLD}=ten: it takes a whole number",
    ),
}


@pytest.mark.parametrize(("mistake", "says"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_reported_in_a_sentence(mistake, says, reports, capsys, monkeypatch):
    words = mistake(reports)
    monkeypatch.chdir(reports.parent)
    assert main(["case", "--reports", "reports", *map(str, words)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("pulsar-conformance: ")
    assert says in said.err
    assert said.err.count("\n") == 1
