"""Behavior of versions, found in their sources by a reader who did not know the model."""

from pathlib import Path

import pytest
import yaml
from pulsar_conformance.specs.judged import newest_of_line, ways_of_version
from pulsar_conformance.specs.loading import load

READ = yaml.safe_load(Path(__file__).with_name("ways_of_versions.yaml").read_text("utf-8"))


@pytest.mark.parametrize("way", READ)
def test_a_version_takes_the_alternative_that_its_sources_have(way):
    assert READ[way].keys() <= load().ways[way].alternatives.keys()
    read = {version: taken for taken, versions in READ[way].items() for version in versions}
    assert {version: ways_of_version(version)[way] for version in read} == read


def test_nearly_every_way_was_read():
    assert load().ways.keys() - READ.keys() == {"shedders"}
    assert sum(len(versions) for each in READ.values() for versions in each.values()) > 1300


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("2.10", "2.10.5"),
        ("3.0", "3.0.7"),
        ("3.1", "3.1.2"),
        ("4.0", "4.0.7"),
        ("4.2", "4.2.4"),
        ("2.10.1", "2.10.1"),
        ("4.1", "4.1"),
        ("5.0", "5.0"),
        ("7.0", "7.0"),
    ],
)
def test_a_line_means_its_newest_examined_version(given, meant):
    assert newest_of_line(given) == meant
