"""Dynamic settings override those of a file, and each value is shown with its source."""

import json
from contextlib import closing

import pytest
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.specs.setting_names import why_not_dynamic
from standins.admin import FakeCluster

THRESHOLD = "loadBalancerBrokerOverloadedThresholdPercentage"
SHEDDING = "loadBalancerSheddingEnabled"


class Dynamic(FakeCluster):
    """A broker whose admin API returns a dynamic setting."""

    def answer(self, name, path):
        if path.endswith("/configuration/values"):
            return {THRESHOLD: "70"}
        return super().answer(name, path)


def test_a_broker_names_which_of_its_settings_are_dynamic(capsys):
    with closing(Dynamic(1)) as cluster:
        cluster.runtime[THRESHOLD] = "70"
        assert main(["settings", cluster.url]) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert f"{THRESHOLD} = 70 ({cluster.url}, dynamic; the default is 85;" in out
        assert f"{SHEDDING} = true ({cluster.url})" in out
        assert main(["settings", cluster.url, "--dynamic", "d.json"]) == 2
        assert "configuration already includes dynamic settings" in capsys.readouterr().err
        assert main(["case", "--from", cluster.url, "--dynamic", "d.json"]) == 2
    assert "configuration already includes dynamic" in capsys.readouterr().err


def test_a_setting_that_is_not_dynamic_keeps_the_place_in_the_file(tmp_path, capsys):
    conf, dynamic = tmp_path / "broker.conf", tmp_path / "dynamic.json"
    conf.write_text("loadBalancerEnabled=true\n")
    dynamic.write_text(json.dumps({"loadBalancerEnabled": "false"}))
    words = ["settings", str(conf), "--dynamic", str(dynamic), "--release", "4.0.7"]
    assert main(words) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert f"loadBalancerEnabled = true ({conf}:1)" in out


