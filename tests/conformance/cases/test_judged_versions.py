"""Versions of Pulsar without a profile: the nearest profile, and the differences from it."""

import ast
import json
import re
import shutil
from pathlib import Path

import pytest
from pulsar_conformance.conformance.catalogue import OPERATIONS
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.specs.broker import broker_data, broker_settings
from pulsar_conformance.specs.judged import judged_version
from pulsar_conformance.specs.loading import load

ROOT = Path(__file__).parents[3]
REPORTS = ROOT / "fixtures" / "reports"
PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."
STRATEGY = "loadBalancerLoadSheddingStrategy"
DIRECT = "loadBalancerDirectMemoryResourceWeight"


@pytest.mark.parametrize(
    ("version", "judged"),
    [
        ("2.9.0", "2.9.1"),
        ("2.9.5", "2.9.1"),
        ("3.1.1", "3.1.2"),
        ("3.1.3-SNAPSHOT", "3.1.2"),
        ("v3.2.0", "3.2.3"),
        ("3.3.9", "3.3.6"),
    ],
)
def test_a_version_is_like_the_judged_one_of_its_line(version, judged):
    assert judged_version(version).version == judged


@pytest.mark.parametrize("version", ["2.4.2", "3.0.7", "4.2.4", "6.0.0", "latest"])
def test_other_lines_have_no_judged_version(version):
    assert judged_version(version) is None


def test_each_judged_version_is_in_the_guide_and_names_what_exists():
    guide = (ROOT / "reports/site/guides/released-pulsar.md").read_text("utf-8")
    rows = " ".join(re.findall(r"^\| ([\d., M-]+) \| \d", guide, re.MULTILINE))
    for version, entry in broker_data()["judged"].items():
        assert version in rows
        assert entry["profile"] in load().profiles
        assert set(entry.get("defaults", ())) <= set(broker_settings())
        for name, taken in entry.get("ways", {}).items():
            assert taken in load().ways[name].alternatives
            assert taken != load().ways_of(entry["profile"])[name]


def test_the_guide_says_which_classes_answer_each_operation():
    """All operations of the protocol except for stories, which only a cluster answers."""
    guide = (ROOT / "reports/site/guides/released-pulsar.md").read_text("utf-8")
    table = guide.partition("## Which classes answer")[2].partition("\n## ")[0]
    rows = [one.split(" | ")[0] for one in table.splitlines() if one.startswith("| `")]
    assert {*re.findall(r"`([\w.]+)`", " ".join(rows))} == {*OPERATIONS} - {"cluster.replay"}


def test_each_other_published_release_is_judged():
    nox = ast.parse((ROOT / "noxfile.py").read_text("utf-8"))
    [others] = [
        ast.literal_eval(one.value)
        for one in nox.body
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "OTHER_RELEASES"
    ]
    assert set(others) <= set(broker_data()["judged"])


def explained(capsys, *words):
    assert main(["explain", *map(str, words)]) == 0
    out, err = capsys.readouterr()
    return " ".join(out.split()), err


# Direct memory is the fullest resource of broker-1, at 95 %. It counts in 3.0.7, and from 3.1.2 on
# only if its weight is set.
@pytest.mark.parametrize(
    ("words", "counts"),
    [
        (("--release", "3.0.7"), True),
        (("--release", "3.3.6"), False),
        (("--release", "3.3.6", "--judge-by", "released-3.0"), True),
    ],
)
def test_direct_memory_counts_by_the_default_of_the_version(capsys, words, counts):
    out, err = explained(capsys, REPORTS / "full-direct-memory", *words)
    assert ("usage 95 % of directMemory" in out) is counts
    assert (f"{DIRECT} is 0.0 by default" in err) is not counts


def test_a_weight_that_is_set_counts_in_any_version(capsys, tmp_path):
    conf = tmp_path / "broker.conf"
    conf.write_text(f"{DIRECT}=1\n", "utf-8")
    words = (REPORTS / "full-direct-memory", "--release", "3.3.6", "--conf", conf)
    out, err = explained(capsys, *words)
    assert "95 % of directMemory" in out
    assert "differs from" not in err


