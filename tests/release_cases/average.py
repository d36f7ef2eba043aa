"""AvgShedder: one cycle, several cycles, and the destinations that it plans."""

from release_cases.common import IMPL, MIB, Cluster, branch, loads, named, near
from release_cases.cycles import again, scene, story
from release_cases.shed import AVG, weights

PLANNING = {"loadBalancerLoadPlacementStrategy": IMPL + AVG}
"""Setting with which the strategy also places bundles, so that answers name destinations."""

AT_ONCE = {
    "loadBalancerAvgShedderHitCountHighThreshold": 1,
    "loadBalancerAvgShedderHitCountLowThreshold": 1,
}
"""Settings with which a single hit is enough."""


@branch("shed.select", since="3.0.7", weight=4)
def avg_in_one_cycle(rng, version):
    """AvgShedder.findBundlesForUnloading: a gap below low resets hits, below high it is a low hit,
    else a hit of both.
    """
    low, high = rng.choice([15, 15, 0, -1, 40]), rng.choice([40, 40, 15, 20])
    cluster = Cluster(rng)
    for _ in range(rng.randrange(2, 7)):
        cluster.broker(
            rng.choice(
                [20, 30, 35, 52, 60, 70, 80, near(rng, 20 + high, 0.5), near(rng, 20 + low, 1e-6)]
            ),
            loads(rng, rng.randrange(0, 5), 1e7),
            kind=rng.choice(["cpu", "cpu", "bandwidthIn"]),
        )
    settings = {
        "loadBalancerAvgShedderHitCountHighThreshold": rng.choice([1, 1, 0, 2]),
        "loadBalancerAvgShedderHitCountLowThreshold": rng.choice([1, 1, 0, 8]),
    }
    if low != 15:
        settings["loadBalancerAvgShedderLowThreshold"] = low
    if high != 40:
        settings["loadBalancerAvgShedderHighThreshold"] = high
    return cluster.case(named(rng, AVG), settings)


@branch("shed.select", since="3.0.7", weight=3)
def avg_amount(rng, version):
    """AvgShedder.selectBundleForUnloading: rate > minUnloadMessage, else bytes > minimum; 0 <
    bundle's traffic <= the rest.
    """
    cluster = Cluster(rng)
    wanted = rng.choice([1000, 1000.5, 999, 300.25])
    volume = rng.choice([MIB, MIB + 1, 2 * MIB, 10])
    mine = [
        (
            rng.choice([wanted, wanted / 2, wanted / 3, 0, wanted + 1e-9]),
            rng.choice([volume, volume / 2, 0, volume / 4]),
        )
        for _ in range(rng.choice([1, 3, 5]))
    ]
    cluster.broker(90, mine, reported=(wanted * 5, volume * 5))
    cluster.broker(10, [(0, 0)] * rng.choice([0, 2]), reported=(0, 0))
    settings = {
        "loadBalancerAvgShedderHitCountHighThreshold": 1,
        "minUnloadMessage": rng.choice([1000, 0, 5000]),
        "minUnloadMessageThroughput": rng.choice([MIB, 0]),
    }
    if rng.random() < 0.3:
        settings["maxUnloadPercentage"] = rng.choice([0.5, 1, 0])
    return cluster.case(named(rng, AVG), settings)


@branch("shed.select", since="3.0.7", weight=2)
def avg_order_of_scores(rng, version):
    """AvgShedder.calculateScoresAndSort: the difference cast to int until 4.0, Double.compare from 4.2."""
    cluster = Cluster(rng)
    for index in range(rng.randrange(4, 8)):
        cluster.broker(
            rng.choice([20, 60]) + rng.choice([0, 0.3, 0.6, 0.9, 1.2]),
            [(100 * (index + 1), 1e6 * (index + 1)), (7, 7e4)],
            name=f"broker-{rng.randrange(1000)}-{index}",
        )
    return cluster.case(named(rng, AVG), {"loadBalancerAvgShedderHitCountHighThreshold": 1})


STEPS = [0, 14, 15, 20, 39, 40, 50, 80]


@branch("shed.cycles", since="3.0.7", weight=8)
def avg_hits_in_a_row(rng, version):
    """AvgShedder.findBrokerPairs: a high gap is also a low hit; a gap between the two resets high
    hits, a gap below low both.
    """
    cluster = scene(rng, [10] * rng.choice([2, 2, 3, 4]), rng.choice([2, 5]), 1e7)
    count = len(cluster.brokers)
    gap = rng.choice(STEPS)
    steps = []
    for _ in range(rng.randrange(2, 20)):
        gap = gap if rng.random() < 0.75 else rng.choice(STEPS)
        steps.append(
            [10 + gap]
            + [10 + rng.choice([0, gap, gap / 2, 1]) * (index > 1) for index in range(1, count)]
        )
    settings = {}
    for name, values in [
        ("HitCountHighThreshold", [2, 1, 0, 3]),
        ("HitCountLowThreshold", [8, 3, 1, 0]),
        ("LowThreshold", [15, 5]),
        ("HighThreshold", [40, 10]),
    ]:
        if rng.random() < 0.4:
            settings["loadBalancerAvgShedder" + name] = rng.choice(values)
    return story(
        named(rng, AVG), settings, [again(cluster, step, rng.choice([1.5, 31.5])) for step in steps]
    )


