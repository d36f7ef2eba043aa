"""Draws stories: lists of events that are built step by step, and plots about bundle owners."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.stories.operations import LONG_STORY
from pulsar_conformance.reference import candidates
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.ranges import hex_of
from pulsar_conformance.reference.shedding import (
    ENABLED,
    GRACE,
    PACKAGE,
    STRATEGY,
)
from pulsar_conformance.reference.splitting import POSITIONS, RANGE, SELECTING_SETTING, TOPICS
from pulsar_conformance.reference.story.timers import REPORT_INTERVAL, SHEDDING_INTERVAL
from pulsar_conformance.reference.threshold import HISTORY_SHARE, SHEDDER_THRESHOLD
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS

MEGABYTE = 1_000_000
MESSAGES = 100
"""Messages per megabyte; with one fixed number, messages and bytes rank bundles alike."""

CAPACITY = 100 * MEGABYTE
"""A broker's capacity in bytes per second; with it, 1 MB/s is a usage of 1 %."""

CALM_SETTINGS: Mapping[str, Any] = {
    REPORT_INTERVAL: 1,
    SHEDDING_INTERVAL: 1,
    GRACE: 30,
    ENABLED: False,
    STRATEGY: f"{PACKAGE}OverloadShedder",
    OVERLOAD_THRESHOLD: 85,
    candidates.AUTO_SPLIT: False,
    **dict.fromkeys(SELECTING_SETTING.values(), RANGE),
}
"""Values of all settings on which a story may depend; brokers then do nothing on their own."""

SHEDDING: Mapping[str, Any] = {
    **CALM_SETTINGS,
    ENABLED: True,
    SHEDDER_THRESHOLD: 10,
    HISTORY_SHARE: 0,
    **dict.fromkeys(WEIGHT_SETTINGS.values(), 1.0),
}
"""The settings of `CALM_SETTINGS` with shedding enabled."""


@dataclass
class StoryDraft:
    """A story that is being built; new names are numbered, so that no name is used twice."""

    random: Random
    settings: dict[str, Any]
    large: bool
    events: list[Json] = field(default_factory=list)
    brokers: list[str] = field(default_factory=list)
    spaces: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)

    def case(self) -> Json:
        """Return the case in the protocol's format."""
        return {"settings": self.settings, "events": self.events}

    def add_event(self, kind: str, **about: Any) -> None:
        """Add an event."""
        self.events.append({kind: about})

    def start_brokers(self, count: int = 1, capacity: int = CAPACITY) -> None:
        """Add `count` brokers."""
        for _ in range(count):
            self.brokers.append(f"broker-{len(self.brokers) + 1}")
            self.add_event("broker_up", broker=self.brokers[-1], capacity=capacity)

    def space(self, bundles: int | None = 1) -> str:
        """Create a namespace with a number of bundles (None: the default), and return its name."""
        self.spaces.append(f"shop/ns-{len(self.spaces) + 1}")
        about = {} if bundles is None else {"bundles": bundles}
        self.add_event("namespace", name=self.spaces[-1], **about)
        return self.spaces[-1]

    def use(self, space: str, megabytes: float) -> str:
        """Use a new topic in a namespace, and return the topic."""
        self.topics.append(f"persistent://{space}/topic-{len(self.topics) + 1}")
        self.change(self.topics[-1], megabytes)
        return self.topics[-1]

    def change(self, topic: str, megabytes: float) -> None:
        """Change a topic's traffic to a number of megabytes per second."""
        share = self.random.choice((0, 0.5, 1))
        self.add_event(
            "topic",
            topic=topic,
            msgRateIn=megabytes * MESSAGES * share,
            msgRateOut=megabytes * MESSAGES * (1 - share),
            msgThroughputIn=megabytes * MEGABYTE * share,
            msgThroughputOut=megabytes * MEGABYTE * (1 - share),
        )

    def tick(self, minutes: float = 1) -> None:
        """Let a number of minutes pass."""
        self.add_event("tick", minutes=minutes)

    def add_unrelated_namespaces(self) -> None:
        """If the story is large, add one or two namespaces that nothing uses."""
        if self.large:
            for bundles in self.random.sample((16, 32, 64), self.random.randint(1, 2)):
                self.space(bundles)

    def any_event(self) -> None:
        """Add a random event, which may be impossible at this point."""
        self.random.choice(RANDOM_EVENTS)(self)

    def noise(self, most: int = 3) -> None:
        """Add 0, 1 or `most` random events."""
        for _ in range(self.random.choice((0, 0, 1, most))):
            self.any_event()


