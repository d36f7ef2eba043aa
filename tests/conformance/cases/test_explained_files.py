"""The explanation of a file with settings: failing upgrades, misspelt names, and its layout."""

import pytest
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.specs.balancers import UNLESS_ADDED

IMPL = "org.apache.pulsar.broker.loadbalance.impl."
MANAGER, STRATEGY = "loadManagerClassName", "loadBalancerLoadSheddingStrategy"
THRESHOLD = "loadBalancerBrokerThresholdShedderPercentage"
HEAP = "loadBalancerMemoryResourceWeight"


@pytest.fixture
def told(tmp_path, capsys, monkeypatch):
    """Return a function that runs `settings` for lines of a broker.conf: status and output."""
    monkeypatch.chdir(tmp_path)

    def tell(lines, *options, plain=True):
        (tmp_path / "broker.conf").write_text("".join(f"{one}\n" for one in lines), "utf-8")
        status = main(["settings", "broker.conf", *options])
        out, err = capsys.readouterr()
        return status, " ".join((out + err).split()) if plain else out

    return tell


# LoadManager.create falls back to the simple manager in 4.0.7, and refuses in 4.2.4.
@pytest.mark.parametrize("name", [MANAGER, STRATEGY])
def test_nothing_takes_effect_with_an_upgrade_after_which_the_broker_does_not_start(told, name):
    lines = [f"{name}={IMPL}NoSuch", f"{THRESHOLD}=20", f"{HEAP}=0.5"]
    _, out = told(lines, "--release", "4.0.7", "--to", "4.2")
    assert f"the broker no longer starts: {UNLESS_ADDED}, Pulsar has no class" in out
    assert "takes effect" not in out
    assert "loses its effect" not in out


# 3.0.7 has flow_or_qps_equally_divide, and 2.10.5 has not.
def test_an_upgrade_after_which_the_broker_starts_is_reported(told):
    lines = [
        "supportedNamespaceBundleSplitAlgorithms=range_equally_divide,flow_or_qps_equally_divide"
    ]
    _, out = told(lines, "--release", "2.10.5", "--to", "3.0.7")
    assert "it takes effect; until then, Pulsar 2.10.5 has no split algorithm" in out


def test_a_setting_takes_effect_once_the_broker_starts(told):
    lines = [f"{STRATEGY}={IMPL}AvgShedder", "loadBalancerAvgShedderLowThreshold=9"]
    placed = f"loadBalancerLoadPlacementStrategy={IMPL}AvgShedder"
    lines += [placed, "loadBalancerHostUsageCheckIntervalMinutes=0"]
    _, out = told(lines, "--release", "3.2.2", "--to", "4.2")
    assert "loadBalancerAvgShedderLowThreshold: Pulsar 4.2.4 has this setting" in out
    assert "it takes effect; until" not in out


def test_a_split_algorithm_stops_a_later_broker(told):
    lines = [f"{STRATEGY}={IMPL}OverloadShedder", "loadBalancerSplitIntervalMinutes=0"]
    _, out = told(lines, "--release", "3.0.7", "--to", "4.2")
    assert "no longer starts" not in out  # The modular manager has no such task.


@pytest.mark.parametrize(("release", "suggested"), [("3.2.2", False), ("3.2.4", True)])
def test_a_suggested_class_is_one_of_the_release(told, release, suggested):
    _, out = told([f"{STRATEGY}={IMPL}AvgSheder"], "--release", release)
    assert f"Pulsar has no class {IMPL}AvgSheder" in out
    out = out.partition("changes with")[0]
    assert (f"the most similar name is {IMPL}AvgShedder" in out) is suggested


def test_heap_memory_is_ignored_whether_or_not_the_broker_starts(told):
    for strategy in ("ThresholdSheder", "ThresholdShedder"):
        lines = [f"{STRATEGY}={IMPL}{strategy}", f"{HEAP}=1"]
        _, out = told(lines, "--release", "4.2.4")
        assert "1: the modular load manager no longer counts heap memory" in out


def test_the_name_that_a_release_has_is_reported(told):
    _, out = told(["loadBalancerBandwidthOutResourceWeight=0.5"], "--release", "3.0.7")
    assert "its name there is loadBalancerBandwithOutResourceWeight" in out


@pytest.mark.parametrize("name", ["brokr.conf", "values.yaml", "b.json", "broker.env"])
@pytest.mark.parametrize("options", [(), ("--release", "3.0.7")])
def test_a_missing_file_is_one(name, options, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["settings", name, *options]) == 2
    assert f"{name}: No such file or directory" in capsys.readouterr().err


def test_a_milestone_is_described_by_what_is_known_of_its_release(told):
    _, out = told([f"{THRESHOLD}=20"], "--release", "4.2.4")
    assert "changes with Pulsar 5.0.0, of which only 5.0.0-M1 is known" in out
    status, out = told([f"{THRESHOLD}=20"], "--release", "4.2.4", "--to", "2.10")
    assert (status, "name a version after 4.2.4, such as 5.0.0;" in out) == (2, True)
    status, out = told([f"{THRESHOLD}=20"], "--release", "5.0.1", "--to", "2.10")
    assert (status, "name a version after 5.0.1; --release says" in out) == (2, True)


def test_no_heading_in_markdown_is_empty(told):
    options = ("--release", "3.0.7", "--to", "4.2", "--markdown")
    _, out = told([f"{THRESHOLD}=20", "other=1"], *options, plain=False)
    lines = out.splitlines()
    headings = [number for number, line in enumerate(lines) if line.startswith("## ")]
    assert headings
    assert all(lines[number + 2].startswith("- ") for number in headings)
    assert any(line.startswith("not set, so that the default") for line in lines)


# No class of the simple manager places by it.
@pytest.mark.parametrize("kind", ["impl.Simple", "impl.Modular", "extensions.Extensible"])
def test_the_simple_manager_does_not_place_by_usage(told, kind):
    name = "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"
    placed = f"loadBalancerLoadPlacementStrategy={IMPL}LeastResourceUsageWithWeight"
    manager = f"{MANAGER}={IMPL.removesuffix('impl.')}{kind}LoadManagerImpl"
    _, out = told([f"{name}=20", placed, manager], "--release", "4.0.7")
    why = f"{name} (broker.conf:1): it belongs to the modular or extensible load manager"
    assert (why in out) is (kind == "impl.Simple")
