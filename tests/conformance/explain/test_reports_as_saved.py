"""Reports are read however they were saved, and each file or broker that is not read is named."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main

BUNDLES = [
    f"shop/eu/0x{i:x}0000000_0x{i + 2:x}0000000".replace("0x100000000", "0xffffffff")
    for i in range(0, 16, 2)
]
AT = 1_700_000_000_000
MINUTE = 60_000


def report(host, cpu, bundles, **fields):
    """Return a load report of the modular load manager, with the same traffic in each bundle."""
    stats = {
        "msgRateIn": 10_000.0,
        "msgRateOut": 10_000.0,
        "msgThroughputIn": 10_000_000.0,
        "msgThroughputOut": 10_000_000.0,
    }
    return {
        "webServiceUrl": f"http://{host}:8080",
        "cpu": {"usage": cpu, "limit": 100.0},
        "lastUpdate": AT,
        "bundles": bundles,
        "lastStats": dict.fromkeys(bundles, stats),
        "brokerVersionString": "3.0.7",
        "loadReportType": "LocalBrokerData",
        **fields,
    }


THREE = {
    "b1": report("b1.example.com", 90.0, BUNDLES[:4]),
    "b2": report("b2.example.com", 30.0, BUNDLES[4:6]),
    "b3": report("b3.example.com", 30.0, BUNDLES[6:]),
}


@pytest.fixture
def save(tmp_path):
    """Return a function that writes JSON or strings to files, and returns their folder."""

    def write(files):
        for name, content in files.items():
            path = tmp_path / "reports" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return tmp_path / "reports"

    return write


@pytest.fixture
def said(capsys):
    """Return a function that runs a command, and returns both of its outputs, each on one line."""

    def run(*words, status=0):
        assert main([*map(str, words)]) == status
        found = capsys.readouterr()
        return tuple(" ".join(text.split()) for text in (found.out, found.err))

    return run


@pytest.mark.parametrize(
    "names",
    [
        ("b1.example.com:8080", "b2.example.com:8080.json", "b3.example.com%3A8080"),
        ("b1/load-report.json", "b2/load-report", "b3.json"),
        ("b1.json", "b2.txt", "b3.txt"),
        ("b1", "b2", "b3"),
    ],
)
def test_reports_are_read_whatever_the_forms_of_their_names(said, save, names):
    folder = save(dict(zip(names, THREE.values(), strict=True)))
    out, err = said("explain", folder)
    assert "average 50 % of all brokers" in out
    assert "not read" not in err


def test_each_file_that_is_not_a_report_is_named(said, save):
    policies = {"p": {"namespaces": ["shop/eu"]}}
    others = {
        "b4": "<html>401</html>",
        "notes.txt": "saved on Friday",
        "iso": policies,
        "old/b1": "{}",
    }
    folder = save({**{f"{name}.json": one for name, one in THREE.items()}, **others})
    _, err = said("explain", folder)
    assert f"{folder}/b4 is not read: it isn't JSON" in err
    assert f"{folder}/notes.txt is not read: it isn't JSON" in err
    assert f"{folder}/iso is not read: it is not a load report" in err
    assert f"{folder}/old is not read: it is a folder without a file load-report" in err


def test_a_file_beside_the_reports_that_an_option_names_is_not_taken_for_a_report(said, save):
    folder = save({**{f"{name}.json": one for name, one in THREE.items()}, "domains.json": {}})
    said("explain", folder, status=2)
    domains = folder / "domains.json"
    _, err = said("explain", folder, "--place", BUNDLES[0], "--domains", domains)
    assert "domains.json" not in err


def test_a_folder_of_folders_is_refused_with_the_folder_to_give(said, save):
    folder = save({"loadbalance/b1": THREE["b1"]})
    _, err = said("explain", folder, status=2)
    assert f"the reports may be in {folder / 'loadbalance'}" in err


def test_of_two_reports_of_a_broker_the_newer_is_used(said, save):
    older = report("b1.example.com", 10.0, BUNDLES[4:], lastUpdate=AT - MINUTE)
    folder = save({"b1-old.json": older, "b1.json": THREE["b1"], "b2.json": report("b2", 10, [])})
    out, err = said("explain", folder)
    assert "average 50 % of all brokers" in out
    told = "b1-old.json is not used: "
    assert f"{folder}/{told}{folder}/b1.json is a newer report of broker" in err


def test_two_reports_of_a_broker_are_refused_if_neither_is_newer(said, save):
    folder = save({"b1-other.json": report("b1.example.com", 10.0, []), "b1.json": THREE["b1"]})
    _, err = said("explain", folder, status=2)
    assert "is also a report of b1.example.com:8080" in err
    assert "fields do not tell which is newer; keep one of them" in err


def test_the_same_report_twice_counts_once(said, save):
    folder = save({"b1.json": THREE["b1"], "b1.txt": THREE["b1"], "b2.json": THREE["b2"]})
    out, err = said("explain", folder)
    assert "average 60 % of all brokers" in out
    assert "b1.txt is not used" in err


def simple(host, cpu, bundles):
    """Return a load report of the simple load manager."""
    whole = report(host, cpu, bundles)
    moved = ("cpu", "lastStats", "lastUpdate", "bundles", "loadReportType")
    return {
        **{name: one for name, one in whole.items() if name not in moved},
        "systemResourceUsage": {"cpu": whole["cpu"]},
        "bundleStats": whole["lastStats"],
        "timestamp": AT,
        "loadReportType": "LoadReport",
    }


@pytest.mark.parametrize(
    "words",
    [
        ("explain",),
        ("case",),
        ("case", "--operation", "bundles.split_candidates"),
        ("explain", "--place", BUNDLES[0]),
        ("simulate", "--cycles", "2", "--reports"),
    ],
)
def test_the_modular_managers_rules_are_not_applied_to_reports_of_the_simple_one(said, save, words):
    folder = save({"b1.json": simple("b1", 90.0, BUNDLES[:4]), "b2.json": THREE["b2"]})
    _, err = said(*words, folder, status=2)
    assert f"{folder}: the reports of b1 are those of the simple load manager, but " in err
    assert "give a profile with --judge-by to ask anyway" in err


def test_reports_of_the_simple_manager_are_taken_where_no_manager_is_asked_about(said, save):
    folder = save({"b1.json": simple("b1", 90.0, BUNDLES[:4])})
    for operation in ("usage.max", "report.read"):
        said("case", folder, "--operation", operation)
    out, _ = said("explain", folder, "--judge-by", "released-3.0")
    assert "unload nothing" in out


def metrics_text(brokers, names=("cpu", "memory", "directMemory", "bandwidth_in", "bandwidth_out")):
    """Return metrics in Prometheus' text format: each broker uses all resources equally."""
    return "".join(
        f'pulsar_lb_{name}_usage{{broker="{broker}"}} {usage}\n'
        for broker, usage in brokers.items()
        for name in names
    )