def _some_topic(draft: StoryDraft) -> str:
    return draft.random.choice(draft.topics or ["persistent://no/where/topic"])


def _some_space(draft: StoryDraft) -> str:
    return draft.random.choice(draft.spaces or ["no/where"])


def _some_broker(draft: StoryDraft) -> str:
    return draft.random.choice(draft.brokers or ["nobody"])


def _add_unload(draft: StoryDraft) -> None:
    what = draft.random.choice(("topic", "namespace", "bundleOf"))
    named = _some_space(draft) if what == "namespace" else _some_topic(draft)
    draft.add_event("unload", **{what: named})


def _add_split(draft: StoryDraft) -> None:
    algorithm = draft.random.choice((None, RANGE, TOPICS, POSITIONS))
    positions = [hex_of(draft.random.getrandbits(32)) for _ in range(draft.random.randint(0, 3))]
    draft.add_event("split", bundleOf=_some_topic(draft), algorithm=algorithm, positions=positions)


def _add_return(draft: StoryDraft) -> None:
    capacity = draft.random.choice((CAPACITY, CAPACITY, 2 * CAPACITY))
    draft.add_event("broker_up", broker=_some_broker(draft), capacity=capacity)


def _add_domain(draft: StoryDraft) -> None:
    brokers = draft.random.sample(
        draft.brokers, draft.random.randint(0, min(3, len(draft.brokers)))
    )
    draft.add_event("domain", name=draft.random.choice(("north", "south")), brokers=brokers)


def _add_group(draft: StoryDraft) -> None:
    group = draft.random.choice(("apart", "away", None))
    draft.add_event("group", namespace=_some_space(draft), group=group)


def _add_setting(draft: StoryDraft) -> None:
    name, value = draft.random.choice(
        (
            (SHEDDING_INTERVAL, 2),
            (REPORT_INTERVAL, 2),
            (SHEDDING_INTERVAL, 0),
            (GRACE, 5),
            ("noSuchSetting", 1),
            (ENABLED, False),
        )
    )
    draft.add_event("setting", name=name, value=value, how=draft.random.choice(("conf", "dynamic")))


def _at_a_broker(kind: str) -> Callable[[StoryDraft], object]:
    return lambda draft: draft.add_event(kind, broker=_some_broker(draft))


RANDOM_EVENTS: tuple[Callable[[StoryDraft], object], ...] = (
    lambda draft: draft.tick(draft.random.choice((0, 0.5, 1, 1, 2, 7))),
    lambda draft: draft.change(_some_topic(draft), draft.random.choice((0, 1, 5, 20, 40))),
    lambda draft: draft.use(_some_space(draft), draft.random.choice((0, 1, 5, 20))),
    lambda draft: draft.space(draft.random.choice((None, 1, 1, 2, 4))),
    lambda draft: draft.add_event("namespace", name=_some_space(draft), bundles=2),
    *map(_at_a_broker, ("broker_down", "restart")),
    lambda draft: draft.add_event("leader_lost"),
    _add_return,
    _add_unload,
    _add_unload,
    _add_split,
    _add_domain,
    _add_group,
    _add_setting,
)


EVENTS_WITHOUT_LOAD: tuple[Callable[[StoryDraft], object], ...] = (
    StoryDraft.start_brokers,
    *map(_at_a_broker, ("broker_down", "broker_stop", "restart")),
    lambda draft: draft.add_event("leader_lost"),
    StoryDraft.space,
    _add_domain,
    _add_group,
    _add_setting,
)
"""Functions that add events; none of them moves a topic away from a broker that stays up."""

