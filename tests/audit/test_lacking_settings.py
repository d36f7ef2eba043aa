"""Settings without effect: settings that a release lacks, and settings of another strategy."""

import pytest
from pulsar_conformance.conformance.commands.main import main

STD = "loadBalancerBrokerLoadTargetStd"
LACKS = f"{STD}: Pulsar 2.10.5 has no such setting; it was added in 3.0.0"
SHARE = "maxUnloadPercentage"
THRESHOLD = "loadBalancerBrokerThresholdShedderPercentage"


@pytest.fixture
def simulate(capsys):
    def run(*words):
        assert main(["simulate", "--world", "newcomer", "--cycles", "9", *words]) == 0
        said = capsys.readouterr()
        rows = [line for line in said.out.splitlines() if "→" in line]
        return rows, " ".join(said.err.split())

    return run


@pytest.mark.parametrize(
    "words",
    [
        ("--profile", "released-2.10", "--setting", f"{STD}=0.3"),
        ("--profile", "released-2.10", "--setting", f"{STD}=0.3", "--strategy", "OverloadShedder"),
        ("--profile", "released-3.0", "--compare", f"profile=released-2.10 {STD}=0.3"),
    ],
)
def test_a_setting_that_the_release_lacks_is_named(simulate, words):
    _, err = simulate(*words)
    assert err.count(STD) == 1
    assert LACKS in err


def test_from_reports_it_is_named_once(capsys):
    reports = ("--reports", "fixtures/reports/three-brokers/modular", "--cycles", "2")
    words = ("--profile", "released-2.10", "--setting", f"{STD}=0.3")
    assert main(["simulate", *reports, *words]) == 0
    err = " ".join(capsys.readouterr().err.split())
    assert err.count(STD) == 1
    assert LACKS in err


@pytest.mark.parametrize(
    ("swept", "profile", "why"),
    [
        (f"{SHARE}=0.1..0.3/0.1", "released-3.0", "it belongs to UniformLoadShedder"),
        (f"{STD}=0.2..0.3/0.05", "released-3.0", "it belongs to the extensible load manager"),
        (f"{STD}=0.1..0.3/0.1", "released-2.10", "Pulsar 2.10.5 has no such setting"),
    ],
)
def test_a_sweep_that_cannot_matter_is_simulated_once(simulate, swept, profile, why):
    rows, err = simulate("--profile", profile, "--sweep", swept)
    name = swept.partition("=")[0]
    assert f"--sweep {name} has no effect with ThresholdShedder: {why}" in err
    assert len(rows) == 1


def test_a_sweep_has_rows_for_those_strategies_to_which_it_matters(simulate):
    compared = ("--compare", "strategy=UniformLoadShedder")
    rows, err = simulate("--profile", "released-3.0", *compared, "--sweep", f"{SHARE}=0.1..0.3/0.1")
    assert len(rows) == 4
    assert f"--sweep {SHARE} has no effect with ThresholdShedder" in err
    rows, err = simulate("--sweep", f"{THRESHOLD}=10..30/10")
    assert len(rows) == 3
    assert "no effect" not in err


def test_a_fleet_names_settings_that_its_brokers_lack(capsys, tmp_path):
    output = ("--output", str(tmp_path / "fleet"), "--decided-by", "spark")
    assert main(["fleet", *output, "--setting", "loadManagerMigrationEnabled=true"]) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "--setting loadManagerMigrationEnabled: Pulsar 3.0.7 has no such setting" in err


@pytest.mark.parametrize(
    ("given", "does"),
    [
        (f"{THRESHOLD}=150", f"{THRESHOLD} = 150: no usage"),
        ("loadBalancerNamespaceBundleMaxBandwidthMbytes=2048", "overflows an int"),
    ],
)
def test_a_number_that_is_hardly_meant_is_simulated_with_a_note(simulate, given, does):
    _, err = simulate("--profile", "released-4.2", "--setting", given)
    assert does in err
    _, err = simulate("--profile", "released-4.2", "--setting", f"{THRESHOLD}=20")
    assert "20: " not in err
