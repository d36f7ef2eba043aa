"""Branches of shed.select: whether TransferShedder unloads, and between which brokers."""

from release_cases.common import average, branch, names, near, rates, resource

EXTENSIONS = "org.apache.pulsar.broker.loadbalance.extensions."
TRANSFER = EXTENSIONS + "scheduler.TransferShedder"
TARGET = "loadBalancerBrokerLoadTargetStd"
HITS = "loadBalancerSheddingConditionHitCountThreshold"
MOST = "loadBalancerMaxNumberOfBrokerSheddingPerCycle"
LIFETIME, DELAY = "loadBalancerBrokerLoadDataTTLInSeconds", "loadBalanceSheddingDelayInSeconds"
MOVES = "loadBalancerTransferEnabled"
OVERLOADED = "loadBalancerBrokerOverloadedThresholdPercentage"
HISTORY = "loadBalancerHistoryResourcePercentage"


class Fleet:
    """The brokers of a case with their load data, to which a branch adds brokers."""

    def __init__(self, rng):
        self.rng, self.brokers, self.bundles, self.free = rng, {}, {}, {}
        self.more = {}

    def take(self, namespace):
        return self.free.setdefault(namespace, names(namespace, 256)).pop(0)

    def broker(self, percent, volumes, namespaces=("shop/eu",), kind="cpu", reported=None, **more):
        """Add a broker with bundles of these bytes per second; by default, it reports their sum."""
        rng = self.rng
        name = f"broker-{len(self.brokers) + 1}"
        mine = []
        for volume in volumes:
            bundle = self.take(rng.choice(namespaces))
            mine.append(bundle)
            messages = rng.choice([volume / 1000, 0, rng.random() * 500])
            self.bundles[bundle] = {
                "shortTermData": average(rng, messages, volume),
                "longTermData": average(rng, messages, volume, 1000),
            }
        whole = sum(volumes) if reported is None else reported
        self.brokers[name] = {
            kind: resource(rng, percent),
            **rates(rng, whole / 1000, whole),
            "bundles": mine,
            **more,
        }
        return mine

    def cycle(self, recent=None):
        brokers = {
            name: self.brokers[name]
            for name in self.rng.sample(list(self.brokers), len(self.brokers))
        }
        return {
            "brokers": brokers,
            "bundles": self.bundles,
            "recentlyUnloaded": recent or {},
            **self.more,
        }

    def case(self, settings, recent=None, strategy=None):
        chosen = strategy or self.rng.choice([TRANSFER, TRANSFER, "TransferShedder"])
        return {"strategy": chosen, "settings": {HITS: 0, **settings}, **self.cycle(recent)}


def volumes(rng, count, whole=None):
    """Return the bytes per second of some bundles; bundles are compared in steps of 100,000."""
    whole = whole or rng.choice([1e5, 1e6, 1e7, 1e8])
    kind = rng.choice(["even", "any", "any", "steep", "steps"])
    if kind == "even":
        return [whole / max(count, 1)] * count
    if kind == "steep":
        return [whole * 0.5 ** rng.randrange(1, 8) for _ in range(count)]
    if kind == "steps":
        return [1e5 * rng.choice([0, 0.4, 0.5, 1, 1.2, 1.5, 2, 5]) for _ in range(count)]
    return [whole * rng.random() for _ in range(count)]


def uneven(rng, brokers=None, **more):
    """Return a fleet that unloads only because of its deviation."""
    fleet = Fleet(rng)
    for percent in brokers or rng.choice(
        [[90, 10], [95, 40, 10], [99, 80, 20, 5], [70, 70, 10, 3]]
    ):
        fleet.broker(percent, volumes(rng, rng.randrange(2, 8), percent * 1e5), **more)
    return fleet


def settings(rng, **given):
    """Return settings that affect decisions, some with their defaults."""
    chosen = {}
    if rng.random() < 0.5:
        chosen[TARGET] = rng.choice([0.25, 0.1, 0.05, 0])
    if rng.random() < 0.3:
        chosen[MOVES] = rng.choice([True, False])
    if rng.random() < 0.3:
        chosen[MOST] = rng.choice([1, 2, 3, 10])
    return {**chosen, **given}