Plot = Callable[[StoryDraft], None]


def stories(*plots: Plot, settings: Mapping[str, Any] = CALM_SETTINGS) -> st.SearchStrategy[Trial]:
    """Return a strategy for stories with one of the plots.

    1 % of the stories have no events, 2 % are long, and 60 % have many brokers.
    """
    return st.builds(
        lambda plot, random, kind: _story(
            plot, StoryDraft(random, dict(settings), kind >= 40), kind
        ),
        st.sampled_from(plots),
        randoms,
        st.integers(0, 99),
    )


def _story(plot: Plot, draft: StoryDraft, kind: int) -> Trial:
    if kind:
        plot(draft)
    if kind in (1, 2):
        while len(draft.events) < LONG_STORY:
            draft.any_event()
    return Trial.of("cluster.replay", draft.case())


def add_brokers(draft: StoryDraft, fewest: int = 1) -> None:
    """Add brokers, at least five if the story is large."""
    draft.start_brokers(
        max(fewest, draft.random.randint(5, 7) if draft.large else draft.random.randint(1, 3))
    )
    draft.add_unrelated_namespaces()


def first_uses(draft: StoryDraft) -> None:
    """Use new topics, some of them in the same bundle."""
    add_brokers(draft)
    spaces = [draft.space(draft.random.choice((1, 1, 1, 2, 4))) for _ in range(_count(draft))]
    for _ in range(draft.random.randint(2, 12 if draft.large else 5)):
        draft.use(draft.random.choice(spaces), draft.random.choice((0, 1, 5, 20)))
        if draft.random.random() < 0.3:
            draft.tick()
    draft.noise()


def without_brokers(draft: StoryDraft) -> None:
    """Use topics while no broker is up; then add brokers, crash all of them, and add more."""
    space = draft.space()
    draft.use(space, 5)
    add_brokers(draft)
    for broker in list(draft.brokers):
        draft.add_event("broker_down", broker=broker)
    draft.use(space, 1)
    draft.start_brokers(draft.random.randint(1, 2))
    draft.tick()
    draft.use(draft.space(), 1)
    draft.noise()


def crashes(draft: StoryDraft) -> None:
    """Crash brokers that own bundles, one after another."""
    add_brokers(draft, fewest=2)
    use_namespaces(draft, (1, 1, 2), topics=(1, 2))
    for broker in draft.random.sample(draft.brokers, draft.random.randint(1, len(draft.brokers))):
        draft.add_event(
            draft.random.choice(("broker_down", "broker_down", "restart")), broker=broker
        )
        if draft.random.random() < 0.5:
            draft.tick(draft.random.choice((0, 1)))
    draft.noise()


def other_brokers(draft: StoryDraft) -> None:
    """Let brokers start, stop and lead, or change settings, while other brokers own bundles."""
    add_brokers(draft, fewest=2)
    use_namespaces(draft, (1, 1, 4))
    for happens in draft.random.sample(EVENTS_WITHOUT_LOAD, 4):
        happens(draft)


def story_with_unloads(draft: StoryDraft) -> None:
    """Unload topics, bundles and namespaces while other topics are in use."""
    add_brokers(draft, fewest=draft.random.choice((1, 2, 2)))
    use_namespaces(draft, (1, 1, 1, 4))
    if draft.random.random() < 0.3:
        draft.spaces.append(f"{draft.spaces[-1]}0")
        draft.add_event("namespace", name=draft.spaces[-1], bundles=1)
        draft.use(draft.spaces[-1], 1)
    if draft.random.random() < 0.5:
        draft.tick(2)
    for _ in range(draft.random.randint(1, 4)):
        what = draft.random.choice(("topic", "namespace", "bundleOf"))
        spaces = draft.spaces if draft.random.random() < 0.1 else draft.spaces[-2:]
        named = draft.random.choice(spaces if what == "namespace" else draft.topics)
        draft.add_event("unload", **{what: named})
    draft.noise()