def test_a_file_without_settings_of_load_balancing_may_have_dynamic_ones_beside(tmp_path, capsys):
    conf, dynamic = tmp_path / "broker.conf", tmp_path / "dynamic.json"
    conf.write_text("maxMessageSize=5242880\n")
    dynamic.write_text(json.dumps({THRESHOLD: "70"}))
    assert main(["settings", str(conf), "--dynamic", str(dynamic), "--release", "4.0.7"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"{THRESHOLD} = 70 ({dynamic}, dynamic" in out
    assert main(["settings", str(conf), "--release", "4.0.7"]) == 2


def test_dynamic_settings_count_over_those_of_the_file(tmp_path, capsys):
    conf, dynamic = tmp_path / "broker.conf", tmp_path / "dynamic.json"
    conf.write_text(f"{THRESHOLD}=80\n{SHEDDING}=false\n")
    dynamic.write_text(json.dumps({THRESHOLD: "70", "loadBalancerEnabled": "false"}))
    assert main(["settings", str(conf), "--dynamic", str(dynamic)]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert f"{THRESHOLD} = 70 ({dynamic}, dynamic; the default is 85;" in out
    assert f"{SHEDDING} = false ({conf}:2; the default is true)" in out
    assert f"{THRESHOLD} ({conf}:1): {dynamic}, dynamic overrides it" in out
    assert "loadBalancerEnabled" in out.partition("it is not dynamic")[0].rpartition("without")[2]
    assert main(["settings", THRESHOLD, "--dynamic", str(dynamic)]) == 2
    assert "need a FILE" in capsys.readouterr().err


# Versions in whose ServiceConfiguration a field is not dynamic yet, and the first where it is.
@pytest.mark.parametrize(
    ("name", "before", "since"),
    [
        ("loadBalancerLoadSheddingStrategy", ("2.6.0", "2.9.3"), "2.10.0"),
        ("loadBalancerSheddingIntervalMinutes", ("2.4.2", "2.9.1"), "2.10.0"),
        ("loadBalancerSheddingGracePeriodMinutes", ("2.8.4",), "2.10.0"),
        ("loadBalancerNamespaceBundleMaxTopics", ("2.7.5", "2.9.1"), "2.10.0"),
        ("loadBalancerNamespaceBundleMaxSessions", ("2.9.1",), "2.10.0"),
        ("loadBalancerNamespaceMaximumBundles", ("2.9.1",), "2.10.0"),
        ("defaultNumberOfNamespaceBundles", ("2.8.1", "2.10.5", "2.11.0"), "3.0.0"),
        ("exposeBundlesMetricsInPrometheus", ("2.10.0", "2.11.0"), "3.0.0"),
        ("loadBalancerBrokerThresholdShedderPercentage", (), "2.6.0"),
        ("loadBalancerBrokerOverloadedThresholdPercentage", (), "2.4.2"),
        ("loadManagerServiceUnitStateTableViewClassName", ("4.0.0", "4.2.4"), None),
    ],
)
def test_a_setting_is_dynamic_from_its_version_on(name, before, since):
    for version in before:
        told = f"it is dynamic from {since} on, but not in {version}: " if since else "it is not "
        assert why_not_dynamic(name, version).startswith(told)
    assert not since or why_not_dynamic(name, since) == why_not_dynamic(name, "5.0.0-M1") == ""


def test_what_was_not_dynamic_yet_has_no_effect(tmp_path, capsys):
    conf, dynamic = tmp_path / "broker.conf", tmp_path / "dynamic.json"
    conf.write_text("loadBalancerSheddingIntervalMinutes=2\n")
    dynamic.write_text(json.dumps({"loadBalancerSheddingIntervalMinutes": "5"}))
    words = ["settings", str(conf), "--dynamic", str(dynamic), "--release"]
    assert main([*words, "2.9.1"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert f"loadBalancerSheddingIntervalMinutes = 2 ({conf}:1" in out
    assert "it is dynamic from 2.10.0 on, but not in 2.9.1: pulsar-admin refuses" in out
    assert main([*words, "2.10.0"]) == 1  # The file's value is overridden.
    out = " ".join(capsys.readouterr().out.split())
    assert f"loadBalancerSheddingIntervalMinutes = 5 ({dynamic}, dynamic" in out


def test_a_dynamic_strategy_waits_for_a_restart(tmp_path, capsys):
    conf, dynamic = tmp_path / "broker.conf", tmp_path / "dynamic.json"
    shedder = "org.apache.pulsar.broker.loadbalance.impl.OverloadShedder"
    conf.write_text(f"{THRESHOLD}=80\n")
    dynamic.write_text(json.dumps({"loadBalancerLoadSheddingStrategy": shedder}))
    assert main(["settings", str(conf), "--dynamic", str(dynamic)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "ThresholdShedder; a running broker keeps its strategy until it restarts)" in out
    report = {"cpu": {"usage": 75, "limit": 100}, "bundles": [], "lastStats": {}}
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "b1.json").write_text(json.dumps(report))
    assert main(["case", str(tmp_path / "reports"), "--dynamic", str(dynamic)]) == 0
    assert "keeps its strategy until it restarts" in capsys.readouterr().err


def test_what_a_broker_cannot_read_keeps_it_from_starting(tmp_path, capsys):
    conf, dynamic = tmp_path / "broker.conf", tmp_path / "dynamic.json"
    conf.write_text(f"{SHEDDING}=false\n")
    dynamic.write_text(json.dumps({THRESHOLD: "many"}))
    assert main(["settings", str(conf), "--dynamic", str(dynamic)]) == 1
    assert "\ncannot be read\n" in capsys.readouterr().out
    conf.write_text(f"{THRESHOLD}=many\n")
    assert main(["settings", str(conf)]) == 1
    assert "cannot be read, so the broker does not start\n" in capsys.readouterr().out


@pytest.mark.parametrize("conf", [True, False])
def test_a_case_has_the_dynamic_settings(tmp_path, capsys, conf):
    report = {"cpu": {"usage": 75, "limit": 100}, "bundles": [], "lastStats": {}}
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "b1.json").write_text(json.dumps(report))
    (tmp_path / "broker.conf").write_text(f"{THRESHOLD}=80\n{SHEDDING}=true\n")
    (tmp_path / "dynamic.json").write_text(json.dumps({THRESHOLD: "70"}))
    words = ["case", str(tmp_path / "reports"), "--dynamic", str(tmp_path / "dynamic.json")]
    words += ["--conf", str(tmp_path / "broker.conf")] if conf else []
    assert main(words) == 0
    said = capsys.readouterr()
    expected = {THRESHOLD: 70, **({SHEDDING: True} if conf else {})}
    assert json.loads(said.out)["case"]["settings"] == expected
    assert (f"{THRESHOLD}: {tmp_path}/dynamic.json, dynamic overrides it" in said.err) is conf


# PulsarService of 2.10.1 and UnloadScheduler.start of 3.0.7 and 4.2.4 take the interval once;
# LoadSheddingTask of 2.10.2 and later reads it in each cycle.
@pytest.mark.parametrize(
    ("release", "manager", "kept"),
    [
        ("2.10.1", "impl.ModularLoadManagerImpl", True),
        ("2.10.2", "impl.ModularLoadManagerImpl", False),
        ("4.2.4", "impl.ModularLoadManagerImpl", False),
        ("3.0.7", "extensions.ExtensibleLoadManagerImpl", True),
        ("4.2.4", "extensions.ExtensibleLoadManagerImpl", True),
    ],
)
def test_a_dynamic_interval_that_waits_for_the_next_leader_is_named(
    capsys, tmp_path, release, manager, kept
):
    conf, dynamic = tmp_path / "broker.conf", tmp_path / "dynamic.json"
    conf.write_text(f"loadManagerClassName=org.apache.pulsar.broker.loadbalance.{manager}\n")
    dynamic.write_text('{"loadBalancerSheddingIntervalMinutes": "5"}')
    main(["settings", str(conf), "--dynamic", str(dynamic), "--release", release])
    out = " ".join(capsys.readouterr().out.split())
    assert "loadBalancerSheddingIntervalMinutes = 5" in out
    remark = "a leader keeps the interval that was set when it became the leader"
    assert (remark in out) is kept


# PulsarService of 4.0.7 starts neither the report updater nor the quota task then; the extensible
# manager reports all the same.
@pytest.mark.parametrize(("manager", "off"), [("modular", True), ("extensible", False)])
def test_reports_are_not_written_while_balancing_is_off(capsys, tmp_path, manager, off):
    conf = tmp_path / "broker.conf"
    name = "loadBalancerReportUpdateThresholdPercentage"
    extensible = (
        "loadManagerClassName=org.apache.pulsar.broker.loadbalance.extensions."
        "ExtensibleLoadManagerImpl\n"
    )
    lines = f"loadBalancerEnabled=false\n{name}=20\n"
    conf.write_text(lines + (extensible if manager == "extensible" else ""))
    main(["settings", str(conf), "--release", "4.0.7"])
    out = " ".join(capsys.readouterr().out.split())
    assert (f"{name} ({conf}:2): loadBalancerEnabled is false" in out) is off
