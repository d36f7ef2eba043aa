"""Settings of a case: given values, else documented defaults. [CONFIG]"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pulsar_conformance.reference.numbers import Fraction, exact

Value = str | float | int | bool | None


class MissingSetting(LookupError):
    """A setting without a documented default that the answer depends on and the case leaves out."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has no documented default; the case must set it")
        self.name = name


@dataclass(frozen=True)
class Settings:
    """`broker.conf` settings of one case over the documented defaults of a profile."""

    given: Mapping[str, Value]
    defaults: Mapping[str, Value]

    def value(self, name: str) -> Value:
        """The effective value. Errors: `MissingSetting`."""
        if name in self.given:
            return self.given[name]
        if name in self.defaults:
            return self.defaults[name]
        raise MissingSetting(name)

    def number(self, name: str) -> Fraction:
        """A numeric setting, exact."""
        value = self.value(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise MissingSetting(name)
        return exact(value)

    def flag(self, name: str) -> bool:
        """A switch; false if it has no default and is left out."""
        try:
            return self.value(name) is True
        except MissingSetting:
            return False

    def text(self, name: str) -> str:
        """A name, such as that of an algorithm or a class."""
        value = self.value(name)
        if not isinstance(value, str) or not value:
            raise MissingSetting(name)
        return value
