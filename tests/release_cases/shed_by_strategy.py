"""Branches of shed.select: ThresholdShedder and UniformLoadShedder."""

from release_cases.common import MIB, Cluster, branch, loads, named, near
from release_cases.shed import THRESHOLD, UNIFORM, weights

# ThresholdShedder


def history(rng, percent):
    return [max(percent + rng.choice([-30, -5, 0, 5, 30]), 0) for _ in range(rng.randrange(1, 4))]


@branch("shed.select", since="2.10.5", weight=2)
def threshold_average_is_zero(rng, version):
    """ThresholdShedder.findBundlesForUnloading: with avgUsage == 0, it returns before it looks at
    the lower boundary.
    """
    cluster = Cluster(rng)
    for _ in range(3):
        cluster.broker(
            rng.choice([0, None, 0, 0, 1]),
            loads(rng, 3),
            kind=rng.choice(["cpu", "memory", "directMemory"]),
        )
    return cluster.case(
        named(rng, THRESHOLD),
        {
            "lowerBoundarySheddingEnabled": rng.random() < 0.5,
            "loadBalancerBrokerThresholdShedderPercentage": rng.choice([0, 10, -5]),
        },
    )


@branch("shed.select", since="2.10.5", weight=6)
def threshold_around_the_limit(rng, version):
    """ThresholdShedder skips currentUsage < avgUsage + threshold; rounding errors decide exact
    ties.
    """
    threshold = rng.choice([10, 10, 10, 5, 0, 1, 20, 50, 100, -10, 2147483647])
    middle, side = rng.choice([20, 25, 35, 40, 45, 50, 60, 33.3, 70]), rng.choice([10, 5, 2.5, 20])
    top = (
        near(rng, middle + threshold, rng.choice([1e-9, 1e-6, 0.01, 1, 7]))
        if abs(threshold) < 101
        else 90
    )
    cluster = Cluster(rng)
    shares = (
        [top, middle - (top - middle) / 2, middle - (top - middle) / 2]
        if rng.random() < 0.6
        else [middle + threshold, middle - side, middle - abs(threshold) + side]
    )
    for share in shares:
        cluster.broker(
            min(max(share, 0), 400),
            loads(rng, rng.randrange(1, 5), 1e8),
            kind=rng.choice(["cpu", "cpu", "bandwidthIn", "bandwidthOut", "directMemory"]),
        )
    settings = (
        {} if threshold == 10 else {"loadBalancerBrokerThresholdShedderPercentage": threshold}
    )
    if rng.random() < 0.3:
        settings["lowerBoundarySheddingEnabled"] = True
    return cluster.case(named(rng, THRESHOLD), settings)


@branch("shed.select", since="2.10.5", weight=4)
def threshold_least_throughput(rng, version):
    """ThresholdShedder skips fraction x throughput < loadBalancerBundleUnloadMinThroughputThreshold
    MiB.
    """
    least = rng.choice([10, 10, 0, 0.5, -1, 1, 100])
    cluster = Cluster(rng)
    fraction = 0.4 - 0.2 - 0.1 + 0.05
    wanted = max(near(rng, max(least, 0.01) * MIB / fraction, rng.choice([1e-3, 1, 1000, MIB])), 0)
    first = rng.choice([wanted * 0.6, wanted * 0.1, wanted * 0.15])
    cluster.broker(
        40,
        [(5, first), (6, wanted - first)],
        reported=rng.choice([None, None, (0, wanted), (0, 0)]),
    )
    cluster.broker(10, [(1, 1e6)])
    cluster.broker(10, [])
    return cluster.case(
        named(rng, THRESHOLD), {"loadBalancerBundleUnloadMinThroughputThreshold": least}
    )


@branch("shed.select", since="2.10.5", weight=3)
def threshold_history(rng, version):
    """ThresholdShedder.updateAvgResourceUsage: the first usage as it is, then old x share + (1 - share) x new."""
    cluster = Cluster(rng)
    for percent in rng.sample([90, 60, 30, 10, 85, 0], 3):
        cluster.broker(percent, loads(rng, 3, 1e8))
        if rng.random() < 0.7:
            cluster.brokers[f"b{len(cluster.brokers)}"]["usageHistory"] = history(rng, percent)
    share = rng.choice([None, 0.9, 0, 1, 0.5, 0.1, 1.5, -0.5])
    settings = {} if share is None else {"loadBalancerHistoryResourcePercentage": share}
    if rng.random() < 0.4:
        settings["lowerBoundarySheddingEnabled"] = True
    return cluster.case(named(rng, THRESHOLD), settings)


