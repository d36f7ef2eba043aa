"""The outcome of one event: the answer and its derivation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import jsonable
from pulsar_conformance.reference.story.world import World

Explanation = Callable[[], Iterable[Step]]


class Ignored(Exception):
    """Raised for an event that makes no sense in the current state, with the reason."""


@dataclass
class EventResult:
    """Outcome of an event: assignments, unloads, splits and written data."""

    assigned: list[dict[str, Any]] = field(default_factory=list)
    unloaded: list[dict[str, Any]] = field(default_factory=list)
    split: list[dict[str, Any]] = field(default_factory=list)
    decided_by: str | None = None
    reports: dict[str, Any] | None = None
    """Local data that brokers wrote while time passed; None if none did."""
    written: dict[str, Any] | None = None
    """Bundle data that the leader wrote; None if no time passed or no interval is set."""
    explanations: list[Explanation] = field(default_factory=list)

    def note(self, label: str, text: str) -> None:
        """Add an explanation without arithmetic."""
        self.explanations.append(lambda: (Step(label, text),))

    def reported(self, world: World) -> None:
        """Record that every broker wrote its local data. [REPORT-11, REPORT-12]"""
        known = self.reports if self.reports is not None else {}
        for broker in world.brokers:
            found = known.setdefault(broker, {"minutes": []})
            found["minutes"].append(jsonable(world.clock))
            found["last"] = world.local_data(broker)
        self.reports = known

    def wrote(self, world: World) -> None:
        """Record that the leader wrote the bundle data. [DATA-12]"""
        minutes = self.written["minutes"] if self.written is not None else []
        bundles = {name: samples.counted for name, samples in world.samples.items()}
        self.written = {"minutes": [*minutes, jsonable(world.clock)], "bundles": bundles}

    def step(self, world: World, owners: dict[str, str | None]) -> dict[str, Any]:
        """The step that answers the event."""
        step: dict[str, Any] = {"owners": owners, "leader": world.leader}
        lists = {"assigned": self.assigned, "unloaded": self.unloaded, "split": self.split}
        step |= {name: found for name, found in lists.items() if found}
        if self.decided_by is not None:
            step["decidedBy"] = self.decided_by
        step["leaderNode"] = world.leader
        seen = {"reports": self.reports, "written": self.written}
        step |= {name: found for name, found in seen.items() if found is not None}
        return step