@pytest.mark.parametrize(
    ("version", "runs"), [("3.2.3", "OverloadShedder"), ("3.3.6", "AvgShedder")]
)
def test_overload_shedder_runs_where_the_version_lacks_the_strategy(
    capsys, tmp_path, version, runs
):
    conf = tmp_path / "broker.conf"
    conf.write_text(f"{STRATEGY}={PACKAGE}AvgShedder\n", "utf-8")
    folder = REPORTS / "three-brokers" / "modular"
    out, err = explained(capsys, folder, "--conf", conf, "--release", version)
    assert f"strategy {runs}, as in" in out
    lacks = "Pulsar 3.2.3 has no AvgShedder, so OverloadShedder runs instead"
    assert (lacks in err) is (runs == "OverloadShedder")
    assert main(["settings", str(conf), "--release", version]) == int(runs == "OverloadShedder")
    told = " ".join(capsys.readouterr().out.split())
    assert (lacks in told) is (runs == "OverloadShedder")


# LocalBrokerData.getMaxResourceUsage counts heap memory in 2.8.2 and 2.9.1, and the weighted usage
# in 2.11.0; neither does from 3.0 on.
@pytest.mark.parametrize(
    ("version", "says"),
    [("2.9.1", "Yes, like every other resource."), ("2.11.0", "Only in the weighted usage")],
)
def test_versions_that_count_heap_memory_are_reported(capsys, tmp_path, version, says):
    conf = tmp_path / "broker.conf"
    conf.write_text("loadBalancerMemoryResourceWeight=0.5\n", "utf-8")
    words = (REPORTS / "three-brokers" / "modular", "--conf", conf, "--release", version)
    _, err = explained(capsys, *words)
    assert f"Does heap memory count in the usage of a broker? {says}" in err
    assert "no longer counts heap memory" not in err
    main(["settings", str(conf), "--release", version])
    out = " ".join(capsys.readouterr().out.split())
    assert f"Does heap memory count in the usage of a broker? {says}" in out
    now, changes = out.split("changes with Pulsar 3.0.7")
    assert "no longer counts heap memory" not in now
    loses = "loses its effect: 0.5: the modular load manager no longer counts heap memory"
    assert (loses in changes) is (
        version == "2.11.0"
    )  # 2.9.1 has OverloadShedder, without weights.


@pytest.mark.parametrize("version", ["3.0.7", "3.1.0", "3.3.6", "4.0.8"])
def test_versions_that_ignore_heap_memory_are_reported(capsys, tmp_path, version):
    conf = tmp_path / "broker.conf"
    conf.write_text("loadBalancerMemoryResourceWeight=0.5\n", "utf-8")
    assert main(["settings", str(conf), "--release", version]) == 1
    assert "no longer counts heap memory" in " ".join(capsys.readouterr().out.split())


def test_settings_has_the_defaults_of_the_version(capsys, tmp_path):
    conf = tmp_path / "broker.conf"
    conf.write_text("loadBalancerSheddingIntervalMinutes=2\n", "utf-8")
    assert main(["settings", str(conf), "--release", "3.3.6", "--all", "--to", "4.2.4"]) == 0
    told = capsys.readouterr().out
    assert f"Pulsar 3.3.6 differs from 3.0.7\n  {DIRECT} is 0.0 by default" in told
    assert f"  {DIRECT} = 0.0\n" in told
    assert f"{DIRECT}: the default changes" not in told
    changes = told.partition("changes with")[2].partition("in force")[0]
    assert "loadBalancerMemoryResourceWeight" not in changes  # It has no effect in either.


