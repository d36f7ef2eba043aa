"""Branches of place.select and place.anti_affinity."""

from release_cases.common import IMPL, at_least, average, branch, names, near, rates, resource

KINDS = ["cpu", "cpu", "cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut"]


def world(rng, count, namespace="shop/eu", percent=None, draw=False):
    """Return brokers and their bundles with long-term rates; scores are equal only with `draw`."""
    bundles, brokers, free = {}, {}, names(namespace, 64)[1:]
    for index in range(1, count + 1):
        mine, total = [], 0
        for _ in range(rng.choice([0, 1, 2])):
            name = free.pop()
            rate = 100 if draw else rng.random() * 5000
            total += rate
            mine.append(name)
            bundles[name] = {
                "longTermData": average(rng, rate, rate * 100, 1000),
                "shortTermData": average(rng, 1, 1),
            }
        used = percent if percent is not None else rng.choice([0, 10, 50, 80, 84, 86, 95])
        brokers[f"b{index}"] = {
            rng.choice(KINDS): resource(rng, used),
            "bundles": mine,
            **rates(rng, total, total * 100),
        }
    return brokers, bundles


def select(
    rng, brokers, bundles, settings=None, candidates=None, preallocated=None, namespace="shop/eu"
):
    return {
        "settings": settings or {},
        "bundle": names(namespace, 64)[0],
        "candidates": candidates if candidates is not None else list(brokers),
        "brokers": brokers,
        "bundles": bundles,
        "preallocated": preallocated or {},
    }


@branch("place.select", weight=4)
def least_rate_at_the_threshold(rng, version):
    """LeastLongTermMessageRate.getScore: infinite if maxUsage > overloadThreshold; a float until
    3.0, weighted from 4.0 on.
    """
    limit = rng.choice([None, 0, 100, -1, 120] + [5 * part for part in range(1, 20)])
    around = 85 if limit is None else limit
    brokers, bundles = world(rng, rng.choice([2, 3, 4]))
    for data in brokers.values():
        data[rng.choice(KINDS)] = resource(rng, near(rng, around, rng.choice([1e-7, 1e-5, 0.1, 5])))
    return select(
        rng,
        brokers,
        bundles,
        {} if limit is None else {"loadBalancerBrokerOverloadedThresholdPercentage": limit},
    )


@branch("place.select", weight=3)
def least_rate_of_preallocated(rng, version):
    """LeastLongTermMessageRate.getScore: long-term rates of preallocated bundles are added, default
    rates for unmeasured ones.
    """
    brokers, bundles = world(rng, 3, percent=10)
    free = names("bank/core", 16)
    given = {}
    for name in brokers:
        mine = [free.pop() for _ in range(rng.choice([0, 1, 2]))]
        for bundle in mine:
            kind = rng.choice(["measured", "unmeasured", "gone", "short"])
            data = average(rng, rng.random() * 3000, 1e5, 1000)
            if kind == "unmeasured":
                data["numSamples"] = 0
            if kind != "gone":
                bundles[bundle] = {"shortTermData" if kind == "short" else "longTermData": data}
        given[name] = mine
    return select(rng, brokers, bundles, preallocated=given)


