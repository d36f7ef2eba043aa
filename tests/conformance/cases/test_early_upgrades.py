"""Upgrades from early versions, bundles with few topics, and users' own load managers.

The expected texts follow ModularLoadManagerImpl, BundleSplitterTask and LoadManager.create in the
sources of pulsar-broker 2.4.2 to 4.0.6.
"""

import json
from pathlib import Path

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.compare import upgrade
from pulsar_conformance.reference import Model
from pulsar_conformance.specs.judged import nearest_profile, ways_of_version

STRATEGY = "loadBalancerLoadSheddingStrategy"
IMPL = "org.apache.pulsar.broker.loadbalance.impl"
PLAIN = {"loadBalancerSheddingIntervalMinutes": 5}
OWN = "org.example.Cluster$OwnLoadManager"
HALVES = ("t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff")


@pytest.fixture
def told(tmp_path, capsys):
    """Return a function that runs `settings` and returns its status, and its output on one line."""

    def ask(settings, *words):
        conf = tmp_path / "broker.conf"
        conf.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), "utf-8")
        status = main(["settings", str(conf), *words])
        return status, " ".join(capsys.readouterr().out.split())

    return ask


# 2.4.2 adds OverloadShedder alone to loadSheddingPipeline, and LocalBrokerData counts heap memory.
@pytest.mark.parametrize("to", ["2.10.5", "3.0.7"])
def test_an_upgrade_from_2_4_changes_the_strategy_and_what_counts(told, to):
    _, out = told(PLAIN, "--release", "2.4.2", "--to", to)
    assert "ThresholdShedder runs by default instead of OverloadShedder" in out
    assert "Does heap memory count in the usage of a broker?" in out
    assert "changes no setting of the file" not in out


def test_an_upgrade_that_keeps_the_strategy_names_no_other(told):
    _, out = told(PLAIN, "--release", "2.4.2", "--to", "2.9.3")
    assert "ThresholdShedder runs" not in out
    assert "pulsar-conformance changes 2.4 2.10" in out


def test_a_strategy_that_an_early_version_does_not_read_is_no_default(told):
    uniform = "org.apache.pulsar.broker.loadbalance.impl.UniformLoadShedder"
    _, out = told({STRATEGY: uniform}, "--release", "2.4.2", "--to", "2.10.5")
    assert f"{STRATEGY}: Pulsar 2.10.5 has this setting" in out
    assert "by default instead" not in out


# BundleSplitterTask: no test of topics in 2.8.0 and 2.8.1, `topics == 1` in 2.9.0 and 2.9.1,
# `topics < 2` in 2.8.2 and 2.10.0.
@pytest.mark.parametrize(
    ("version", "split"),
    [
        ("2.7.5", [0, 1]),
        ("2.8.0", [0, 1]),
        ("2.8.1", [0, 1]),
        ("2.8.2", []),
        ("2.9.0", [0]),
        ("2.9.1", [0]),
        ("2.10.0", []),
    ],
)
def test_bundles_of_few_topics_are_split_as_the_version_does(version, split):
    rates = {
        "msgRateIn": 50_000,
        "msgRateOut": 0,
        "msgThroughputIn": 0,
        "msgThroughputOut": 0,
        "numSamples": 10,
        "maxSamples": 10,
    }
    stats = {
        bundle: {"topics": topics, "producerCount": 0, "consumerCount": 0}
        for topics, bundle in enumerate(HALVES)
    }
    owned = {"b1": stats, "b2": {}}
    case = {
        "leader": True,
        "settings": {
            "loadBalancerAutoBundleSplitEnabled": True,
            "loadBalancerAutoUnloadSplitBundlesEnabled": True,
            "loadBalancerNamespaceBundleMaxTopics": 1000,
            "loadBalancerNamespaceBundleMaxSessions": 1000,
            "loadBalancerNamespaceBundleMaxMsgRate": 30000,
            "loadBalancerNamespaceBundleMaxBandwidthMbytes": 100,
            "loadBalancerNamespaceMaximumBundles": 128,
        },
        "brokers": {name: {"bundles": held, "lastStats": held} for name, held in owned.items()},
        "bundles": {bundle: {"shortTermData": rates, "longTermData": rates} for bundle in HALVES},
        "namespaceBundles": {"t/ns": 2},
    }
    model = Model(nearest_profile(version)).with_ways(ways_of_version(version))
    answer = model.answer("bundles.split_candidates", case)
    assert sorted(answer["split"]) == [HALVES[index] for index in split]


# The guard `maxBundleSessions > 0` is in 2.10.0, and neither in 2.8.2 nor in 2.9.1.
@pytest.mark.parametrize(
    ("version", "limit"), [("2.8.2", True), ("2.9.1", True), ("2.10.0", False)]
)
def test_a_session_limit_of_0_is_one_before_2_10(version, limit):
    assert (ways_of_version(version)["session-limit"] == "limit") is limit


