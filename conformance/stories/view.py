"""Stories as checks see them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pulsar_conformance.conformance.common.expect import Violated
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.stories.world import Moment, moments
from pulsar_conformance.reference import (
    Readings,
    Settings,
)

WHOLE = "0x00000000_0xffffffff"


@dataclass(frozen=True)
class Story:
    """Settings and events, and the world after each."""

    case: Json
    settings: Settings
    readings: Readings

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """The moments, one per event."""
        return tuple(moments(self.case["events"], self.settings))


@dataclass(frozen=True)
class Move:
    """A bundle that changes hands: its new owner, or its old owner and the reason."""

    bundle: str
    broker: str
    reason: str = ""

    @property
    def namespace(self) -> str:
        """The namespace of the bundle."""
        return self.bundle.rpartition("/")[0]


@dataclass(frozen=True)
class Division:
    """A bundle that was split."""

    bundle: str
    into: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Answered:
    """One step, as answered; owners that it does not mention are unchanged from the step before."""

    owners: Mapping[str, str | None]
    assigned: tuple[Move, ...]
    unloaded: tuple[Move, ...]
    split: tuple[Division, ...]
    declined: str | None
    """Why the event was ignored or refused, if it was."""
    leader: str | None
    decided_by: str | None
    leader_node: str | None = None
    """The broker that the node of the leader names, if that is known."""
    reports: Mapping[str, Json] | None = None
    """The local data that brokers wrote in the step; None where nobody can tell."""
    written: Json | None = None
    """The bundle data that the leader wrote in the step; None where nobody can tell."""

    @classmethod
    def read(cls, step: Json, owners: Mapping[str, str | None]) -> Answered:
        """Reads a step of the protocol, given the owners before it."""
        return cls(
            step.get("owners", owners),
            tuple(Move(one["bundle"], one["to"]) for one in step.get("assigned", ())),
            tuple(
                Move(one["bundle"], one["from"], one["reason"]) for one in step.get("unloaded", ())
            ),
            tuple(
                Division(one["bundle"], tuple(one["into"]), one["reason"])
                for one in step.get("split", ())
            ),
            step.get("ignored", step.get("refused")),
            step.get("leader"),
            step.get("decidedBy"),
            step.get("leaderNode"),
            step.get("reports"),
            step.get("written"),
        )

    @property
    def moved(self) -> bool:
        """Whether any bundle changed hands or was split."""
        return bool(self.assigned or self.unloaded or self.split)

    def shed(self) -> list[Move]:
        """The bundles that were unloaded because of load."""
        return [one for one in self.unloaded if one.reason == "shed"]

    def owner(self, topic: str) -> str | None:
        """The owner of a topic after the step."""
        return self.owners.get(topic)


@dataclass(frozen=True)
class Scene:
    """An event, with the world and the owners before and after it."""

    before: Moment
    after: Moment
    then: Answered
    """The step before."""
    now: Answered

    @property
    def kind(self) -> str:
        """The kind of the event."""
        return self.after.kind

    @property
    def about(self) -> Mapping[str, Any]:
        """The subject of the event."""
        return dict(self.after.about)

    @property
    def passes(self) -> bool:
        """Whether time passes during the event, so that something may fall due."""
        return self.after.clock > self.before.clock

    def __str__(self) -> str:
        return f"step {self.after.place} ({self.kind})"


NOTHING_YET = Answered({}, (), (), (), None, None, None)


@dataclass(frozen=True)
class Course:
    """The course of a story as answered, scene by scene."""

    story: Story
    scenes: tuple[Scene, ...]

    @classmethod
    def read(cls, story: Story, answer: Json) -> Course:
        """Reads an answer. Errors: `Violated` if it does not have one step per event."""
        steps = answer["steps"]
        if len(steps) != len(story.moments):
            raise Violated(f"{len(story.moments)} steps, one an event", f"{len(steps)} steps")
        return cls(story, tuple(_scenes(story, steps)))

    def __iter__(self) -> Iterator[Scene]:
        return iter(self.scenes)

    @cached_property
    def _split_first(self) -> dict[str, int]:
        """The index of the first scene in which a bundle of each namespace was split."""
        found: dict[str, int] = {}
        for scene in self.scenes:
            for one in scene.now.split:
                found.setdefault(one.bundle.rpartition("/")[0], scene.after.place)
        return found

    def whole(self, namespace: str, scene: Scene) -> bool:
        """Whether a namespace is one bundle during a scene, so that its topics stay together."""
        never = len(self.scenes) + 1
        single = scene.after.spaces.get(namespace) == 1
        return single and self._split_first.get(namespace, never) > scene.after.place

    def most_bundles(self, namespace: str, scene: Scene) -> int | None:
        """The number of bundles that a namespace may have after a scene, as far as is known."""
        initial = scene.after.spaces.get(namespace)
        if initial is None:
            return None
        more = (
            len(one.into) - 1
            for past in self.scenes[: scene.after.place]
            for one in past.now.split
            if one.bundle.rpartition("/")[0] == namespace
        )
        return initial + sum(more)


def _scenes(story: Story, steps: list[Any]) -> Iterator[Scene]:
    before, then = Moment.first(story.settings), NOTHING_YET
    for after, step in zip(story.moments, steps, strict=True):
        now = Answered.read(step, then.owners)
        yield Scene(before, after, then, now)
        before, then = after, now
