"""Context of an answer: effective settings, readings and release."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from pulsar_conformance import specs
from pulsar_conformance.reference.derivation import Derivation
from pulsar_conformance.reference.numbers import Fraction, exact
from pulsar_conformance.reference.ranges import (
    HASH_OF_RELEASES,
    HASH_OF_RULE,
    HASH_RULE,
    UNSTATED_HASH,
)

Value = str | float | int | bool | None

NUMBER = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*", re.ASCII)
"""Pattern of a number that is given as a string, as in broker.conf and in the admin API."""


KEPT_CONTEXTS = 256
"""Maximum number of cached contexts, one for each combination of profile and readings."""

UNLIMITED = Fraction(1 << 80)
"""The value of a limit that is switched off: no quantity exceeds it."""


class MissingSetting(LookupError):
    """Raised if an answer depends on a setting that neither the case nor the documents give."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has no documented default; the case must set it")
        self.name = name


@dataclass(frozen=True)
class Settings:
    """The `broker.conf` settings of a case, with a profile's documented defaults."""

    given: Mapping[str, Value]
    defaults: Mapping[str, Value]

    def value(self, name: str) -> Value:
        """Return the effective value of a setting. Errors: `MissingSetting`."""
        known = self._documented
        if name not in known.unused:
            for given in (known.renamed.get(name, name), name):
                if self.given.get(given) is not None:
                    return self.given[given]
        if name in self.defaults:
            return self.defaults[name]
        raise MissingSetting(name)

    @property
    def _documented(self) -> specs.Defaults:
        """The profile's defaults, which also list unused and renamed settings."""
        return self.defaults if isinstance(self.defaults, specs.Defaults) else specs.Defaults()

    @property
    def any_range(self) -> bool:
        """True if values outside the documented ranges are accepted, as releases accept them."""
        return self._documented.any_range

    def counts(self, name: str) -> bool:
        """True unless the documents of the profile say that the setting is unused."""
        return name not in self._documented.unused

    def number(self, name: str) -> Fraction:
        """Return a numeric setting as an exact number."""
        value = self.value(name)
        if isinstance(value, str) and NUMBER.fullmatch(value):
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise MissingSetting(name)
        return exact(value)

    def limit(self, name: str) -> Fraction:
        """Return a numeric limit, or `UNLIMITED` for the value documented as unlimited."""
        value = self.number(name)
        return UNLIMITED if value == self._documented.unlimited.get(name) else value

    def flag(self, name: str) -> bool:
        """Return a boolean setting; false if it is absent and has no default."""
        try:
            value = self.value(name)
            return value is True or (isinstance(value, str) and value.lower() == "true")
        except MissingSetting:
            return False

    def text(self, name: str) -> str:
        """Return a string setting, such as an algorithm or a class name."""
        value = self.value(name)
        if not isinstance(value, str) or not value:
            raise MissingSetting(name)
        return value


@dataclass(frozen=True)
class Readings:
    """The chosen alternative of each reading.

    `choices` maps a reading's ID to the alternative's value, as named in `specs/readings.yaml`.
    """

    choices: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", MappingProxyType(dict(self.choices)))

    @classmethod
    def of(cls, profile: str, chosen: Mapping[str, str] | None = None) -> Readings:
        """Return a profile's readings, with those in `chosen` replaced.

        Errors: `specs.UnknownName` for an unknown profile, reading or value.
        """
        bundled = specs.load()
        taken = chosen or {}
        bundled.check_readings(taken)
        return cls({**bundled.default_readings(profile), **taken})

    def __getitem__(self, name: str) -> str:
        return self.choices[name]

    def with_value(self, name: str, value: str) -> Readings:
        """Return the readings with one value changed."""
        return Readings({**self.choices, name: value})


if TYPE_CHECKING:
    from pulsar_conformance.reference.released.release import ReleasedWays

Case = Mapping[str, Any]


class WithoutAnswer(Exception):
    """Raised for a question that cannot be answered; the message gives the reason."""

    how: ClassVar[str]
    """Name of the field of the answer that holds the reason."""


class Refused(WithoutAnswer):
    """Raised for a request that the rules refuse."""

    how = "refused"


@dataclass(frozen=True)
class Context:
    """Inputs of an answer besides the case: a profile's defaults, readings and release.

    Random choices are reproducible: the same questions in the same order get the same answers. If a
    question is repeated, the candidates take turns. [PLACE-05]
    """

    defaults: Mapping[str, Value]
    readings: Readings
    release: ReleasedWays | None = None
    """The behavior of the release that the profile describes; None if the profile describes
    documents.
    """
    dropped: frozenset[str] = frozenset()
    """Rules of earlier documents that the documents of the profile withdrew."""
    hash_note: str = UNSTATED_HASH
    """Note for derivations on how topic names are hashed."""
    _asked: dict[bytes, Iterator[int]] = field(
        default_factory=lambda: defaultdict(count), init=False, repr=False, compare=False
    )

    @classmethod
    def of(cls, profile: str, readings: Mapping[str, str] | None, neutral: bool) -> Context:
        """Return a new context of a profile, in which no question has been asked yet.

        Errors: `specs.UnknownName`.
        """
        chosen = tuple((name, str(value)) for name, value in (readings or {}).items())
        return replace(
            _build_context(profile, chosen, neutral)
        )  # Each copy counts its own questions.

    def turn(self, case: Case) -> int:
        """Return the number of earlier calls for the same case.

        The number selects which of several equally good candidates is chosen.
        """
        text = json.dumps(case, sort_keys=True)
        return next(self._asked[hashlib.sha256(text.encode()).digest()])

    def settings(self, case: Case) -> Settings:
        """Return the effective settings of a case. Errors: as for the release's `settings_of`."""
        given = case.get("settings", {})
        if self.release is not None:
            return self.release.settings(given, self.defaults)
        return Settings(given, self.defaults)


@lru_cache(KEPT_CONTEXTS)
def _build_context(profile: str, readings: tuple[tuple[str, str], ...], neutral: bool) -> Context:
    bundled = specs.load()
    release = None
    if bundled.profile(profile).kind == "released":
        from pulsar_conformance.reference.released.release import ReleasedWays

        release = ReleasedWays.of(profile, neutral)
    followed = Readings.of(profile, dict(readings))
    dropped = bundled.dropped(profile)
    return Context(bundled.defaults(profile), followed, release, dropped, _hash_note(profile))


def _hash_note(profile: str) -> str:
    """Return the note on how topic names are hashed under a profile.

    If no rule names the hash function, the note says that other functions are allowed.
    """
    if specs.load().profile(profile).kind == "released":
        return HASH_OF_RELEASES
    stated = any(rule.id == HASH_RULE for rule in specs.load().rules_of(profile))
    return HASH_OF_RULE if stated else UNSTATED_HASH


Answer = Callable[[Context, Case], Derivation]
"""Function that answers a case of an operation. Errors: `Refused`, `MissingSetting`."""
