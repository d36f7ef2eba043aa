"""Settings of the releases: the data for commands agree with the data in the model."""

import pytest
from pulsar_conformance.reference.released.configuration import FIELDS, default_of, version_of
from pulsar_conformance.specs.broker import (
    broker_data,
    broker_settings,
    is_unlisted,
    known_releases,
    release_line,
)
from pulsar_conformance.specs.errors import UnknownName


@pytest.mark.parametrize("release", known_releases())
@pytest.mark.parametrize("name", sorted(FIELDS.keys() & broker_settings().keys()))
def test_the_model_and_the_data_have_the_same_defaults(name, release):
    setting = broker_settings()[name]
    own = FIELDS[name].defaults
    if min(own) > version_of(release):
        assert not setting.is_in(release)
    else:
        assert (default_of(name, version_of(release)) or None) == (setting.default(release) or None)


def test_what_broker_conf_lacks_are_settings_listed_once():
    unlisted = broker_data()["unlisted"]
    names = [name for each in unlisted["settings"].values() for name in each]
    assert len(names) == len(set(names))
    assert set(names) <= broker_settings().keys()
    assert unlisted["newest"] in known_releases()
    assert all(release_line(first) for first in unlisted["settings"])


@pytest.mark.parametrize(
    ("version", "expected"),
    [("2.9.1", False), ("2.10.1", True), ("v4.2.4", True), ("5.0.0-M1", True), ("5.0.0", False)],
)
def test_only_versions_whose_broker_conf_is_known_lack_a_line(version, expected):
    assert is_unlisted("minUnloadMessage", version) is expected
    assert not is_unlisted("loadBalancerEnabled", version)
    with pytest.raises(UnknownName):
        is_unlisted("minUnloadMessage", "newest")
