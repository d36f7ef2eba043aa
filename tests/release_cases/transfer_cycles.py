"""Branches of shed.cycles: the state that TransferShedder and UnloadScheduler keep between cycles."""

import copy

from release_cases.common import branch
from release_cases.transfer import DELAY, HISTORY, HITS, TARGET, TRANSFER, uneven

EVEN = {HISTORY: 0.0}
"""Setting with which the load is the current usage, without history."""


def again(fleet, percents, minutes, recent=None, **more):
    """Return the next cycle: the same brokers and bundles with other usages; None for a broker that is away."""
    cycle = copy.deepcopy(fleet.cycle(recent))
    for name, percent in zip(fleet.brokers, percents):
        if percent is None:
            for bundle in cycle["brokers"].pop(name)["bundles"]:
                cycle["bundles"].pop(bundle, None)
        else:
            cycle["brokers"][name]["cpu"] = {"usage": percent, "limit": 100}
    return {"minutes": minutes, **cycle, **more}


def story(rng, given, cycles):
    return {
        "strategy": rng.choice([TRANSFER, "TransferShedder"]),
        "settings": given,
        "cycles": cycles,
    }


@branch("shed.cycles", since="3.0.7", weight=4)
def hits_in_a_row(rng, _version):
    """findBundlesForUnloading: unloadConditionHitCount > the setting; a balanced cycle or an unload resets it."""
    fleet = uneven(rng, [50] * rng.randrange(2, 5))
    count = len(fleet.brokers)
    wide, flat = [90, 5] + [50] * (count - 2), [50] * count
    steps = [rng.choice([wide, wide, wide, flat]) for _ in range(rng.randrange(3, 10))]
    hits = rng.choice([None, 0, 1, 2, 3, -1])
    given = {**EVEN, TARGET: rng.choice([0.1, 0.25])}
    if hits is not None:
        given[HITS] = hits
    return story(rng, given, [again(fleet, step, rng.choice([1, 5])) for step in steps])


@branch("shed.cycles", since="3.0.7", weight=2)
def hits_over_skipped_cycles(rng, _version):
    """findBundlesForUnloading: a cycle skipped because of missing or too early data does not change the hits."""
    fleet = uneven(rng, [90, 5, 50])
    steps = []
    for _ in range(rng.randrange(3, 7)):
        more = {"withoutData": ["new-1"]} if rng.random() < 0.3 else {}
        steps.append(again(fleet, [90, rng.choice([5, 5, 5, 85]), 50], 1, **more))
    return story(rng, {**EVEN, TARGET: 0.1, HITS: rng.choice([1, 2, 3])}, steps)


@branch("shed.cycles", since="3.0.7", weight=5)
def delay_after_an_unload(rng, _version):
    """LoadStats.update: a broker that shed must report again after the delay; until then, cycles are skipped."""
    fleet = uneven(rng, [90, 5, rng.choice([50, 88])])
    delay = rng.choice([180, 180, 60, 600, 0])
    steps = []
    for _ in range(rng.randrange(2, 6)):
        minutes = rng.choice([delay / 60, delay / 60 + 0.5, 0.5, 1, 3])
        step = again(fleet, [90, 5, rng.choice([50, 88])], minutes)
        if rng.random() < 0.4:
            for report in step["brokers"].values():
                report["age"] = rng.choice([0, 5, 30, 60])
        steps.append(step)
    given = {
        **EVEN,
        TARGET: 0.1,
        HITS: 0,
        "loadBalancerSheddingGracePeriodMinutes": rng.choice([0, 30]),
    }
    return story(rng, given if delay == 180 else {**given, DELAY: delay}, steps)


@branch("shed.cycles", since="3.0.7", weight=3)
def smoothing_over_cycles(rng, _version):
    """BrokerLoadData.update: each report is smoothed with the earlier ones, even in cycles without decisions."""
    fleet = uneven(rng, [50] * 3)
    steps = [
        again(fleet, [rng.choice([5, 30, 50, 70, 95]) for _ in range(3)], 4)
        for _ in range(rng.randrange(2, 7))
    ]
    share = rng.choice([None, 0.5, 0.9, 0.1, 1])
    given = {TARGET: rng.choice([0.1, 0.25]), HITS: rng.choice([0, 1])}
    return story(rng, given if share is None else {**given, HISTORY: share}, steps)


@branch("shed.cycles", since="3.0.7", weight=2)
def unloaded_in_an_earlier_cycle(rng, _version):
    """UnloadScheduler.recentlyUnloadedBundles: unloaded bundles stay for the grace period, even if they returned."""
    fleet = uneven(rng, [90, 5, 40])
    period = rng.choice([30, 5, 10])
    steps = []
    for _ in range(rng.randrange(2, 5)):
        recent = {
            one: rng.choice([0.5, 4])
            for one in rng.sample(list(fleet.bundles), rng.choice([0, 0, 1]))
        }
        steps.append(again(fleet, [90, 5, 40], rng.choice([3.5, period - 1, period + 1]), recent))
    given = {**EVEN, TARGET: 0.1, HITS: 0, "loadBalancerSheddingGracePeriodMinutes": period}
    return story(rng, given, steps)


@branch("shed.cycles", since="3.0.7", weight=2)
def brokers_come_and_go(rng, _version):
    """A broker's load data ends and starts anew with the broker; a single broker is smoothed as well."""
    fleet = uneven(rng, [50] * 3)
    steps = []
    for _ in range(rng.randrange(3, 6)):
        step = [rng.choice([10, 40, 90]) for _ in range(3)]
        for place in rng.sample(range(3), rng.choice([0, 0, 1, 2])):
            step[place] = None
        steps.append(again(fleet, step, 4))
    return story(rng, {TARGET: 0.1, HITS: 0, HISTORY: rng.choice([0.9, 0.5])}, steps)
