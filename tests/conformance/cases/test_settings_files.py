"""Settings in every form that operators have: each name is used or reported."""

import json
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from pulsar_conformance.conformance.cases.settings import BadSetting, given_settings
from pulsar_conformance.conformance.cases.settings_files import read_settings
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.specs.broker import (
    broker_settings,
    current_names,
    is_unlisted,
    known_releases,
    nearest_release,
)
from pulsar_conformance.specs.judged import nearest_profile
from standins.admin import FakeCluster
from standins.broker_settings import other_value

WEIGHTS = {
    f"loadBalancerBandwidth{way}ResourceWeight": f"loadBalancerBandwith{way}ResourceWeight"
    for way in ("In", "Out")
}
THRESHOLD = "loadBalancerBrokerOverloadedThresholdPercentage"
SHEDDING = "loadBalancerSheddingEnabled"

UNLOADING = "loadBalancerAutoUnloadSplitBundlesEnabled"
EXTENSIBLE = (
    "loadManagerClassName=org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl"
)


def environment(values):
    return "".join(f"PULSAR_PREFIX_{name}={value}\n" for name, value in values.items())


def for_image(values):
    names = {one: f"PULSAR_PREFIX_{one}" for one in values if is_unlisted(one, "4.2.4")}
    return {names.get(one, one): value for one, value in values.items()}


