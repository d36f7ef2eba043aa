"""Questions that operators asked in public, with their kinds of files, and the answers."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main

IMPL = "org.apache.pulsar.broker.loadbalance.impl."
EXTENSIONS = "org.apache.pulsar.broker.loadbalance.extensions."
THRESHOLD = "loadBalancerBrokerThresholdShedderPercentage"


def report(usage, loads, version=None, bandwidth=1):
    """Return a broker's load report with its usage of CPU and bandwidth, and bundles in MB/s."""
    stats = {
        f"acme/orders/0x{start:x}0000000_0x{start + 1:x}0000000": {
            "msgRateIn": 100.0 * load,
            "msgRateOut": 100.0 * load,
            "msgThroughputIn": 500_000.0 * load,
            "msgThroughputOut": 500_000.0 * load,
            "topics": 5,
            "producerCount": 1,
            "consumerCount": 1,
        }
        for start, load in loads.items()
    }
    totals = {
        name: sum(one[name] for one in stats.values())
        for name in ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
    }
    names = {"brokerVersionString": version} if version else {}
    return {
        "cpu": {"usage": usage, "limit": 100},
        "memory": {"usage": 5, "limit": 100},
        "directMemory": {"usage": 5, "limit": 100},
        "bandwidthIn": {"usage": bandwidth, "limit": 100},
        "bandwidthOut": {"usage": bandwidth, "limit": 100},
        "bundles": list(stats),
        "lastStats": stats,
        **totals,
        **names,
    }


@pytest.fixture
def ask(tmp_path, capsys):
    """Return a function that makes a case of saved reports and settings, and explains it."""

    def asked(reports, conf="", *options, name="broker.conf", explain=(), save="{}.json"):
        folder = tmp_path / "reports"
        for broker, one in reports.items():
            file = folder / save.format(broker)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(one))
        words = ["case", str(folder), *options]
        if conf:
            (tmp_path / name).write_text(conf)
            words += ["--conf", str(tmp_path / name)]
        status = main(words)
        said = capsys.readouterr()
        if status:
            return status, said.err, {}
        case = tmp_path / "case.json"
        case.write_text(said.out)
        assert main(["explain", str(case), *explain]) == 0
        return " ".join(capsys.readouterr().out.split()), said.err, json.loads(said.out)

    return asked


BUSY = {
    "broker-a": report(80, {0: 40, 1: 30, 2: 20}),
    "broker-b": report(30, {3: 10, 4: 10}),
    "broker-c": report(20, {5: 5, 6: 5}),
}


def test_load_data_of_the_extensible_manager_are_refused_by_name(ask):
    data = {"cpu": {"usage": 80, "limit": 100}, "bundleCount": 40, "weightedMaxEMA": 0.8}
    status, err, _ = ask({"broker-1": data})
    assert status == 2
    assert "load data of the extensible load manager" in err


@pytest.mark.parametrize("names", [("Bandwidth",), ("Bandwith",), ("Bandwidth", "Bandwith")])
def test_either_spelling_of_the_weights_of_bandwidth_counts(ask, names):
    reports = {**BUSY, "broker-a": report(20, {0: 40, 1: 30, 2: 20}, bandwidth=60)}
    weights = "".join(
        f"loadBalancer{name}{way}ResourceWeight=0.1\n" for name in names for way in ("In", "Out")
    )
    out, err, case = ask(reports, weights, "--release", "4.2.4")
    assert case["profile"] == "released-4.2"
    assert "unload nothing" in out
    assert "Bandwidth" not in err or len(names) == 1
    heavier, _, _ = ask(reports, weights.replace("0.1", "0.9"), "--release", "4.2.4")
    assert "unload acme/orders" in heavier


def test_a_load_balancer_that_is_off_unloads_nothing_in_a_release(ask):
    conf = f"loadBalancerEnabled=false\n{THRESHOLD}=10\n"
    out, _, _ = ask(BUSY, conf, "--release", "3.0.7")
    assert "loadBalancerEnabled is false" in out
    assert "unload nothing" in out
    out, _, _ = ask(BUSY, conf)
    assert "loadBalancerEnabled is false, so a release sheds nothing" in out


