"""The choice of a load manager as checks see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pulsar_conformance.conformance.views.plain import AnswerView, CaseView


@dataclass(frozen=True)
class Choosing:
    """The two places where a class is named, or is not."""

    conf: str | None
    dynamic: str | None


@dataclass(frozen=True)
class Chooses:
    """The manager as answered, or the refusal."""

    manager: str | None
    refused: str | None

    def __str__(self) -> str:
        return self.manager or f"refused: {self.refused}"


CASES: Mapping[str, CaseView] = {
    "manager.choose": lambda case, _settings, _readings: Choosing(case["conf"], case["dynamic"]),
}

ANSWERS: Mapping[str, AnswerView] = {
    "manager.choose": lambda _case, answer: Chooses(answer.get("manager"), answer.get("refused")),
}
