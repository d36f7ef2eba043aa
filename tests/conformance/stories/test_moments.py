"""The facts that are certain about a cluster after each event of a story."""

from pulsar_conformance.conformance.stories.world import moments
from pulsar_conformance.reference import Settings

DEFAULT = "defaultNumberOfNamespaceBundles"
CREATED = {"namespace": {"name": "shop/eu"}}


def bundles_after(*events):
    *_, last = moments([*events, CREATED], Settings({}, {DEFAULT: 4}))
    return last.spaces["shop/eu"]


def setting(value, how):
    return {"setting": {"name": DEFAULT, "value": value, "how": how}}


def test_a_default_changed_before_brokers_start_is_certain():
    assert bundles_after(setting(1, "conf")) == 1
    assert bundles_after(setting(1, "dynamic")) == 1


def test_a_file_does_not_certainly_replace_a_dynamic_value():
    assert bundles_after(setting(2, "dynamic"), setting(1, "conf")) is None
    assert bundles_after(setting(2, "conf"), setting(1, "dynamic")) == 1
