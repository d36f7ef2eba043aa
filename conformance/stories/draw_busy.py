"""Stories in which brokers are overloaded, and bundles grow."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_conformance.conformance.stories.draw_ownership import crew
from pulsar_conformance.conformance.stories.draw_tales import CAPACITY, Tale
from pulsar_conformance.reference.candidates import (
    AUTO_SPLIT,
    AUTO_UNLOAD,
    MAX_BUNDLES,
    MAX_TOPICS,
)
from pulsar_conformance.reference.shedding import ENABLED, GRACE, PACKAGE, STRATEGY
from pulsar_conformance.reference.story.timers import REPORT_INTERVAL, SHEDDING_INTERVAL

OVERLOAD, THRESHOLD = f"{PACKAGE}OverloadShedder", f"{PACKAGE}ThresholdShedder"


def overloaded(tale: Tale, looks: Sequence[int] = (1, 1, 2, 5)) -> None:
    """A broker is overloaded before others join, so that it has to shed to them."""
    _intervals(tale, looks)
    _one_with_all(tale, tale.random.choice((86, 90, 95, 99, 120)))
    _wait(tale)
    tale.noise()
    if tale.random.random() < 0.5:
        _wait(tale)


def looked_at_later(tale: Tale) -> None:
    """The same, but every load has been reported for some time before the cycle."""
    overloaded(tale, looks=(4, 5, 7))
    _wait_on(tale)


def above_the_average_later(tale: Tale) -> None:
    """The same, with ThresholdShedder."""
    above_the_average(tale, looks=(4, 5, 7))
    _wait_on(tale)


def above_the_average(tale: Tale, looks: Sequence[int] = (1, 1, 2, 5)) -> None:
    """A broker far above the average, with ThresholdShedder."""
    tale.settings[STRATEGY] = THRESHOLD
    _intervals(tale, looks)
    _one_with_all(tale, tale.random.choice((40, 60, 80, 95)))
    _wait(tale)
    tale.noise()


def overloaded_again(tale: Tale) -> None:
    """The shed bundles overload another broker, within the grace period or after it."""
    _intervals(tale)
    tale.settings[GRACE] = tale.random.choice((5, 30, 30))
    if tale.large:
        _what_was_shed_grows(tale)
    else:
        _everything_on_one(tale)
    tale.noise()


def _what_was_shed_grows(tale: Tale) -> None:
    """One of many brokers gets a heavy bundle; it and its neighbors then grow heavier."""
    _one_with_all(tale, 95, parts=2)
    _wait(tale)
    for _ in range(tale.random.randint(10, 14)):
        tale.use(tale.space(), 1)
    for _ in range(2):
        for topic in tale.topics[:2]:
            tale.change(topic, tale.random.choice((88, 90, 95)))
        _wait(tale)


def _everything_on_one(tale: Tale) -> None:
    """There are two brokers, and when one crashes, the other has all bundles."""
    _one_with_all(tale, 90, crew_of=1, parts=tale.random.randint(2, 3))
    _wait(tale)
    for _ in range(tale.random.randint(1, 2)):
        for broker in tale.random.sample(tale.brokers, 1):
            tale.say("broker_down", broker=broker)
            if tale.random.random() < 0.2:
                tale.tick(tale.random.choice((tale.settings[GRACE], tale.settings[GRACE] + 1)))
            tale.say("broker_up", broker=broker, capacity=CAPACITY)
        _wait(tale)


def too_much_for_any(tale: Tale) -> None:
    """Every owner of the load is overloaded, so that it moves at every cycle; cycles are rare."""
    tale.settings |= {
        SHEDDING_INTERVAL: tale.random.choice((3, 5, 10)),
        GRACE: tale.random.choice((0, 1)),
    }
    _one_with_all(tale, 200, parts=tale.random.randint(2, 4))
    for _ in range(tale.random.randint(8, 16)):
        if tale.random.random() < 0.2:
            tale.change(tale.random.choice(tale.topics), tale.random.choice((50, 90)))
        tale.tick(1)


def beside_a_giant(tale: Tale) -> None:
    """One broker is overloaded by a single bundle, another by several; the rest are idle."""
    tale.settings |= {REPORT_INTERVAL: 1, SHEDDING_INTERVAL: tale.random.choice((5, 7))}
    tale.up()
    tale.backdrop()
    tale.use(tale.space(), tale.random.choice((110, 140)))
    tale.up()
    tale.tick(2)
    for size in (50, 45):
        tale.use(tale.space(), size)
    tale.up(tale.random.randint(3, 5) if tale.large else 1)
    _wait(tale)
    tale.noise()
    _wait_on(tale)


def switched_off(tale: Tale) -> None:
    """A broker is overloaded while shedding is switched off, from the beginning or later."""
    later = tale.random.random() < 0.5
    tale.settings[ENABLED] = later
    _intervals(tale)
    if later:
        tale.up(2)
        tale.say("setting", name=ENABLED, value=False, how=tale.random.choice(("conf", "dynamic")))
        for broker in tale.brokers:
            tale.say(tale.random.choice(("restart", "broker_down")), broker=broker)
        for broker in tale.brokers:
            tale.say("broker_down", broker=broker)
    _one_with_all(tale, tale.random.choice((86, 95, 120)))
    _wait(tale)
    tale.noise()


def another_strategy(tale: Tale) -> None:
    """The strategy is changed while a broker is between what the two would do."""
    before, after = tale.random.choice(((OVERLOAD, THRESHOLD), (THRESHOLD, OVERLOAD)))
    tale.settings[STRATEGY] = before
    _intervals(tale)
    if before == THRESHOLD:
        _all_nearly_alike(tale)
    else:
        level = tale.random.choice((40, 60, 80))
        _one_with_all(tale, level, crew_of=None if tale.large else 1)
    tale.tick(tale.settings[REPORT_INTERVAL] + 1)
    how = tale.random.choice(("dynamic", "dynamic", "conf"))
    tale.say("setting", name=STRATEGY, value=after, how=how)
    _wait(tale)
    if tale.random.random() < 0.7:
        for broker in tale.brokers:
            tale.say("restart", broker=broker)
        _wait(tale)
    tale.noise()


def grown(tale: Tale) -> None:
    """Bundles have too many topics, so that they and then their parts are split."""
    tale.settings |= {AUTO_SPLIT: True, MAX_TOPICS: tale.random.choice((1, 2, 3))}
    tale.settings[REPORT_INTERVAL] = tale.random.choice((1, 2))
    if tale.random.random() < 0.3:
        tale.settings.setdefault(AUTO_UNLOAD, tale.random.choice((True, False)))
    if tale.random.random() < 0.5:
        tale.settings[MAX_BUNDLES] = tale.random.choice((2, 3, 4))
    crew(tale, fewest=tale.random.choice((1, 2, 2)))
    for _ in range(tale.random.randint(1, 2)):
        space = tale.space(tale.random.choice((1, 1, 2)))
        for _ in range(tale.random.randint(2, 8)):
            tale.use(space, tale.random.choice((1, 5)))
    for _ in range(tale.random.randint(1, 4)):
        tale.tick(tale.settings[REPORT_INTERVAL])
    tale.noise()


def grown_in_place(tale: Tale) -> None:
    """The same, with the unloading of parts switched off."""
    tale.settings[AUTO_UNLOAD] = False
    grown(tale)


def grown_beside_another(tale: Tale) -> None:
    """A split bundle has an owner with little load; the other broker is busy."""
    tale.settings |= {AUTO_SPLIT: True, MAX_TOPICS: 2, REPORT_INTERVAL: 1}
    tale.up()
    tale.backdrop()
    tale.use(tale.space(), 60)
    tale.up(tale.random.randint(4, 6) if tale.large else 1)
    tale.tick(2)
    light = tale.space()
    for _ in range(2):
        tale.use(light, 1)
    tale.tick(2)
    tale.use(light, 1)
    tale.tick(1)


def _intervals(tale: Tale, looks: Sequence[int] = (1, 1, 2, 5)) -> None:
    tale.settings[REPORT_INTERVAL] = tale.random.choice((1, 1, 2))
    tale.settings[SHEDDING_INTERVAL] = tale.random.choice(looks)


def _one_with_all(
    tale: Tale, megabytes: int, crew_of: int | None = None, parts: int | None = None
) -> None:
    """One broker takes bundles that together carry `megabytes`; then others join."""
    tale.up()
    tale.backdrop()
    left = megabytes
    for place in range(parts or tale.random.randint(2, 4), 0, -1):
        size = left if place == 1 else tale.random.randint(1, max(1, left - place))
        tale.use(tale.space(), size)
        left = max(1, left - size)
    if crew_of is None:
        crew_of = tale.random.randint(4, 6) if tale.large else tale.random.randint(1, 2)
    tale.up(crew_of)


def _all_nearly_alike(tale: Tale) -> None:
    """Every broker is overloaded, and none is far above the average.

    In turn, each broker gets a bundle where load decides, and another one after all have reported.
    """
    crew(tale, fewest=2)
    for _ in range(2):
        for place in range(len(tale.brokers)):
            tale.use(tale.space(), 45 + place % 3)
        tale.tick(tale.settings[REPORT_INTERVAL])


def _wait_on(tale: Tale) -> None:
    """Several more cycles are due, so that a broker that sheds by chance does so in one of them."""
    for _ in range(tale.random.choice((1, 3, 6))):
        _wait(tale)


def _wait(tale: Tale) -> None:
    """Time passes, minute by minute or at once, until every report and cycle was due."""
    minutes = tale.settings[REPORT_INTERVAL] + tale.settings[SHEDDING_INTERVAL] + 1
    for _ in range(minutes if tale.random.random() < 0.7 else 1):
        tale.tick(1)
    if tale.random.random() < 0.3:
        tale.tick(minutes)
