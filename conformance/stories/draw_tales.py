"""Stories under construction: a growing list of events, and what is in use so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.reference import candidates
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.ranges import hex_of
from pulsar_conformance.reference.shedding import ENABLED, GRACE, PACKAGE, STRATEGY
from pulsar_conformance.reference.splitting import POSITIONS, RANGE, SELECTING_SETTING, TOPICS
from pulsar_conformance.reference.story.timers import REPORT_INTERVAL, SHEDDING_INTERVAL
from pulsar_conformance.reference.threshold import HISTORY_SHARE, SHEDDER_THRESHOLD
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS

MEGABYTE = 1_000_000
MESSAGES = 100
"""Messages per second to a megabyte per second, so that either measure orders alike."""

CAPACITY = 100 * MEGABYTE
"""A broker whose topics carry 1 MB/s uses 1 % of its CPU."""

CALM: Mapping[str, Any] = {
    REPORT_INTERVAL: 1,
    SHEDDING_INTERVAL: 1,
    GRACE: 30,
    ENABLED: False,
    STRATEGY: f"{PACKAGE}OverloadShedder",
    OVERLOAD_THRESHOLD: 85,
    candidates.AUTO_SPLIT: False,
    **dict.fromkeys(SELECTING_SETTING.values(), RANGE),
}
"""Every setting that a story may depend on, with nothing happening by itself."""

SHEDDING: Mapping[str, Any] = {
    **CALM,
    ENABLED: True,
    SHEDDER_THRESHOLD: 10,
    HISTORY_SHARE: 0,
    **dict.fromkeys(WEIGHT_SETTINGS.values(), 1.0),
}
"""The same with load shed."""


@dataclass
class Tale:
    """A story under construction. Names are numbered, so that each is used once."""

    random: Random
    settings: dict[str, Any]
    large: bool
    events: list[Json] = field(default_factory=list)
    brokers: list[str] = field(default_factory=list)
    spaces: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)

    def case(self) -> Json:
        """The case in the shapes of the protocol."""
        return {"settings": self.settings, "events": self.events}

    def say(self, kind: str, **about: Any) -> None:
        """Adds an event."""
        self.events.append({kind: about})

    def up(self, count: int = 1, capacity: int = CAPACITY) -> None:
        """Lets `count` brokers join."""
        for _ in range(count):
            self.brokers.append(f"broker-{len(self.brokers) + 1}")
            self.say("broker_up", broker=self.brokers[-1], capacity=capacity)

    def space(self, bundles: int | None = 1) -> str:
        """Creates a namespace."""
        self.spaces.append(f"shop/ns-{len(self.spaces) + 1}")
        about = {} if bundles is None else {"bundles": bundles}
        self.say("namespace", name=self.spaces[-1], **about)
        return self.spaces[-1]

    def use(self, space: str, megabytes: float) -> str:
        """Uses a topic of a namespace for the first time."""
        self.topics.append(f"persistent://{space}/topic-{len(self.topics) + 1}")
        self.change(self.topics[-1], megabytes)
        return self.topics[-1]

    def change(self, topic: str, megabytes: float) -> None:
        """Changes the traffic of a topic."""
        share = self.random.choice((0, 0.5, 1))
        self.say(
            "topic",
            topic=topic,
            msgRateIn=megabytes * MESSAGES * share,
            msgRateOut=megabytes * MESSAGES * (1 - share),
            msgThroughputIn=megabytes * MEGABYTE * share,
            msgThroughputOut=megabytes * MEGABYTE * (1 - share),
        )

    def tick(self, minutes: float = 1) -> None:
        """Lets time pass."""
        self.say("tick", minutes=minutes)

    def backdrop(self) -> None:
        """Adds unrelated namespaces if the story is a large one."""
        if self.large:
            for bundles in self.random.sample((16, 32, 64), self.random.randint(1, 2)):
                self.space(bundles)

    def any_event(self) -> None:
        """Adds an event that may happen at any time, whether or not it makes sense."""
        self.random.choice(ANYTHING)(self)

    def noise(self, most: int = 3) -> None:
        """Adds a few such events, or many if the story is a long one."""
        for _ in range(self.random.choice((0, 0, 1, most))):
            self.any_event()


def _some_topic(tale: Tale) -> str:
    return tale.random.choice(tale.topics or ["persistent://no/where/topic"])


def _some_space(tale: Tale) -> str:
    return tale.random.choice(tale.spaces or ["no/where"])


def _some_broker(tale: Tale) -> str:
    return tale.random.choice(tale.brokers or ["nobody"])


def _unload(tale: Tale) -> None:
    what = tale.random.choice(("topic", "namespace", "bundleOf"))
    named = _some_space(tale) if what == "namespace" else _some_topic(tale)
    tale.say("unload", **{what: named})


def _split(tale: Tale) -> None:
    algorithm = tale.random.choice((None, RANGE, TOPICS, POSITIONS))
    positions = [hex_of(tale.random.getrandbits(32)) for _ in range(tale.random.randint(0, 3))]
    tale.say("split", bundleOf=_some_topic(tale), algorithm=algorithm, positions=positions)


def _again_up(tale: Tale) -> None:
    capacity = tale.random.choice((CAPACITY, CAPACITY, 2 * CAPACITY))
    tale.say("broker_up", broker=_some_broker(tale), capacity=capacity)


def _domain(tale: Tale) -> None:
    brokers = tale.random.sample(tale.brokers, tale.random.randint(0, min(3, len(tale.brokers))))
    tale.say("domain", name=tale.random.choice(("north", "south")), brokers=brokers)


def _group(tale: Tale) -> None:
    group = tale.random.choice(("apart", "away", None))
    tale.say("group", namespace=_some_space(tale), group=group)


def _setting(tale: Tale) -> None:
    name, value = tale.random.choice(
        (
            (SHEDDING_INTERVAL, 2),
            (REPORT_INTERVAL, 2),
            (SHEDDING_INTERVAL, 0),
            (GRACE, 5),
            ("noSuchSetting", 1),
            (ENABLED, False),
        )
    )
    tale.say("setting", name=name, value=value, how=tale.random.choice(("conf", "dynamic")))


ANYTHING: tuple[Callable[[Tale], object], ...] = (
    lambda tale: tale.tick(tale.random.choice((0, 0.5, 1, 1, 2, 7))),
    lambda tale: tale.change(_some_topic(tale), tale.random.choice((0, 1, 5, 20, 40))),
    lambda tale: tale.use(_some_space(tale), tale.random.choice((0, 1, 5, 20))),
    lambda tale: tale.space(tale.random.choice((None, 1, 1, 2, 4))),
    lambda tale: tale.say("namespace", name=_some_space(tale), bundles=2),
    lambda tale: tale.say("broker_down", broker=_some_broker(tale)),
    lambda tale: tale.say("restart", broker=_some_broker(tale)),
    lambda tale: tale.say("leader_lost"),
    _again_up,
    _unload,
    _unload,
    _split,
    _domain,
    _group,
    _setting,
)


Plot = Callable[[Tale], None]

LONG = 200
"""Events of a long story."""


def stories(*plots: Plot, settings: Mapping[str, Any] = CALM) -> st.SearchStrategy[Trial]:
    """Stories with one of the plots: some without any event, some very long, half of them large."""
    return st.builds(
        lambda plot, random, kind: _story(plot, Tale(random, dict(settings), kind >= 40), kind),
        st.sampled_from(plots),
        randoms,
        st.integers(0, 99),
    )


def _story(plot: Plot, tale: Tale, kind: int) -> Trial:
    if kind:
        plot(tale)
    if kind in (1, 2):
        while len(tale.events) < LONG:
            tale.any_event()
    return Trial.of("cluster.replay", tale.case())


def crew(tale: Tale, fewest: int = 1) -> None:
    """Some brokers join, five or more if the story is a large one."""
    tale.up(max(fewest, tale.random.randint(5, 7) if tale.large else tale.random.randint(1, 3)))
    tale.backdrop()


def first_uses(tale: Tale) -> None:
    """Topics are used for the first time, several of a bundle, before and after others."""
    crew(tale)
    spaces = [tale.space(tale.random.choice((1, 1, 1, 2, 4))) for _ in range(_few(tale))]
    for _ in range(tale.random.randint(2, 12 if tale.large else 5)):
        tale.use(tale.random.choice(spaces), tale.random.choice((0, 1, 5, 20)))
        if tale.random.random() < 0.3:
            tale.tick()
    tale.noise()


def without_brokers(tale: Tale) -> None:
    """Topics are used while no broker is up, and brokers join, leave and join again."""
    space = tale.space()
    tale.use(space, 5)
    crew(tale)
    for broker in list(tale.brokers):
        tale.say("broker_down", broker=broker)
    tale.use(space, 1)
    tale.up(tale.random.randint(1, 2))
    tale.tick()
    tale.use(tale.space(), 1)
    tale.noise()


def crashes(tale: Tale) -> None:
    """Brokers that own bundles crash, one after the other."""
    crew(tale, fewest=2)
    for _ in range(_few(tale)):
        space = tale.space(tale.random.choice((1, 1, 2)))
        for _ in range(tale.random.randint(1, 2)):
            tale.use(space, tale.random.choice((1, 5, 20)))
    for broker in tale.random.sample(tale.brokers, tale.random.randint(1, len(tale.brokers))):
        tale.say(tale.random.choice(("broker_down", "broker_down", "restart")), broker=broker)
        if tale.random.random() < 0.5:
            tale.tick(tale.random.choice((0, 1)))
    tale.noise()


def unloads(tale: Tale) -> None:
    """Topics, bundles and namespaces are unloaded while others are in use."""
    crew(tale, fewest=tale.random.choice((1, 2, 2)))
    for _ in range(_few(tale)):
        space = tale.space(tale.random.choice((1, 1, 1, 4)))
        for _ in range(tale.random.randint(1, 3)):
            tale.use(space, tale.random.choice((1, 5, 20)))
    if tale.random.random() < 0.5:
        tale.tick(2)
    for _ in range(tale.random.randint(1, 4)):
        what = tale.random.choice(("topic", "namespace", "bundleOf"))
        spaces = tale.spaces if tale.random.random() < 0.1 else tale.spaces[-2:]
        named = tale.random.choice(spaces if what == "namespace" else tale.topics)
        tale.say("unload", **{what: named})
    tale.noise()


def one_is_idle(tale: Tale) -> None:
    """A broker with heavy bundles, and others with little or no load.

    The heavy one is alone when its bundles are first used, so that it gets them even if others
    would have been chosen.
    """
    tale.settings[REPORT_INTERVAL] = tale.random.choice((1, 1, 2))
    tale.up()
    tale.backdrop()
    for _ in range(tale.random.randint(1, 3)):
        tale.use(tale.space(), tale.random.choice((16, 20, 26)))
    tale.up(tale.random.randint(4, 6) if tale.large else tale.random.randint(1, 2))
    tale.tick(tale.settings[REPORT_INTERVAL] + 1)
    light = tale.space()
    first = tale.use(light, 1)
    tale.tick(tale.settings[REPORT_INTERVAL] + 1)
    what = tale.random.choice(("use", "bundleOf", "namespace", "topic", "down"))
    if what == "use":
        tale.use(tale.space(tale.random.choice((1, 4))), 2)
    elif what == "down":
        tale.say("broker_down", broker=tale.random.choice(tale.brokers[1:]))
    else:
        tale.say("unload", **{what: light if what == "namespace" else first})
    tale.noise()


def leaders(tale: Tale) -> None:
    """The leader changes, by itself or because it goes down, while bundles are assigned."""
    crew(tale, fewest=tale.random.choice((1, 2, 3)))
    for _ in range(tale.random.randint(2, 5)):
        tale.use(tale.space(), tale.random.choice((1, 5)))
        event = tale.random.choice(("leader_lost", "leader_lost", "broker_down", "restart", "tick"))
        if event == "leader_lost":
            tale.say("leader_lost")
        elif event == "tick":
            tale.tick()
        else:
            tale.say(event, broker=tale.random.choice(tale.brokers[:2]))
    tale.use(tale.space(), 1)
    tale.noise()


def _few(tale: Tale) -> int:
    return tale.random.randint(3, 6) if tale.large else tale.random.randint(1, 3)
