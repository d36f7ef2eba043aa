"""Stories in which brokers are overloaded, and bundles grow."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_conformance.conformance.stories.draw_tales import CAPACITY, Tale, crew
from pulsar_conformance.reference.candidates import AUTO_SPLIT, AUTO_UNLOAD, MAX_BUNDLES, MAX_TOPICS
from pulsar_conformance.reference.shedding import ENABLED, GRACE, PACKAGE, STRATEGY
from pulsar_conformance.reference.story.timers import (
    REPORT_INTERVAL,
    SHEDDING_INTERVAL,
    WRITE_INTERVAL,
)

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


DOMAINS = ("north", "south", "west", "east")


def first_of_a_group(tale: Tale) -> None:
    """Namespaces get a group that is new, and are used one after the other."""
    _brokers(tale)
    spaces = _grouped(tale, "apart", tale.random.randint(2, 6))
    _used(tale, spaces)
    tale.noise()


def another_group(tale: Tale) -> None:
    """Namespaces that are in use move to another group, whose other namespaces are then used."""
    _brokers(tale)
    old = _grouped(tale, "apart", tale.random.randint(2, 4))
    new = _grouped(tale, "away", tale.random.randint(1, 3))
    waiting = _grouped(tale, "apart", 1)
    _used(tale, old)
    for space in tale.random.sample(old, tale.random.randint(1, len(old))):
        tale.say("group", namespace=space, group=tale.random.choice(("away", "away", None)))
    _used(tale, [*new, *waiting] if tale.random.random() < 0.5 else [*waiting, *new])
    tale.noise()


def other_domains(tale: Tale) -> None:
    """Brokers change their domain, or domains disappear, between two uses."""
    homes = _brokers(tale)
    spaces = _grouped(tale, "apart", tale.random.randint(3, 6))
    half = tale.random.randint(1, len(spaces) - 1)
    _used(tale, spaces[:half])
    gone = tale.random.choice(list(homes))
    if tale.random.random() < 0.3:
        for name in homes:
            tale.say("domain", name=name, brokers=[])
    else:
        moved = homes.pop(gone)
        tale.say("domain", name=gone, brokers=[])
        heir = tale.random.choice([*homes, "far"])
        tale.say("domain", name=heir, brokers=[*homes.get(heir, ()), *moved])
    _used(tale, spaces[half:])
    tale.noise()


def an_outage(tale: Tale) -> None:
    """All brokers of a domain go down while others own namespaces of the same group."""
    homes = _brokers(tale)
    _used(tale, _grouped(tale, "apart", tale.random.randint(2, 6)))
    for broker in homes[tale.random.choice(list(homes))]:
        tale.say("broker_down", broker=broker)
    tale.noise()


def _brokers(tale: Tale) -> dict[str, list[str]]:
    """Two or more domains with their brokers; returns the domains that exist."""
    tale.up(tale.random.randint(5, 7) if tale.large else tale.random.randint(2, 4))
    tale.backdrop()
    count = tale.random.randint(2, min(4, len(tale.brokers)))
    homes = {name: tale.brokers[place::count] for place, name in enumerate(DOMAINS[:count])}
    for name, brokers in homes.items():
        tale.say("domain", name=name, brokers=brokers)
    return homes


def _grouped(tale: Tale, group: str, count: int) -> list[str]:
    spaces = [tale.space() for _ in range(count)]
    for space in spaces:
        tale.say("group", namespace=space, group=group)
    return spaces


def _used(tale: Tale, spaces: Sequence[str]) -> None:
    for space in spaces:
        tale.use(space, tale.random.choice((0, 1)))
        if tale.random.random() < 0.2:
            tale.tick()


def unloaded_by_hand(tale: Tale) -> None:
    """A bundle is unloaded by hand, and makes its broker overloaded within the grace period.

    The other brokers have less to do, but are no place for its return: only it can be shed.
    """
    tale.settings[GRACE] = tale.random.choice((10, 30, 30))
    tale.up(capacity=CAPACITY)
    space = tale.space()
    topic = tale.use(space, tale.random.choice((2, 5)))
    light = tale.use(tale.space(), 1)
    tale.tick(2)
    tale.say("unload", bundleOf=topic)
    tale.tick(tale.random.choice((0, 1)))
    tale.change(topic, tale.random.choice((90, 95, 110)))
    tale.change(light, 0.5)
    tale.up(tale.random.randint(1, 2))
    tale.tick(tale.random.choice((3, 5)))
    tale.noise(1)


def registered_twice(tale: Tale) -> None:
    """A broker that is in one domain is to be registered to another one, too."""
    tale.up(tale.random.randint(3, 5))
    tale.backdrop()
    half = tale.random.randint(1, len(tale.brokers) - 1)
    tale.say("domain", name="north", brokers=tale.brokers[:half])
    if tale.random.random() < 0.5:
        tale.say("domain", name="south", brokers=tale.brokers[half:])
    for _ in range(tale.random.randint(0, 2)):
        _use_one_of_the_group(tale)
    tale.say("domain", name="west", brokers=[tale.random.choice(tale.brokers[:half])])
    for _ in range(tale.random.randint(1, 3)):
        _use_one_of_the_group(tale)
    tale.noise()


def _use_one_of_the_group(tale: Tale) -> None:
    """One more namespace of a group is used."""
    space = tale.space()
    tale.say("group", namespace=space, group="apart")
    tale.use(space, tale.random.choice((0, 1)))


def undisturbed(tale: Tale) -> None:
    """Brokers carry what they carry for several intervals of reporting and of writing."""
    tale.settings[REPORT_INTERVAL] = tale.random.choice((1, 1, 2, 3, 5))
    tale.settings[WRITE_INTERVAL] = tale.random.choice((1, 2, 5, 10))
    crew(tale)
    for _ in range(tale.random.randint(1, 4)):
        space = tale.space(tale.random.choice((1, 1, 1, 4)))
        for _ in range(tale.random.randint(1, 3)):
            tale.use(space, tale.random.choice((0, 1, 5, 20)))
    longest = max(tale.settings[REPORT_INTERVAL], tale.settings[WRITE_INTERVAL])
    for _ in range(tale.random.randint(3, 6)):
        tale.tick(tale.random.choice((1, longest, 2 * longest + 1)))
        if tale.random.random() < 0.3:
            tale.change(tale.random.choice(tale.topics), tale.random.choice((2, 10)))


def with_changes(tale: Tale) -> None:
    """The same, while a broker joins, another goes, and the leader changes."""
    undisturbed(tale)
    tale.any_event()
    tale.up()
    tale.tick(tale.settings[REPORT_INTERVAL] + 1)
    tale.say("leader_lost")
    tale.tick(2 * tale.settings[WRITE_INTERVAL] + 1)
    tale.noise()
    tale.tick(2 * tale.settings[WRITE_INTERVAL] + 1)
