"""The readings that a model follows."""

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
        """Return a profile's readings, overridden by the chosen ones.

        Errors: `specs.UnknownName` for an unknown profile, reading or value.
        """
        bundled = specs.load()
        taken = chosen or {}
        bundled.check_readings(taken)
        return cls({**bundled.default_readings(profile), **taken})

    def __getitem__(self, name: str) -> str:
        return self.choices[name]

    def but(self, name: str, value: str) -> Readings:
        """Return the readings with one of them changed."""
        return Readings({**self.choices, name: value})
