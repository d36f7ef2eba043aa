"""Stories of anti-affinity groups: made, changed, and spread over domains that come and go."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_conformance.conformance.stories.draw_tales import Tale

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
