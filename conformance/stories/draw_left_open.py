"""Stories in which something happens of which the documents do not say what comes of it."""

from __future__ import annotations

from pulsar_conformance.conformance.stories.draw_tales import CAPACITY, Tale
from pulsar_conformance.reference.shedding import GRACE


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
        _used(tale)
    tale.say("domain", name="west", brokers=[tale.random.choice(tale.brokers[:half])])
    for _ in range(tale.random.randint(1, 3)):
        _used(tale)
    tale.noise()


def _used(tale: Tale) -> None:
    """One more namespace of a group is used."""
    space = tale.space()
    tale.say("group", namespace=space, group="apart")
    tale.use(space, tale.random.choice((0, 1)))