def test_history_that_looks_like_fractions_is_reported(tmp_path, capsys):
    brokers = {name: {**one, "usageHistory": [0.3]} for name, one in BUSY.items()}
    drop = ("brokerVersionString",)
    case = {
        "ask": "shed.select",
        "case": {
            "strategy": None,
            "settings": {THRESHOLD: 10, "loadBalancerHistoryResourcePercentage": 0.9},
            "brokers": {
                name: {field: one[field] for field in one if field not in drop}
                for name, one in brokers.items()
            },
            "bundles": {},
            "recentlyUnloaded": {},
        },
    }
    file = tmp_path / "case.json"
    file.write_text(json.dumps(case))
    assert main(["explain", str(file)]) == 0
    assert "fractions from a log, multiply them by 100" in " ".join(capsys.readouterr().out.split())


def test_the_floor_of_an_unload_is_that_of_the_conf(ask):
    small = {**BUSY, "broker-a": report(80, {0: 4, 1: 3, 2: 2})}
    floor = "loadBalancerBundleUnloadMinThroughputThreshold"
    out, _, case = ask(small, f"{THRESHOLD}=10\n{floor}=1\n", "--release", "3.0.7")
    assert case["case"]["settings"][floor] == 1
    assert "unload acme/orders/0x00000000_0x10000000 of broker-a" in out
    out, _, _ = ask(small, f"{THRESHOLD}=10\n", "--release", "3.0.7")
    assert f"10 MiB/s of {floor}" in out
    assert "unload nothing" in out


def test_the_limits_of_uniform_unloads_are_those_of_the_conf(ask):
    conf = (
        f"loadBalancerLoadSheddingStrategy={IMPL}UniformLoadShedder\n"
        "maxUnloadPercentage=0.5\nminUnloadMessage=10\nminUnloadMessageThroughput=1000\n"
        "maxUnloadBundleNumPerShedding=1\n"
    )
    _, err, case = ask(BUSY, conf, "--release", "3.0.7")
    assert case["case"]["settings"]["maxUnloadPercentage"] == 0.5
    assert len(case["case"]["settings"]) == 6
    floor = "loadBalancerBundleUnloadMinThroughputThreshold"
    assert case["case"]["settings"][floor] == 10, "the default of the release"
    assert "without effect" not in err


@pytest.mark.parametrize(
    ("manager", "named"),
    [
        (f"{EXTENSIONS}ExtensibleLoadManagerImpl", "extensible"),
        (f"{IMPL}SimpleLoadManagerImpl", "simple"),
    ],
)
def test_another_manager_is_not_explained_as_the_modular_one(ask, manager, named):
    status, err, _ = ask(BUSY, f"loadManagerClassName={manager}\n{THRESHOLD}=10\n")
    assert status == 2
    assert f"loadManagerClassName selects the {named} load manager" in err
    assert "give a profile with --judge-by" in err
    out, _, _ = ask(BUSY, f"loadManagerClassName={manager}\n", "--judge-by", "released-3.0")
    assert "unload acme/orders" in out


@pytest.mark.parametrize(
    ("name", "conf"),
    [
        (
            "values.yaml",
            "broker:\n  configData:\n    PULSAR_MEM: >\n      -Xms128m\n"
            '    PULSAR_PREFIX_loadBalancerSheddingEnabled: "false"\n'
            f'    loadBalancerLoadSheddingStrategy: "{IMPL}OverloadShedder"\n'
            '    loadBalancerBrokerOverloadedThresholdPercentage: "70"\n',
        ),
        (
            "broker.env",
            "metadataStoreUrl=zk:zookeeper:2181\n"
            f"loadBalancerLoadSheddingStrategy={IMPL}OverloadShedder\n"
            "PULSAR_PREFIX_loadBalancerSheddingEnabled=false\n"
            "PULSAR_PREFIX_loadBalancerBrokerOverloadedThresholdPercentage=70\n",
        ),
        (
            "cluster.yaml",
            "spec:\n  broker:\n    config:\n      loadBalancerSheddingEnabled: false\n"
            f"      loadBalancerLoadSheddingStrategy: {IMPL}OverloadShedder\n"
            "      loadBalancerBrokerOverloadedThresholdPercentage: 70\n",
        ),
    ],
)
def test_settings_of_deployments_are_used(ask, name, conf):
    out, err, case = ask(BUSY, conf, name=name)
    assert case["case"]["settings"] == {
        "loadBalancerSheddingEnabled": False,
        "loadBalancerLoadSheddingStrategy": f"{IMPL}OverloadShedder",
        "loadBalancerBrokerOverloadedThresholdPercentage": 70,
    }
    assert "unload nothing" in out
    assert "loadBalancerSheddingEnabled is false" in err


