"""The door of the model: an operation and a case in, an answer and its derivation out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.reference.answers import ANSWERS
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.door import Case, Door, Refused
from pulsar_conformance.reference.readings import Readings
from pulsar_conformance.reference.released.release import ReleasedWays


class Model:
    """The documented rules of one profile, under one set of readings; or what a release does.

    With `neutral`, the settings of a release that no document names stand where they do nothing.

    Equal questions get equal answers, but for what the documents leave to chance: there the
    choices take turns, beginning with the first.

    Errors: `specs.UnknownName` for a profile or reading that there is not; `MissingSetting` from
    `answer` where a case leaves out a setting that has no documented default.
    """

    operations = tuple(ANSWERS)
    """The questions that the model answers."""

    def __init__(
        self, profile: str, readings: Mapping[str, str] | None = None, neutral: bool = False
    ) -> None:
        self.profile = profile
        self.readings = Readings.of(profile, readings)
        self.defaults = specs.load().defaults(profile)
        self._door = Door(self.defaults, self.readings, ReleasedWays.of(profile, neutral))

    def by(self, defaults: dict[str, Any]) -> Model:
        """A model of the same readings, by other defaults."""
        other = Model(self.profile, self.readings.choices)
        other.defaults = defaults
        other._door = Door(defaults, other.readings)
        return other

    def answer(self, operation: str, case: Case) -> dict[str, Any]:
        """The answer to a legal case."""
        return dict(self.derive(operation, case).answer)

    def derive(self, operation: str, case: Case) -> Derivation:
        """The answer to a legal case, and how it comes about."""
        release = self._door.release
        unsayable = release.unsayable(case.get("settings", {})) if release else None
        if unsayable is not None:
            return Derivation({"unsupported": unsayable}, lambda: (Step("refused", unsayable),))
        try:
            return ANSWERS[operation](self._door, case)
        except Refused as refused:
            why = str(refused)
            return Derivation({"refused": why}, lambda: (Step("refused", why),))
