"""The output of `settings` and `explain` about operators' files is not misleading."""

import json

import pytest
from pulsar_conformance.conformance.cases.placing import policies_of
from pulsar_conformance.conformance.cases.settings_files import read_settings
from pulsar_conformance.conformance.commands.main import main

IMPL = "org.apache.pulsar.broker.loadbalance.impl."
EXTENSIBLE = "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl"
BUNDLE = "a/b/0x00000000_0x80000000"


@pytest.fixture
def told(tmp_path, capsys):
    def telling(text, *options, status=0, command="settings"):
        file = tmp_path / "broker.conf"
        file.write_text(text)
        assert main([command, str(file), *options]) == status
        return " ".join(capsys.readouterr().out.split())

    return telling


def test_settings_that_all_take_effect_are_said_to_without_two_negatives(told):
    out = told("loadBalancerSheddingIntervalMinutes=3\n", "--release", "4.0.7")
    assert "every setting that differs from its default has an effect" in out
    assert "nothing that is set" not in out


def test_an_empty_section_says_that_nothing_is_in_force(told):
    text = f"loadBalancerLoadPlacementStrategy={IMPL}AvgShedder\n"
    out = told(text, "--release", "4.0.7", status=1)
    assert "none of these settings is in force; the defaults are those of Pulsar 4.0.7" in out
    assert "in force, with" not in out


@pytest.mark.parametrize("manager", [f"{IMPL}ModularLoadManagerImpl", EXTENSIBLE])
def test_shedding_is_idle_while_balancing_is_off(tmp_path, manager):
    """Both switches have to be on (LoadManagerShared.isLoadSheddingEnabled, UnloadScheduler)."""
    file = tmp_path / "broker.conf"
    file.write_text(
        f"loadManagerClassName={manager}\nloadBalancerEnabled=false\n"
        "loadBalancerSheddingEnabled=false\n"
    )
    [one] = read_settings(file, "4.0.7").without_effect()
    assert (one.name, one.why) == ("loadBalancerSheddingEnabled", "loadBalancerEnabled is false")


def test_a_strategy_that_runs_instead_of_the_default_is_not_called_the_default(told):
    out = told(f"loadManagerClassName={EXTENSIBLE}\n", "--release", "5.0.0-M1", "--all")
    assert (
        "TransferShedder (not the default: ThresholdShedder is not a strategy of the extensible "
        "load manager)"
    ) in out


@pytest.mark.parametrize(("name", "said"), [("policy", "policy"), ("eu", "policy eu")])
def test_a_policy_is_not_named_twice(name, said):
    least = {"policy_type": "min_available", "parameters": {"min_limit": "1"}}
    data = {
        "namespaces": ["a/b"],
        "primary": ["b1:80"],
        "secondary": [],
        "auto_failover_policy": least,
    }
    [one] = policies_of(f"{name}.json", data)
    assert one.title == said


@pytest.fixture
def placed(tmp_path, capsys):
    def placing(*options, owner="b1"):
        for name in ("b1", "b2"):
            own = {BUNDLE: {"msgRateIn": 5.0, "topics": 1}} if name == owner else {}
            report = {"cpu": {"usage": 10, "limit": 100}, "bundles": [*own], "lastStats": own}
            (tmp_path / f"{name}.json").write_text(json.dumps(report))
        assert main(["explain", str(tmp_path), "--place", BUNDLE, *options]) == 0
        return " ".join(capsys.readouterr().err.replace("pulsar-conformance:", "").split())

    return placing


TARGET = "pulsar-admin namespaces unload --destinationBroker can choose another broker"


@pytest.mark.parametrize(
    ("version", "has"), [("2.10.5", False), ("2.11.4", False), ("3.0.0", True)]
)
def test_the_target_of_an_unload_can_be_named_where_the_release_can(placed, version, has):
    assert (TARGET in placed("--release", version)) is has


def test_a_bundle_without_an_owner_has_no_unload(placed):
    assert TARGET not in placed("--release", "4.0.7", owner="none")


def test_what_explains_an_unexamined_version_is_the_profile_but_for_the_differences(placed):
    said = placed("--release", "2.8.1")
    first = said.index("Pulsar 2.8.1 was not examined: the behavior of 2.8.2 is assumed")
    second = said.index("Pulsar 2.8.1 is explained by released-2.10, except for the differences")
    assert first < second < said.index("Pulsar 2.8.1 differs from released-2.10:")
    assert "except for" not in placed("--release", "2.10.5")
