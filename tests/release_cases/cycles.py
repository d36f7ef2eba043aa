"""Branches of shed.cycles: the state that a load manager and its strategy keep between cycles."""

import copy

from release_cases.common import Cluster, branch, loads, named
from release_cases.shed import OVERLOAD, THRESHOLD, UNIFORM, busy, strategies


def story(strategy, settings, cycles):
    return {"strategy": strategy, "settings": settings, "cycles": cycles}


def scene(rng, percents, count=3, volume=1e8):
    """Return brokers with these usages; their bundles stay the same from cycle to cycle."""
    cluster = Cluster(rng)
    for percent in percents:
        cluster.broker(percent, loads(rng, count, volume))
    return cluster


def again(cluster, percents, minutes, recent=None):
    """Return the next cycle: the same brokers and bundles with other usages; None for a broker that is away."""
    cycle = copy.deepcopy(cluster.cycle(minutes, recent))
    for name, percent in zip(list(cycle["brokers"]), percents):
        if percent is None:
            for bundle in cycle["brokers"].pop(name)["bundles"]:
                cycle["bundles"].pop(bundle, None)
        else:
            cycle["brokers"][name]["cpu"] = {"usage": percent, "limit": 100}
    return cycle


@branch("shed.cycles", weight=3)
def unloaded_before_and_grace(rng, version):
    """ModularLoadManagerImpl.doLoadShedding: it adds unloaded bundles to a map for the grace period."""
    cluster, strategy, settings = busy(rng, version)
    period = rng.choice([30, 5, 0, 1])
    if period != 30:
        settings["loadBalancerSheddingGracePeriodMinutes"] = period
    gaps = [
        rng.choice([period + 0.5, max(period - 0.5, 0.13), period / 2 + 0.13, 0.93, 0.13])
        for _ in range(rng.randrange(2, 6))
    ]
    cycles = [copy.deepcopy(cluster.cycle(gap)) for gap in gaps if gap != period]
    return story(named(rng, strategy), settings, cycles)


@branch("shed.cycles", weight=2)
def unloaded_by_others_meanwhile(rng, version):
    """LoadData.getRecentlyUnloadedBundles: a later cycle names further bundles."""
    cluster, strategy, settings = busy(rng, version)
    owned = [name for data in cluster.brokers.values() for name in data["bundles"]]
    cycles = []
    for _ in range(rng.randrange(2, 5)):
        recent = {
            name: rng.choice([0.5, 10, 29.5, 30.5])
            for name in rng.sample(owned, rng.randrange(0, len(owned)))
        }
        cycles.append(copy.deepcopy(cluster.cycle(rng.choice([1, 10.25, 31]), recent)))
    return story(named(rng, strategy), settings, cycles)


@branch("shed.cycles", since="2.10.5", weight=4)
def threshold_smoothing(rng, version):
    """ThresholdShedder.brokerAvgResourceUsage: smoothed over cycles, and twice in a cycle with a lower boundary."""
    cluster = scene(rng, [50, 50, 50])
    steps = [
        [rng.choice([0, 10, 30, 50, 70, 90, 100]) for _ in range(3)]
        for _ in range(rng.randrange(2, 7))
    ]
    settings = {}
    if rng.random() < 0.6:
        settings["loadBalancerHistoryResourcePercentage"] = rng.choice([0.5, 0, 1, 0.9, 0.1])
    if rng.random() < 0.4:
        settings["lowerBoundarySheddingEnabled"] = True
    settings["loadBalancerSheddingGracePeriodMinutes"] = rng.choice([0, 30])
    return story(named(rng, THRESHOLD), settings, [again(cluster, step, 1.5) for step in steps])


@branch("shed.cycles", since="2.10.5", weight=3)
def threshold_broker_leaves_and_returns(rng, version):
    """ThresholdShedder.onActiveBrokersChange: a broker that left is forgotten from 3.0 on, and remembered in 2.10."""
    cluster = scene(rng, [50, 50, 50])
    away = rng.randrange(3)
    steps = []
    for index in range(rng.randrange(3, 6)):
        step = [rng.choice([10, 40, 90]) for _ in range(3)]
        if index == 1 or (index == 2 and rng.random() < 0.5):
            step[away] = None
        steps.append(step)
    return story(
        named(rng, THRESHOLD),
        {"loadBalancerHistoryResourcePercentage": rng.choice([0.9, 0.5])},
        [again(cluster, step, 31.5) for step in steps],
    )


@branch("shed.cycles")
def alone_for_a_cycle(rng, version):
    """ModularLoadManagerImpl.doLoadShedding: with one broker, the strategy is not called and sees no usage."""
    cluster = scene(rng, [50, 50])
    steps = [[90, 10], [10, None], [95, 10], [95, 20]]
    rng.shuffle(steps)
    return story(
        named(rng, rng.choice(strategies(version))),
        {},
        [again(cluster, step, 2.5) for step in steps],
    )


@branch("shed.cycles")
def joined_by_a_broker(rng, version):
    """ModularLoadManagerImpl.getAvailableBrokers: a broker that joins after the first cycle may be a destination."""
    cluster = scene(rng, [50, 50, 50])
    steps = [
        [rng.choice([90, 95]), 10, None],
        [95, 20, rng.choice([None, 5])],
        [95, 90, 5],
        [95, 90, 10],
    ]
    return story(
        named(rng, rng.choice(strategies(version))),
        {},
        [again(cluster, step, 2.5) for step in steps],
    )


@branch("shed.cycles", weight=2)
def overload_and_uniform_keep_nothing(rng, version):
    """OverloadShedder, UniformLoadShedder: selectedBundlesCache.clear(), so no state is kept."""
    strategy = rng.choice([OVERLOAD] if version == "2.4.2" else [OVERLOAD, UNIFORM])
    cluster = scene(rng, [50, 50, 50], rng.choice([1, 2, 4]))
    steps = [[rng.choice([10, 84, 85, 96]) for _ in range(3)] for _ in range(rng.randrange(2, 5))]
    return story(
        named(rng, strategy),
        {"loadBalancerSheddingGracePeriodMinutes": rng.choice([0, 2, 30])},
        [again(cluster, step, rng.choice([0.5, 3, 31.5])) for step in steps],
    )