@branch("shed.select", since="2.10.5", weight=3)
def threshold_weights(rng, version):
    """LocalBrokerData.getMaxResourceUsageWithWeight: five resources in 2.10, four from 3.0; no range is enforced."""
    cluster = Cluster(rng)
    for _ in range(3):
        cluster.broker(
            rng.choice([20, 50, 90, 130]),
            loads(rng, 3, 1e8),
            kind=rng.choice(["cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut"]),
        )
    cluster.broker(10, [(1, 1e5)])
    return cluster.case(named(rng, THRESHOLD), weights(rng))


@branch("shed.select", since="2.10.5", weight=2)
def threshold_few_bundles(rng, version):
    """ThresholdShedder: brokers with several bundles, one or none; all bundles were recently
    unloaded.
    """
    cluster = Cluster(rng)
    mine = cluster.broker(90, loads(rng, rng.choice([0, 1, 1, 2]), 1e8), reported=(10, 2e8))
    cluster.broker(80, loads(rng, rng.choice([0, 1, 2]), 1e8))
    for _ in range(4):
        cluster.broker(10)
    recent = {name: 1 for name in mine[: rng.choice([0, 1, 2])]}
    return cluster.case(
        named(rng, THRESHOLD), {"lowerBoundarySheddingEnabled": rng.random() < 0.5}, recent
    )


@branch("shed.select", since="3.0.7", weight=6)
def threshold_lower_boundary(rng, version):
    """ThresholdShedder.tryLowerBoundaryShedding, getMaxUsageBroker: strictly below avg - threshold;
    half of the threshold goes.
    """
    threshold = rng.choice([10, 10, 20, 0, 5])
    count = rng.choice([2, 4, 10])
    cluster = Cluster(rng)
    for index in range(count):
        cluster.broker(rng.choice([80, 80, 79, 81]), loads(rng, rng.randrange(0, 4), 1e8))
    low = rng.choice([0, 10, 60, 70, 75, near(rng, 80 - threshold * (count + 1) / count, 0.01)])
    cluster.broker(max(low, 0), loads(rng, rng.randrange(0, 3), 1e6))
    if rng.random() < 0.3:
        cluster.brokers["b1"]["usageHistory"] = history(rng, 80)
    settings = {
        "lowerBoundarySheddingEnabled": rng.choice([True, True, True, False]),
        "loadBalancerBrokerThresholdShedderPercentage": threshold,
    }
    if rng.random() < 0.4:
        settings["loadBalancerBundleUnloadMinThroughputThreshold"] = rng.choice([0, 1, 5, 10])
    return cluster.case(named(rng, THRESHOLD), settings)


# UniformLoadShedder


@branch("shed.select", since="2.10.5", weight=6)
def uniform_around_the_thresholds(rng, version):
    """UniformLoadShedder: (max - min) x 100 / min > 50 and max / min > 4, both strict, 0 or less switches off."""
    cluster = Cluster(rng)
    rate_limit, byte_limit = rng.choice([50, 50, 0, -1, 100, 12.5]), rng.choice([4, 4, 0, -1, 1.5])
    least_rate, least_bytes = rng.choice([0, 1000, 10000]), rng.choice([0, 1e6, 1e7])
    most_rate = near(rng, least_rate * (1 + max(rate_limit, 0) / 100), rng.choice([1e-6, 1, 5000]))
    most_bytes = near(rng, least_bytes * max(byte_limit, 1), rng.choice([1e-3, 1, 5e7]))
    few = rng.randrange(1, 4)
    cluster.broker(
        50,
        [(max(most_rate, 0) / few, max(most_bytes, 0) / few)] * few,
        reported=rng.choice([None, (max(most_rate, 0), max(most_bytes, 0))]),
    )
    cluster.broker(50, [(least_rate / 2, least_bytes / 2)] * rng.choice([2, 2, 0, 1]))
    settings = {}
    if rate_limit != 50:
        settings["loadBalancerMsgRateDifferenceShedderThreshold"] = rate_limit
    if byte_limit != 4:
        settings["loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold"] = byte_limit
    return cluster.case(named(rng, UNIFORM), settings)


