"""The jars of released Pulsar, for tests that compile classes against them."""

from pathlib import Path

from pulsar_conformance.adapters.pulsar.connect import released_jars
from pulsar_conformance.adapters.pulsar.target import Target


def library_of(version: str) -> Path:
    """Return the folder of a release's jars; it is downloaded if it is missing."""
    return released_jars(Target.parse(version))[1]
