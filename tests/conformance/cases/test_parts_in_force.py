"""`settings --to` lists what an upgrade changes in any part of the broker that is in force."""

import pytest
from pulsar_conformance.conformance.cases.settings_files import read_settings
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.specs.loading import load

PACKAGE = "org.apache.pulsar.broker.loadbalance."
STRATEGY, MANAGER = "loadBalancerLoadSheddingStrategy", "loadManagerClassName"
PLACER = "loadBalancerLoadPlacementStrategy"
EXTENSIBLE = {MANAGER: f"{PACKAGE}extensions.ExtensibleLoadManagerImpl"}
SIMPLE = {MANAGER: f"{PACKAGE}impl.SimpleLoadManagerImpl"}
THRESHOLD = {STRATEGY: f"{PACKAGE}impl.ThresholdShedder"}
OVERLOAD = {STRATEGY: f"{PACKAGE}impl.OverloadShedder"}
UNIFORM = {STRATEGY: f"{PACKAGE}impl.UniformLoadShedder"}
NOTHING = {"loadBalancerSheddingEnabled": "false", "loadBalancerAutoBundleSplitEnabled": "false"}

COMPARED = "Which usage do OverloadShedder and placement compare with the overload threshold?"
POLICIES = "Which namespaces does a change of an isolation policy unload?"
SPARED = "Which namespaces are never shed?"
OLD_NAMES = "What happens to names that have a cluster between tenant and namespace?"
IDLE = "How much does the busiest broker shed for one under the lower boundary?"
WITHOUT = "Does the leader shed while the metadata service cannot be reached?"
REMOVED = "Is a bundle split that is in a report but no longer exists?"
RATE = "May UniformLoadShedder move a bundle that carries more than is left to be moved?"


@pytest.fixture
def written(tmp_path):
    def write(settings):
        conf = tmp_path / "broker.conf"
        conf.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), "utf-8")
        return conf

    return write


@pytest.mark.parametrize(
    ("settings", "release", "to", "says", "not_so"),
    [
        (THRESHOLD, "3.0.7", "4.0.7", [COMPARED, POLICIES, WITHOUT], [RATE]),
        ({**THRESHOLD, **NOTHING}, "3.0.7", "4.2.4", [COMPARED, POLICIES], [SPARED, REMOVED]),
        (THRESHOLD, "3.0.7", "4.2.4", [COMPARED, SPARED, REMOVED, OLD_NAMES], [RATE]),
        ({PLACER: f"{PACKAGE}impl.LeastResourceUsageWithWeight"}, "3.0.7", "4.2.4", [COMPARED], []),
        (OVERLOAD, "3.0.7", "4.0.7", [COMPARED], [RATE]),
        (UNIFORM, "3.0.7", "4.2.4", [COMPARED, RATE], []),
        (UNIFORM, "2.10.5", "3.0.7", [RATE], [IDLE]),
        (THRESHOLD, "2.10.5", "3.0.7", [IDLE], [RATE]),
        (EXTENSIBLE, "3.0.7", "4.2.4", [POLICIES, OLD_NAMES], [COMPARED, SPARED, WITHOUT]),
        (SIMPLE, "3.0.7", "4.0.7", [POLICIES, WITHOUT], [COMPARED, SPARED]),
    ],
)
def test_a_change_is_reported_if_any_part_that_it_concerns_is_in_force(
    written, capsys, settings, release, to, says, not_so
):
    conf = written({**settings, "loadBalancerDirectMemoryResourceWeight": "0.5"})
    for more in ([], ["--all"], ["--json"]):
        main(["settings", str(conf), "--release", release, "--to", to, *more])
        told = " ".join(capsys.readouterr().out.split())
        assert [one for one in says if one not in told] == [], more
        assert [one for one in not_so if one in told] == [], more


# 3.0.5 unloads all namespaces that a policy selects, 3.0.7 those that the request's scope names.
@pytest.mark.parametrize("settings", [EXTENSIBLE, SIMPLE, THRESHOLD])
def test_so_is_a_difference_from_the_release_that_stands_for_a_version(written, capsys, settings):
    main(["settings", str(written(settings)), "--release", "3.0.5", "--all"])
    assert POLICIES in " ".join(capsys.readouterr().out.split())


def test_every_part_of_a_way_is_in_force_with_some_settings(written):
    """If this failed, a part's name could be misspelt, and the change would never be listed."""
    average = dict.fromkeys((STRATEGY, PLACER), f"{PACKAGE}impl.AvgShedder")
    mistaken = ({one: f"{PACKAGE}impl.Missing"} for one in (MANAGER, STRATEGY, PLACER))
    files = (THRESHOLD, OVERLOAD, UNIFORM, average, EXTENSIBLE, SIMPLE, *mistaken)
    known = {part for one in files for part in read_settings(written(one), "4.2.4").parts()}
    for name, way in load().ways.items():
        assert known.issuperset(way.parts), name


def test_a_way_is_about_each_strategy_that_its_question_names():
    strategies = {one for way in load().ways.values() for one in way.parts if one[0].isupper()}
    for name, way in load().ways.items():
        named = {one for one in strategies if one in way.question}
        assert named <= {*way.parts}, name
        assert "and placement" not in way.question or "placement" in way.parts, name


MODULAR = {MANAGER: f"{PACKAGE}impl.ModularLoadManagerImpl"}
ABOUT_MISTAKES = (
    "names no load manager",
    "does not name a shedding strategy",
    "does not name a placement strategy",
    "names no class",
    "neither a dynamic setting nor broker.conf names one",
)


@pytest.mark.parametrize("release", ["2.10.5", "3.0.7"])
@pytest.mark.parametrize("given", [THRESHOLD, OVERLOAD, UNIFORM])
def test_questions_about_invalid_classes_do_not_concern_a_file_with_valid_ones(
    written, capsys, release, given
):
    conf = str(written({**MODULAR, **given}))
    main(["settings", conf, "--release", release, "--to", "4.2.4", "--all"])
    out = " ".join(capsys.readouterr().out.split())
    assert "Until then:" in out
    assert not [one for one in ABOUT_MISTAKES if one in out]


def test_a_class_that_no_release_has_is_still_said_to_stop_the_broker_after_an_upgrade(
    written, capsys
):
    main(
        [
            "settings",
            str(written({**MODULAR, STRATEGY: f"{PACKAGE}impl.Missing"})),
            "--release",
            "3.0.7",
            "--to",
            "4.2.4",
        ]
    )
    assert "the broker no longer starts" in " ".join(capsys.readouterr().out.split())


def test_new_settings_are_listed_also_for_the_next_release(written, capsys):
    main(["settings", str(written({**MODULAR, **THRESHOLD})), "--release", "3.0.7"])
    out = " ".join(capsys.readouterr().out.split())
    assert "new with Pulsar 4.0.7, and in effect with these defaults topicBundle" in out
