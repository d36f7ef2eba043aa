"""An explanation is about the load manager, the strategy and the brokers that run."""

import json
import shutil
from pathlib import Path

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.conformance.commands.main import main

REPORTS = Path(fixtures.__file__).parent / "reports"
MODULAR, EXTENSIBLE = REPORTS / "three-brokers" / "modular", REPORTS / "extensible"
BALANCING = "org.apache.pulsar.broker.loadbalance"
SHEDDING, MANAGER = "loadBalancerLoadSheddingStrategy", "loadManagerClassName"
PLACING, SIMPLE_PLACING = "loadBalancerLoadPlacementStrategy", "loadBalancerPlacementStrategy"
THRESHOLD = "loadBalancerBrokerThresholdShedderPercentage"


@pytest.fixture
def said(capsys):
    """Return a function that runs a command, and returns its standard output on one line and its
    standard error.
    """

    def run(*words, status=0):
        assert main([*map(str, words)]) == status
        found = capsys.readouterr()
        return " ".join(found.out.split()), found.err

    return run


@pytest.fixture
def conf(tmp_path):
    """Return a function that writes a broker.conf with these lines."""

    def written(*lines):
        file = tmp_path / "broker.conf"
        file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return file

    return written


@pytest.mark.parametrize(
    ("release", "status", "note"),
    [
        ("2.10.5", 0, "needs the full class name, so OverloadShedder runs instead"),
        ("3.0.7", 0, "needs the full class name, so OverloadShedder runs instead"),
        ("4.0.7", 2, "so the simple load manager runs instead of the modular one"),
        ("4.2.4", 2, "needs the full class name, so the broker does not start"),
    ],
)
def test_a_strategy_of_a_file_without_package_does_not_run(said, conf, release, status, note):
    file = conf(f"{SHEDDING}=ThresholdShedder")
    words = ("explain", MODULAR, "--conf", file, "--release", release)
    out, err = said(*words, status=status)
    assert note in err
    assert status or "strategy OverloadShedder" in out
    out, _ = said(*words, "--setting", f"{SHEDDING}=ThresholdShedder")
    assert "strategy ThresholdShedder" in out


@pytest.mark.parametrize(
    "wrong", ["impl.ModularLoadManager", "extensions.ExtensibleLoadManagerImp"]
)
def test_instead_of_a_manager_that_does_not_exist_the_simple_one_runs(said, conf, wrong):
    file = conf(
        f"{MANAGER}={BALANCING}.{wrong}",
        "loadBalancerBrokerThresholdShedderPercentage=25",
        "loadBalancerBrokerUnderloadedThresholdPercentage=40",
    )
    out, _ = said("settings", file, "--release", "4.0.7", status=1)
    assert "the simple load manager runs instead" in out
    assert "it belongs to the modular load manager, but the simple one runs" in out
    assert f"loadBalancerBrokerUnderloadedThresholdPercentage = 40 ({file}:3;" in out
    _, err = said("explain", MODULAR, "--conf", file, "--release", "4.0.7", status=2)
    assert "so the simple load manager runs instead, but shed.select asks" in err


TRANSFER = f"{SHEDDING}={BALANCING}.extensions.scheduler.TransferShedder"
AVERAGE = f"{PLACING}={BALANCING}.impl.AvgShedder"
SIMPLE = "the simple load manager runs instead"


@pytest.mark.parametrize(
    ("line", "release", "instead"),
    [
        (TRANSFER, "4.0.7", f"belongs to the extensible load manager, so {SIMPLE}"),
        (TRANSFER, "5.0.0-M1", "belongs to the extensible load manager, so the broker does not"),
        (f"{MANAGER}=ModularLoadManagerImpl", "4.0.7", f"the full class name, so {SIMPLE}"),
        (f"{MANAGER}={BALANCING}.impl.ModularLoadManagerWrapper", "3.0.7", SIMPLE),
        (f"{PLACING}=LeastResourceUsageWithWeight", "3.0.7", f"the full class name, so {SIMPLE}"),
        (f"{PLACING}={BALANCING}.impl.Nearest", "4.0.7", SIMPLE),
        (
            AVERAGE,
            "4.0.7",
            f"AvgShedder must also be the shedding strategy, but {SHEDDING} is ThresholdShedder",
        ),
        (AVERAGE, "4.2.4", "so the broker does not start"),
        (AVERAGE, "3.0.7", f"only if {SHEDDING} and loadBalancerPlacementStrategy are equal"),
    ],
)
def test_a_class_that_a_release_cannot_load_is_not_asked_about(said, conf, line, release, instead):
    file = conf(line)
    for command in ("explain", "case"):
        _, err = said(command, MODULAR, "--conf", file, "--release", release, status=2)
        assert f"{file}: {line.partition('=')[0]}: " in err
        assert instead in err
    out, _ = said("settings", file, "--release", release, status=1)
    assert instead in out
    bundle = "shop/eu/0x00000000_0x40000000"
    words = ("explain", MODULAR, "--conf", file, "--release", release, "--place", bundle)
    assert instead in said(*words, status=2)[1]


