"""What an invariant is: what the schemas cannot say."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pulsar_conformance.conformance.trial import Json
from pulsar_conformance.reference import Readings, Settings

Problems = Iterator[str]
"""What is wrong with a case, with the place."""

Invariant = Callable[[Json, Settings], Problems]

Needed = Callable[[Json, Settings, Readings], None]
"""Asks for a setting that the answer depends on under some readings alone.

Errors: `MissingSetting`.
"""


def none(_case: Json, _settings: Settings) -> Problems:
    """The schema says it all."""
    return iter(())