def test_brokers_whose_cpu_usage_the_metrics_lack_are_not_taken_for_idle(said, save):
    lacking = metrics_text({"b1": 90.0}, ["memory"])
    text = metrics_text({"b2": 30.0}) + lacking + 'pulsar_lb_cpu_usage{broker="b1"} NaN\n'
    _, err = said("explain", "--metrics", save({"m.txt": text}) / "m.txt", status=2)
    assert "it has pulsar_lb_cpu_usage of b2, but not of b1; save /metrics" in err


def test_other_usage_that_the_metrics_lack_is_named(said, save):
    text = metrics_text({"b1": 90.0, "b2": 30.0}) + metrics_text({"b3": 30.0}, ["cpu"])
    _, err = said("explain", "--metrics", save({"m.txt": text}) / "m.txt", status=2)
    names = "memory, directMemory, bandwidthIn, bandwidthOut"
    assert f"b3: the metrics lack the usage of {names}, which counts as 0 %" in err
    text = metrics_text({"b1": 90.0, "b2": 30.0}, ["cpu", "memory", "directMemory"])
    _, err = said("explain", "--metrics", save({"m.txt": text}) / "m.txt", status=2)
    assert "each broker: the metrics lack the usage of bandwidthIn, bandwidthOut" in err


def test_of_several_samples_of_a_metric_the_newest_counts(said, save):
    stamped = metrics_text({"b1": 80.0, "b2": 30.0}).replace("\n", f" {AT}\n")
    text = f'{stamped}pulsar_lb_cpu_usage{{broker="b2"}} 99 {AT - MINUTE}\n'
    out, _ = said("explain", "--metrics", save({"m.txt": text}) / "m.txt", status=2)
    assert "usage 30 % of" in out
    assert "99 %" not in out


