"""The operation on stories: a case has a cluster's events, and an answer one step per event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from json import dumps
from typing import Any

from pulsar_conformance.conformance.common.check import Violated
from pulsar_conformance.conformance.common.clusters import TOPICS, example_rates, weight_problems
from pulsar_conformance.conformance.common.operation import Operation, Problems
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.shedding.operations import (
    history_share_problems,
    transfer_setting_problems,
)
from pulsar_conformance.conformance.stories.world import Moment, moments
from pulsar_conformance.reference import Readings, Settings, candidates, splitting
from pulsar_conformance.reference.answers.stories import named_strategies
from pulsar_conformance.reference.numbers import exact
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.shedding import (
    ENABLED,
    GRACE,
    HITS,
    IN_EXTENSIONS,
    STRATEGY,
    TRANSFER_SHEDDER,
)
from pulsar_conformance.reference.story.events import DEFAULT_BUNDLES, why_invalid
from pulsar_conformance.reference.story.timers import (
    REPORT_INTERVAL,
    SHEDDING_INTERVAL,
    WRITE_INTERVAL,
)
from pulsar_conformance.reference.threshold import SHEDDER_THRESHOLD
from pulsar_conformance.reference.uniform import RATE_THRESHOLD, THROUGHPUT_THRESHOLD

LONG_STORY = 200
"""Number of events of a long story."""

WHOLE = "0x00000000_0xffffffff"


@dataclass(frozen=True)
class Story:
    """A `cluster.replay` case: settings and events, with the cluster after each event."""

    case: Json
    settings: Settings
    readings: Readings

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """The cluster after each event."""
        return tuple(moments(self.case["events"], self.settings))


@dataclass(frozen=True)
class Move:
    """An assigned or unloaded bundle: its new owner, or its former owner and the reason."""

    bundle: str
    broker: str
    reason: str = ""

    @property
    def namespace(self) -> str:
        """The bundle's namespace."""
        return self.bundle.rpartition("/")[0]


@dataclass(frozen=True)
class Division:
    """A bundle that was split, with its parts and the reason."""

    bundle: str
    into: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class StepAnswer:
    """The answer about one event; bundles that the answer does not mention keep their owners."""

    owners: Mapping[str, str | None]
    assigned: tuple[Move, ...]
    unloaded: tuple[Move, ...]
    split: tuple[Division, ...]
    declined: str | None
    """Reason why the event was ignored or refused, or None."""
    leader: str | None
    decided_by: str | None
    leader_node: str | None = None
    """The broker named in the leader's node of the metadata store; None if unknown."""
    reports: Mapping[str, Json] | None = None
    """The local data that brokers wrote in this step; None if unknown."""
    written: Json | None = None
    """The bundle data that the leader wrote in this step; None if unknown."""

    @classmethod
    def read(cls, step: Json, owners: Mapping[str, str | None]) -> StepAnswer:
        """Parse a step, given the owners before it."""
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
        """True if any bundle was assigned, unloaded or split."""
        return bool(self.assigned or self.unloaded or self.split)

    def shed(self) -> list[Move]:
        """Return the bundles that were shed."""
        return [one for one in self.unloaded if one.reason == "shed"]

    def owner(self, topic: str) -> str | None:
        """Return a topic's owner after the step."""
        return self.owners.get(topic)


@dataclass(frozen=True)
class Scene:
    """An event, with the cluster and the owners of topics before and after it."""

    before: Moment
    after: Moment
    previous: StepAnswer
    """The answer about the previous event."""
    now: StepAnswer

    @property
    def kind(self) -> str:
        """The event's kind."""
        return self.after.kind

    @property
    def about(self) -> Mapping[str, Any]:
        """The event's other fields."""
        return dict(self.after.about)

    @property
    def time_passes(self) -> bool:
        """True if time passes, so that brokers may act on their own."""
        return self.after.clock > self.before.clock

    def __str__(self) -> str:
        return f"step {self.after.place} ({self.kind})"


NOTHING_YET = StepAnswer({}, (), (), (), None, None, None)


