"""Draws the plots of stories: overload, growing bundles, anti-affinity groups, load data."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_conformance.conformance.stories.draw_stories import (
    CAPACITY,
    StoryDraft,
    add_brokers,
    use_namespaces,
)
from pulsar_conformance.reference.candidates import AUTO_SPLIT, AUTO_UNLOAD, MAX_BUNDLES, MAX_TOPICS
from pulsar_conformance.reference.shedding import ENABLED, GRACE, PACKAGE, STRATEGY
from pulsar_conformance.reference.story.events import DEFAULT_BUNDLES
from pulsar_conformance.reference.story.timers import (
    REPORT_INTERVAL,
    SHEDDING_INTERVAL,
    WRITE_INTERVAL,
)

OVERLOAD, THRESHOLD = f"{PACKAGE}OverloadShedder", f"{PACKAGE}ThresholdShedder"


def overloaded(draft: StoryDraft, intervals: Sequence[int] = (1, 1, 2, 5)) -> None:
    """Overload a broker before others join, so that it must shed bundles to them."""
    _intervals(draft, intervals)
    _one_with_all(draft, draft.random.choice((86, 90, 95, 99, 120)))
    _wait(draft)
    draft.noise()
    if draft.random.random() < 0.5:
        _wait(draft)


def overloaded_before_a_late_cycle(draft: StoryDraft) -> None:
    """Build the plot `overloaded`, with the first cycle long after the overload begins."""
    overloaded(draft, intervals=(4, 5, 7))
    _wait_for_cycles(draft)


def above_the_average_before_a_late_cycle(draft: StoryDraft) -> None:
    """Build the plot `above_the_average`, with the first cycle long after the load begins."""
    above_the_average(draft, intervals=(4, 5, 7))
    _wait_for_cycles(draft)


def above_the_average(draft: StoryDraft, intervals: Sequence[int] = (1, 1, 2, 5)) -> None:
    """Load one broker far above the average, under ThresholdShedder."""
    draft.settings[STRATEGY] = THRESHOLD
    _intervals(draft, intervals)
    _one_with_all(draft, draft.random.choice((40, 60, 80, 95)))
    _wait(draft)
    draft.noise()


def overloaded_again(draft: StoryDraft) -> None:
    """Make bundles that were shed overload their next broker, within the grace period or later."""
    _intervals(draft)
    draft.settings[GRACE] = draft.random.choice((5, 30, 30))
    if draft.large:
        _what_was_shed_grows(draft)
    else:
        _everything_on_one(draft)
    draft.noise()


def _what_was_shed_grows(draft: StoryDraft) -> None:
    """Give a broker two bundles with 95 MB/s in total; later, raise each to about 90 MB/s."""
    _one_with_all(draft, 95, parts=2)
    _wait(draft)
    for _ in range(draft.random.randint(10, 14)):
        draft.use(draft.space(), 1)
    for _ in range(2):
        for topic in draft.topics[:2]:
            draft.change(topic, draft.random.choice((88, 90, 95)))
        _wait(draft)


def _everything_on_one(draft: StoryDraft) -> None:
    """Crash and restart one of two brokers, so that the other one gets all bundles."""
    _one_with_all(draft, 90, others=1, parts=draft.random.randint(2, 3))
    _wait(draft)
    for _ in range(draft.random.randint(1, 2)):
        for broker in draft.random.sample(draft.brokers, 1):
            draft.add_event("broker_down", broker=broker)
            if draft.random.random() < 0.2:
                draft.tick(draft.random.choice((draft.settings[GRACE], draft.settings[GRACE] + 1)))
            draft.add_event("broker_up", broker=broker, capacity=CAPACITY)
        _wait(draft)


def overloads_every_owner(draft: StoryDraft) -> None:
    """Add load that overloads whichever broker gets it, so that every rare cycle moves it."""
    draft.settings |= {
        SHEDDING_INTERVAL: draft.random.choice((3, 5, 10)),
        GRACE: draft.random.choice((0, 1)),
    }
    _one_with_all(draft, 200, parts=draft.random.randint(2, 4))
    for _ in range(draft.random.randint(8, 16)):
        if draft.random.random() < 0.2:
            draft.change(draft.random.choice(draft.topics), draft.random.choice((50, 90)))
        draft.tick(1)


def beside_a_large_bundle(draft: StoryDraft) -> None:
    """Overload two brokers, one with a single large bundle and one with several bundles.

    The other brokers are idle.
    """
    draft.settings |= {REPORT_INTERVAL: 1, SHEDDING_INTERVAL: draft.random.choice((5, 7))}
    draft.start_brokers()
    draft.add_unrelated_namespaces()
    draft.use(draft.space(), draft.random.choice((110, 140)))
    draft.start_brokers()
    draft.tick(2)
    for size in (50, 45):
        draft.use(draft.space(), size)
    draft.start_brokers(draft.random.randint(3, 5) if draft.large else 1)
    _wait(draft)
    draft.noise()
    _wait_for_cycles(draft)


def switched_off(draft: StoryDraft) -> None:
    """Overload a broker while shedding is disabled, either from the start or from a later time."""
    later = draft.random.random() < 0.5
    draft.settings[ENABLED] = later
    _intervals(draft)
    if later:
        draft.start_brokers(2)
        draft.add_event(
            "setting", name=ENABLED, value=False, how=draft.random.choice(("conf", "dynamic"))
        )
        for broker in draft.brokers:
            draft.add_event(draft.random.choice(("restart", "broker_down")), broker=broker)
        for broker in draft.brokers:
            draft.add_event("broker_down", broker=broker)
    _one_with_all(draft, draft.random.choice((86, 95, 120)))
    _wait(draft)
    draft.noise()


def another_strategy(draft: StoryDraft) -> None:
    """Change the strategy while a broker would shed under only one of the two strategies."""
    before, after = draft.random.choice(((OVERLOAD, THRESHOLD), (THRESHOLD, OVERLOAD)))
    draft.settings[STRATEGY] = before
    _intervals(draft)
    if before == THRESHOLD:
        _all_nearly_alike(draft)
    else:
        level = draft.random.choice((40, 60, 80))
        _one_with_all(draft, level, others=None if draft.large else 1)
    draft.tick(draft.settings[REPORT_INTERVAL] + 1)
    how = draft.random.choice(("dynamic", "dynamic", "conf"))
    draft.add_event("setting", name=STRATEGY, value=after, how=how)
    _wait(draft)
    if draft.random.random() < 0.7:
        for broker in draft.brokers:
            draft.add_event("restart", broker=broker)
        _wait(draft)
    draft.noise()


def grown(draft: StoryDraft) -> None:
    """Give bundles too many topics, so that bundles are split, and later their parts."""
    draft.settings |= {AUTO_SPLIT: True, MAX_TOPICS: draft.random.choice((1, 2, 3))}
    draft.settings[REPORT_INTERVAL] = draft.random.choice((1, 2))
    if draft.random.random() < 0.3:
        draft.settings.setdefault(AUTO_UNLOAD, draft.random.choice((True, False)))
    if draft.random.random() < 0.5:
        draft.settings[MAX_BUNDLES] = draft.random.choice((2, 3, 4))
    add_brokers(draft, fewest=draft.random.choice((1, 2, 2)))
    use_namespaces(draft, (1, 1, 2), (2, 8), (1, 5), count=draft.random.randint(1, 2))
    for _ in range(draft.random.randint(1, 4)):
        draft.tick(draft.settings[REPORT_INTERVAL])
    draft.noise()


def grown_in_place(draft: StoryDraft) -> None:
    """Make bundles grow while the unloading of parts is disabled."""
    draft.settings[AUTO_UNLOAD] = False
    grown(draft)


def split_beside_a_busy_broker(draft: StoryDraft) -> None:
    """Split a bundle on a lightly loaded broker while the other broker is busy."""
    draft.settings |= {AUTO_SPLIT: True, MAX_TOPICS: 2, REPORT_INTERVAL: 1}
    draft.start_brokers()
    draft.add_unrelated_namespaces()
    draft.use(draft.space(), 60)
    draft.start_brokers(draft.random.randint(4, 6) if draft.large else 1)
    draft.tick(2)
    light = draft.space()
    for _ in range(2):
        draft.use(light, 1)
    draft.tick(2)
    draft.use(light, 1)
    draft.tick(1)


def split_on_a_busy_broker(draft: StoryDraft) -> None:
    """Split a bundle of a busy broker while other brokers are idle and can take the parts."""
    draft.settings |= {AUTO_SPLIT: True, MAX_TOPICS: 2, REPORT_INTERVAL: 1}
    draft.start_brokers()
    draft.add_unrelated_namespaces()
    draft.use(draft.space(), 60)
    growing = draft.space()
    for _ in range(draft.random.randint(3, 5)):
        draft.use(growing, 1)
    draft.start_brokers(draft.random.randint(1, 2))
    draft.tick(2)
    draft.tick(1)


def _intervals(draft: StoryDraft, intervals: Sequence[int] = (1, 1, 2, 5)) -> None:
    draft.settings[REPORT_INTERVAL] = draft.random.choice((1, 1, 2))
    draft.settings[SHEDDING_INTERVAL] = draft.random.choice(intervals)


def _one_with_all(
    draft: StoryDraft, megabytes: int, others: int | None = None, parts: int | None = None
) -> None:
    """Give one broker bundles with `megabytes` in total, then add `others` other brokers."""
    draft.start_brokers()
    draft.add_unrelated_namespaces()
    left = megabytes
    for index in range(parts or draft.random.randint(2, 4), 0, -1):
        size = left if index == 1 else draft.random.randint(1, max(1, left - index))
        draft.use(draft.space(), size)
        left = max(1, left - size)
    if others is None:
        others = draft.random.randint(4, 6) if draft.large else draft.random.randint(1, 2)
    draft.start_brokers(others)


def _all_nearly_alike(draft: StoryDraft) -> None:
    """Overload every broker about equally, so that none is far above the average.

    If bundles are placed by load, each broker in turn gets a bundle, and a second one after all
    brokers have reported.
    """
    add_brokers(draft, fewest=2)
    for _ in range(2):
        for index in range(len(draft.brokers)):
            draft.use(draft.space(), 45 + index % 3)
        draft.tick(draft.settings[REPORT_INTERVAL])


def _wait_for_cycles(draft: StoryDraft) -> None:
    """Let several cycles pass, so that even a strategy that sheds at random sheds in some cycle."""
    for _ in range(draft.random.choice((1, 3, 6))):
        _wait(draft)


def _wait(draft: StoryDraft) -> None:
    """Let time pass, in one step or several, until all reports and a cycle are due."""
    minutes = draft.settings[REPORT_INTERVAL] + draft.settings[SHEDDING_INTERVAL] + 1
    for _ in range(minutes if draft.random.random() < 0.7 else 1):
        draft.tick(1)
    if draft.random.random() < 0.3:
        draft.tick(minutes)


def unloaded_by_hand(draft: StoryDraft) -> None:
    """Unload a bundle as an administrator; within the grace period, it overloads its new broker.

    All other bundles are light, so that only this bundle could be shed.
    """
    draft.settings[GRACE] = draft.random.choice((10, 30, 30))
    draft.start_brokers(capacity=CAPACITY)
    space = draft.space()
    topic = draft.use(space, draft.random.choice((2, 5)))
    light = draft.use(draft.space(), 1)
    draft.tick(2)
    draft.add_event("unload", bundleOf=topic)
    draft.tick(draft.random.choice((0, 1)))
    draft.change(topic, draft.random.choice((90, 95, 110)))
    draft.change(light, 0.5)
    draft.start_brokers(draft.random.randint(1, 2))
    draft.tick(draft.random.choice((3, 5)))
    draft.noise(1)


def registered_twice(draft: StoryDraft) -> None:
    """Register a broker of one domain in another one too, which is new or existed before."""
    draft.start_brokers(draft.random.randint(3, 5))
    draft.add_unrelated_namespaces()
    half = draft.random.randint(1, len(draft.brokers) - 1)
    first, others = draft.brokers[:half], draft.brokers[half:]
    domains = {"north": first, **draft.random.choice(({}, {"south": others}, {"south": others}))}
    for name in draft.random.sample(list(domains), len(domains)):
        draft.add_event("domain", name=name, brokers=domains[name])
    for _ in range(draft.random.randint(0, 2)):
        _use_one_of_the_group(draft)
    second = draft.random.choice(("south", "west"))
    moved = [*domains.get(second, ()), draft.random.choice(first)]
    draft.add_event("domain", name=second, brokers=moved)
    for _ in range(draft.random.randint(1, 3)):
        _use_one_of_the_group(draft)
    draft.noise()


def _use_one_of_the_group(draft: StoryDraft) -> None:
    """Use a topic in one more namespace of the group."""
    space = draft.space()
    draft.add_event("group", namespace=space, group="apart")
    draft.use(space, draft.random.choice((0, 1)))


def undisturbed(draft: StoryDraft) -> None:
    """Keep the load nearly constant over several reporting and writing intervals."""
    draft.settings[REPORT_INTERVAL] = draft.random.choice((1, 1, 2, 3, 5))
    draft.settings[WRITE_INTERVAL] = draft.random.choice((1, 2, 5, 10))
    add_brokers(draft)
    for _ in range(draft.random.randint(1, 4)):
        space = draft.space(draft.random.choice((1, 1, 1, 4)))
        for _ in range(draft.random.randint(1, 3)):
            draft.use(space, draft.random.choice((0, 1, 5, 20)))
    longest = max(draft.settings[REPORT_INTERVAL], draft.settings[WRITE_INTERVAL])
    for _ in range(draft.random.randint(3, 6)):
        draft.tick(draft.random.choice((1, longest, 2 * longest + 1)))
        if draft.random.random() < 0.3:
            draft.change(draft.random.choice(draft.topics), draft.random.choice((2, 10)))


def with_changes(draft: StoryDraft) -> None:
    """Build the plot `undisturbed`, then add a broker, a random event, and a change of leader."""
    undisturbed(draft)
    draft.any_event()
    draft.start_brokers()
    draft.tick(draft.settings[REPORT_INTERVAL] + 1)
    draft.add_event("leader_lost")
    draft.tick(2 * draft.settings[WRITE_INTERVAL] + 1)
    draft.noise()
    draft.tick(2 * draft.settings[WRITE_INTERVAL] + 1)


def many_partitions(draft: StoryDraft) -> None:
    """Use 16 partitions in a namespace of many bundles, and 10 to 14 topics in another namespace.

    The number of topics is between the default number of bundles before 5.0 and the default since
    5.0.
    """
    add_brokers(draft)
    space = draft.space(draft.random.choice((None, 32, 64)))
    for number in range(16):
        draft.change(f"persistent://{space}/topic-partition-{number}", 1)
    space = draft.space(None)
    for _ in range(draft.random.randint(10, 14)):
        draft.use(space, 1)


MAX_OVERRIDES = "loadBalancerServiceUnitStateMaxConcurrentOverrides"


def stop_with_many_bundles(draft: StoryDraft) -> None:
    """Shut down a broker that owns more bundles than can be reassigned at the same time."""
    if draft.random.random() < 0.08:
        draft.start_brokers()
        use_namespaces(draft, (256,), (80, 90), (0,), count=1)
    else:
        draft.settings[MAX_OVERRIDES] = draft.random.choice((1, 2, "1", "3"))
        draft.start_brokers(draft.random.randint(1, 2))
        use_namespaces(draft, (4, 16), (8, 12), (0, 1), count=draft.random.randint(1, 2))
    draft.start_brokers()
    draft.add_event("broker_stop", broker=draft.brokers[0])
    draft.tick()


def destination_that_is_down(draft: StoryDraft) -> None:
    """Unload bundles to a broker that has crashed, and to other brokers."""
    add_brokers(draft, fewest=2)
    for _ in range(draft.random.randint(1, 3)):
        draft.use(draft.space(draft.random.choice((1, 1, 4))), draft.random.choice((1, 5)))
    crashed = draft.random.choice(draft.brokers)
    draft.add_event("broker_down", broker=crashed)
    for _ in range(draft.random.randint(1, 3)):
        to = draft.random.choice((crashed, crashed, *draft.brokers))
        draft.add_event("unload", bundleOf=draft.random.choice(draft.topics), to=to)


def split_by_hand(draft: StoryDraft) -> None:
    """Split bundles as an administrator while the unloading of parts is disabled."""
    draft.settings[AUTO_UNLOAD] = draft.random.choice((False, False, "false"))
    add_brokers(draft, fewest=draft.random.choice((1, 2, 2)))
    use_namespaces(draft, (1, 1, 4), (3, 6), (0, 1), count=draft.random.randint(1, 2))
    for _ in range(draft.random.randint(1, 3)):
        draft.add_event("split", bundleOf=draft.random.choice(draft.topics))


def another_default(draft: StoryDraft) -> None:
    """Create namespaces with a default number of bundles that was changed before brokers start."""
    for number in draft.random.sample((1, 2, 16), draft.random.randint(1, 2)):
        how = draft.random.choice(("conf", "dynamic"))
        draft.add_event("setting", name=DEFAULT_BUNDLES, value=number, how=how)
    draft.start_brokers(draft.random.randint(1, 3))
    for _ in range(2):
        space = draft.space(None)
        for _ in range(draft.random.randint(2, 4)):
            draft.use(space, draft.random.choice((0, 1, 5)))
