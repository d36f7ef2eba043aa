"""Changes that `settings --to` lists for an upgrade: classes that run, and settings with effect."""

import re

import pytest
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.specs.balancers import UNLESS_ADDED

PACKAGE = "org.apache.pulsar.broker.loadbalance."
SHEDDING, PLACEMENT = "loadBalancerLoadSheddingStrategy", "loadBalancerLoadPlacementStrategy"
AVERAGE = {SHEDDING: f"{PACKAGE}impl.AvgShedder", PLACEMENT: f"{PACKAGE}impl.AvgShedder"}


@pytest.fixture
def changes(capsys, tmp_path):
    """Return a function that lists changes between two versions: the title, and all on one line."""

    def ask(settings, release, to=None):
        conf = tmp_path / "broker.conf"
        conf.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), "utf-8")
        main(["settings", str(conf), "--release", release, *(["--to", to] if to else [])])
        out = capsys.readouterr().out
        sections = {part.partition("\n")[0]: part for part in out.split("\n\n")}
        title = next((one for one in sections if one.startswith("changes with Pulsar")), "")
        return title, " ".join(sections.get(title, "").split())

    return ask


# 3.0.7 compares AvgShedder's class with loadBalancerPlacementStrategy and falls back to the simple
# load manager; 4.0 compares the right setting (apache/pulsar#23156).
def test_a_pair_that_runs_only_from_4_0_on_takes_effect(changes):
    _, told = changes({**AVERAGE, "maxUnloadPercentage": "0.5"}, "3.0.7", "4.2.4")
    assert (
        "the modular load manager runs instead of the simple one; until then, Pulsar 3.0.7" in told
    )
    assert f"{SHEDDING}: it takes effect; until then, it belongs to the modular" in told
    assert "maxUnloadPercentage: it takes effect" in told
    _, told = changes({**AVERAGE, "maxUnloadPercentage": "0.5"}, "4.0.7", "4.2.4")
    assert "takes effect" not in told


def test_a_class_that_does_not_exist_keeps_4_2_from_starting(changes):
    settings = {"loadManagerClassName": f"{PACKAGE}impl.ExtensibleLoadManagerImpl"}
    _, told = changes(settings, "3.0.7", "4.2.4")
    assert f"the broker no longer starts: {UNLESS_ADDED}, Pulsar has no class" in told
    _, told = changes(settings, "3.0.7", "4.0.7")
    assert "no longer starts" not in told


# PIP-358: OverloadShedder weighs usages from 4.0 on.
def test_weights_begin_to_count_for_overload_shedder(changes):
    settings = {SHEDDING: f"{PACKAGE}impl.OverloadShedder", "loadBalancerCPUResourceWeight": "0.5"}
    _, told = changes(settings, "3.0.7", "4.2.4")
    assert (
        "loadBalancerCPUResourceWeight: it takes effect; until then, only ThresholdShedder" in told
    )
    _, told = changes(settings, "4.0.7", "4.2.4")
    assert "loadBalancerCPUResourceWeight" not in told


# 5.0.0 compares the strategy with its default for placement, AvgShedder, even if nothing is shed.
@pytest.mark.parametrize("off", ["loadBalancerSheddingEnabled", "loadBalancerEnabled"])
@pytest.mark.parametrize("value", ["false", "yes"])
@pytest.mark.parametrize("release", ["3.0.7", "4.2.4"])
def test_a_strategy_takes_no_effect_while_nothing_is_shed(changes, off, value, release):
    strategy = {SHEDDING: f"{PACKAGE}impl.ThresholdShedder"}
    title, told = changes({off: value, **strategy}, release, "5.0.0")
    assert title
    assert SHEDDING not in told.replace(f"if {SHEDDING} does not name", "")
    placing = {PLACEMENT: AVERAGE[PLACEMENT]}  # 2.10.5 has no such setting.
    _, told = changes({off: value, **strategy, **placing}, "2.10.5", "3.0.7")
    assert f"{SHEDDING}: it takes effect" not in told
    _, told = changes({off: value, **placing}, "2.10.5", "3.0.7")
    assert f"{SHEDDING}: its default" not in told


