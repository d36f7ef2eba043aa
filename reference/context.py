"""What an answer of the model is made from: a case, the settings in force, the readings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulsar_conformance.reference.chance import Turns
from pulsar_conformance.reference.derivation import Derivation
from pulsar_conformance.reference.readings import Readings
from pulsar_conformance.reference.released.release import ReleasedWays
from pulsar_conformance.reference.settings import Settings, Value

Case = Mapping[str, Any]


class Refused(Exception):
    """A request that the rules turn down, with the reason in words."""


@dataclass(frozen=True)
class Context:
    """The profile's defaults, the readings and the release, given once."""

    defaults: Mapping[str, Value]
    readings: Readings
    release: ReleasedWays | None = None
    """What a released profile does otherwise than its documents."""
    turns: Turns = field(default_factory=Turns)

    def turn(self, case: Case) -> int:
        """How often a case was asked before that the documents leave to chance."""
        return self.turns.next(case)

    def settings(self, case: Case) -> Settings:
        """The settings in force in a case."""
        return Settings(case.get("settings", {}), self.defaults)


Answer = Callable[[Context, Case], Derivation]
"""How an operation is answered. Errors: `Refused`, `MissingSetting`."""
