"""Values for settings of brokers."""

from pulsar_conformance.specs.broker import known_releases

OTHER = {"integer": "7", "number": "0.5", "class": "org.example.other"}
"""For each type of setting, a value that is no default of such a setting."""


def other_value(setting):
    """Return a value of a setting other than its default, as text."""
    if setting.type == "boolean":
        return str(not setting.default(known_releases()[-1])).lower()
    return OTHER.get(setting.type, "other")