def test_settings_are_judged_by_the_strategy_that_runs(said, conf):
    file = conf(TRANSFER, "loadBalancerBrokerThresholdShedderPercentage=60")
    out, _ = said("settings", file, "--release", "3.0.7", status=1)
    assert "so OverloadShedder runs instead, and only the log says so" in out
    assert "it belongs to ThresholdShedder, but OverloadShedder runs" in out
    out, err = said("explain", MODULAR, "--conf", file, "--release", "3.0.7")
    assert "strategy OverloadShedder" in out
    assert err.count("OverloadShedder runs instead") == 1


def test_both_settings_of_averages_run(said, conf):
    file = conf(AVERAGE, f"{SHEDDING}={BALANCING}.impl.AvgShedder")
    said("settings", file, "--release", "4.0.7")
    _, err = said("explain", MODULAR, "--conf", file, "--release", "3.0.7", status=2)
    assert SIMPLE in err
    same = (AVERAGE, AVERAGE.replace(PLACING, SHEDDING), AVERAGE.replace(PLACING, SIMPLE_PLACING))
    said("settings", conf(*same), "--release", "3.0.7")


def test_the_extensible_manager_sheds_by_its_own_strategy(said, conf):
    manager = f"{MANAGER}={BALANCING}.extensions.ExtensibleLoadManagerImpl"
    file = conf(manager, f"{SHEDDING}={BALANCING}.impl.ThresholdShedder")
    told = "ThresholdShedder is not a strategy of the extensible load manager, so TransferShedder"
    out, _ = said("settings", file, "--release", "4.0.7", status=1)
    assert told in out
    out, err = said("explain", MODULAR, "--conf", file, "--release", "4.0.7")
    assert told in err
    assert "(TransferShedder.findBundlesForUnloading)" in out
    reports = ("--reports", MODULAR, "--cycles", "2", "--conf", conf(manager))
    _, err = said("simulate", *reports, status=2)
    assert "reference: it does not offer TransferShedder" in err


def test_a_manager_that_does_nothing_runs(said, conf):
    file = conf(f"{MANAGER}={BALANCING}.NoopLoadManager", f"{THRESHOLD}=20")
    out, _ = said("settings", file, "--release", "4.0.7", status=1)
    assert "NoopLoadManager balances nothing" in out


def test_a_split_algorithm_that_does_not_exist_is_named(said, conf):
    file = conf("defaultNamespaceBundleSplitAlgorithm=flow_or_qps_equaly_divide")
    out, _ = said("settings", file, "--release", "4.0.7", status=1)
    assert (
        "Pulsar 4.0.7 has no split algorithm flow_or_qps_equaly_divide (the most similar name is "
        "flow_or_qps_equally_divide), so bin/pulsar broker does not start"
    ) in out


ALGORITHM = "defaultNamespaceBundleSplitAlgorithm"
SUPPORTED = "supportedNamespaceBundleSplitAlgorithms"
RANGE, TOPICS = "range_equally_divide", "topic_count_equally_divide"