def test_the_default_of_a_setting_that_never_counts_is_no_change(changes):
    _, told = changes({"loadBalancerEnabled": "true"}, "3.0.7", "4.2.4")
    assert "loadBalancerDirectMemoryResourceWeight: the default changes from 1.0 to 0.0" in told
    assert "loadBalancerMemoryResourceWeight" not in told  # Heap memory counts in neither.
    _, told = changes({"loadBalancerEnabled": "true"}, "2.10.5", "4.2.4")
    assert "loadBalancerMemoryResourceWeight: the default changes from 1.0 to 0.0" in told


# The defaults of 5.0.0 are those of the pages of 5.0; 5.0.0-M1 still has those of 4.2.
@pytest.mark.parametrize("to", ["5.0", "5.0.0", "5.0.1", None])
def test_a_release_line_means_its_releases_and_not_its_milestones(changes, to):
    title, told = changes({"loadBalancerEnabled": "true"}, "4.2.4", to)
    assert title.startswith(f"changes with Pulsar {'5.0.1' if to == '5.0.1' else '5.0.0'}")
    assert f"{SHEDDING}: the default changes from ThresholdShedder to AvgShedder" in told
    assert "defaultNumberOfNamespaceBundles: the default changes from 4 to 32" in told


def test_every_decision_that_an_upgrade_asked_for_changes_is_reported(changes):
    overload = "org.apache.pulsar.broker.loadbalance.impl.OverloadShedder"
    settings = {"loadBalancerLoadSheddingStrategy": overload}
    title, told = changes(settings, "2.7.2", "2.10")
    assert title == "changes with Pulsar 2.10.5"
    for asked in (
        "Which namespaces are never shed?",
        "Is a bundle split if only one broker is up? No. Until then: Yes.",
        "Is a bundle with fewer than two topics split? No.",
        "Do bundles chosen in the same round count towards the maximum of the namespace? Yes.",
        "Does heap memory count in the usage of a broker? Only in the weighted usage",
        "counts as used to 100 % (apache/pulsar#15304); until then",
    ):
        assert asked in told
    assert "UniformLoadShedder" not in told
    assert "other change" not in told
    _, told = changes(settings, "2.10.1", None)
    assert re.search(r"\d+ other changes of decisions \(--all lists them\)", told)


def test_an_upgrade_from_an_unknown_release_is_none(tmp_path, capsys):
    conf = tmp_path / "broker.conf"
    conf.write_text("loadBalancerEnabled=true\n")
    for to in ("5.0", "9.9"):
        assert main(["settings", str(conf), "--to", to]) == 2
        told = " ".join(capsys.readouterr().err.split())
        assert f"--to {to}: the release that reads {conf} is unknown; add --release" in told


def test_a_milestone_that_is_named_is_meant(changes):
    assert changes({"loadBalancerEnabled": "true"}, "4.2.4", "5.0.0-M1") == ("", "")


def test_settings_that_a_later_version_has_are_reported(changes):
    name = "loadBalancerAvgShedderLowThreshold"
    _, told = changes({**AVERAGE, name: "10"}, "3.0.2", "4.2.4")
    assert f"{name}: Pulsar 4.2.4 has this setting" in told
    _, told = changes({**AVERAGE, name: "10"}, "3.0.7", "4.2.4")
    assert f"{name}: Pulsar 4.2.4 has this setting" not in told


# From 4.0 on, the simple manager's placement is compared with nothing.
@pytest.mark.parametrize(
    ("release", "used"), [("3.0.7", True), ("3.3.2", True), ("3.0.8", False), ("4.2.4", False)]
)
def test_the_placement_of_the_simple_manager_counts_only_while_it_is_compared(
    capsys, tmp_path, release, used
):
    conf = tmp_path / "broker.conf"
    simple = {"loadBalancerPlacementStrategy": f"{PACKAGE}impl.AvgShedder"}
    conf.write_text(
        "".join(f"{name}={value}\n" for name, value in {**AVERAGE, **simple}.items()), "utf-8"
    )
    main(["settings", str(conf), "--release", release])
    sections = capsys.readouterr().out.split("\n\n")
    without = next((one for one in sections if one.startswith("without effect")), "")
    assert ("loadBalancerPlacementStrategy" in without) is not used


# In 5.0, a placement by default follows a shedding strategy that is set (the broker.conf of 5.0).
def test_the_placement_stays_if_the_shedding_strategy_is_set(changes):
    _, told = changes({SHEDDING: f"{PACKAGE}impl.ThresholdShedder"}, "4.2.4", "5.0.0")
    assert "EvenlyEnabled: the default changes from true to false" in told
    assert PLACEMENT not in told


