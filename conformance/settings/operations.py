"""The defaults of settings as a question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulsar_conformance.conformance.common.operation import FlatCase, Operation
from pulsar_conformance.conformance.common.trial import Json


def _defaults(_case: FlatCase, answer: Json) -> Mapping[str, Any]:
    """The defaults by name."""
    settings: Mapping[str, Any] = answer["settings"]
    return settings


def _matches(allowed: Json, answer: Json) -> bool:
    """An implementation may have more settings than an example names."""
    answered = answer["settings"]
    return all(_same(value, answered.get(name)) for name, value in allowed["settings"].items())


def _same(allowed: Any, answered: Any) -> bool:
    if allowed in (None, ""):
        return answered in (None, "")
    # A Python boolean is a number, too.
    return isinstance(allowed, bool) == isinstance(answered, bool) and bool(allowed == answered)


DEFAULTS = Operation(
    id="settings.defaults",
    view=lambda case, settings, _readings: FlatCase(case, settings),
    read=_defaults,
    matches=_matches,
    examples=({},),
)