@pytest.mark.parametrize(
    ("lines", "release", "name", "why"),
    [
        ([f"{ALGORITHM}=flow_or_qps_equally_divide"], "2.11.0", ALGORITHM, "has no split algo"),
        ([f"{ALGORITHM}=specified_positions_divide"], "2.10.5", ALGORITHM, "has no split algo"),
        ([f"{SUPPORTED}={RANGE},flow_or_qps"], "3.0.7", SUPPORTED, "algorithm flow_or_qps ("),
        (
            [f"{SUPPORTED}={RANGE}", f"{ALGORITHM}={TOPICS}"],
            "4.2.4",
            ALGORITHM,
            f"{SUPPORTED} does not list {TOPICS}",
        ),
        ([f"{SUPPORTED}={TOPICS}"], "3.0.7", SUPPORTED, f"it does not list {RANGE}, the default"),
    ],
)
def test_a_broker_does_not_start_with_split_algorithms_that_it_refuses(
    said, conf, lines, release, name, why
):
    """PulsarBrokerStarter checks both settings: 2.6.1 from line 156, 4.2.4 from line 182."""
    out, _ = said("settings", conf(*lines), "--release", release, status=1)
    told = " ".join(out.partition("does not start with these")[2].partition("in force")[0].split())
    assert told.startswith(f"{name} (")
    assert why in told
    assert "so bin/pulsar broker does not start" in told


def test_an_algorithm_for_requests_alone_fails_automatic_splits(said, conf):
    file = conf(f"{ALGORITHM}=specified_positions_divide")
    out, _ = said("settings", file, "--release", "3.0.7", status=1)
    assert "needs positions, which no automatic split has, so these fail" in " ".join(out.split())


def test_split_algorithms_that_a_broker_takes_are_in_force(said, conf):
    file = conf(f"{SUPPORTED}={RANGE}, {TOPICS}", f"{ALGORITHM}={TOPICS}")
    out, _ = said("settings", file, "--release", "2.10.5")
    assert "does not start" not in out


def test_a_throughput_in_bytes_is_said_to_be_out_of_reach(said, conf):
    least = "loadBalancerBundleUnloadMinThroughputThreshold"
    out, _ = said("settings", conf(f"{least}=10485760"), "--release", "4.0.7", status=1)
    assert "it is in MB/s, and no broker carries as much, so none sheds" in " ".join(out.split())
    out, _ = said("settings", conf(f"{least}=100"), "--release", "4.0.7")
    assert "no broker carries" not in out


def test_a_cluster_of_the_simple_manager_is_not_simulated_as_a_modular_one(said, conf):
    file = conf(f"{MANAGER}={BALANCING}.impl.SimpleLoadManagerImpl")
    _, err = said("simulate", "--reports", MODULAR, "--conf", file, "--cycles", "2", status=2)
    assert "selects the simple load manager, but shed.select asks about the modular one" in err


@pytest.mark.parametrize("name", ["broker-1-top-bundles.json", "broker-1-topbundles.json"])
def test_top_bundles_need_the_load_data_of_their_broker(said, tmp_path, name):
    saved = Path(shutil.copytree(EXTENSIBLE, tmp_path / "saved"))
    (saved / "broker-1-top-bundles.json").rename(saved / name)
    if name.endswith("-top-bundles.json"):
        (saved / "broker-1.json").unlink()
    _, err = said("explain", saved, "--release", "4.2.4", status=2)
    assert f"{saved / name}: it has top bundles, but no other file has the load data" in err


def test_extensible_load_data_contradict_a_release_or_settings_without_that_manager(said, conf):
    _, err = said("explain", EXTENSIBLE, "--release", "2.10.4", status=2)
    assert "load data of the extensible load manager, which Pulsar 2.10.4 does not have" in err
    file = conf(f"{MANAGER}={BALANCING}.impl.ModularLoadManagerImpl")
    _, err = said("explain", EXTENSIBLE, "--conf", file, status=2)
    assert f"but {MANAGER} selects the modular one; leave the setting out" in err
    for words in (("case", EXTENSIBLE), ("simulate", "--reports", EXTENSIBLE)):
        _, err = said(*words, status=2)
        assert "this is load data of the extensible load manager" in err


def test_brokers_are_matched_by_their_reports_if_files_do_not_name_their_hosts(said, tmp_path):
    saved = Path(shutil.copytree(MODULAR, tmp_path / "saved"))
    for number in (1, 2, 3):
        file = saved / f"broker-{number}.json"
        report = json.loads(file.read_text("utf-8"))
        report["webServiceUrl"] = f"http://pulsar-{number}.example.org:8080"
        file.write_text(json.dumps(report), "utf-8")
    policies = tmp_path / "own.json"
    limit = {"policy_type": "min_available", "parameters": {"min_limit": "1"}}
    policy = {
        "namespaces": ["shop/eu"],
        "primary": [r"pulsar-2\.example\.org"],
        "secondary": [],
        "auto_failover_policy": limit,
    }
    policies.write_text(json.dumps(policy), "utf-8")
    bundle = "shop/eu/0x00000000_0x40000000"
    out, err = said("explain", saved, "--place", bundle, "--isolation", policies)
    assert "matches no broker" not in err
    assert out.endswith("answer broker broker-2") or "answer broker broker-2" in out
    domains = tmp_path / "domains.json"
    domains.write_text(json.dumps({"a": {"brokers": ["pulsar-1.example.org:8080"]}}), "utf-8")
    _, err = said("explain", saved, "--place", bundle, "--domains", domains)
    assert "without a report" not in err


