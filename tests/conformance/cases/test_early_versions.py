"""Settings, defaults and decisions of versions before 3.0.

The expected texts follow ServiceConfiguration in the sources of pulsar-broker-common 2.4.2 to
3.2.0, and the shedding strategies and LoadData in the sources of pulsar-broker.
"""

import json
from pathlib import Path

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.reference import Model
from pulsar_conformance.specs.broker import broker_data, broker_settings, default_in
from pulsar_conformance.specs.judged import (
    default_in_version,
    has_setting,
    judged_version,
    nearest_profile,
    ways_of_version,
)
from pulsar_conformance.specs.loading import load

PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."
STRATEGY = "loadBalancerLoadSheddingStrategy"
SUPPORTED = "supportedNamespaceBundleSplitAlgorithms"
OVERLOAD, THRESHOLD = f"{PACKAGE}OverloadShedder", f"{PACKAGE}ThresholdShedder"
MB = 1_000_000
REPORTS = Path(fixtures.__file__).parent / "reports" / "three-brokers" / "modular"


@pytest.fixture
def told(tmp_path, capsys):
    """Return a function that runs `settings`, and returns its output on one line."""

    def ask(settings, *words):
        conf = tmp_path / "broker.conf"
        conf.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), "utf-8")
        main(["settings", str(conf), *words])
        return " ".join(capsys.readouterr().out.split())

    return ask


def test_first_versions_are_those_of_settings():
    assert broker_data()["first"].keys() <= broker_settings().keys()
    assert broker_data()["former"].keys() <= broker_settings().keys()


@pytest.mark.parametrize(
    ("name", "without", "with_it"),
    [
        (STRATEGY, ["2.4.2", "2.5.2"], ["2.6.0", "2.9.1"]),
        (SUPPORTED, ["2.4.2", "2.5.0"], ["2.5.1", "2.6.1"]),
        ("loadBalancerMemoryResourceWeight", ["2.5.2"], ["2.6.0", "2.7.5"]),
        ("loadBalancerMsgRateDifferenceShedderThreshold", ["2.9.3"], ["2.10.0"]),
        ("namespaceBundleUnloadingTimeoutMs", ["2.8.4", "2.9.3"], ["2.10.0"]),
        ("loadBalancerReportUpdateMinIntervalMillis", ["2.9.1", "2.10.1"], ["2.10.2", "2.10.5"]),
        ("lowerBoundarySheddingEnabled", ["2.10.5", "2.10.6"], ["2.11.0", "3.0.0"]),
        ("maxUnloadPercentage", ["2.10.5"], ["2.11.0"]),
        ("flowOrQpsDifferenceThresholdPercentage", ["2.11.0", "2.11.4"], ["3.0.0"]),
        ("loadBalancerTransferEnabled", ["2.11.0"], ["3.0.0", "3.1.0"]),
        ("topicBundleAssignmentStrategy", ["3.0.0", "3.0.7"], ["3.1.0", "3.2.0", "4.0.7"]),
        ("loadBalancerServiceUnitStateMonitorIntervalInSeconds", ["3.1.0"], ["3.2.0", "4.0.7"]),
        ("loadBalancerSheddingIntervalMinutes", [], ["2.4.2", "2.10.1"]),
    ],
)
def test_versions_have_the_settings_of_their_source(name, without, with_it):
    setting = broker_settings()[name]
    assert [one for one in without if has_setting(setting, one)] == []
    assert [one for one in with_it if not has_setting(setting, one)] == []
    assert all(default_in_version(setting, one) is not None for one in with_it)


@pytest.mark.parametrize(
    ("version", "strategy"),
    [
        *((one, OVERLOAD) for one in ("2.4.2", "2.5.0", "2.6.1", "2.7.5", "2.8.1", "2.9.5")),
        *((one, THRESHOLD) for one in ("2.10.0", "2.10.5", "2.11.0", "3.0.7")),
    ],
)
def test_threshold_shedder_is_the_default_from_2_10_on(told, version, strategy):
    assert default_in_version(broker_settings()[STRATEGY], version) == strategy
    line = {"loadBalancerBrokerOverloadedThresholdPercentage": 85}
    remark = "it counts for placement, but not for shedding by ThresholdShedder"
    assert (remark in told(line, "--release", version)) is (strategy == THRESHOLD)


def test_the_model_of_an_early_version_sheds_by_its_default():
    default = default_in_version(broker_settings()[STRATEGY], "2.4.2")
    assert load().defaults("released-2.4")[STRATEGY] == default
    assert judged_version("2.9.1").completed_settings({})[STRATEGY] == OVERLOAD


@pytest.mark.parametrize("version", ["2.6.1", "2.7.5", "2.8.1", "2.9.1"])
def test_settings_names_the_default_strategy_of_an_early_version(told, version):
    line = {"loadBalancerSheddingEnabled": "true"}
    out = told(line, "--release", version, "--all", "--to", "2.10.5")
    assert f"{STRATEGY} is OverloadShedder by default" in out
    assert f"{STRATEGY} = OverloadShedder" in out
    assert f"{STRATEGY}: the default changes from OverloadShedder to ThresholdShedder" in out
    assert "the default of Pulsar 3.0.7 applies" not in out
    assert f"the default of Pulsar 3.0.7 is assumed, unless {version} differs as listed" in out


