"""Configurations from a case's settings, built by the release's own configuration loader."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pulsar_conformance.adapters.pulsar.jvm import Java, field, java_class

LOADER = "org.apache.pulsar.common.configuration.PulsarConfigurationLoader"
CONFIGURATION = "org.apache.pulsar.broker.ServiceConfiguration"
WHOLE_NUMBER_TYPES = frozenset({"int", "long", "java.lang.Integer", "java.lang.Long"})
"""Types for which the configuration loader accepts only digits as a value."""


MAX_OF_TYPE = {
    "int": 2**31 - 1,
    "java.lang.Integer": 2**31 - 1,
    "long": 2**63 - 1,
    "java.lang.Long": 2**63 - 1,
}
"""Largest value of each Java integer type."""


class Inexpressible(Exception):
    """Raised for a value that broker.conf cannot express in this release."""


def resource_weight(configuration: Java, resource: str) -> float:
    """Return the weight of a resource, as strategies read it.

    In 4.0, the spelling `Bandwith` in names of settings was corrected.
    """
    names = (resource, resource.replace("Bandwidth", "Bandwith"))
    getters = (f"getLoadBalancer{name}ResourceWeight" for name in names)
    return float(
        next(getattr(configuration, one) for one in getters if hasattr(configuration, one))()
    )


class Configurations:
    """Builder of configurations from a case's settings and defaults."""

    def __init__(self, defaults: Mapping[str, Any]) -> None:
        self._defaults = dict(defaults)
        self._loader = java_class(LOADER)
        self._kind = java_class(CONFIGURATION)
        self._types: dict[str, str | None] = {}

    def of(self, settings: Mapping[str, Any]) -> Java:
        """Return a `ServiceConfiguration`; unknown settings are ignored, as the release does.

        A setting that is null has its documented default, like one that is absent.

        Errors: `Inexpressible` for a value that the release's field cannot hold.
        """
        known = {name: value for name, value in settings.items() if value is not None}
        given = {**self._defaults, **known}.items()
        lines = [_line(name, self._format_value(name, value)) for name, value in given]
        properties = java_class("java.util.Properties")()
        properties.load(java_class("java.io.StringReader")("\n".join(lines)))
        return self._loader.create(properties, self._kind.class_)

    def knows(self, name: str) -> bool:
        """True if the release has a setting."""
        return self.type_of(name) is not None

    def type_of(self, name: str) -> str | None:
        """Return a setting's Java type; None if the release does not have it."""
        if name not in self._types:
            found = field(self._kind, name)
            self._types[name] = None if found is None else str(found.getType().getName())
        return self._types[name]

    def names(self) -> list[str]:
        """Return all settings of the release."""
        return [str(one.getName()) for one in self._kind.class_.getDeclaredFields()]

    def default(self, name: str) -> Java:
        """Return the release's own default of a setting."""
        empty = self._loader.create(java_class("java.util.Properties")(), self._kind.class_)
        found = field(self._kind, name)
        return None if found is None else found.get(empty)

    def _format_value(self, name: str, value: Any) -> str:
        """Format a value as broker.conf contains it. Errors: `Inexpressible`."""
        if value is None:
            return ""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, int | float):
            most = MAX_OF_TYPE.get(self.type_of(name) or "", math.inf)
            if abs(value) > most:
                raise Inexpressible(f"{name} is at most {most} in this release, not {value}")
            if value == int(value):
                return str(int(value))
            if self.type_of(name) in WHOLE_NUMBER_TYPES:
                raise Inexpressible(f"{name} takes whole numbers in this release, not {value}")
        return str(value)


def _line(name: str, value: str) -> str:
    """Return a line of broker.conf, with line breaks escaped."""
    return f"{name}={value}".replace("\n", "\\n")