@dataclass(frozen=True)
class Scenes:
    """A story with its answer: one scene for each event."""

    story: Story
    scenes: tuple[Scene, ...]

    @classmethod
    def read(cls, story: Story, answer: Json) -> Scenes:
        """Parse an answer. Errors: `Violated` unless it has one step per event."""
        steps = answer["steps"]
        if len(steps) != len(story.moments):
            raise Violated(f"{len(story.moments)} steps, one per event", f"{len(steps)} steps")
        return cls(story, tuple(_scenes(story, steps)))

    def __iter__(self) -> Iterator[Scene]:
        return iter(self.scenes)

    @cached_property
    def _split_first(self) -> dict[str, int]:
        """For each namespace, the index of the first scene in which one of its bundles is split."""
        found: dict[str, int] = {}
        for scene in self.scenes:
            for one in scene.now.split:
                found.setdefault(one.bundle.rpartition("/")[0], scene.after.place)
        return found

    def unloads_to_crashed(self, scene: Scene) -> bool:
        """True if an administrator unloads a bundle to a broker that crashed and did not return."""
        past, to = self.scenes[: scene.after.place - 1], scene.about.get("to", "")
        about = [one.kind for one in past if one.after.valid and one.about.get("broker") == to]
        return about[-1:] == ["broker_down"]

    def has_one_bundle(self, namespace: str, scene: Scene) -> bool:
        """True if a namespace certainly has a single bundle during a scene."""
        return self.count_if_unsplit(namespace, scene) == 1

    def count_if_unsplit(self, namespace: str, scene: Scene) -> int | None:
        """Return a namespace's number of bundles; None if unknown or if a bundle was split."""
        never = len(self.scenes) + 1
        intact = self._split_first.get(namespace, never) > scene.after.place
        return scene.after.spaces.get(namespace) if intact else None

    def most_bundles(self, namespace: str, scene: Scene) -> int | None:
        """Return the maximum number of a namespace's bundles after a scene; None if unknown."""
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
    before, previous = Moment.first(story.settings), NOTHING_YET
    for after, step in zip(story.moments, steps, strict=True):
        now = StepAnswer.read(step, previous.owners)
        yield Scene(before, after, previous, now)
        before, previous = after, now


A_DAY = 24 * 60
"""Maximum length of a story in minutes; the model has to compute every shedding cycle in it."""

LIMITS = (
    candidates.MAX_TOPICS,
    candidates.MAX_SESSIONS,
    candidates.MAX_MESSAGES,
    candidates.MAX_MEGABYTES,
    candidates.MAX_BUNDLES,
)


def legal_story(case: Json, settings: Settings) -> Problems:
    """Yield the problems that make a story invalid."""
    events = [(kind, about) for event in case["events"] for kind, about in event.items()]
    for name in (SHEDDING_INTERVAL, REPORT_INTERVAL, WRITE_INTERVAL, DEFAULT_BUNDLES):
        wrong = why_invalid(name, settings.given[name]) if name in settings.given else None
        if wrong:
            yield f"case.settings.{name}: {wrong}"
    if any(kind == "namespace" and about.get("bundles") is None for kind, about in events):
        settings.number(DEFAULT_BUNDLES)
    if any(kind == "topic" for kind, _about in events):
        settings.number(OVERLOAD_THRESHOLD)
    if any(kind == "split" and about.get("algorithm") is None for kind, about in events):
        _require_split_algorithm(settings)
    minutes = sum(exact(about["minutes"]) for kind, about in events if kind == "tick")
    if minutes > A_DAY:
        yield f"case.events: they last {float(minutes)} minutes; the maximum is {A_DAY}"
    if minutes:
        yield from _time_setting_problems(case, settings)


