"""Versions between the examined releases: their settings, strategies and defaults."""

from pathlib import Path

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.specs.broker import broker_settings
from pulsar_conformance.specs.judged import has_setting, judged_version

REPORTS = Path(fixtures.__file__).parent / "reports" / "three-brokers" / "modular"
PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."
STRATEGY, PLACEMENT = "loadBalancerLoadSheddingStrategy", "loadBalancerLoadPlacementStrategy"
TOP = "loadBalancerMaxNumberOfBundlesInBundleLoadReport"


@pytest.fixture
def said(tmp_path, capsys):
    """Return a function that runs a command with a broker.conf: it returns status and output."""

    def run(command, conf, *words):
        file = tmp_path / "broker.conf"
        file.write_text("".join(f"{name}={value}\n" for name, value in conf.items()), "utf-8")
        given = [str(file)] if command == "settings" else [str(REPORTS), "--conf", str(file)]
        status = main([command, *given, *words])
        return status, " ".join(" ".join(capsys.readouterr()).split())

    return run


# https://github.com/apache/pulsar/pull/22949 is in 3.0.6, 3.2.4 and 3.3.1.
@pytest.mark.parametrize(
    ("version", "has"),
    [
        *[("2.11.0", False), ("3.0.0", False), ("3.0.5", False), ("3.0.6", True), ("3.0.7", True)],
        *[("3.1.2", False), ("3.2.3", False), ("3.2.4", True), ("3.3.0", False), ("3.3.1", True)],
        *[("4.0.0", True), ("4.1.2", True)],
    ],
)
def test_avg_shedder_came_within_release_lines(said, version, has):
    judged = judged_version(version)
    assert ("AvgShedder" in (judged.lacks if judged else ())) is not has
    assert has_setting(broker_settings()["loadBalancerAvgShedderLowThreshold"], version) is has
    both = {
        STRATEGY: f"{PACKAGE}AvgShedder",
        "loadBalancerPlacementStrategy": f"{PACKAGE}AvgShedder",
    }
    _, told = said("settings", both, "--release", version)
    assert (f"Pulsar {version} has no AvgShedder" in told) is not has


# Fields of ServiceConfiguration in the jars of pulsar-broker-common.
@pytest.mark.parametrize(
    ("name", "with_it", "without"),
    [
        (
            "topicBundleAssignmentStrategy",
            ["3.1.2", "3.2.3", "3.3.6", "4.0.7"],
            ["3.0.7", "2.11.0"],
        ),
        ("loadBalancerMultiPhaseBundleUnload", ["3.3.6", "4.0.8"], ["3.0.7", "3.1.2", "3.2.3"]),
        ("loadBalancerTransferEnabled", ["3.0.7", "3.1.2"], ["2.11.0"]),
        ("loadBalancerSheddingExcludedNamespaces", ["4.2.4"], ["4.0.8", "3.3.6"]),
    ],
)
def test_settings_came_between_examined_releases(said, name, with_it, without):
    for version in (*with_it, *without):
        _, told = said("settings", {name: "true", TOP: 10}, "--release", version)
        lacking = f"{name} " in told and f"Pulsar {version} has no such setting" in told
        assert lacking is (version in without), version


def test_the_release_of_a_setting_is_not_claimed_to_be_exact(said):
    _, told = said(
        "settings", {"loadBalancerSheddingExcludedNamespaces": "a/b"}, "--release", "4.1.2"
    )
    assert "Pulsar 4.0.7, whose behavior is assumed for 4.1.2, has no such setting" in told
    assert "it was added in 4.2.4 at the latest" in told


@pytest.mark.parametrize(("version", "used"), [("3.0.7", False), ("3.3.6", False), ("4.0.7", True)])
def test_the_number_of_top_bundles_is_the_extensible_managers_before_4(said, version, used):
    _, told = said("settings", {TOP: 50}, "--release", version)
    assert ("it belongs to the extensible load manager" in told) is not used


def test_an_upgrade_to_a_version_between_releases_has_its_own_defaults(said):
    _, told = said("settings", {TOP: 10}, "--release", "4.2.4", "--to", "5.0.1")
    assert "changes with Pulsar 5.0.1" in told
    for change in (
        "defaultNumberOfNamespaceBundles: the default changes from 4 to 32",
        f"{STRATEGY}: the default changes from ThresholdShedder to AvgShedder",
        f"{PLACEMENT}: the default changes from LeastLongTermMessageRate to AvgShedder",
        "loadBalancerDistributeBundlesEvenlyEnabled: the default changes from true to false",
        "maxUnloadPercentage: the default changes from 0.2 to 0.5",
    ):
        assert change in told
    assert "Pulsar 5.0.1 is newer than 5.0.0-M1, whose behavior is assumed" in told


def test_a_placement_strategy_that_does_not_fit_is_replaced_in_5(said):
    both = {STRATEGY: f"{PACKAGE}ThresholdShedder", PLACEMENT: f"{PACKAGE}AvgShedder"}
    _, told = said("settings", both, "--release", "5.0.1")
    assert "so LeastLongTermMessageRate runs instead" in told
    bundle = "shop/eu/0x00000000_0x40000000"
    _, told = said("explain", both, "--release", "5.0.1", "--place", bundle)
    assert "strategy AvgShedder" not in told
    assert "broker-3 24 % of cpu, 14000 msg/s long-term decision broker-3: the least" in told


def test_the_default_that_applies_is_what_runs(said):
    threshold = {STRATEGY: f"{PACKAGE}ThresholdShedder"}
    _, told = said("settings", threshold, "--release", "5.0.1", "--all")
    assert f"{PLACEMENT} = LeastLongTermMessageRate" in told


@pytest.mark.parametrize(
    ("strategy", "asked"), [("UniformLoadShedder", False), ("OverloadShedder", True)]
)
def test_a_strategy_that_no_profile_decides_like_is_refused(said, strategy, asked):
    status, told = said("explain", {STRATEGY: PACKAGE + strategy}, "--release", "2.11.0")
    assert (status == 0) is asked
    assert ("pulsar-conformance ask pulsar:2.11.0" in told) is not asked
    words = ("--release", "2.11.0", "--judge-by", "released-3.0")
    status, _ = said("explain", {STRATEGY: PACKAGE + strategy}, *words)
    assert status == 0