@branch("shed.select", since="3.0.7", weight=5)
def deviation_at_its_target(rng, _version):
    """LoadStats.update: sqrt(sqSum / n - avg x avg) > target, strictly; for two brokers, it is half their gap."""
    fleet = Fleet(rng)
    target = rng.choice([0.25, 0.25, 0.1, 0.05, 0.3])
    middle = rng.choice([40, 50, 33])
    gap = near(rng, 100 * target, rng.choice([1e-4, 0.01, 1, 5]))
    for percent in rng.sample([middle - gap, middle + gap], 2) + [middle] * rng.choice([0, 0, 1]):
        fleet.broker(max(percent, 0), volumes(rng, rng.randrange(2, 6), 1e7))
    return fleet.case(settings(rng, **{TARGET: target}))


@branch("shed.select", since="3.0.7", weight=3)
def equal_loads(rng, _version):
    """LoadStats.update: rounding makes the variance of equal loads negative, whose root is no number."""
    fleet = Fleet(rng)
    percent = rng.choice([33.3, 10.1, 70, 0, 0.1, 57.7])
    for _ in range(rng.randrange(2, 7)):
        fleet.broker(percent, volumes(rng, rng.randrange(0, 4), 1e6))
    return fleet.case({TARGET: rng.choice([0, 0.25, 1e-9, -0.1])})


@branch("shed.select", since="3.0.7", weight=5)
def underloaded_by_load(rng, _version):
    """isUnderLoaded: load < avg x min(0.5, max(0, target / 2)), although the deviation is small."""
    fleet = Fleet(rng)
    target = rng.choice([0.25, 0.5, 0.9, 1.0, 3.0, -1])
    share = min(0.5, max(0, target / 2))
    count, high = rng.randrange(2, 7), rng.choice([20, 30, 60])
    # load = share x (count x high + load) / (count + 1)
    least = share * count * high / (count + 1 - share)
    fleet.broker(max(near(rng, least, rng.choice([1e-4, 0.1, 2])), 0), volumes(rng, 2, 5e6))
    for _ in range(count):
        fleet.broker(high, volumes(rng, rng.randrange(2, 6), 1e7))
    return fleet.case(settings(rng, **{TARGET: target}))


@branch("shed.select", since="3.0.7", weight=5)
def underloaded_by_throughput(rng, _version):
    """isUnderLoaded: throughput of the least loaded < that of the most loaded x the same share."""
    fleet = Fleet(rng)
    target = rng.choice([0.25, 0.5, 0.1, 0])
    share = min(0.5, target / 2)
    whole = 1e7
    low = rng.choice([0, max(near(rng, whole * share, rng.choice([1e-2, 1e4])), 0)])
    fleet.broker(50, volumes(rng, rng.randrange(0, 3), 1e5), reported=low)
    for _ in range(rng.randrange(0, 3)):
        fleet.broker(rng.choice([51, 52]), volumes(rng, 3, whole))
    fleet.broker(53, volumes(rng, rng.randrange(2, 6), whole), reported=rng.choice([None, whole]))
    return fleet.case(settings(rng, **{TARGET: target}))


@branch("shed.select", since="3.0.7", weight=5)
def overloaded_above_its_threshold(rng, _version):
    """isOverLoaded: load > threshold / 100 and load > avg + target, both strictly."""
    fleet = Fleet(rng)
    threshold = rng.choice([85, 85, 60, 70])
    count = rng.randrange(4, 10)
    target = rng.choice([0.25, 0.2, 0.3])
    high = rng.choice([threshold, threshold + 5, near(rng, threshold, 0.01)])
    # high = (high + count x low) / (count + 1) + 100 x target
    low = high - 100 * target * (count + 1) / count
    for _ in range(count):
        fleet.broker(max(near(rng, low, rng.choice([1e-3, 0.5, 3])), 0), volumes(rng, 2, 8e6))
    fleet.broker(high, volumes(rng, rng.randrange(2, 6), 1e7))
    limit = {} if threshold == 85 else {OVERLOADED: threshold}
    return fleet.case(settings(rng, **{TARGET: target, **limit}))


@branch("shed.select", since="3.0.7", weight=4)
def most_brokers_of_a_cycle(rng, _version):
    """hasTransferableBrokers: pairs from both ends while brokers are left, up to the maximum of shedding brokers."""
    fleet = uneven(rng, rng.sample(range(2, 99), rng.randrange(3, 10)))
    most = rng.choice([None, 0, 1, 2, 3, 5, -1])
    limit = {} if most is None else {MOST: most}
    return fleet.case({TARGET: rng.choice([0, 0.02, 0.1]), **limit})