def _time_setting_problems(case: Json, settings: Settings) -> Problems:
    """Yield problems of settings that a story with passing time needs. Errors: `MissingSetting`."""
    settings.number(SHEDDING_INTERVAL)
    settings.number(REPORT_INTERVAL)
    if _is_ever_on(case, settings, candidates.AUTO_SPLIT):
        for name in LIMITS:
            settings.number(name)
        _require_split_algorithm(settings)
    if not _is_ever_on(case, settings, ENABLED):
        return
    settings.number(GRACE)
    first = {STRATEGY: settings.text(STRATEGY)}
    strategies = set(named_strategies({**case, "settings": first}))
    if "ThresholdShedder" in strategies:
        settings.number(SHEDDER_THRESHOLD)
        yield from weight_problems(settings)
        yield from history_share_problems(settings)
    if "UniformLoadShedder" in strategies:
        settings.number(RATE_THRESHOLD)
        settings.number(THROUGHPUT_THRESHOLD)
    if TRANSFER_SHEDDER in strategies:
        yield from transfer_setting_problems(settings)


def _require_split_algorithm(settings: Settings) -> None:
    """Require the settings that can select the split algorithm. Errors: `MissingSetting`."""
    for name in splitting.SELECTING_SETTING.values():
        settings.text(name)


def _is_ever_on(case: Json, settings: Settings, switch: str) -> bool:
    """True if the setting `switch` is true at any time in a story."""
    changed: Iterator[Mapping[str, Any]] = (
        event["setting"] for event in case["events"] if "setting" in event
    )
    switched_on = any(one["name"] == switch and one["value"] is True for one in changed)
    return settings.flag(switch) or switched_on


def _matches(allowed: Json, answer: Json) -> bool:
    """True if two answers agree in every step.

    The order of moves may differ, and so may the reasons for ignoring or refusing an event.
    """
    steps = allowed["steps"], answer["steps"]
    return len(steps[0]) == len(steps[1]) and all(map(_same_step, *steps))


def _same_step(allowed: Json, answer: Json) -> bool:
    """True if two steps are the same; leaders are compared only if both answers name them."""
    said = [name for name in ("leader", "decidedBy") if name in allowed and name in answer]
    declined = ({"ignored", "refused"} & set(one) for one in (allowed, answer))
    moved = all(
        _sorted_moves(allowed.get(name, ())) == _sorted_moves(answer.get(name, ()))
        for name in ("assigned", "unloaded", "split")
    )
    owners = allowed.get("owners", answer.get("owners")) == answer.get("owners")
    same = all(allowed[name] == answer[name] for name in said)
    return same and owners and moved and next(declined) == next(declined)


def _sorted_moves(moved: Sequence[Any]) -> list[str]:
    return sorted(dumps(one, sort_keys=True) for one in moved)


def _example(events: int) -> Json:
    story: list[Json] = [
        {"broker_up": {"broker": "broker-1", "capacity": 100_000_000}},
        {"namespace": {"name": "t/ns", "bundles": 1}},
        {"topic": {"topic": TOPICS[0], **example_rates(1)}},
        {"broker_up": {"broker": "broker-2", "capacity": 100_000_000}},
        {"broker_down": {"broker": "broker-1"}},
    ]
    return {"settings": {OVERLOAD_THRESHOLD: 85}, "events": story[:events]}


def under_transfer_shedder(case: Json) -> Json:
    """Return a story with TransferShedder, set so that it acts on the first imbalance.

    A story is returned unchanged if shedding is not enabled, if the story changes the strategy, or
    if it is so long that a cluster would take minutes to play it.
    """
    changed = [event["setting"]["name"] for event in case["events"] if "setting" in event]
    sheds = case["settings"].get(ENABLED) is True and len(case["events"]) < LONG_STORY
    if STRATEGY in changed or not sheds:
        return case
    return {**case, "settings": {**case["settings"], STRATEGY: IN_EXTENSIONS, HITS: 0}}


REPLAY = Operation(
    id="cluster.replay",
    view=Story,
    read=Scenes.read,
    matches=_matches,
    examples=(_example(4), _example(5)),
    legal=legal_story,
    removable=frozenset({"brokers"}),
    sequential=True,
    under_transfer_shedder=under_transfer_shedder,
    of_modular_strategies=frozenset({"SHED-09", "SHED-10"}),
)
