"""A case without a shape of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference import Settings


@dataclass(frozen=True)
class Plain:
    """A case without a shape of its own: its fields, and its settings."""

    case: Json
    settings: Settings

    def __getitem__(self, name: str) -> Any:
        return self.case[name]
