"""Settings with an effect though others disable their usual purpose; files that set nothing."""

import json
from pathlib import Path

import pytest
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.specs.broker import broker_settings
from pulsar_conformance.specs.judged import default_in_version, has_setting

ROOT = Path(__file__).parents[3]
PACKAGE = "org.apache.pulsar.broker.loadbalance."
AVERAGE = f"{PACKAGE}impl.AvgShedder"
STRATEGY, PLACEMENT = "loadBalancerLoadSheddingStrategy", "loadBalancerLoadPlacementStrategy"
PAIR = f"{STRATEGY}={AVERAGE}\n{PLACEMENT}={AVERAGE}\n"
OFF = ("loadBalancerSheddingEnabled=false\n", "loadBalancerEnabled=false\n")


@pytest.fixture
def told(tmp_path, capsys):
    """Return a function that runs `settings` and returns its status, and its output on one line."""

    def ask(text, *options, name="broker.conf"):
        file = tmp_path / name
        file.write_text(text, "utf-8")
        status = main(["settings", str(file), *options])
        out, err = capsys.readouterr()
        return status, " ".join((out + err).split())

    return ask


# ModularLoadManagerImpl.initialize compares the two classes whatever is switched off.
@pytest.mark.parametrize("off", OFF)
@pytest.mark.parametrize("version", ["4.0.7", "4.2.4"])
def test_the_strategy_that_a_placement_strategy_has_to_agree_with_counts(told, off, version):
    status, out = told(PAIR + off, "--release", version)
    assert status == 0
    assert f"{STRATEGY} = AvgShedder" in out.partition("in force")[2]


@pytest.mark.parametrize("off", OFF)
def test_other_strategies_do_not_count_if_nothing_is_shed(told, off):
    status, out = told(f"{STRATEGY}={PACKAGE}impl.UniformLoadShedder\n{off}", "--release", "4.0.7")
    assert status == 1
    assert f"{STRATEGY} (" in out.partition("in force")[0]


def test_an_upgrade_of_a_broker_that_never_starts_changes_no_strategy(told):
    text = f"loadManagerClassName={PACKAGE}extensions.ModularLoadManagerImpl\n"
    _, out = told(text, "--release", "4.2.4", "--to", "5.0.0")
    assert "runs instead of" not in out
    assert "the default changes from 4 to 32" in out


def test_what_would_be_in_force_is_not_reported_for_a_broker_that_does_not_start(told):
    _, out = told("loadBalancerBrokerMaxTopics=5 # few\nloadBalancerEnabled=true\n")
    assert "cannot be read, so the broker does not start" in out
    assert "every setting that differs" not in out
    assert "in force once the broker starts" in out


def test_a_comment_after_the_number_of_another_part_is_reported(told):
    text = "loadBalancerEnabled=true\ndefaultRetentionTimeInMinutes=10080  # 7 days\n"
    status, out = told(text, "--release", "4.0.7")
    assert status == 1
    assert "10080 # 7 days: the comment is a part of the value" in out
    status, out = told(text.replace("  # 7 days", ""), "--release", "4.0.7")
    assert status == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("broker.conf", "managedLedgerDefaultEnsembleSize=2\n"),
        ("broker.conf", "# nothing but a comment\n"),
        ("values.yaml", "broker:\n  configData:\n    allowAutoTopicCreation: 'false'\n"),
        (
            "cluster.yaml",
            "spec:\n  broker:\n    config:\n      managedLedgerDefaultAckQuorum: '2'\n",
        ),
    ],
)
def test_a_file_of_a_broker_may_leave_all_of_load_balancing_to_the_defaults(told, name, text):
    status, out = told(text, "--release", "4.0.7", name=name)
    assert status == 0
    assert "none of these settings is in force; the defaults are those of Pulsar 4.0.7" in out
    others = "not listed: 1 setting outside load balancing" in out
    assert others != text.startswith("#")


# A ConfigMap takes texts alone.
@pytest.mark.parametrize("value", ["[a, b]", "{a: b}"])
def test_a_setting_with_several_values_is_not_known(told, value):
    text = f"broker:\n  configData:\n    {STRATEGY}: {value}\n    systemTopicEnabled: 'true'\n"
    status, out = told(text, "--release", "4.0.7", name="values.yaml")
    assert status == 1
    assert f"{STRATEGY} (" in out.partition("not known")[2]
    assert "it has several values in YAML, but a setting of a broker has a single value" in out


