"""Differences listed for a version concern only classes and settings that the version has."""

import re

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.specs.broker import nearest_release
from pulsar_conformance.specs.differences import differences_from
from pulsar_conformance.specs.judged import (
    concerns_version,
    judged_version,
    way_clause,
    ways_of_version,
)
from pulsar_conformance.specs.loading import load

OLD = ("2.4.2", "2.7.0", "2.8.1", "2.8.2", "2.9.1", "2.10.0", "2.10.5", "2.11.0")
VERSIONS = (*OLD, "3.0.0", "3.0.5", "3.1.0", "3.2.3", "3.3.0")
FIRST = {
    "ThresholdShedder": "2.6.0 2.7.0",
    "UniformLoadShedder": "2.10.0",
    "LeastResourceUsageWithWeight": "2.11.0",
    "TransferShedder": "3.0.0",
    "AvgShedder": "3.0.7 3.2.4 3.3.1",
}
"""For each class, the first versions that have it in their release lines, from Pulsar's sources."""


def lacked(version):
    order = [tuple(map(int, one.split("."))) for one in (version, "3.1.0", "3.2.0")]
    return {
        name
        for name, firsts in FIRST.items()
        if order[0] < tuple(map(int, firsts.split()[0].split(".")))
        or (name == "AvgShedder" and order[1] <= order[0] < (3, 3, 1))
    }


PARTS = {one for way in load().ways.values() for one in way.parts}


def told(version):
    clauses, ways = differences_from(version, nearest_release(version), {}, PARTS, lacks=True)
    judged = judged_version(version)
    return [*clauses, *ways.values(), *(judged.differences({}) if judged else ())]


@pytest.mark.parametrize("version", VERSIONS)
def test_no_difference_is_about_a_class_that_came_later(version):
    for text in told(version):
        question = text.partition("?")[0]
        assert lacked(version).isdisjoint(re.findall(r"\w+", question)), text


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("2.7.0", "OverloadShedder and ThresholdShedder."),
        ("2.8.1", "OverloadShedder and ThresholdShedder."),
        ("2.9.1", "OverloadShedder and ThresholdShedder."),
        ("2.10.5", "All three."),
        ("2.4.2", "OverloadShedder alone, which no setting names."),
    ],
)
def test_the_strategies_of_a_version_are_its_own(version, said):
    [text] = [one for one in told(version) if one.startswith("Which of the documented shedding")]
    assert text.endswith(f"? {said}")


@pytest.mark.parametrize("version", ["2.4.2", "2.9.1", "2.10.5"])
def test_no_difference_is_about_a_later_point(version):
    later = [way for way in specs.load().ways if not concerns_version(way, version)]
    assert "position-twice" in later
    asked = {specs.load().ways[way].question for way in later}
    assert not any(text.startswith(tuple(asked)) for text in told(version))


def test_a_version_of_a_line_is_asked_itself_and_not_the_nearest():
    assert not concerns_version("average-order", "3.2.3")
    assert concerns_version("average-order", "3.2.4")
    assert concerns_version("uniform-pair", "2.10.0")


def test_what_a_version_has_is_still_reported():
    taken = ways_of_version("2.10.5")["uniform-pair"]
    assert way_clause("uniform-pair", taken) in told("2.10.5")
    assert "loadBalancerDistributeBundlesEvenlyEnabled is false by default" in told("5.0.1")


@pytest.mark.parametrize("version", ["2.8.1", "2.9.1"])
def test_settings_says_nothing_of_a_strategy_that_does_not_exist(tmp_path, capsys, version):
    file = tmp_path / "broker.conf"
    file.write_text("loadBalancerAutoBundleSplitEnabled=false\n")
    assert main(["settings", str(file), "--release", version, "--all"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "OverloadShedder and ThresholdShedder." in out
    assert "UniformLoadShedder" not in out
    assert "AvgShedder" not in out


def test_the_default_number_of_bundles_is_not_that_of_a_new_clusters_first_namespace(
    tmp_path, capsys
):
    file = tmp_path / "broker.conf"
    file.write_text("defaultNumberOfNamespaceBundles=32\n")
    assert main(["settings", str(file), "--release", "2.8.1"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "a new cluster's public/default has 16 bundles whatever this says" in out
