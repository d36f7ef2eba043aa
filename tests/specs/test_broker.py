"""Settings of the releases: the data that readers use and the model's own agree."""

import pytest
from pulsar_conformance.reference.released.configuration import FIELDS, default_of, version_of
from pulsar_conformance.specs.broker import broker_settings, known_releases


@pytest.mark.parametrize("release", known_releases())
@pytest.mark.parametrize("name", sorted(FIELDS.keys() & broker_settings().keys()))
def test_the_model_and_the_data_have_the_same_defaults(name, release):
    setting = broker_settings()[name]
    own = FIELDS[name].defaults
    if min(own) > version_of(release):
        assert not setting.is_in(release)
    else:
        assert (default_of(name, version_of(release)) or None) == (setting.default(release) or None)