def test_a_strategy_that_cannot_be_set_has_no_default(told):
    line = {"loadBalancerSheddingEnabled": "true"}
    out = told(line, "--release", "2.5.0", "--all")
    now, _, later = out.partition(" new with Pulsar 3.0.7")
    assert f"{STRATEGY} " not in now
    assert f"{STRATEGY} = ThresholdShedder" in later
    assert "the default of Pulsar 3.0.7 applies" in told(line, "--release", "3.0.7", "--all")


def test_a_setting_that_came_later_is_without_effect(told):
    line = {"loadBalancerReportUpdateMinIntervalMillis": 2000}
    for version in ("2.9.1", "2.10.1"):
        out = told(line, "--release", version, "--to", "2.10.2")
        assert f"Pulsar {version} has no such setting; it was added in 2.10.2" in out
        assert "Pulsar 2.10.2 has this setting" in out
    assert "no such setting" not in told(line, "--release", "2.10.2")
    out = told({"loadBalancerMemoryResourceWeight": 0}, "--release", "2.5.0")
    assert "Pulsar 2.5.0 has no such setting; it was added in 2.6.0" in out


# ServiceConfiguration.supportedNamespaceBundleSplitAlgorithms.
@pytest.mark.parametrize(
    ("version", "last"),
    [
        *((one, "topic_count_equally_divide") for one in ("2.5.1", "2.9.1", "2.10.5")),
        ("2.11.0", "specified_positions_divide"),
        *((one, "flow_or_qps_equally_divide") for one in ("3.0.0", "3.0.7", "4.2.4")),
    ],
)
def test_the_algorithms_that_are_supported_by_default(told, version, last):
    default = default_in_version(broker_settings()[SUPPORTED], version)
    known = ["range_equally_divide", "topic_count_equally_divide", "specified_positions_divide"]
    known.append("flow_or_qps_equally_divide")
    assert default.split(",") == known[: known.index(last) + 1]
    if version == "2.10.5":
        assert default_in(SUPPORTED, version) == default
        out = told({"loadBalancerSheddingEnabled": "true"}, "--release", version)
        assert f"{SUPPORTED} is range_equally_divide, topic_count_equally_divide by default" in out


def one_over(usage, *bundles):
    """Return a case with a broker of this usage and bundles of 10 MB/s each, and an idle broker."""
    traffic = {"msgThroughputIn": 10.0 * MB, "msgThroughputOut": 0, "msgRateIn": 1, "msgRateOut": 0}
    average = {"shortTermData": {**traffic, "numSamples": 10, "maxSamples": 10}}
    busy = {name: {"usage": used, "limit": 100} for name, used in usage.items()}
    busy |= {"msgThroughputIn": 10.0 * MB * len(bundles), "bundles": list(bundles)}
    idle = {"cpu": {"usage": 20, "limit": 100}, "bundles": []}
    brokers = {"b1": busy, "b2": idle, "b3": idle}
    return {"brokers": brokers, "bundles": dict.fromkeys(bundles, average), "recentlyUnloaded": {}}


def unloads(version, strategy, case):
    model = Model(nearest_profile(version)).with_ways(ways_of_version(version))
    settings = {"loadBalancerHistoryResourcePercentage": 0}
    asked = {"strategy": strategy, "settings": settings, **case}
    return [one["bundle"] for one in model.answer("shed.select", asked)["unload"]]


# 2.8.1 leaves out no bundle. 2.8.2 and 2.9.1 compare HEARTBEAT_NAMESPACE_PATTERN with the name of
# the bundle, which never matches; LoadData.getBundleDataForLoadShedding compares the namespace
# (apache/pulsar#13208, in the release notes of 2.8.3 and labelled for 2.9.2).
@pytest.mark.parametrize(
    ("version", "goes"),
    [
        *((one, True) for one in ("2.8.1", "2.8.2", "2.9.0", "2.9.1")),
        *((one, False) for one in ("2.8.3", "2.9.2", "2.10.0", "2.10.5")),
    ],
)
@pytest.mark.parametrize("strategy", ["OverloadShedder", "ThresholdShedder"])
def test_a_heartbeat_bundle_is_shed_before_2_10(told, version, goes, strategy):
    heartbeat = "pulsar/c1/b1:8080/0x00000000_0xffffffff"
    halves = ("t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff")
    case = one_over({"cpu": 95, "directMemory": 95}, *halves, heartbeat)
    case["bundles"][heartbeat] = json.loads(json.dumps(case["bundles"][heartbeat]))
    case["bundles"][heartbeat]["shortTermData"]["msgThroughputIn"] = 90.0 * MB
    case["brokers"]["b1"]["msgThroughputIn"] = 110.0 * MB
    assert (heartbeat in unloads(version, strategy, case)) is goes
    out = told({STRATEGY: PACKAGE + strategy}, "--release", version, "--all")
    assert ("Which namespaces are never shed? None." in out) is goes


