"""Answers to settings.defaults: the values in the release's own loader for an empty broker.conf."""

from __future__ import annotations

from typing import Any

import jpype
from pulsar_conformance.adapters.pulsar.jvm import Java
from pulsar_conformance.adapters.pulsar.release import Answer, Case, Release
from pulsar_conformance.specs import load


def defaults(release: Release, _case: Case) -> Answer:
    """Return the documented settings that the release has, with their defaults."""
    named = dict.fromkeys((*load().settings, *release.defaults))
    known = filter(release.configurations.knows, named)
    found = {name: _value(release.configurations.default(name)) for name in known}
    return {"settings": {name: value for name, value in found.items() if value is not None}}


def _value(java: Java) -> Any:
    """Convert a Java value to JSON; None if it is not set."""
    if java is None:
        return None
    if isinstance(java, jpype.JClass("java.util.Optional")):
        return _value(java.orElse(None))
    if isinstance(java, jpype.JClass("java.lang.Boolean")):
        return bool(java)
    if isinstance(java, jpype.JClass("java.lang.Number")):
        number = float(java.doubleValue())
        return int(number) if number == int(number) else number
    if isinstance(java, jpype.JClass("java.util.Collection")):
        return ",".join(map(str, java))
    return str(java)
