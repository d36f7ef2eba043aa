"""Context of an answer: the settings in force, the readings, the release."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar

from pulsar_conformance import specs
from pulsar_conformance.reference.derivation import Derivation
from pulsar_conformance.reference.readings import Readings
from pulsar_conformance.reference.settings import Settings, Value

if TYPE_CHECKING:
    from pulsar_conformance.reference.released.release import ReleasedWays

Case = Mapping[str, Any]


class WithoutAnswer(Exception):
    """Raised where there is no answer, with the reason."""

    how: ClassVar[str]
    """The field of the protocol that holds the reason."""


class Refused(WithoutAnswer):
    """Raised for a request that the rules refuse."""

    how = "refused"


@dataclass(frozen=True)
class Context:
    """Defaults and readings of the profile, and its release.

    Chance is repeatable: the same questions in the same order get the same answers, and a question
    that is asked as often as there are choices gets each of them. [PLACE-05]
    """

    defaults: Mapping[str, Value]
    readings: Readings
    release: ReleasedWays | None = None
    """The release of a released profile; None for documents."""
    _asked: dict[bytes, Iterator[int]] = field(
        default_factory=lambda: defaultdict(count), init=False, repr=False, compare=False
    )

    @classmethod
    def of(cls, profile: str, readings: Mapping[str, str] | None, neutral: bool) -> Context:
        """Return the context of a profile. Errors: `specs.UnknownName`."""
        bundled = specs.load()
        release = None
        if bundled.profile(profile).kind == "released":
            from pulsar_conformance.reference.released.release import ReleasedWays

            release = ReleasedWays.of(profile, neutral)
        return cls(bundled.defaults(profile), Readings.of(profile, readings), release)

    def turn(self, case: Case) -> int:
        """Return how often a case was asked before, to choose the next of equal candidates."""
        text = json.dumps(case, sort_keys=True)
        return next(self._asked[hashlib.sha256(text.encode()).digest()])

    def settings(self, case: Case) -> Settings:
        """The settings in force in a case. Errors: those of a release's `settings_of`."""
        given = case.get("settings", {})
        if self.release is not None:
            return self.release.settings(given, self.defaults)
        return Settings(given, self.defaults)


Answer = Callable[[Context, Case], Derivation]
"""Function that answers an operation. Errors: `Refused`, `MissingSetting`."""