def test_all_settings_of_a_strategy_that_no_document_has_are_kept(ask):
    settings = {
        "loadBalancerLoadSheddingStrategy": f"{IMPL}AvgShedder",
        "loadBalancerLoadPlacementStrategy": f"{IMPL}AvgShedder",
        "loadBalancerAvgShedderHitCountHighThreshold": 1,
        "loadBalancerAvgShedderHitCountLowThreshold": 5,
        "loadBalancerAvgShedderLowThreshold": 10,
        "loadBalancerAvgShedderHighThreshold": 30,
        "maxUnloadPercentage": 0.5,
        "minUnloadMessage": 10,
        "minUnloadMessageThroughput": 10,
    }
    conf = "".join(f"{name} = {value}\n" for name, value in settings.items())
    out, err, case = ask(BUSY, conf, "--release", "4.2.4")
    assert case["case"]["settings"].items() >= settings.items()
    assert "without effect" not in err
    assert "strategy AvgShedder, as in 'What Pulsar 4.2.4 does'" in out
    assert "unload acme/orders/0x00000000_0x10000000 of broker-a" in out


def test_names_that_a_broker_ignores_are_listed_once(ask):
    conf = (
        "loadBalancerBrokerOverloadedThresholdPercent=60\nloadBalancersheddingEnabled=false\n"
        f"loadBalancerMaxNumberOfBrokerTransfersPerCycle=3\n{THRESHOLD}=10\n"
    )
    _, err, _ = ask(BUSY, conf)
    assert "3 settings without effect:" in err
    assert err.count("loadBalancersheddingEnabled") == 1
    assert "the most similar name is loadBalancerSheddingEnabled" in err
    assert "its name is now loadBalancerMaxNumberOfBrokerSheddingPerCycle" in err


def test_a_changed_strategy_decides_which_settings_have_an_effect(tmp_path, capsys):
    folder, conf = tmp_path / "reports", tmp_path / "broker.conf"
    folder.mkdir()
    for broker, one in BUSY.items():
        (folder / f"{broker}.json").write_text(json.dumps(one))
    conf.write_text("minUnloadMessage=0\n")
    words = ["explain", str(folder), "--conf", str(conf)]
    assert main(words) == 0
    assert "minUnloadMessage: it belongs to UniformLoadShedder" in capsys.readouterr().err
    uniform = f"loadBalancerLoadSheddingStrategy={IMPL}UniformLoadShedder"
    assert main([*words, "--setting", uniform]) == 0
    assert "without effect" not in capsys.readouterr().err


def test_the_version_in_the_reports_decides_who_answers(ask):
    reports = {
        name: {**one, "brokerVersionString": "4.0.3"}
        for name, one in {**BUSY, "broker-d": report(10, {7: 1})}.items()
    }
    out, err, case = ask(reports)
    assert case["profile"] == "released-4.0"
    assert "Pulsar 4.0.3 is explained by released-4.0" in err
    assert out.startswith("by released-4.0")
    out, err, case = ask(reports, "", "--judge-by", "documented-3.0")
    assert out.startswith("by documented-3.0")
    mixed = {**reports, "broker-a": {**reports["broker-a"], "brokerVersionString": "3.0.7"}}
    assert (
        "the brokers run 3.0.7, 4.0.3; the answer is for 3.0.7; for another version, add --release"
        in ask(mixed)[1]
    )


def test_a_missing_setting_takes_the_default_of_the_release(ask):
    out, err, _ = ask(BUSY)
    assert f"{THRESHOLD} is not set: explain assumes 10" in err
    assert f"{THRESHOLD} is not set: 10, the default of released-3.0" in out


def test_of_many_bundles_that_stay_those_are_listed_that_nearly_moved(ask):
    many = report(70, dict.fromkeys(range(14), 9))
    reports = {"broker-a": many, "broker-b": report(30, {14: 10})}
    out, _, _ = ask(reports, f"{THRESHOLD}=10\n")
    assert "more bundles, enough has gone (--all lists each)" in out
    assert "0x70000000_0x80000000 =" not in out
    out, _, _ = ask(reports, f"{THRESHOLD}=10\n", explain=["--all"])
    assert "acme/orders/0x70000000_0x80000000 = 9 MB/s, enough has gone" in out


