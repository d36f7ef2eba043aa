"""Settings of load managers that balance nothing, and classes whose behavior is unknown."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main

BALANCE = "org.apache.pulsar.broker.loadbalance."
CHANNEL = f"{BALANCE}extensions.channel."
VIEW = "loadManagerServiceUnitStateTableViewClassName"
BUNDLE = "shop/eu/0x00000000_0xffffffff"
PACKAGE = f"{BALANCE}impl."
STRATEGY, PLACEMENT = "loadBalancerLoadSheddingStrategy", "loadBalancerLoadPlacementStrategy"
THRESHOLD, SHARE = "loadBalancerBrokerThresholdShedderPercentage", "maxUnloadPercentage"
NEWER = "loadBalancerServiceUnitStateMaxConcurrentOverrides"


@pytest.fixture
def told(tmp_path, capsys):
    """Return a function that runs `settings` for lines, and returns the output on one line."""

    def tell(*lines, release, status=0):
        conf = tmp_path / "broker.conf"
        conf.write_text("".join(f"{line}\n" for line in lines))
        assert main(["settings", str(conf), "--release", release]) == status
        return " ".join(capsys.readouterr().out.split())

    return tell


@pytest.fixture
def explained(tmp_path, capsys):
    """Return a function that explains saved reports: it returns output and notes, a line each."""

    def explain(reports, *words, status=0):
        folder = tmp_path / "reports"
        folder.mkdir()
        for name, one in reports.items():
            (folder / f"{name}.json").write_text(json.dumps(one))
        assert main(["explain", str(folder), *words]) == status
        said = capsys.readouterr()
        return " ".join(said.out.split()), " ".join(said.err.split())

    return explain


def report(version, *bundles):
    """Return a broker's load report."""
    return {
        "webServiceUrl": "http://b1.example.com:8080", "brokerVersionString": version,
        "cpu": {"usage": 20, "limit": 100}, "bundles": list(bundles), "lastStats": {},
        "numTopics": 0, "msgThroughputIn": 0, "msgThroughputOut": 0,
    }  # fmt: skip


def test_a_manager_that_does_nothing_uses_no_setting_of_load_balancing(told):
    said = told(
        f"loadManagerClassName={BALANCE}NoopLoadManager",
        "loadBalancerAutoBundleSplitEnabled=false",
        release="3.2.2",
        status=1,
    )
    assert "broker.conf:2): NoopLoadManager balances nothing" in said


@pytest.mark.parametrize(
    ("value", "status"),
    [
        (f"{CHANNEL}ServiceUnitStateMetadataStoreTableView", 1),
        (f"{CHANNEL}ServiceUnitStateMetadataStoreTableViewImpl", 0),
        ("example.EventualTableView", 0),
    ],
)
def test_a_table_view_that_pulsar_lacks_keeps_a_broker_from_starting(told, value, status):
    manager = f"loadManagerClassName={BALANCE}extensions.ExtensibleLoadManagerImpl"
    said = told(manager, f"{VIEW}={value}", release="4.2.4", status=status)
    assert ("ServiceUnitStateMetadataStoreTableViewImpl), so bin/pulsar" in said) == bool(status)


def test_a_strategy_decides_on_the_placement_although_nothing_is_shed(told):
    said = told(
        f"loadBalancerLoadSheddingStrategy={BALANCE}impl.ThresholdShedder",
        "loadBalancerSheddingEnabled=false",
        release="5.0.0-M1",
    )
    assert "every setting that differs from its default has an effect" in said


def test_users_of_a_setting_are_those_of_the_release(told):
    manager = f"loadManagerClassName={BALANCE}impl.SimpleLoadManagerImpl"
    said = told(manager, "loadBalancerCPUResourceWeight=0.5", release="3.2.2", status=1)
    assert "use it" in said
    assert "AvgShedder" not in said.partition("changes with")[0]


@pytest.mark.parametrize("version", ["2.10.1-SNAPSHOT", "4.0.4.1"])
def test_versions_with_more_than_three_numbers_are_not_compared(explained, version):
    words = ("--place", BUNDLE, "--setting", "preferLaterVersions=true", "--release", "4.0.4")
    _, err = explained({"b1": report(version)}, *words, status=2)
    assert f"b1 runs {version}: with preferLaterVersions" in err


def test_topics_assigned_by_another_class_are_refused(explained, tmp_path):
    (tmp_path / "topics.txt").write_text("persistent://shop/eu/orders\n")
    (tmp_path / "own.conf").write_text("topicBundleAssignmentStrategy=com.example.Own\n")
    words = ("--topics", str(tmp_path / "topics.txt"), "--conf", str(tmp_path / "own.conf"))
    _, err = explained({"b1": report("4.2.4", BUNDLE)}, *words, status=2)
    assert "topicBundleAssignmentStrategy is com.example.Own, whose decisions" in err


MISSPELT = {
    "strategy": ([f"{STRATEGY}={PACKAGE}ThresholdSheder", f"{THRESHOLD}=20"], [THRESHOLD], []),
    "another": ([f"{STRATEGY}={PACKAGE}UniformLoadSheder", f"{THRESHOLD}=20"], [], [THRESHOLD]),
    "pair": (
        [f"{STRATEGY}={PACKAGE}AvgSheder", f"{PLACEMENT}={PACKAGE}AvgShedder", f"{SHARE}=0.5"],
        [SHARE],
        [PLACEMENT],
    ),
}


@pytest.mark.parametrize("which", MISSPELT)
def test_what_counts_with_the_most_similar_class_is_said(tmp_path, capsys, which):
    """Each setting is listed once: either as in force, or as without effect."""
    lines, counts, off = MISSPELT[which]
    file = tmp_path / "broker.conf"
    file.write_text("\n".join(lines))
    assert main(["settings", str(file), "--release", "4.2.4"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    without, _, rest = out.partition("in force once the broker starts with the most similar class")
    rest = rest.partition("not set, so that")[0]
    for name in counts:
        assert f" {name} = " in rest
        assert f" {name} (" not in without
    for name in (STRATEGY, *off):
        assert f" {name} = " not in rest
        assert f" {name} (" in without


def test_an_upgrade_after_which_the_broker_does_not_start_shows_the_rest(tmp_path, capsys):
    file = tmp_path / "broker.conf"
    file.write_text(f"{STRATEGY}={PACKAGE}ThresholdSheder\n{THRESHOLD}=20\n")
    main(["settings", str(file), "--release", "3.0.7", "--to", "4.2.4"])
    out = " ".join(capsys.readouterr().out.split())
    assert "the broker no longer starts: " in out
    assert f"{THRESHOLD}: it takes effect once the broker starts; until then, it belongs" in out
    file.write_text(f"{STRATEGY}={PACKAGE}Qqq\n{THRESHOLD}=20\n{NEWER}=1\n")
    main(["settings", str(file), "--release", "3.0.7", "--to", "4.2.4"])
    out = " ".join(capsys.readouterr().out.split())
    assert f"correct {STRATEGY} first to see which other settings have an effect" in out
    assert f"{NEWER}: Pulsar 4.2.4 has this setting" in out
    assert f"{THRESHOLD}: it takes effect" not in out