FORMS = {
    "broker.conf": lambda values: "".join(f"{name}={one}\n" for name, one in values.items()),
    "standalone.conf": lambda values: "".join(f"{name} = {one}\n" for name, one in values.items()),
    "runtime.json": json.dumps,
    "dynamic.json": lambda values: json.dumps(values, indent=2),
    "broker.env": environment,
    "compose.yaml": lambda values: yaml.safe_dump(
        {"services": {"broker": {"environment": environment(values).splitlines()}}}
    ),
    "values.yaml": lambda values: yaml.safe_dump({"broker": {"configData": for_image(values)}}),
    "cluster.yaml": lambda values: yaml.safe_dump(
        {"kind": "PulsarCluster", "spec": {"broker": {"config": values}}}
    ),
    "broker.yml": lambda values: yaml.safe_dump(
        {"kind": "PulsarBroker", "spec": {"config": {"custom": values}}}
    ),
    "pod.yaml": lambda values: yaml.safe_dump(
        {
            "kind": "StatefulSet",
            "spec": {
                "containers": [
                    {
                        "name": "broker",
                        "env": [
                            {"name": f"PULSAR_PREFIX_{name}", "value": str(value)}
                            for name, value in values.items()
                        ],
                    }
                ]
            },
        }
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_setting_of_the_releases_is_read_with_its_place(tmp_path, form):
    file = tmp_path / form
    for name, setting in broker_settings().items():
        value = other_value(setting)
        file.write_text(FORMS[form]({name: value}))
        read = read_settings(file)
        kept = WEIGHTS.get(name, name)
        assert str(read.values[kept]).lower() == value
        assert read.places[kept].startswith(str(file))
        assert (read.unused, read.others) == ((), 0)


@pytest.mark.parametrize("form", FORMS)
def test_a_file_with_every_setting_loses_none(tmp_path, form):
    values = {name: other_value(setting) for name, setting in broker_settings().items()}
    file = tmp_path / form
    file.write_text(FORMS[form](values))
    read = read_settings(file)
    assert {*read.values, *(one.name for one in read.unused)} == values.keys() - WEIGHTS.keys()


@pytest.mark.parametrize("form", FORMS)
def test_what_is_unknown_is_named_with_the_nearest_name(tmp_path, form):
    file = tmp_path / form
    file.write_text(
        FORMS[form](
            {
                "loadBalancersheddingEnabled": "false",
                "loadBalancerBundleLoadReportPercentage": "10",
                "loadBalancerMood": "good",
                "clusterName": "eu",
            }
        )
    )
    read = read_settings(file)
    why = {one.name: one.why for one in read.unused}
    assert why == {
        "loadBalancersheddingEnabled": (
            f"there is no such setting; the most similar name is {SHEDDING}"
        ),
        "loadBalancerBundleLoadReportPercentage": "its name is now "
        "loadBalancerMaxNumberOfBundlesInBundleLoadReport",
        "loadBalancerMood": "there is no such setting",
    }
    assert (read.values, read.others) == ({}, 1)


@pytest.mark.parametrize("name", current_names())
def test_a_former_name_leads_to_the_present_one(name):
    assert current_names()[name] in broker_settings()
    with pytest.raises(BadSetting, match=current_names()[name]):
        given_settings([f"{name}=1"])


@pytest.mark.parametrize(
    ("new", "old", "counts", "unused"),
    [("0.1", "0.5", 0.1, "Bandwith"), ("1.0", "0.5", 0.5, None), ("0.1", None, 0.1, None)],
)
@pytest.mark.parametrize("turned", [False, True])
def test_the_new_spelling_of_a_weight_counts_unless_it_has_its_default(
    tmp_path, new, old, counts, unused, turned
):
    name = "loadBalancerBandwidthInResourceWeight"
    lines = [f"{name}={new}\n", f"{WEIGHTS[name]}={old}\n" if old else ""]
    file = tmp_path / "broker.conf"
    file.write_text("".join(reversed(lines) if turned else lines))
    read = read_settings(file)
    assert read.values == {WEIGHTS[name]: counts}
    assert [WEIGHTS[name]] * bool(unused) == [one.name for one in read.unused]


def test_a_setting_in_force_has_the_spelling_of_its_file(tmp_path, capsys):
    file = tmp_path / "broker.conf"
    for name in WEIGHTS | {old: old for old in WEIGHTS.values()}:
        file.write_text(f"{name}=0.5\n")
        assert main(["settings", str(file), "--release", "4.2.4"]) == 0
        assert f"{name} = 0.5" in capsys.readouterr().out


def test_a_release_does_not_know_the_settings_of_later_ones(tmp_path):
    file = tmp_path / "broker.conf"
    file.write_text("loadBalancerBandwidthInResourceWeight=0.1\n")
    [unused] = read_settings(file, "3.0.4").unused
    assert unused.why.startswith("Pulsar 3.0.4 has no such setting; it was added in 4.0.7 at the")


@pytest.mark.parametrize(
    ("lines", "name", "why"),
    [
        ("minUnloadMessage=5", "minUnloadMessage", "ThresholdShedder runs"),
        (f"{SHEDDING}=false\nlowerBoundarySheddingEnabled=true", "lowerBoundary", "is false"),
        ("loadBalancerEnabled=false\nlowerBoundarySheddingEnabled=true", "lower", "Enabled is fa"),
        ("loadBalancerTransferEnabled=false", "loadBalancerTransfer", "extensible load manager"),
        (f"{EXTENSIBLE}\nexposeBundlesMetricsInPrometheus=true", "exposeB", "modular load manager"),
        (f"{EXTENSIBLE}\n{UNLOADING}=false", UNLOADING, "the modular or simple load manager"),
        (f"{THRESHOLD}=70\n{THRESHOLD}=80", THRESHOLD, "broker.conf:2 overrides it"),
        (
            "loadBalancerLoadSheddingStrategy=org.apache.pulsar.broker.loadbalance.extensions."
            "scheduler.TransferShedder",
            "loadBalancerLoadSheddingStrategy",
            "TransferShedder belongs to the extensible load manager",
        ),
    ],
)
def test_a_setting_without_effect_has_its_reason(tmp_path, capsys, lines, name, why):
    file = tmp_path / "broker.conf"
    file.write_text(f"{lines}\n")
    [unused] = read_settings(file).without_effect()
    assert unused.name.startswith(name)
    assert why in unused.why
    assert main(["settings", str(file)]) == 1
    assert unused.name in capsys.readouterr().out


def test_a_file_of_settings_is_explained(tmp_path, capsys):
    file = tmp_path / "broker.conf"
    file.write_text(f"{THRESHOLD}=70\nclusterName=eu\n")
    assert main(["settings", str(file), "--release", "4.0.1"]) == 0
    out = capsys.readouterr().out
    assert "with the defaults of Pulsar 4.0.7" in out
    assert f"{THRESHOLD} = 70" in out
    assert "the default is 85" in out
    assert "loadBalancerDirectMemoryResourceWeight = 0.0" not in out
    assert out.index("differs from its default has an effect") < out.index("in force")
    assert "not listed: 1 setting outside load balancing" in out
    assert main(["settings", str(file), "--release", "4.0.1", "--all"]) == 0
    assert "loadBalancerDirectMemoryResourceWeight = 0.0" in capsys.readouterr().out
    assert main(["settings", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["inForce"][THRESHOLD]["value"] == 70
    assert (found["withoutEffect"], found["others"]) == ([], 1)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("broker.yaml", "a: [", "broker.yaml:2: it isn't YAML"),
        ("broker.conf", "clusterName=eu", "it has no load balancing settings that can be read"),
        ("none.conf", None, "No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_line(tmp_path, capsys, name, text, problem):
    file = tmp_path / name
    if text is not None:
        file.write_text(f"{text}\n")
    assert main(["settings", str(file)]) == 2
    assert problem in capsys.readouterr().err


def test_the_configuration_in_a_log_is_read(tmp_path):
    file = tmp_path / "broker.log"
    file.write_text(
        "12:00 INFO PulsarService - ServiceConfiguration(clusterName=eu, loadBalancerEnabled=false,"
        f" {THRESHOLD}=70, loadBalancerOverrideBrokerNicSpeedGbps=Optional.empty, "
        "supportedNamespaceBundleSplitAlgorithms=[range_equally_divide, "
        "topic_count_equally_divide], webServicePort=Optional[8080])\n"
    )
    read = read_settings(file)
    assert read.values == {
        "loadBalancerEnabled": False,
        THRESHOLD: 70,
        "supportedNamespaceBundleSplitAlgorithms": (
            "range_equally_divide,topic_count_equally_divide"
        ),
    }
    assert read.others == 2


def test_a_class_without_its_package_is_reported(tmp_path):
    file = tmp_path / "broker.conf"
    file.write_text("loadManagerClassName=ExtensibleLoadManagerImpl\n")
    [unused] = read_settings(file).without_effect()
    assert "needs the full class name" in unused.why


def test_settings_of_other_components_do_not_count(tmp_path):
    file = tmp_path / "values.yaml"
    file.write_text(
        "proxy:\n  configData:\n    loadBalancerEnabled: 'false'\n"
        f"broker:\n  configData:\n    {THRESHOLD}: '70'\n"
    )
    assert read_settings(file).values == {THRESHOLD: 70}


def test_a_whole_broker_conf_in_a_config_map_is_read(tmp_path):
    file = tmp_path / "map.yaml"
    file.write_text(f"kind: ConfigMap\ndata:\n  broker.conf: |\n    {THRESHOLD}=70\n    a=b\n")
    assert read_settings(file).values == {THRESHOLD: 70}


@pytest.mark.parametrize(
    ("version", "release", "profile"),
    [
        ("2.7.5", "3.0.7", "released-2.4"),
        ("2.8.1", "3.0.7", "released-2.10"),
        ("2.11.0", "3.0.7", "released-3.0"),
        ("3.3.0", "3.0.7", "released-3.0"),
        ("v4.1.2-SNAPSHOT", "4.0.7", "released-4.0"),
        ("5.1", "5.0.0-M1", "released-5.0"),
    ],
)
def test_a_version_has_the_nearest_release_that_is_not_newer(version, release, profile):
    assert (nearest_release(version), nearest_profile(version)) == (release, profile)


def test_both_managers_of_4_2_exclude_namespaces_from_shedding(tmp_path):
    file = tmp_path / "broker.conf"
    file.write_text("loadBalancerSheddingExcludedNamespaces=pulsar/system\n")
    assert read_settings(file, "4.2.1").without_effect() == []
    [unused] = read_settings(file, "4.0.1").without_effect()
    assert "added in 4.2.4" in unused.why


def test_an_older_version_is_not_taken_for_the_oldest_known_release(tmp_path, capsys):
    file = tmp_path / "broker.conf"
    file.write_text("loadBalancerSheddingIntervalMinutes=2\n")
    assert read_settings(file, "2.5.0").without_effect() == []
    assert main(["settings", str(file), "--release", "2.5.0"]) == 0
    assert "2.5.0 is older than 3.0.7" in capsys.readouterr().out


RELEASED = json.loads((Path(__file__).parent / "broker-settings.json").read_text())
"""Type and defaults of each setting, as the classes of each release declare them."""


def as_text(value):
    return str(value).lower() if isinstance(value, bool) else str("" if value is None else value)


def another_value(name):
    """Return a value of a setting's type that is not the default of any release."""
    kind, defaults = RELEASED[name]["type"], RELEASED[name]["defaults"].values()
    possible = {"boolean": ("true", "false"), "double": ("0.375", "7.5")}.get(kind, ("7", "11"))
    return next(text for text in possible if text not in map(as_text, defaults))


@pytest.mark.parametrize("release", known_releases())
def test_the_settings_of_a_release_are_those_of_its_classes(release):
    declared = {
        name: as_text(one["defaults"][release])
        for name, one in RELEASED.items()
        if release in one["defaults"]
    }
    known = {
        name: as_text(one.default(release))
        for name, one in broker_settings().items()
        if one.is_in(release) and name != "failureDomainsEnabled"
    }
    assert known == declared


@pytest.mark.parametrize("release", [None, *known_releases()])
@pytest.mark.parametrize("form", FORMS)
def test_each_setting_of_a_release_is_used_or_named(tmp_path, form, release):
    file = tmp_path / form
    for name, one in RELEASED.items():
        value = another_value(name)
        file.write_text(FORMS[form]({name: value}))
        read = read_settings(file, release)
        kept = WEIGHTS.get(name, name)
        if release is None or release in one["defaults"]:
            assert as_text(read.values[kept]) == value
            assert (read.unused, read.others) == ((), 0)
        else:
            [unused] = read.unused
            assert unused.name == name
            assert "has no such setting" in unused.why


def test_an_upgrade_changes_names_and_defaults(tmp_path, capsys):
    file = tmp_path / "broker.conf"
    file.write_text("loadBalancerBandwithInResourceWeight=0.5\n")
    assert main(["settings", str(file), "--release", "3.0.7"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "changes with Pulsar 4.0.7, the next known release" in out
    assert "loadBalancerDirectMemoryResourceWeight: the default changes from 1.0 to 0.0" in out
    assert "its name becomes loadBalancerBandwidthInResourceWeight; the former name still" in out
    assert "deprecated" not in out
    assert main(["settings", str(file), "--release", "5.0.0-M1"]) == 0
    assert "the next known release" not in capsys.readouterr().out


def test_an_upgrade_over_several_releases_adds_up_their_changes(tmp_path, capsys):
    file = tmp_path / "broker.conf"
    file.write_text("loadBalancerBandwithInResourceWeight=0.5\n")
    both = ["settings", str(file), "--release", "3.0.7", "--to"]
    assert main([*both, "4.2"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "changes with Pulsar 4.2.4 loadBalancer" in out
    assert out.index("changes with") < out.index("in force, with")
    assert "its name becomes loadBalancerBandwidthInResourceWeight" in out
    assert "loadBalancerDirectMemoryResourceWeight: the default changes from 1.0 to 0.0" in out
    assert main([*both, "3.0"]) == 2
    assert "a version after 3.0.7, such as 4.0.7, 4.2.4, 5.0.0;" in capsys.readouterr().err


def test_an_explanation_is_written_as_markdown(tmp_path, capsys):
    file = tmp_path / "broker.conf"
    file.write_text(f"{THRESHOLD}=70\n")
    assert main(["settings", str(file), "--markdown"]) == 0
    out = capsys.readouterr().out
    assert "## in force, with the defaults of Pulsar" in out
    assert f"\n- {THRESHOLD} = 70 (" in out


class Versioned(FakeCluster):
    def answer(self, name, path):
        return "4.0.3" if path.endswith("/brokers/version") else super().answer(name, path)


@pytest.mark.parametrize(("kind", "release"), [(Versioned, "4.0.7"), (FakeCluster, "5.0.0-M1")])
def test_the_settings_of_a_running_broker_are_explained(capsys, kind, release):
    with closing(kind(1)) as cluster:
        cluster.runtime["loadBalancerLoadSheddingInterval"] = "1"
        assert main(["settings", cluster.url]) == 1
    out = capsys.readouterr().out
    assert f"in force, with the defaults of Pulsar {release}" in out
    assert "secret" not in out
    assert main(["settings", cluster.url]) == 2
    assert "nothing listens there" in capsys.readouterr().err