@pytest.fixture
def full_heap(tmp_path):
    """Save reports of brokers at 72, 34 and 24 % of CPU; broker-2's heap memory is at 97.66 %."""
    folder = tmp_path / "reports"
    shutil.copytree(REPORTS / "three-brokers" / "modular", folder)
    report = json.loads((folder / "broker-2.json").read_text("utf-8"))
    report["memory"]["usage"] = 8000.0
    (folder / "broker-2.json").write_text(json.dumps(report), "utf-8")
    return folder


# By ThresholdShedder of 2.11.0, the average is (72 + 97.66 + 24) / 3 = 64.55 %, so only broker-2 is
# above 74.55 %; it would shed 9 MB/s, less than the minimum of 10 MiB/s. By OverloadShedder of
# 2.9.1, broker-2 is above 85 %. Without heap memory, broker-1 is above 43.33 + 10 %.
@pytest.mark.parametrize(
    ("version", "shown", "decision"),
    [
        ("2.9.1", "97.66 % of memory", "of broker-2"),
        ("2.11.0", "97.66 % of memory", "answer unload nothing"),
        ("3.0.7", "34 % of cpu", "of broker-1"),
    ],
)
def test_the_decision_counts_heap_memory_where_the_version_does(
    capsys, tmp_path, full_heap, version, shown, decision
):
    out, _ = explained(capsys, full_heap, "--release", version)
    assert shown in out
    assert decision in out
    assert main(["case", str(full_heap), "--release", version]) == 0
    file = tmp_path / "case.json"
    file.write_text(capsys.readouterr().out, "utf-8")
    out, _ = explained(capsys, file)
    assert decision in out


@pytest.mark.parametrize("ways", ['{"heap-memory": "doubled"}', '{"stack": "counted"}', "[1]"])
def test_ways_that_no_release_has_are_refused(capsys, tmp_path, full_heap, ways):
    main(["case", str(full_heap), "--release", "2.11.0"])
    file = tmp_path / "case.json"
    content = json.loads(capsys.readouterr().out)
    file.write_text(json.dumps({**content, "ways": json.loads(ways)}), "utf-8")
    assert main(["explain", str(file)]) == 2
    assert f"{file}: `ways` has an unknown way or alternative" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("5.0.1", "Pulsar 5.0.1 is newer than 5.0.0-M1, whose behavior is assumed, except where"),
        ("6.2.0", "Pulsar 6.2.0 is newer than 5.0.0-M1, whose behavior is assumed"),
        ("4.1.1", "Pulsar 4.1.1 is newer than 4.0.7, whose behavior is assumed"),
        ("5.0.0-M1", ""),
        ("4.2.9", ""),
        ("3.3.6", ""),
        ("2.10.5", ""),
    ],
)
def test_a_version_that_no_known_release_decides_for_is_named(capsys, tmp_path, version, told):
    conf = tmp_path / "broker.conf"
    conf.write_text("loadBalancerNamespaceMaximumBundles=64\n", "utf-8")
    folder = REPORTS / "three-brokers" / "modular"
    for words in (["settings", conf], ["explain", folder], ["case", folder, "--conf", conf]):
        main([*map(str, words), "--release", version])
        said = " ".join(" ".join(capsys.readouterr()).split())
        named = f"Pulsar {version} is newer than"
        assert told in said if told else named not in said


def test_a_milestone_and_its_final_release_differ(capsys, tmp_path):
    folder = REPORTS / "three-brokers" / "modular"
    assert judged_version("5.0.0-M1") is None
    out, err = explained(capsys, folder, "--release", "5.0.0-M1")
    assert "AvgShedder" not in err
    _, err = explained(capsys, folder, "--release", "5.0.1")
    assert "loadBalancerLoadSheddingStrategy is AvgShedder by default" in err
    assert "--judge-by documented-5.0" in err
    assert "maxUnloadPercentage is 0.5 by default" in err
    assert main(["case", str(folder), "--release", "5.0.1"]) == 0
    assert json.loads(capsys.readouterr().out)["case"]["settings"]["maxUnloadPercentage"] == 0.5
    conf = tmp_path / "broker.conf"
    conf.write_text(f"{STRATEGY}={PACKAGE}ThresholdShedder\n", "utf-8")
    out, _ = explained(capsys, folder, "--conf", conf, "--release", "5.0.1")
    assert "strategy ThresholdShedder, as in" in out
    main(["settings", str(conf), "--release", "5.0.1"])
    assert "does not start" not in capsys.readouterr().out