@branch("place.select", weight=2)
def least_rate_of_owned(rng, version):
    """TimeAverageBrokerData.reset: the sum over the owned bundles; 50 messages each way for a
    bundle without data.
    """
    brokers, bundles = world(rng, 3, percent=10)
    for name in rng.sample(sorted(bundles), len(bundles) // 2):
        rng.choice(
            [
                lambda: bundles.pop(name),
                lambda: bundles[name]["longTermData"].update(numSamples=0),
                lambda: bundles[name].pop("longTermData"),
            ]
        )()
    return select(rng, brokers, bundles)


@branch("place.select", weight=2)
def everyone_overloaded_or_equal(rng, version):
    """LeastLongTermMessageRate.selectBroker: one broker is drawn if scores are equal or all
    infinite.
    """
    brokers, bundles = world(
        rng, rng.choice([2, 3, 5]), percent=rng.choice([99, 20]), draw=rng.random() < 0.7
    )
    return select(
        rng,
        brokers,
        bundles,
        candidates=rng.sample(list(brokers), rng.randrange(1, len(brokers) + 1)),
    )


@branch("place.select")
def no_candidate_or_one(rng, version):
    """LeastLongTermMessageRate.selectBroker: no broker if there is no candidate; a single candidate
    even if it is overloaded.
    """
    brokers, bundles = world(rng, 3)
    return select(rng, brokers, bundles, candidates=rng.choice([[], ["b1"], ["b2"]]))


@branch("place.select", weight=2)
def weights_of_placement(rng, version):
    """getMaxResourceUsage until 3.0, getMaxResourceUsageWithWeight from 4.0."""
    brokers, bundles = world(rng, 3, percent=rng.choice([86, 95, 170]))
    settings = {
        f"loadBalancer{kind}ResourceWeight": rng.choice([0, 0.5, 1, 2, 0.9])
        for kind in ["CPU", "Memory", "DirectMemory", "BandwithIn", "BandwithOut"]
        if rng.random() < 0.5
    }
    return select(rng, brokers, bundles, settings if version != "2.4.2" else {})


@branch("place.select")
def sixty_candidates(rng, version):
    """Each placement strategy with many candidates."""
    brokers, bundles = world(rng, 30)
    strategy = (
        "LeastLongTermMessageRate"
        if not at_least(version, "3.0.7")
        else rng.choice(
            ["LeastLongTermMessageRate", "LeastResourceUsageWithWeight", "RoundRobinBrokerSelector"]
        )
    )
    return select(
        rng,
        brokers,
        bundles,
        {}
        if strategy.startswith("LeastLong")
        else {"loadBalancerLoadPlacementStrategy": IMPL + strategy},
    )


@branch("place.select", since="3.0.7", weight=5)
def least_resource_usage(rng, version):
    """LeastResourceUsageWithWeight.selectBroker: a candidate with usage + difference <= the
    candidates' mean is drawn.
    """
    brokers, bundles = world(rng, rng.choice([1, 2, 3, 5]))
    difference = rng.choice([None, 10, 0, 5, 50, -10])
    start = rng.choice([30, 40, 60])
    for data, used in zip(
        brokers.values(),
        [start - 10, start + 10, start, start - 10 + rng.choice([-1e-6, 0, 1e-6]), start + 10],
    ):
        data["cpu"] = {"usage": used, "limit": 100}
        if rng.random() < 0.3:
            data["usageHistory"] = [rng.choice([0, 50, 100])]
    settings = {
        "loadBalancerLoadPlacementStrategy": rng.choice(
            [IMPL + "LeastResourceUsageWithWeight", "LeastResourceUsageWithWeight"]
        )
    }
    if difference is not None:
        settings["loadBalancerAverageResourceUsageDifferenceThresholdPercentage"] = difference
    if rng.random() < 0.3:
        settings["loadBalancerHistoryResourcePercentage"] = rng.choice([0, 0.5, 1])
    return select(rng, brokers, bundles, settings, rng.choice([None, None, ["b1"], []]))


@branch("place.select", since="3.0.7", weight=3)
def round_robin(rng, version):
    """RoundRobinBrokerSelector.selectBroker: the first of List.copyOf(candidates), in the order of a hash set."""
    brokers, bundles = world(rng, rng.choice([1, 2, 4, 8]))
    renamed = {
        rng.choice(["b", "broker-", "pulsar-broker.example:"]) + str(rng.randrange(100000)): data
        for data in brokers.values()
    }
    return select(
        rng,
        renamed,
        bundles,
        {"loadBalancerLoadPlacementStrategy": IMPL + "RoundRobinBrokerSelector"},
        [] if rng.random() < 0.1 else rng.sample(list(renamed), len(renamed)),
    )


@branch("place.select", since="3.0.7", weight=2)
def avg_or_another_class(rng, version):
    """ModularLoadManagerStrategy.create: AvgShedder draws any candidate; a class that is no
    strategy stops the manager.
    """
    brokers, bundles = world(rng, 3)
    name = rng.choice(
        [
            IMPL + "AvgShedder",
            "AvgShedder",
            IMPL + "ThresholdShedder",
            "org.example.Nothing",
            "",
            IMPL + "LeastLongTermMessageRate ",
            "leastlongtermmessagerate",
        ]
    )
    settings = {"loadBalancerLoadPlacementStrategy": name}
    if rng.random() < 0.4:
        settings["loadBalancerLoadSheddingStrategy"] = IMPL + "AvgShedder"
    return select(rng, brokers, bundles, settings, rng.choice([None, None, []]))


# LoadManagerShared.filterAntiAffinityGroupOwnedBrokers


@branch("place.anti_affinity", weight=6)
def counts_of_a_group(rng, version):
    """Domains with the smallest sum over candidates, then the brokers in them with the smallest
    count; the default domain.
    """
    count = rng.randrange(2, 7)
    everyone = [f"b{index}" for index in range(1, count + 1)]
    spaces = [f"shop/n{index}" for index in range(8)]
    pool = spaces[1:] * 2
    owned = {
        name: list(dict.fromkeys(rng.sample(pool, rng.randrange(0, 4))))
        for name in everyone
        if rng.random() < 0.8
    }
    left = everyone[:]
    rng.shuffle(left)
    domains = {}
    for index in range(rng.randrange(0, 4)):
        domains[f"D{index}"] = [left.pop() for _ in range(min(len(left), rng.randrange(0, 3)))]
    settings = rng.choice(
        [
            {},
            {"failureDomainsEnabled": True},
            {"failureDomainsEnabled": True},
            {"failureDomainsEnabled": False},
        ]
    )
    groups = {
        space: rng.choice(["g", "g", "g", "G", "h", "g "])
        for space in spaces
        if rng.random() < 0.85
    }
    return {
        "settings": settings,
        "domains": domains,
        "groups": groups,
        "owned": owned,
        "candidates": rng.sample(everyone, rng.randrange(0, count + 1)),
        "namespace": rng.choice(spaces[:3]),
    }


@branch("place.anti_affinity", weight=2)
def namespace_itself_and_big_counts(rng, version):
    """The namespace itself counts on a broker that serves it; counts are Integers compared by !=,
    which is wrong over 127.
    """
    most = rng.choice([2, 127, 128, 130, 200])
    spaces = [f"shop/n{index}" for index in range(most + 1)]
    owned = {
        "b1": spaces[:most],
        "b2": spaces[:most] if rng.random() < 0.5 else spaces[1:most],
        "b3": spaces[:most],
    }
    return {
        "settings": {"failureDomainsEnabled": rng.random() < 0.5},
        "domains": rng.choice([{}, {"D1": ["b1", "b2"], "D2": ["b3"]}]),
        "groups": {space: "g" for space in spaces},
        "owned": owned,
        "candidates": ["b1", "b2", "b3"],
        "namespace": rng.choice([spaces[0], spaces[-1]]),
    }