def unused_bundles(draft: StoryDraft) -> None:
    """Use one or two topics in namespaces with many bundles."""
    add_brokers(draft)
    use_namespaces(draft, (4, 16, 32), topics=(0, 2), loads=(0, 1, 5))
    draft.tick(draft.random.choice((0, 1)))


def chosen_destinations(draft: StoryDraft) -> None:
    """Unload bundles to named brokers, including their owners and brokers that are down."""
    add_brokers(draft, fewest=2)
    for _ in range(_count(draft)):
        draft.use(draft.space(draft.random.choice((1, 1, 4))), draft.random.choice((1, 5, 20)))
    for _ in range(draft.random.randint(1, 4)):
        to = draft.random.choice((*draft.brokers, *draft.brokers, "broker-99"))
        draft.add_event("unload", bundleOf=draft.random.choice(draft.topics), to=to)


def stops(draft: StoryDraft) -> None:
    """Shut down brokers that own bundles of one or many namespaces; some brokers are idle."""
    add_brokers(draft, fewest=2)
    use_namespaces(draft, (1, 4, 16), loads=(0, 1, 5, 20))
    for broker in draft.random.sample(draft.brokers, draft.random.randint(1, 2)):
        draft.add_event("broker_stop", broker=broker)
        draft.tick(draft.random.choice((0, 1)))


def one_is_idle(draft: StoryDraft) -> None:
    """Load one broker heavily, and other brokers little or not at all.

    The heavily loaded broker is alone when its bundles are first used, so that it gets all of them.
    """
    draft.settings[REPORT_INTERVAL] = draft.random.choice((1, 1, 2))
    draft.start_brokers()
    draft.add_unrelated_namespaces()
    for _ in range(draft.random.randint(1, 3)):
        draft.use(draft.space(), draft.random.choice((16, 20, 26)))
    draft.start_brokers(draft.random.randint(4, 6) if draft.large else draft.random.randint(1, 2))
    draft.tick(draft.settings[REPORT_INTERVAL] + 1)
    light = draft.space()
    first = draft.use(light, 1)
    draft.tick(draft.settings[REPORT_INTERVAL] + 1)
    what = draft.random.choice(("use", "bundleOf", "namespace", "topic", "down"))
    if what == "use":
        draft.use(draft.space(draft.random.choice((1, 4))), 2)
    elif what == "down":
        draft.add_event("broker_down", broker=draft.random.choice(draft.brokers[1:]))
    else:
        draft.add_event("unload", **{what: light if what == "namespace" else first})
    draft.noise()


def leaders(draft: StoryDraft) -> None:
    """Change the leader, on purpose or by a crash, while bundles are being assigned."""
    add_brokers(draft, fewest=draft.random.choice((1, 2, 3)))
    for _ in range(draft.random.randint(2, 5)):
        draft.use(draft.space(), draft.random.choice((1, 5)))
        event = draft.random.choice(
            ("leader_lost", "leader_lost", "broker_down", "restart", "tick")
        )
        if event == "leader_lost":
            draft.add_event("leader_lost")
        elif event == "tick":
            draft.tick()
        else:
            draft.add_event(event, broker=draft.random.choice(draft.brokers[:2]))
    draft.use(draft.space(), 1)
    draft.noise()


def use_namespaces(
    draft: StoryDraft,
    bundles: Sequence[int],
    topics: tuple[int, int] = (1, 3),
    loads: Sequence[int] = (1, 5, 20),
    count: int | None = None,
) -> None:
    """Create namespaces, each with a number of bundles from `bundles`, and use topics in each."""
    for _ in range(_count(draft) if count is None else count):
        space = draft.space(draft.random.choice(bundles))
        for _ in range(draft.random.randint(*topics)):
            draft.use(space, draft.random.choice(loads))


def _count(draft: StoryDraft) -> int:
    return draft.random.randint(3, 6) if draft.large else draft.random.randint(1, 3)
