"""The configuration that a running broker returns, which has every setting with its value."""

import json

import pytest
from pulsar_conformance.conformance.cases.settings_files import read_settings
from pulsar_conformance.conformance.commands.main import main

NEW, OLD = "loadBalancerBandwidthInResourceWeight", "loadBalancerBandwithInResourceWeight"
EXCLUDED = "loadBalancerSheddingExcludedNamespaces"
ALGORITHMS = "supportedNamespaceBundleSplitAlgorithms"


@pytest.fixture
def settings(tmp_path, capsys):
    """Return a function that writes a file and runs `settings`: it returns the status and JSON."""

    def of_file(name, text):
        file = tmp_path / name
        file.write_text(text)
        status = main(["settings", str(file), "--release", "4.2.4", "--json"])
        return status, json.loads(capsys.readouterr().out)

    return of_file


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_names_on_one_line_the_value_that_counts_is_in_force(settings, tmp_path, turned):
    both = {OLD: "1.0", NEW: "0.5"}
    text = json.dumps(dict(reversed(both.items())) if turned else both)
    status, found = settings("runtime.json", text)
    assert found["inForce"][OLD]["value"] == 0.5
    assert [one["name"] for one in found["withoutEffect"]] == [OLD]
    assert status == 1
    assert read_settings(tmp_path / "runtime.json").newer_names == {OLD: NEW}
    assert main(["settings", str(tmp_path / "runtime.json"), "--release", "4.2.4"]) == 1


def test_the_former_name_counts_while_the_new_one_has_its_default(settings, tmp_path):
    status, found = settings("runtime.json", json.dumps({OLD: "0.5", NEW: "1.0"}))
    assert (found["inForce"][OLD]["value"], found["withoutEffect"], status) == (0.5, [], 0)
    assert read_settings(tmp_path / "runtime.json").newer_names == {}


def test_a_value_that_other_settings_disable_is_not_in_force(settings):
    both = {OLD: "1.0", NEW: "0.5", "loadBalancerTransferEnabled": "false"}
    _, found = settings("runtime.json", json.dumps(both))
    assert list(found["inForce"]) == [OLD]


@pytest.mark.parametrize(
    ("name", "text"),
    [("runtime.json", json.dumps({EXCLUDED: "[]"})), ("broker.conf", f"{EXCLUDED}=\n")],
)
def test_an_empty_list_that_is_the_default_is_not_misread(settings, name, text):
    status, found = settings(name, text)
    assert (status, found["takenForAnotherValue"]) == (0, [])
    assert found["inForce"][EXCLUDED]["value"] == found["inForce"][EXCLUDED]["default"] == ""


def test_an_empty_list_in_place_of_another_default_is_misread(settings):
    status, found = settings("broker.conf", f"{ALGORITHMS}=\n")
    assert [one["name"] for one in found["takenForAnotherValue"]] == [ALGORITHMS]
    assert status == 1