@pytest.mark.parametrize(("minutes", "left_out"), [(14, False), (16, True)])
def test_samples_much_older_than_the_newest_are_left_out_and_named(said, save, minutes, left_out):
    def one(name, broker, value, at):
        metric = {"__name__": f"pulsar_lb_{name}_usage", "broker": broker}
        return {"metric": metric, "values": [[at - 60, "1"], [at, value], [at + 1, "NaN"]]}

    result = [
        one(name, broker, value, AT / 1000 - 60 * (minutes if broker == "b3" else 0))
        for broker, value in (("b1", "90"), ("b2", "30"), ("b3", "30"))
        for name in ("cpu", "memory", "directMemory", "bandwidth_in", "bandwidth_out")
    ]
    file = save({"m.json": {"data": {"result": result}}}) / "m.json"
    out, err = said("explain", "--metrics", file, "--release", "3.0.7", status=2)
    assert ("average 60 % of all" in out) is left_out
    assert ("average 50 % of all" in out) is not left_out
    told = f"b3: samples left out, since they are at least {minutes} minutes older"
    assert (told in err) is left_out


@pytest.mark.parametrize("option", [None, "loadBalancerReportUpdateMaxIntervalMinutes=60"])
@pytest.mark.parametrize(("minutes", "old"), [(15, False), (16, True), (4320, True)])
def test_a_report_much_older_than_the_newest_is_named(said, save, minutes, old, option):
    late = report("b3.example.com", 30.0, BUNDLES[6:], lastUpdate=AT - minutes * MINUTE)
    folder = save({f"{name}.json": one for name, one in {**THREE, "b3": late}.items()})
    conf = save({"../broker.conf": option or "loadBalancerSheddingEnabled=true"}) / "../broker.conf"
    _, err = said("explain", folder, "--conf", conf)
    told = f"b3: its report is {minutes} minutes older than that of b1, but a broker writes one"
    assert (told in err) is (old and not (option and minutes == 16))


def test_a_resource_that_was_not_measured_is_named(said, save):
    unmeasured = {"cpu": {"usage": -1.0, "limit": -1.0}}
    folder = save({"b1.json": {**THREE["b1"], **unmeasured}, "b2.json": THREE["b2"]})
    _, err = said("explain", folder)
    assert "b1: resources left out, since not measured (limit -1): cpu" in err


def saved_with(save, **fields):
    """Save the reports of three brokers, with some fields of the last report changed."""
    reports = {**THREE, "b3": {**THREE["b3"], **fields}}
    return save({f"{name}.json": one for name, one in reports.items()})


def test_a_broker_without_persistent_topics_is_no_candidate(said, save):
    folder = saved_with(save, cpu={"usage": 1.0, "limit": 100.0}, persistentTopicsEnabled=False)
    out, err = said("explain", folder, "--place", BUNDLES[0])
    assert "isolation b1, b2 (LoadManagerShared.applyNamespacePolicies)" in out
    assert "answer broker b2" in out
    told = "persistentTopicsEnabled is false in the report of b3: no persistent topic of"
    assert told in err
    _, err = said("explain", folder)
    assert "persistentTopicsEnabled is false in the report of b3: only bundles of namespaces" in err
    folder = saved_with(save, cpu={"usage": 1.0, "limit": 100.0}, nonPersistentTopicsEnabled=False)
    out, err = said("explain", folder, "--place", BUNDLES[0])
    assert "answer broker b2 or b3, drawn" in out
    assert "nonPersistentTopicsEnabled is false in the report of b3" in err


def test_the_policy_of_a_namespace_decides_without_the_kinds_of_topics(said, save):
    folder = saved_with(save, persistentTopicsEnabled=False)
    policy = {
        "namespaces": ["shop/eu"],
        "primary": ["b3.*"],
        "secondary": [],
        "auto_failover_policy": {
            "policy_type": "min_available",
            "parameters": {"min_limit": "1", "usage_threshold": "80"},
        },
    }
    file = save({"../policies.json": {"p": policy}}) / "../policies.json"
    out, err = said("explain", folder, "--place", BUNDLES[0], "--isolation", file)
    assert "answer broker b3" in out
    assert "persistentTopicsEnabled" not in err


def test_failure_domains_name_brokers_as_pulsar_does_and_not_as_files_do(said, save):
    folder = saved_with(save)
    members = {"a": {"brokers": ["b1"]}, "b": {"brokers": ["b2.example.com:8080", "b9:8080"]}}
    domains = save({"../domains.json": members}) / "../domains.json"
    words = ("--place", BUNDLES[0], "--domains", domains, "--setting", "failureDomainsEnabled=true")
    out, err = said("case", folder, *words)
    assert json.loads(out)["case"]["domains"] == {"a": [], "b": ["b2", "b9:8080"]}
    told = "the failure domains list 2 brokers without a report: b1 (write b1.example.com:8080), "
    assert f"{told}b9:8080" in err
