"""What a view is; a case without a shape of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pulsar_conformance.conformance.trial import Json
from pulsar_conformance.reference import Readings, Settings

CaseView = Callable[[Json, Settings, Readings], Any]
"""A case, the settings in force and the readings, as a check sees them."""

AnswerView = Callable[[Any, Json], Any]
"""The view of the case and the answer, as a check sees them."""


@dataclass(frozen=True)
class Plain:
    """A case without a shape of its own: its fields, and its settings."""

    case: Json
    settings: Settings

    def __getitem__(self, name: str) -> Any:
        return self.case[name]
