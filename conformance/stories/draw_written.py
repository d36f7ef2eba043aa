"""Stories in which time passes and little else, to see who writes what down, and when."""

from __future__ import annotations

from pulsar_conformance.conformance.stories.draw_ownership import crew
from pulsar_conformance.conformance.stories.draw_tales import Tale
from pulsar_conformance.reference.story.timers import REPORT_INTERVAL, WRITE_INTERVAL


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