@branch("shed.select", since="3.0.7", weight=4)
def data_that_is_too_old(rng, _version):
    """LoadStats.update: data older than loadBalancerBrokerLoadDataTTLInSeconds is not summed, but can be in a pair."""
    fleet = uneven(rng, rng.choice([None, [50, 50, 45], [30, 31]]))
    lifetime = rng.choice([1800, 1800, 60, 600, 0])
    # Four seconds: the clock goes on while a case is asked.
    ages = [0, 0, max(lifetime - 4, 0), lifetime + 4, lifetime * 3 + 60]
    for report in fleet.brokers.values():
        report["age"] = rng.choice(ages)
    if rng.random() < 0.5:
        fleet.broker(rng.choice([0, 99]), volumes(rng, 3), age=lifetime + rng.choice([4, 3600]))
    return fleet.case(settings(rng, **({} if lifetime == 1800 else {LIFETIME: lifetime})))


@branch("shed.select", since="3.0.7", weight=2)
def brokers_without_data(rng, _version):
    """LoadStats.update: a registered broker without load data ends the cycle, one whose data is old does not."""
    fleet = uneven(rng)
    if rng.random() < 0.6:
        fleet.more["withoutData"] = [f"new-{index}" for index in range(rng.randrange(1, 3))]
    else:
        fleet.broker(50, [], age=1e6)
    return fleet.case(settings(rng))


@branch("shed.select", since="3.0.7")
def switches_and_a_single_broker(rng, _version):
    """UnloadScheduler.execute: both switches, and availableBrokers.size() <= 1."""
    fleet = uneven(rng, rng.choice([None, [95]]))
    if len(fleet.brokers) == 1 and rng.random() < 0.5:
        fleet.more["withoutData"] = ["new-1"]
    switches = ("loadBalancerEnabled", "loadBalancerSheddingEnabled")
    given = {name: rng.choice([True, False]) for name in switches if rng.random() < 0.6}
    return fleet.case({**settings(rng), **given})


@branch("shed.select", since="3.0.7", weight=3)
def resources_and_weights(rng, _version):
    """BrokerLoadData.getMaxResourceUsageWithWeight: five resources, heap memory among them; no range is enforced."""
    fleet = Fleet(rng)
    kinds = ["cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut"]
    for _ in range(rng.randrange(2, 5)):
        fleet.broker(rng.choice([5, 20, 90, 130]), volumes(rng, 4, 1e7), kind=rng.choice(kinds))
    given = {}
    for kind in ("CPU", "Memory", "DirectMemory", "BandwithIn", "BandwithOut"):
        if rng.random() < 0.4:
            given[f"loadBalancer{kind}ResourceWeight"] = rng.choice([0, 0.5, 1, 2, 0.1])
    return fleet.case({**settings(rng), **given})


@branch("shed.select", since="3.0.7", weight=3)
def loads_smoothed_over_time(rng, _version):
    """BrokerLoadData.updateWeightedMaxEMA, updateMsgThroughputEMA: the first value unchanged, later
    ones mixed by the share.
    """
    fleet = uneven(rng, rng.sample([90, 70, 50, 30, 10], rng.randrange(2, 5)))
    for report in fleet.brokers.values():
        if rng.random() < 0.7:
            report["usageHistory"] = [
                rng.choice([0, 20, 50, 95]) for _ in range(rng.randrange(1, 4))
            ]
    share = rng.choice([None, 0, 0.5, 0.9, 1])
    return fleet.case(settings(rng, **({} if share is None else {HISTORY: share})))


@branch("shed.select", since="3.0.7", weight=2)
def named_by_the_manager(rng, _version):
    """UnloadScheduler.createNamespaceUnloadStrategy: TransferShedder by its class, its short name, or by default."""
    fleet = uneven(rng)
    case = fleet.case(settings(rng))
    manager = rng.choice([EXTENSIONS + "ExtensibleLoadManagerImpl"])
    named = rng.choice([{}, {"loadBalancerLoadSheddingStrategy": TRANSFER}])
    return {
        **case,
        "strategy": None,
        "settings": {**case["settings"], "loadManagerClassName": manager, **named},
    }


@branch("shed.select", since="3.0.7")
def forty_brokers(rng, _version):
    """Every step over a big cluster: sums of many loads, pairs from both ends."""
    fleet = Fleet(rng)
    for _ in range(rng.randrange(20, 45)):
        fleet.broker(
            rng.random() * 99,
            volumes(rng, rng.randrange(0, 9)),
            rng.choice([["shop/eu"], ["bank/core", "shop/eu"]]),
        )
    return fleet.case({TARGET: rng.choice([0.01, 0.1, 0.2]), MOST: rng.choice([1, 5, 20])})