@branch("shed.cycles", since="3.0.7", weight=2)
def avg_pairs_change(rng, version):
    """AvgShedder: hits belong to brokers, not to pairs; without any pair all hits are cleared."""
    cluster = scene(rng, [10, 10, 10, 10], 3, 1e7)
    steps = []
    for _ in range(rng.randrange(3, 9)):
        step = rng.sample([10, 30, 52, 95], 4) if rng.random() < 0.8 else [20, 20, 20, 20]
        if rng.random() < 0.15:
            step[rng.randrange(4)] = None
        steps.append(step)
    return story(
        named(rng, AVG),
        {
            "minUnloadMessage": rng.choice([0, 1000]),
            "minUnloadMessageThroughput": rng.choice([0, MIB]),
        },
        [again(cluster, step, 1.5) for step in steps],
    )


@branch("shed.select", since="3.0.7", weight=4)
def planned_destinations(rng, _version):
    """AvgShedder.bundleBrokerMap: each unload goes to the idle broker of its pair, whatever the order of pairs."""
    cluster = Cluster(rng)
    for percent in rng.sample([95, 88, 81, 70, 50, 30, 12, 5], rng.randrange(2, 9)):
        cluster.broker(percent, loads(rng, rng.randrange(0, 6), 1e7))
    return cluster.case(named(rng, AVG), {**AT_ONCE, **PLANNING})


@branch("shed.select", since="3.0.7", weight=4)
def plans_of_equal_data(rng, _version):
    """AvgShedder.bundleBrokerMap: keys are data, not bundles; from 4.0 on, equal data share a key, and the last plan."""
    cluster = Cluster(rng)
    load = (rng.choice([100, 2000]), rng.choice([1e6, 2e6]))
    for percent in rng.sample([95, 90, 85, 80], rng.choice([2, 3])):
        cluster.broker(
            percent, [load] * rng.randrange(1, 4) + loads(rng, 1, 1e6), reported=(9e4, 9e7)
        )
    for percent in rng.sample([5, 10, 15, 20], rng.choice([2, 3])):
        cluster.broker(percent, [])
    same = {"numSamples": 10, "msgRateIn": load[0], "msgThroughputIn": load[1]}
    for bundle, data in cluster.bundles.items():
        rate = sum(data["shortTermData"].get(f"msgRate{way}", 0) for way in ("In", "Out"))
        if abs(rate - load[0]) < 1e-6:
            cluster.bundles[bundle] = {
                "shortTermData": same,
                "longTermData": {**same, "maxSamples": 1000},
            }
    return cluster.case(named(rng, AVG), {**AT_ONCE, **PLANNING})


@branch("shed.select", since="3.0.7", weight=2)
def average_by_weights(rng, _version):
    """AvgShedder.calculateScores: getMaxResourceUsageWithWeight of four resources, without heap memory."""
    cluster = Cluster(rng)
    for _ in range(rng.randrange(2, 6)):
        kind = rng.choice(["cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut"])
        cluster.broker(rng.choice([20, 50, 90, 130]), loads(rng, 3, 1e7), kind=kind)
    return cluster.case(named(rng, AVG), {**AT_ONCE, **weights(rng)})


@branch("shed.select", since="3.0.7", weight=3)
def average_leaves_out(rng, _version):
    """selectBundleForUnloading: recently unloaded bundles and bundles without traffic stay; a single bundle goes."""
    cluster = Cluster(rng)
    mine = cluster.broker(90, loads(rng, rng.choice([1, 1, 2, 5]), 1e7), reported=(2e4, 5e7))
    cluster.broker(10, loads(rng, 2, 1e5))
    for bundle in rng.sample(mine, rng.randrange(0, len(mine) + 1)):
        what = rng.choice(["gone", "unmeasured", "idle"])
        if what == "gone":
            del cluster.bundles[bundle]
        elif what == "unmeasured":
            cluster.bundles[bundle]["shortTermData"]["numSamples"] = 0
        else:
            cluster.bundles[bundle]["shortTermData"] = {"numSamples": 10}
    recent = {one: rng.choice([1, 29, 31]) for one in rng.sample(mine, rng.randrange(len(mine)))}
    return cluster.case(named(rng, AVG), {**AT_ONCE, **rng.choice([{}, PLANNING])}, recent)


@branch("shed.select", since="3.0.7", weight=2)
def idle_broker_has_more_traffic(rng, _version):
    """selectBundleForUnloading: (busy - idle) x maxUnloadPercentage may be negative; bytes decide only if messages do not exceed minUnloadMessage."""
    cluster = Cluster(rng)
    cluster.broker(
        90, loads(rng, 4, 1e7), reported=(rng.choice([0, 100, 2e4]), rng.choice([0, 1e6, 9e7]))
    )
    cluster.broker(
        10, loads(rng, 2, 1e7), reported=(rng.choice([0, 100, 2e4]), rng.choice([0, 1e6, 9e7]))
    )
    least = {"minUnloadMessage": rng.choice([-1000, 0, 10, 1000])}
    return cluster.case(
        named(rng, AVG), {**AT_ONCE, **least, "minUnloadMessageThroughput": rng.choice([0, MIB])}
    )


@branch("shed.cycles", since="3.0.7", weight=3)
def plans_over_cycles(rng, _version):
    """AvgShedder: a bundle that is shed a second time follows the newer plan."""
    cluster = scene(rng, [50] * rng.choice([2, 4]), 3, 1e7)
    steps = [rng.sample([95, 88, 12, 5], len(cluster.brokers)) for _ in range(rng.randrange(2, 5))]
    cycles = [again(cluster, step, rng.choice([1.5, 31.5])) for step in steps]
    return story(named(rng, AVG), {**AT_ONCE, **PLANNING}, cycles)
