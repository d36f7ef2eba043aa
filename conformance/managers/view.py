"""The choice of a load manager as checks see it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Choosing:
    """The two places that may name a load manager's class."""

    conf: str | None
    dynamic: str | None


@dataclass(frozen=True)
class Chooses:
    """The manager as answered, or the refusal."""

    manager: str | None
    refused: str | None

    def __str__(self) -> str:
        return self.manager or f"refused: {self.refused}"
