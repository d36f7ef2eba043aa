"""The classes of each release confirm its settings, and differences from the documents that no case
shows.
"""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.pulsar.versions import releases
from pulsar_conformance.conformance.compare.changes_text import profile_of
from pulsar_conformance.specs.broker import broker_settings, default_in, every_release

pytestmark = pytest.mark.pulsar

TESTS = Path(__file__).parents[2]
BUNDLES = "defaultNumberOfNamespaceBundles"
BEFORE_2_11 = ("2.4.2", "2.10.5")
"""Releases without a setting for the placement strategy."""


@functools.cache
def asked(version):
    command = [sys.executable, "-m", "release_cases.configured", version, *broker_settings()]
    path = os.pathsep.join((str(TESTS), *sys.path))
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_the_releases_with_known_settings_are_those_with_known_classes():
    assert list(every_release()) == list(releases())


@pytest.mark.parametrize("version", releases())
def test_each_release_has_the_settings_and_defaults_of_the_data(version):
    known = {name: default_in(name, version) for name in broker_settings()}
    empty = (None, "")
    own = {name: one for name, one in asked(version)["defaults"].items() if one not in empty}
    assert own == {name: one for name, one in known.items() if one not in empty}


@pytest.mark.parametrize("version", releases())
@pytest.mark.parametrize("way", ["bad-shedder", "bad-placer"])
def test_a_strategy_that_does_not_exist_has_the_effect_that_the_profile_names(version, way):
    taken = specs.load().ways_of(profile_of(version))[way]
    if taken == "unspoken":
        assert version in BEFORE_2_11
        return
    assert asked(version)[way] == taken


@pytest.mark.parametrize("version", releases())
def test_a_bundle_that_placement_would_return_to_its_owner_is_unloaded_as_the_profile_says(version):
    taken = specs.load().ways_of(profile_of(version))["destination"]
    assert (asked(version)["destination"] == "asked") == (taken == "asked")


@pytest.mark.parametrize("version", releases())
@pytest.mark.parametrize("way", ["kept-averages", "unsupported-algorithm", "unreachable-metadata"])
def test_what_no_case_can_show_is_done_as_the_profile_says(version, way):
    found = asked(version)[way]
    assert found in ("unspoken", specs.load().ways_of(profile_of(version))[way])


def test_a_null_setting_has_its_documented_default():
    """The class of 5.0.0-M1 has 4 bundles as its own default; its documents say 32."""
    cases = [{"bundles": None, "settings": one} for one in ({}, {BUNDLES: None}, {BUNDLES: 8})]
    with connect("pulsar:5.0.0-M1", "documented-5.0", {}) as connection:
        answers = connection.ask("bundles.create", cases)
    assert [len(one["boundaries"]) - 1 for one in answers] == [32, 32, 8]