@branch("shed.select", since="2.10.5", weight=3)
def uniform_least_near_zero(rng, version):
    """UniformLoadShedder: a least rate within EPS = 1e-6 of 0 counts as 1."""
    cluster = Cluster(rng)
    cluster.broker(50, loads(rng, 4, 1e7))
    cluster.broker(
        50,
        [(0, 0), (0, 0)],
        reported=(rng.choice([0, 1e-7, 1e-6, 1.1e-6, 0.5]), rng.choice([0, 1e-6, 2e-6, 1])),
    )
    return cluster.case(
        named(rng, UNIFORM), rng.choice([{}, {"loadBalancerMsgRateDifferenceShedderThreshold": 0}])
    )


@branch("shed.select", since="2.10.5", weight=5)
def uniform_amount(rng, version):
    """UniformLoadShedder: (int) (difference x maxUnloadPercentage) >= least amount; + 1000 until 4.0; whole numbers."""
    cluster = Cluster(rng)
    by_bytes = rng.random() < 0.5
    wanted = rng.choice([1000, 999, 1001, 5000, MIB, MIB - 1, 2 * MIB, 1500.5])
    total = wanted * 5 + rng.choice([0, 0.9, 4.9])
    sizes = [
        rng.choice(
            [wanted, wanted + 1000, wanted + 1000.5, wanted / 2, wanted / 2 + 0.7, 1, 0, 0.4]
        )
        for _ in range(5)
    ]
    mine = [(0, size) if by_bytes else (size, rng.randrange(10)) for size in sizes]
    cluster.broker(50, mine, reported=(0, total) if by_bytes else (total, 100))
    cluster.broker(50, [(0, 0), (0, 0)])
    settings = {
        "minUnloadMessage": rng.choice([1000, 0, -1]),
        "minUnloadMessageThroughput": rng.choice([MIB, 0, 5000]),
    }
    if rng.random() < 0.4:
        settings["maxUnloadPercentage"] = rng.choice([0, 1, 0.5, 0.2, -0.2, 2])
    if rng.random() < 0.4:
        settings["maxUnloadBundleNumPerShedding"] = rng.choice([-1, 0, 1, 2, -2])
    return cluster.case(
        named(rng, UNIFORM), settings if version != "2.10.5" or rng.random() < 0.3 else {}
    )


@branch("shed.select", since="2.10.5", weight=2)
def uniform_over_an_int(rng, version):
    """UniformLoadShedder: least starts at Integer.MAX_VALUE, the amount is an int, and + 1000 overflows it."""
    cluster = Cluster(rng)
    scale = rng.choice([3e9, 5e9, 2e10, 1.2e10, 2147483647.0 * 5])
    cluster.broker(50, [(10, scale / 3), (5, scale / 5), (1, 3e8), (1, 1e6)], reported=(16, scale))
    cluster.broker(50, [(10, rng.choice([2.2e9, 1e9, 1, 2147483647])), (0, 0)])
    return cluster.case(
        named(rng, UNIFORM), {"loadBalancerMsgRateDifferenceShedderThreshold": rng.choice([0, 50])}
    )


@branch("shed.select", since="2.10.5", weight=5)
def uniform_which_pair(rng, version):
    """UniformLoadShedder: in 2.10, one pair for both measures, of brokers with two bundles; from 3.0 on, two pairs."""
    cluster = Cluster(rng)
    for _ in range(rng.randrange(2, 7)):
        share = rng.choice([1, 10, 100])
        cluster.broker(
            50,
            [
                (rng.randrange(100) * share, rng.randrange(100) * rng.choice([1e3, 1e5, 1e6]))
                for _ in range(rng.choice([0, 1, 2, 3, 4]))
            ],
            name=rng.choice(["b", "broker-", "host.example:80"]) + str(rng.randrange(10000)),
        )
    return cluster.case(
        named(rng, UNIFORM),
        rng.choice(
            [
                {},
                {"loadBalancerMsgRateDifferenceShedderThreshold": 0},
                {"minUnloadMessage": 1000, "minUnloadMessageThroughput": MIB},
            ]
        ),
    )