def test_a_setting_of_the_question_is_not_reported_as_missing(said, tmp_path):
    domains, groups = tmp_path / "domains.json", tmp_path / "groups.json"
    domains.write_text(json.dumps({"a": {"brokers": ["broker-1"]}}), "utf-8")
    groups.write_text(json.dumps({"else/where": "g"}), "utf-8")
    words = ("explain", MODULAR, "--place", "shop/eu/0x00000000_0x40000000")
    given = ("--domains", domains, "--groups", groups)
    _, err = said(*words, *given)
    assert "failureDomainsEnabled is not set, so it is false" in err
    assert "no broker owns a bundle of the groups' namespaces: else/where" in err
    _, err = said(*words, *given, "--setting", "failureDomainsEnabled=true")
    assert "failureDomainsEnabled is not set" not in err


def test_topics_are_read_from_the_array_of_the_admin_api(said, tmp_path):
    file = tmp_path / "topics.json"
    topics = ["persistent://shop/eu/orders", "persistent://shop/eu/returns"]
    file.write_text(json.dumps(topics), "utf-8")
    out, _ = said("explain", MODULAR, "--topics", file)
    assert "hash 0xa4a9234e" in out
    assert "hash 0x5d816993" in out


# With a threshold of 20 %, all three brokers are overloaded, so one of them is chosen at random; at
# the default of 85 % none is, and broker-3 has the lowest message rate.
def test_a_random_choice_is_compared_with_all_its_outcomes(capsys):
    folder = REPORTS / "three-brokers" / "modular"
    words = ["--place", "shop/eu/0x00000000_0x40000000"]
    threshold = "loadBalancerBrokerOverloadedThresholdPercentage=20"
    assert main(["explain", str(folder), *words, "--setting", threshold]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "changed to broker-1 or to broker-2 or to broker-3" in out
    assert "as it is to broker-3" in out


def test_limits_that_a_setting_would_change_are_named(capsys):
    folder = REPORTS / "three-brokers" / "modular"
    setting = "loadBalancerOverrideBrokerNicSpeedGbps=0.1"
    assert main(["explain", str(folder), "--setting", setting]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "would change the bandwidth limits that brokers report" in out


def test_a_case_is_not_asked_about_a_strategy_of_a_file_that_does_not_run(said, conf, tmp_path):
    case = tmp_path / "case.json"
    case.write_text(said("case", MODULAR, "--release", "3.0.7")[0], "utf-8")
    words = ("explain", case, "--conf", conf(TRANSFER), "--judge-by", "released-3.0")
    out, err = said(*words)
    assert "so OverloadShedder runs instead" in err
    assert "strategy OverloadShedder" in out


def test_extensible_load_data_contradict_a_manager_that_no_release_loads(said, conf):
    file = conf(f"{MANAGER}=ExtensibleLoadManagerImpl")
    _, err = said("explain", EXTENSIBLE, "--conf", file, "--release", "4.0.7", status=2)
    assert f"but {MANAGER}: ExtensibleLoadManagerImpl has no package" in err
    said("explain", EXTENSIBLE, "--setting", f"{MANAGER}=ExtensibleLoadManagerImpl")


def test_an_abstract_strategy_is_not_called_missing(said, conf):
    file = conf(f"{SHEDDING}={BALANCING}.impl.DeviationShedder")
    out, _ = said("settings", file, "--release", "3.0.7", status=1)
    assert f"{BALANCING}.impl.DeviationShedder is abstract, so OverloadShedder runs instead" in out
    file = conf(f"{SHEDDING}={BALANCING}.impl.LeastLongTermMessageRate")
    out, _ = said("settings", file, "--release", "4.2.4", status=1)
    assert "LeastLongTermMessageRate is not a shedding strategy of the modular load manager" in out
