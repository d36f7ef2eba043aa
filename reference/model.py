"""The context of the model: an operation and a case in, an answer and its derivation out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.reference.answers import ANSWERS
from pulsar_conformance.reference.context import Case, Context, Refused
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.readings import Readings
from pulsar_conformance.reference.released import answers
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
        self._door = Context(self.defaults, self.readings, ReleasedWays.of(profile, neutral))

    def by(self, defaults: dict[str, Any]) -> Model:
        """A model of the same readings, by other defaults."""
        other = Model(self.profile, self.readings.choices)
        other.defaults = defaults
        other._door = Context(defaults, other.readings, self._door.release)
        return other

    def otherwise(
        self,
        ways: Mapping[str, str],
        readings: Mapping[str, str],
        defaults: Mapping[str, Any],
        hidden: Mapping[str, Any],
    ) -> Model:
        """The same model, but for some ways of its release, some readings and some defaults.

        A default of None is left out. `hidden` has settings that the release may lack.
        """
        other = Model(self.profile, {**self.readings.choices, **readings})
        every = {**self.defaults, **defaults}
        gone = {name for name, value in defaults.items() if value is None}
        other.defaults = {name: value for name, value in every.items() if name not in gone}
        release = self._door.release
        if release is not None:
            every = {**hidden, **release.hidden}
            release = replace(release, ways={**release.ways, **ways}, hidden=every)
        other._door = Context(other.defaults, other.readings, release)
        return other

    def answer(self, operation: str, case: Case) -> dict[str, Any]:
        """The answer to a legal case."""
        return dict(self.derive(operation, case).answer)

    def derive(self, operation: str, case: Case) -> Derivation:
        """The answer to a legal case, and how it comes about."""
        release = self._door.release
        unsupported = answers.why_unsupported(case, release) if release is not None else None
        if unsupported is not None:
            return unsupported
        try:
            return ANSWERS[operation](self._door, case)
        except Refused as refused:
            why = str(refused)
            return Derivation({"refused": why}, lambda: (Step("refused", why),))