# BrokerService registers a listener that creates the new load manager.
def test_a_dynamic_load_manager_takes_over_at_once(told, tmp_path):
    dynamic = tmp_path / "dynamic.json"
    name = f"{PACKAGE}impl.SimpleLoadManagerImpl"
    dynamic.write_text(json.dumps({"loadManagerClassName": name}), "utf-8")
    _, out = told("loadBalancerEnabled=true\n", "--dynamic", str(dynamic), "--release", "3.0.7")
    assert "a running broker switches to it at once" in out


# ServiceConfiguration of 3.1.0 and 3.1.1, and of 4.0.1 and 4.0.6.
def test_defaults_and_names_are_those_of_the_version_itself():
    weight = broker_settings()["loadBalancerDirectMemoryResourceWeight"]
    assert [default_in_version(weight, one) for one in ("3.1.0", "3.1.1")] == [1.0, 0.0]
    overrides = broker_settings()["loadBalancerServiceUnitStateMaxConcurrentOverrides"]
    assert [has_setting(overrides, one) for one in ("4.0.1", "4.0.6", "4.2.4")] == [
        False,
        True,
        True,
    ]


SIMPLE = f"loadManagerClassName={PACKAGE}impl.SimpleLoadManagerImpl\n"
EXTENSIBLE = f"loadManagerClassName={PACKAGE}extensions.ExtensibleLoadManagerImpl\n"


# BrokerMaxTopicCountFilter, BrokerVersionFilter, LoadManagerShared and TopKBundles of 4.2.4 have no
# user in SimpleLoadManagerImpl.
@pytest.mark.parametrize(
    "line",
    [
        "loadBalancerBrokerMaxTopics=5",
        "preferLaterVersions=true",
        "failureDomainsEnabled=true",
        "loadBalancerSheddingExcludedNamespaces=t/n",
    ],
)
def test_the_simple_load_manager_has_no_filters(told, line):
    status, out = told(f"{SIMPLE}{line}\n", "--release", "4.2.4")
    assert status == 1
    assert "it belongs to the modular or extensible load manager" in out
    for manager in ("", EXTENSIBLE):
        assert told(f"{manager}{line}\n", "--release", "4.2.4")[0] == 0


# SplitScheduler.isLoadBalancerAutoBundleSplitEnabled; ModularLoadManagerImpl asks for one alone.
def test_the_extensible_manager_splits_only_while_it_balances(told):
    lines = "loadBalancerEnabled=false\nloadBalancerNamespaceMaximumBundles=8\n"
    _, out = told(f"{EXTENSIBLE}{lines}", "--release", "4.2.4")
    assert "loadBalancerNamespaceMaximumBundles (" in out.partition("in force")[0]
    on = f"{lines}loadBalancerAutoBundleSplitEnabled=true\n"
    _, out = told(f"{EXTENSIBLE}{on}", "--release", "4.2.4")
    assert "loadBalancerAutoBundleSplitEnabled = true" not in out
    _, out = told(on, "--release", "4.2.4")
    assert "loadBalancerAutoBundleSplitEnabled = true" in out


# NamespaceService.getBundleSplitOption has the limits of the default algorithm by traffic alone.
@pytest.mark.parametrize(
    ("algorithm", "status"), [("flow_or_qps_equally_divide", 0), ("range_equally_divide", 1)]
)
def test_limits_of_splits_by_traffic_count_for_splits_by_hand(told, algorithm, status):
    text = (
        "loadBalancerAutoBundleSplitEnabled=false\nloadBalancerNamespaceBundleMaxMsgRate=7\n"
        f"defaultNamespaceBundleSplitAlgorithm={algorithm}\n"
    )
    assert told(text, "--release", "3.0.7")[0] == status


CHANGED = {
    "ask": "policy.changed",
    "case": {
        "scope": None,
        "old": None,
        "new": {
            "namespaces": ["t/a"],
            "primary": ["b1"],
            "secondary": [],
            "minLimit": 1,
            "usageThreshold": 80,
        },
        "namespaces": ["t/a", "t/b"],
    },
}


def test_a_finished_case_is_explained_as_a_version_decides(tmp_path, capsys):
    file = tmp_path / "case.json"
    file.write_text(json.dumps(CHANGED), "utf-8")
    assert main(["explain", str(file), "--release", "3.0.6"]) == 0
    out, err = (" ".join(text.split()) for text in capsys.readouterr())
    assert "unload t/a" in out
    assert "Pulsar 3.0.6 differs from released-3.0: Which namespaces does a change" in err