def test_what_a_load_manager_of_ones_own_reads_is_not_known(told):
    set_ = {"loadManagerClassName": OWN, "loadBalancerDebugModeEnabled": "true", STRATEGY: OWN}
    status, out = told(set_, "--release", "4.0.7")
    assert status == 0
    assert "Cluster$OwnLoadManager is not a class of Pulsar" in out
    assert "without effect" not in out
    assert "has an effect" not in out


def test_noop_load_manager_uses_no_setting(told):
    noop = "org.apache.pulsar.broker.loadbalance.NoopLoadManager"
    status, out = told(
        {"loadManagerClassName": noop, "loadBalancerDebugModeEnabled": "true"}, "--release", "4.0.7"
    )
    assert (status, "NoopLoadManager balances nothing" in out) == (1, True)


@pytest.mark.parametrize("version", ["2.4.2", "2.9.3", "4.0.6", "4.2.4"])
def test_json_names_the_version_that_was_asked_for(tmp_path, capsys, version):
    conf = tmp_path / "broker.conf"
    conf.write_text("loadBalancerSheddingIntervalMinutes=5\n", "utf-8")
    main(["settings", str(conf), "--release", version, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["release"] == version
    examined = version in ("2.4.2", "4.2.4")
    assert any("was not examined" in note for note in found["notes"]) is not examined


def test_settings_of_others_are_counted_in_dynamic_ones_too(told, tmp_path):
    dynamic = tmp_path / "dynamic.json"
    dynamic.write_text(json.dumps({"someOtherSetting": "1", **PLAIN}), "utf-8")
    _, out = told({"brokerServicePort": 6650}, "--release", "4.0.7", "--dynamic", str(dynamic))
    assert "not listed: 2 settings outside load balancing" in out


def test_a_file_of_one_empty_setting_has_one(told):
    status, out = told({"loadBalancerOverrideBrokerNicSpeedGbps": ""}, "--release", "4.2.4")
    assert status == 0
    assert "none of these settings is in force" in out


@pytest.mark.parametrize(("to", "compared"), [("4.9", "4.2.4"), ("6.0", "5.0.0")])
def test_a_version_that_is_not_known_is_not_compared_in_silence(told, to, compared):
    _, out = told(PLAIN, "--release", "4.0.7", "--to", to)
    assert f"Pulsar {to} is not known; {compared}, the latest version" in out


@pytest.mark.parametrize("to", ["4.2", "4.2.4", "5.0"])
def test_a_known_version_is_compared_without_a_note(told, to):
    _, out = told(PLAIN, "--release", "4.0.7", "--to", to)
    assert "is not known" not in out


@pytest.mark.parametrize("kind", ["modular", "simple"])
def test_a_load_report_is_no_settings_file(capsys, kind):
    report = Path(fixtures.__file__).parent / "reports" / "three-brokers" / kind / "broker-1.json"
    assert main(["settings", str(report)]) == 2
    assert "it is a load report" in " ".join(capsys.readouterr().err.split())


# ThresholdShedder, TopicCountEquallyDivideBundleSplitAlgorithm, splitBundles and NamespacesBase in
# the sources of 2.6.0, 2.6.4, 2.7.0 and 2.7.5; 2.4.2 and 2.5.2 have neither class.
@pytest.mark.parametrize("version", ["2.6.0", "2.6.4", "2.7.2", "2.7.5"])
def test_versions_2_6_and_2_7_shed_and_split_as_their_sources_do(told, version):
    ways = ways_of_version(version)
    assert (ways["threshold-amount"], ways["threshold-least"]) == ("over-limit", "setting")
    assert (ways["first-usage"], ways["only-bundle"]) == ("from-zero", "stays")
    assert (ways["lower-boundary-relief"], ways["split-algorithms"]) == ("none", "named")
    assert (ways["topic-halves"], ways["cut-at-edge"]) == ("rounded-down", "refused")
    assert (ways["few-topics-halved"], ways["default-positions"]) == ("range", "range")
    assert ways["unsupported-algorithm"] == "refused"
    _, out = told(PLAIN, "--release", version, "--all")
    assert "By range, since there is no other" not in out
    boundary = "Nothing, since there is no lower boundary"
    assert boundary not in out  # OverloadShedder runs by default, and has none in any version.
    threshold = {"loadBalancerLoadSheddingStrategy": f"{IMPL}.ThresholdShedder"}
    _, out = told(threshold, "--release", version, "--all")
    assert boundary in out


@pytest.mark.parametrize("version", ["2.4.2", "2.5.2"])
def test_versions_before_2_6_split_by_range(version):
    assert ways_of_version(version)["split-algorithms"] == "range"


def test_what_a_comparison_of_releases_needs_is_said_where_it_is_not_installed(monkeypatch):
    monkeypatch.setattr(upgrade, "find_spec", lambda _name: None)
    assert upgrade.command_to_compare("3.0.7", "4.2.4") == (
        "run: pulsar-conformance changes 3.0.7 4.2.4 (first, in the clone: pip install "
        "'.[pulsar]'; it also needs Java)"
    )
    monkeypatch.setattr(upgrade, "find_spec", lambda _name: "installed")
    assert upgrade.command_to_compare("3.0.7", "4.2.4").endswith("changes 3.0.7 4.2.4")