@pytest.mark.parametrize(
    ("release", "to", "compared"),
    [("2.7.5", "3.0.7", "2.4 3.0.7"), ("2.9.1", "4.0", "2.10 4.0.7"), ("2.11.0", "3.0.7", "")],
)
def test_decisions_are_compared_with_those_of_an_examined_release(told, release, to, compared):
    out = told({"loadBalancerSheddingEnabled": "true"}, "--release", release, "--to", to)
    command = "pulsar-conformance changes"
    assert (command in out) is bool(compared)
    assert f"{command} {compared}" in out or not compared


# From 2.5.0 on, OverloadShedder filters by localData.getBundles() (apache/pulsar#5002). 2.4.2 sheds
# the bundle with the most bytes of all, which broker b2 owns.
@pytest.mark.parametrize(
    ("version", "own"), [("2.4.2", False), ("2.5.0", True), ("2.6.1", True), ("2.7.5", True)]
)
def test_overload_shedder_sheds_a_brokers_own_bundles_from_2_5_on(told, version, own):
    halves = ("t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff")
    case = one_over({"cpu": 90}, *halves)
    other = "t/other/0x00000000_0xffffffff"
    case["brokers"]["b2"]["bundles"] = [other]
    rates = case["bundles"][halves[0]]["shortTermData"]
    most = {"shortTermData": {**rates, "msgThroughputIn": 50.0 * MB}}
    case["bundles"] = {**case["bundles"], other: most}
    assert (other not in unloads(version, "OverloadShedder", case)) is own
    out = told({"loadBalancerSheddingEnabled": "true"}, "--release", version, "--all")
    assert ("Whose bundles does an overloaded broker shed?" in out) is not own


@pytest.mark.parametrize("version", ["2.6.1", "2.7.5"])
def test_threshold_shedder_of_2_6_and_2_7_is_not_explained_as_another(capsys, version):
    asked = [str(REPORTS), "--release", version, "--setting"]
    assert main(["explain", *asked, f"{STRATEGY}={THRESHOLD}"]) == 2
    why = f"no profile describes ThresholdShedder of Pulsar {version}: it has ThresholdShedder"
    assert why in " ".join(capsys.readouterr().err.split())
    assert main(["explain", *asked, f"{STRATEGY}={OVERLOAD}"]) == 0


# 2.10.2 and 3.0.7 both keep the averages; 2.10.5 does not (apache/pulsar#13974 and #20620).
def test_what_both_versions_do_is_no_difference(told):
    line = {"loadBalancerSheddingEnabled": "true"}
    question = "Does a bundle that a broker reports keep its averages when the leader updates them?"
    assert question not in told(line, "--release", "2.10.2", "--all")
    assert question in told(line, "--release", "2.10.5", "--all")


# ThresholdShedder.updateAvgResourceUsage begins with 0.0 in 2.8.2 and 2.9.1.
@pytest.mark.parametrize(
    ("version", "smooths"),
    [("2.8.1", True), ("2.8.2", True), ("2.9.1", True), ("2.8.3", False), ("2.10.0", False)],
)
def test_the_first_usage_was_smoothed(version, smooths):
    assert (ways_of_version(version)["first-usage"] == "from-zero") is smooths


# ThresholdShedder 2.10.2 takes LocalBrokerData.getMaxResourceUsageWithWeightWithinLimit if the
# weighted usage is over 100 %: 30 % of incoming bandwidth, which is not over the average of 23.3 %
# and 10 points. Elsewhere, 140 % is.
@pytest.mark.parametrize(
    ("version", "sheds"), [("2.10.1", True), ("2.10.2", False), ("2.10.3", True), ("2.10.5", True)]
)
def test_2_10_2_leaves_out_resources_over_100_percent(version, sheds):
    halves = ("t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff")
    case = one_over({"cpu": 140, "bandwidthIn": 30}, *halves)
    case["brokers"]["b1"]["msgThroughputIn"] = 100.0 * MB
    assert bool(unloads(version, "ThresholdShedder", case)) is sheds
    only = one_over({"cpu": 140, "bandwidthIn": 101}, *halves)  # Nothing is left: its usage is 0.
    only["brokers"]["b1"]["msgThroughputIn"] = 100.0 * MB
    assert bool(unloads(version, "ThresholdShedder", only)) is sheds
    full = one_over({"cpu": 140, "bandwidthIn": 100}, *halves)  # 100 % is not over 100 %.
    full["brokers"]["b1"]["msgThroughputIn"] = 100.0 * MB
    assert unloads(version, "ThresholdShedder", full)


@pytest.mark.parametrize(("version", "counts"), [("2.10.2", False), ("2.10.3", True)])
def test_overload_shedder_counts_resources_over_100_percent(version, counts):
    halves = ("t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff")
    assert unloads(version, "OverloadShedder", one_over({"cpu": 140, "bandwidthIn": 30}, *halves))
    assert (ways_of_version(version)["over-full"] == "counted") is counts