def test_a_case_of_shedding_has_the_defaults_of_its_version(tmp_path, capsys):
    folder = ROOT / "fixtures" / "reports" / "full-direct-memory"
    assert main(["case", str(folder), "--release", "3.0.7"]) == 0
    one = json.loads(capsys.readouterr().out)
    file = tmp_path / "case.json"
    file.write_text(json.dumps(one), "utf-8")
    found = {}
    for version in ("3.1.0", "3.1.1"):
        assert main(["explain", str(file), "--release", version]) == 0
        found[version] = " ".join(capsys.readouterr().out.split())
    assert "unload nothing" not in found["3.1.0"].partition("answer")[2].partition("other")[0]
    assert "nothing" in found["3.1.1"].partition("answer")[2].partition("other")[0]


# TransferShedder of 3.2.2 has no profile of its own (apache/pulsar#22321).
def test_a_strategy_that_no_profile_decides_like_is_refused(tmp_path, capsys):
    case = {
        "brokers": {"b1": {"bundles": []}},
        "strategy": f"{PACKAGE}extensions.scheduler.TransferShedder",
    }
    file = tmp_path / "case.json"
    file.write_text(json.dumps({"ask": "shed.select", "case": case}), "utf-8")
    assert main(["explain", str(file), "--release", "3.2.2"]) == 2
    assert "no profile describes TransferShedder of Pulsar 3.2.2" in " ".join(
        capsys.readouterr().err.split()
    )


# DefaultNamespaceBundleSplitStrategyImpl decides for the extensible manager.
@pytest.mark.parametrize("name", ["Extensible", "Modular"])
def test_a_question_for_the_modular_manager_is_said_to_be_one(tmp_path, capsys, name):
    kind = "extensions" if name == "Extensible" else "impl"
    manager = f"{PACKAGE}{kind}.{name}LoadManagerImpl"
    case = {
        "settings": {"loadManagerClassName": manager},
        "brokers": {"b1": {"bundles": []}},
        "bundles": {},
        "leader": True,
        "namespaceBundles": {},
    }
    file = tmp_path / "case.json"
    file.write_text(json.dumps({"ask": "bundles.split_candidates", "case": case}), "utf-8")
    main(["explain", str(file), "--judge-by", "released-4.2"])
    out, err = (" ".join(text.split()) for text in capsys.readouterr())
    told = "bundles.split_candidates is answered for the modular one"
    assert (told in out) == (name == "Extensible"), err


# UniformLoadShedder of 4.2.4 stops at maxUnloadBundleNumPerShedding, whatever is left to move.
def test_the_limit_of_bundles_is_the_reason_why_others_stay(tmp_path, capsys):
    shed = f"{PACKAGE}impl.UniformLoadShedder"
    names = [f"t/n/0x{number:x}0000000_0x{number + 1:x}0000000" for number in range(10)]
    rates = {"numSamples": 1, "msgRateIn": 1000, "msgThroughputIn": 0}
    case = {
        "strategy": shed,
        "settings": {"maxUnloadBundleNumPerShedding": 2, "maxUnloadPercentage": 0.5},
        "brokers": {
            "b1": {"bundles": names, "msgRateIn": 10_000},
            "b2": {"bundles": [], "msgRateIn": 100},
        },
        "bundles": {one: {"shortTermData": rates, "longTermData": rates} for one in names},
        "recentlyUnloaded": {},
    }
    file = tmp_path / "case.json"
    file.write_text(json.dumps({"ask": "shed.select", "case": case}), "utf-8")
    assert main(["explain", str(file), "--judge-by", "released-4.2", "--all"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.count("maxUnloadBundleNumPerShedding is 2") == 8
    assert "more than is left stays" not in out


# AvgShedder sorts by the rates themselves; a case says with 0 samples that there are none.
def test_rates_without_samples_are_said_not_to_count(tmp_path, capsys):
    name, rates = "t/n/0x00000000_0xffffffff", {"numSamples": 0, "msgRateIn": 450}
    case = {
        "strategy": None,
        "settings": {},
        "brokers": {"b1": {"bundles": [name]}},
        "bundles": {name: {"shortTermData": rates, "longTermData": rates}},
        "recentlyUnloaded": {},
    }
    file = tmp_path / "case.json"
    file.write_text(json.dumps({"ask": "shed.select", "case": case}), "utf-8")
    assert main(["explain", str(file), "--judge-by", "released-4.0"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"numSamples is 0 in data of {name}: the rates in these data are not used" in out