def test_changes_that_the_extensible_manager_ignores_are_none(changes):
    settings = {"loadManagerClassName": f"{PACKAGE}extensions.ExtensibleLoadManagerImpl"}
    _, told = changes(settings, "4.2.4", "5.0.0")
    assert "defaultNumberOfNamespaceBundles: the default changes from 4 to 32" in told
    for name in (SHEDDING, PLACEMENT, "maxUnloadPercentage", "EvenlyEnabled"):
        assert name not in told


def test_the_default_of_a_strategy_that_another_replaces_is_not_reported(capsys, tmp_path):
    conf = tmp_path / "broker.conf"
    conf.write_text(
        f"loadManagerClassName={PACKAGE}extensions.ExtensibleLoadManagerImpl\n", "utf-8"
    )
    main(["settings", str(conf), "--release", "4.2.4", "--all"])
    out = " ".join(capsys.readouterr().out.split())
    strategy = f"{SHEDDING} = {PACKAGE}extensions.scheduler.TransferShedder"
    assert strategy in out
    assert f"{SHEDDING} = ThresholdShedder" not in out


# defaultNumberOfSystemNamespaceBundles came with 5.0.0, after its milestones.
@pytest.mark.parametrize(
    ("release", "known"), [("4.2.4", False), ("5.0.0-M1", False), ("5.0.0", True), ("5.0.1", True)]
)
def test_a_setting_of_5_0_is_in_no_earlier_version(capsys, tmp_path, release, known):
    conf = tmp_path / "broker.conf"
    conf.write_text("defaultNumberOfSystemNamespaceBundles=16\n", "utf-8")
    assert main(["settings", str(conf), "--release", release]) == (0 if known else 1)
    out = " ".join(capsys.readouterr().out.split())
    assert (f"Pulsar {release} has no such setting" in out) is not known
    assert ("Bundles = 16 (" in out and "the default is 64" in out) is known


@pytest.mark.parametrize("tag", ["5.0.0-M1", "5.0.0-m1", "5.0.0-M1-arm64", "5.0.0-m1-apache-p8dae"])
def test_tags_of_milestones_are_milestones(capsys, tmp_path, tag):
    file = tmp_path / "values.yaml"
    file.write_text(
        f"images: {{broker: {{repository: apachepulsar/pulsar, tag: {tag}}}}}\n"
        'broker: {configData: {loadBalancerEnabled: "true"}}\n',
        "utf-8",
    )
    main(["settings", str(file), "--all"])
    said = " ".join(" ".join(capsys.readouterr()).split())
    assert "Pulsar 5.0.0-M1, according to its image" in said
    assert f"{SHEDDING} = ThresholdShedder" in said


WEIGHT = "loadBalancerDirectMemoryResourceWeight"


# The default of 3.3.6 and of 4.0.7 is 0, which OverloadShedder follows from 4.0 on (PIP-358): its
# getMaxResourceUsage of 3.3.6 has no weights.
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "its default, 0.0, takes effect; until then, only ThresholdShedder"),
        ({WEIGHT: "0"}, "it takes effect; until then, only ThresholdShedder"),
        ({WEIGHT: "0.2"}, "it takes effect; until then, only ThresholdShedder"),
    ],
)
def test_a_weight_of_0_begins_to_count_even_if_it_is_the_default(changes, given, says):
    settings = {SHEDDING: f"{PACKAGE}impl.OverloadShedder", **given}
    _, told = changes(settings, "3.3.6", "4.0.7")
    assert f"{WEIGHT}: {says}" in told
    _, told = changes({**settings, WEIGHT: "1"}, "3.3.6", "4.0.7")
    assert WEIGHT not in told  # A weight of 1 changes nothing.


@pytest.mark.parametrize("weight", ["0", "1", "0.5"])
def test_no_version_gives_the_weight_of_heap_memory_an_effect_again(changes, weight):
    for strategy in ("OverloadShedder", "ThresholdShedder"):
        settings = {
            SHEDDING: f"{PACKAGE}impl.{strategy}",
            "loadBalancerMemoryResourceWeight": weight,
        }
        for release in ("3.0.7", "3.3.6"):
            _, told = changes(settings, release, "4.0.7")
            assert "loadBalancerMemoryResourceWeight" not in told