def test_the_release_whose_defaults_are_shown_is_named(capsys, tmp_path):
    conf = tmp_path / "broker.conf"
    conf.write_text("loadBalancerNamespaceMaximumBundles=64\n", "utf-8")
    main(["settings", str(conf)])
    told = "no release is given: Pulsar 5.0.0-M1 is assumed; to change that, add --release"
    assert told in capsys.readouterr().out


def in_force(capsys, tmp_path, release, *lines, extra=()):
    conf = tmp_path / "broker.conf"
    conf.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    main(["settings", str(conf), "--release", release, *extra])
    return " ".join(capsys.readouterr().out.split())


# In 3.3.6, OverloadShedder.findBundlesForUnloading takes getMaxResourceUsage, without weights.
def test_a_default_that_nothing_uses_is_not_in_force(capsys, tmp_path):
    lines = (f"{STRATEGY}={PACKAGE}OverloadShedder", f"{DIRECT}=0")
    out = in_force(capsys, tmp_path, "3.3.6", *lines)
    assert f"{DIRECT} = 0" not in out
    assert "set to values that make no difference: 1 setting (--all lists them)" in out
    out = in_force(capsys, tmp_path, "3.3.6", *lines, extra=("--all",))
    assert f"{DIRECT} (" in out
    assert ": only ThresholdShedder" in out
    assert f"{DIRECT} = 0" in in_force(capsys, tmp_path, "4.0.7", *lines)


# Besides OverloadShedder, LeastLongTermMessageRate and ModularLoadManagerImpl use the threshold,
# to choose a broker for a bundle.
@pytest.mark.parametrize("release", ["2.10.5", "3.0.7", "4.2.4"])
def test_the_overload_threshold_counts_for_placement_under_other_strategies(
    capsys, tmp_path, release
):
    line = "loadBalancerBrokerOverloadedThresholdPercentage=70"
    remark = "it counts for placement, but not for shedding by ThresholdShedder"
    assert remark in in_force(capsys, tmp_path, release, line)
    other = f"{STRATEGY}={PACKAGE}OverloadShedder"
    assert "counts for placement" not in in_force(capsys, tmp_path, release, line, other)
    plug_in = f"{STRATEGY}=com.acme.Shedder"
    assert "counts for placement" not in in_force(capsys, tmp_path, release, line, plug_in)


def test_avg_shedder_without_its_placement_is_remarked_on(capsys, tmp_path):
    line = f"{STRATEGY}={PACKAGE}AvgShedder"
    out = in_force(capsys, tmp_path, "4.0.7", line)
    assert "AvgShedder also places what it unloads, but loadBalancerLoadPlacementStrategy is" in out
    both = f"loadBalancerLoadPlacementStrategy={PACKAGE}AvgShedder"
    assert "also places" not in in_force(capsys, tmp_path, "4.0.7", line, both)


# DefaultNamespaceBundleSplitStrategyImpl fails a split whose number of boundaries is not 1.
def test_a_split_at_several_places_is_remarked_on_under_the_extensible_manager(capsys, tmp_path):
    line = "defaultNamespaceBundleSplitAlgorithm=flow_or_qps_equally_divide"
    manager = (
        "loadManagerClassName=org.apache.pulsar.broker.loadbalance.extensions."
        "ExtensibleLoadManagerImpl"
    )
    remark = "a broker of the extensible load manager splits a bundle only in two"
    assert remark in in_force(capsys, tmp_path, "3.2.0", line, manager)
    assert remark not in in_force(capsys, tmp_path, "3.2.0", line)
