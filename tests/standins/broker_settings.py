"""Values for settings of brokers."""

from pulsar_conformance.specs.broker import known_releases

OTHER = {"integer": "7", "number": "0.5", "class": "org.example.other"}
"""Values that no setting of a type has by default."""


def other_value(setting):
    """A value other than the default, as text."""
    if setting.type == "boolean":
        return str(not setting.default(known_releases()[-1])).lower()
    return OTHER.get(setting.type, "other")