# ServiceConfiguration: OverloadShedder in 2.8.2 and 2.9.1, ThresholdShedder in 2.10.5.
@pytest.mark.parametrize(("release", "to"), [("2.8.2", "2.10.5"), ("2.9.1", "3.0.7")])
def test_upgrades_between_releases_before_3_0_are_compared(changes, release, to):
    title, told = changes({"loadBalancerEnabled": "true"}, release, to)
    assert title == f"changes with Pulsar {to}"
    assert f"{SHEDDING}: the default changes from OverloadShedder to ThresholdShedder" in told
    _, told = changes({SHEDDING: f"{PACKAGE}impl.OverloadShedder"}, release, to)
    assert "the default changes from OverloadShedder" not in told


@pytest.mark.parametrize(("release", "to"), [("3.0.7", "3.0.7"), ("3.0.7", "2.10.5")])
def test_an_upgrade_leads_to_a_later_version(capsys, tmp_path, release, to):
    conf = tmp_path / "broker.conf"
    conf.write_text("loadBalancerEnabled=true\n")
    assert main(["settings", str(conf), "--release", release, "--to", to]) == 2
    assert f"--to {to}: name a version after {release}" in capsys.readouterr().err


# ModularLoadManagerImpl writes the data of the busiest bundles alone from 4.0 on (PIP-354); in
# 3.2.2, only the extensible manager reads the setting.
@pytest.mark.parametrize("given", [{}, {"loadBalancerMaxNumberOfBundlesInBundleLoadReport": "10"}])
def test_a_default_that_the_same_manager_begins_to_read_is_a_change(changes, given):
    name = "loadBalancerMaxNumberOfBundlesInBundleLoadReport"
    settings = {"loadBalancerEnabled": "true", **given}
    _, told = changes(settings, "3.2.2", "4.0.7")
    assert f"{name}: it" in told
    under = "takes effect under the modular load manager, which runs; until then, it belongs to"
    assert f"{under} the extensible load manager" in told
    meaning = "Its meaning: Maximum number of a broker's bundles whose load is reported"
    assert (meaning in told) is not bool(given)
    assert name not in changes(settings, "4.0.7", "4.2.4")[1]
    manager = f"{PACKAGE}extensions.ExtensibleLoadManagerImpl"
    assert name not in changes({**settings, "loadManagerClassName": manager}, "3.2.2", "4.0.7")[1]


# administration-upgrade-to-5.0.x-configuration: 64 bundles for pulsar/system, which had as many as
# any namespace before.
def test_a_setting_that_decides_from_5_0_0_on_is_named_with_its_default(changes):
    _, told = changes({"loadBalancerEnabled": "true"}, "4.0.7", "5.0.0")
    assert "defaultNumberOfSystemNamespaceBundles: new in Pulsar 5.0.0, 64 by default" in told
    _, told = changes({"loadBalancerEnabled": "true"}, "4.0.7", "4.2.4")
    assert "new in Pulsar" not in told


# PulsarService schedules the task that writes bundle data only if the balancer is on.
def test_nothing_of_a_balancer_that_is_off_takes_effect(changes):
    name = "loadBalancerMaxNumberOfBundlesInBundleLoadReport"
    _, told = changes({"loadBalancerEnabled": "false"}, "3.0.7", "4.0.7")
    assert name not in told
    assert "Weight" not in told


def test_a_default_that_a_manager_begins_to_read_is_named_whatever_strategy_comes(changes):
    _, told = changes({"loadBalancerEnabled": "true"}, "3.0.7", "5.0.0")
    name = "loadBalancerMaxNumberOfBundlesInBundleLoadReport"
    assert "to AvgShedder" in told
    assert f"{name}: its default, 10, takes effect" in told


