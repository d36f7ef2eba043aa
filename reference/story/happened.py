"""What came of one event, as it is answered and as it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.story.world import World

Telling = Callable[[], Iterable[Step]]


class Ignored(Exception):
    """An event without sense where the story stands, with the reason in words."""


@dataclass
class Happened:
    """Who was assigned what, what was unloaded and split, and who decided that."""

    assigned: list[dict[str, Any]] = field(default_factory=list)
    unloaded: list[dict[str, Any]] = field(default_factory=list)
    split: list[dict[str, Any]] = field(default_factory=list)
    decided_by: str | None = None
    told: list[Telling] = field(default_factory=list)

    def tell(self, label: str, text: str) -> None:
        """Notes what came about without any calculation."""
        self.told.append(lambda: (Step(label, text),))

    def step(self, world: World, owners: dict[str, str | None]) -> dict[str, Any]:
        """The step that answers the event."""
        step: dict[str, Any] = {"owners": owners, "leader": world.leader}
        lists = {"assigned": self.assigned, "unloaded": self.unloaded, "split": self.split}
        step |= {name: found for name, found in lists.items() if found}
        if self.decided_by is not None:
            step["decidedBy"] = self.decided_by
        return step