def test_a_part_of_an_answer_names_the_whole_decision(ask):
    out, _, _ = ask(BUSY, f"{THRESHOLD}=10\n", explain=["--broker", "broker-b"])
    assert "answer unload nothing the whole decision: unload acme/orders" in out


@pytest.mark.parametrize("save", ["{}/load-report", "{}/load-report.json", "{}", "{}.json"])
def test_a_folder_as_curl_saves_it_is_read(ask, save):
    out, _, case = ask(BUSY, save=save)
    assert sorted(case["case"]["brokers"]) == sorted(BUSY)
    assert "unload acme/orders" in out


def metric(name, value, **labels):
    written = ", ".join(f'{label}="{one}"' for label, one in labels.items())
    return f"{name}{{{written}}} {value}\n"


def metrics_of(reports):
    """Return metrics in Prometheus' text format of brokers with these reports."""
    text = '# TYPE pulsar_lb_cpu_usage gauge\npulsar_other{broker="x"} 1\n'
    for broker, one in reports.items():
        text += metric("pulsar_lb_cpu_usage", one["cpu"]["usage"], cluster="eu", broker=broker)
        text += metric("pulsar_lb_bandwidth_in_usage", 1.0, cluster="eu", broker=broker)
        for bundle, stats in one["lastStats"].items():
            for name, field in (("msg_throughput_in", "In"), ("msg_throughput_out", "Out")):
                value = stats[f"msgThroughput{field}"]
                text += metric(f"pulsar_bundle_{name}", value, broker=broker, bundle=bundle)
    return text


@pytest.mark.parametrize("form", ["text", "query"])
def test_metrics_decide_as_the_reports_of_the_same_brokers(ask, tmp_path, capsys, form):
    by_reports, _, _ = ask(BUSY, "", "--judge-by", "documented-3.0")
    text = metrics_of(BUSY)
    if form == "query":
        samples = [line for line in text.splitlines() if line.startswith(("pulsar_lb", "pulsar_b"))]
        result = []
        for line in samples:
            name, _, rest = line.partition("{")
            labels, _, value = rest.partition("} ")
            pairs = dict(label.replace('"', "").split("=") for label in labels.split(", "))
            result.append({"metric": {"__name__": name, **pairs}, "values": [[1, "0"], [2, value]]})
        text = json.dumps({"status": "success", "data": {"result": result}})
    file = tmp_path / "metrics"
    file.write_text(text)
    assert main(["case", "--metrics", str(file)]) == 0
    said = capsys.readouterr()
    case = json.loads(said.out)["case"]
    assert case["brokers"]["broker-a"]["cpu"] == {"usage": 80.0, "limit": 100}
    made = tmp_path / "made.json"
    made.write_text(said.out)
    assert main(["explain", str(made)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    answer = out.partition("answer ")[2].partition(" other decisions")[0]
    assert answer == by_reports.partition("answer ")[2].partition(" other decisions")[0]
    assert "unload acme/orders" in answer


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("pulsar_other 1\n", "it has no pulsar_lb_cpu_usage"),
        ("{not json", "it isn't JSON"),
        (None, "No such file or directory"),
    ],
)
def test_a_file_without_metrics_is_refused(tmp_path, capsys, text, problem):
    file = tmp_path / "metrics"
    if text:
        file.write_text(text)
    assert main(["case", "--metrics", str(file)]) == 2
    assert problem in capsys.readouterr().err


def test_metrics_without_bundles_are_explained(tmp_path, capsys):
    file = tmp_path / "metrics"
    file.write_text(metric("pulsar_lb_cpu_usage", 80.0, broker="a"))
    assert main(["case", "--metrics", str(file)]) == 0
    assert "set exposeBundlesMetricsInPrometheus=true" in capsys.readouterr().err


def test_reports_are_read_as_the_shell_of_zookeeper_prints_them(ask, tmp_path):
    folder = tmp_path / "reports"
    folder.mkdir()
    for broker, one in BUSY.items():
        text = "Connecting to zk:2181\n\nWATCHER::\n\nWatchedEvent state:SyncConnected\n{}\n"
        (folder / f"{broker}.json").write_text(
            text.replace("{}", json.dumps(one)) + "cZxid = 0x2\ndataLength = 900\n"
        )
    assert main(["case", str(folder)]) == 0