# 3.0.7: ThresholdShedder alone reads these with the usual placement, and it does not run.
@pytest.mark.parametrize("switch", ["loadBalancerEnabled", "loadBalancerSheddingEnabled"])
@pytest.mark.parametrize(
    "name", ["loadBalancerHistoryResourcePercentage", "loadBalancerCPUResourceWeight"]
)
def test_what_a_strategy_alone_reads_is_off_with_shedding(capsys, tmp_path, switch, name):
    conf = tmp_path / "broker.conf"
    conf.write_text(f"{switch}=false\n{name}=0.5\n", "utf-8")
    assert main(["settings", str(conf), "--release", "3.0.7"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert f"without effect {name} " in out
    assert f"{switch} is false" in out
    placement = f"{PLACEMENT}={PACKAGE}impl.LeastResourceUsageWithWeight\n"
    conf.write_text(f"{switch}=false\n{name}=0.5\n{placement}", "utf-8")
    assert main(["settings", str(conf), "--release", "3.0.7"]) == 0


# ThresholdShedder 2.10.2:196-220 leaves out resources over 100 %; 2.10.1 and 2.10.3 do not.
def test_a_difference_of_one_version_begins_and_ends(changes):
    weight = {"loadBalancerCPUResourceWeight": "2"}
    question = "Does ThresholdShedder count the resources of a broker that are over 100 %?"
    title, told = changes(weight, "2.10.2", "2.10.3")
    assert title == "changes with Pulsar 2.10.3"
    assert f"{question} Yes. Until then: Not after weighting;" in told
    _, told = changes(weight, "2.10.1", "2.10.2")
    assert f"{question} Not after weighting;" in told
    _, told = changes(weight, "2.10.2", None)
    assert f"{question} Yes. Until then: Not" in told
    _, told = changes({SHEDDING: f"{PACKAGE}impl.OverloadShedder"}, "2.10.2", "2.10.3")
    assert question not in told
    _, told = changes(weight, "2.10.3", "2.10.5")
    assert question not in told
    assert "Is a bundle split if only one broker is up? No. Until then: Yes." in told


# apache/pulsar#22953 reads the switch for pulsar/system as well only until 3.0.5.
def test_a_difference_is_a_change_whatever_is_set(changes):
    switch = {"loadBalancerDistributeBundlesEvenlyEnabled": "false"}
    _, told = changes(switch, "3.0.5", "3.0.6")
    assert "Are the bundles of a namespace spread evenly over the brokers" in told
    _, told = changes({"loadBalancerEnabled": "true"}, "3.0.5", "3.0.6")
    assert "Are the bundles of a namespace spread evenly over the brokers" in told


# apache/pulsar#22321 is in 3.0.5.
def test_a_difference_of_transfer_shedder_is_a_change_where_it_runs(changes):
    settings = {
        "loadManagerClassName": f"{PACKAGE}extensions.ExtensibleLoadManagerImpl",
        SHEDDING: f"{PACKAGE}extensions.scheduler.TransferShedder",
    }
    told = changes(settings, "3.0.4", "3.0.5")[1]
    share = "a broker is underloaded below a share of the busiest broker's traffic"
    assert f"{share} (apache/pulsar#22321); until then, a broker is underloaded only below" in told
    assert "22321" not in changes({"loadBalancerEnabled": "true"}, "3.0.4", "3.0.5")[1]


NEW = "new with Pulsar 4.2.4, and in effect with these defaults"


@pytest.mark.parametrize(
    ("settings", "release", "added", "left_out"),
    [
        ({}, "2.10.5", "lowerBoundarySheddingEnabled = false: Whether", "maxUnloadPercentage"),
        ({}, "3.0.7", "loadBalancerOverrideBrokerNics = empty", "lowerBoundarySheddingEnabled"),
        (
            {"loadManagerClassName": f"{PACKAGE}extensions.ExtensibleLoadManagerImpl"},
            "3.0.7",
            "loadBalancerMultiPhaseBundleUnload = true",
            "loadBalancerBandwidthInResourceWeight",
        ),
        ({"loadBalancerOverrideBrokerNics": "eth0"}, "3.0.7", "topicBundle", "OverrideBrokerNics"),
    ],
)
def test_settings_that_a_release_adds_are_listed_if_they_count(
    tmp_path, capsys, settings, release, added, left_out
):
    conf = tmp_path / "broker.conf"
    lines = {"loadBalancerEnabled": "true", **settings}
    conf.write_text("".join(f"{name}={value}\n" for name, value in lines.items()), "utf-8")
    main(["settings", str(conf), "--release", release, "--to", "4.2.4"])
    parts = capsys.readouterr().out.split("\n\n")
    [block] = [" ".join(one.split()) for one in parts if one.startswith(NEW)]
    assert added in block
    assert left_out not in block


@pytest.mark.parametrize(
    "line", [f"{SHEDDING}={PACKAGE}impl.Qqq", "loadManagerClassName=com.acme.Balancer"]
)
def test_no_new_settings_are_listed_if_it_is_not_known_what_runs(tmp_path, capsys, line):
    conf = tmp_path / "broker.conf"
    conf.write_text(f"{line}\n", "utf-8")
    main(["settings", str(conf), "--release", "3.0.7", "--to", "4.2.4"])
    assert NEW not in capsys.readouterr().out
