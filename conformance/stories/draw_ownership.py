"""Stories aimed at ownership: first uses, crashes, unloading, changes of the leader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.stories.draw_tales import CALM, Tale
from pulsar_conformance.reference.story.timers import REPORT_INTERVAL

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
