"""The readings that a model follows: given once, at its context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pulsar_conformance import specs


@dataclass(frozen=True)
class Readings:
    """One alternative chosen for each place where the documents leave a choice.

    `choices` maps a reading's ID to its value, as `specs/readings.yaml` names them.
    """

    choices: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", MappingProxyType(dict(self.choices)))

    @classmethod
    def of(cls, profile: str, chosen: Mapping[str, str] | None = None) -> Readings:
        """A profile's readings, with those chosen in their place.

        Errors: `specs.UnknownName` for a profile, a reading or a value that there is not.
        """
        bundled = specs.load()
        taken = chosen or {}
        bundled.check_readings(taken)
        return cls({**bundled.default_readings(profile), **taken})

    def __getitem__(self, name: str) -> str:
        return self.choices[name]

    def but(self, name: str, value: str) -> Readings:
        """The same readings, one of them taken the other way."""
        return Readings({**self.choices, name: value})
