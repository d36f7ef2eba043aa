"""The choice of a load manager as a question."""

from __future__ import annotations

from dataclasses import dataclass

from pulsar_conformance.conformance.common.operation import Operation, same_field
from pulsar_conformance.reference.managers import MODULAR, SIMPLE


@dataclass(frozen=True)
class Places:
    """The two places that may name a load manager's class."""

    conf: str | None
    dynamic: str | None


@dataclass(frozen=True)
class ChosenManager:
    """The manager as answered, or the refusal."""

    manager: str | None
    refused: str | None

    def __str__(self) -> str:
        return self.manager or f"refused: {self.refused}"


CHOOSE = Operation(
    id="manager.choose",
    view=lambda case, _settings, _readings: Places(case["conf"], case["dynamic"]),
    read=lambda _case, answer: ChosenManager(answer.get("manager"), answer.get("refused")),
    matches=same_field("manager"),
    examples=tuple({"conf": None, "dynamic": name} for name in (MODULAR, SIMPLE)),
    refusable=True,
)
