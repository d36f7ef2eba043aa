"""Branches of bundles.split_candidates: ModularLoadManagerImpl.checkNamespaceBundleSplit, BundleSplitterTask."""

from release_cases.common import MIB, branch, names, near

LIMIT = "loadBalancerNamespaceBundleMax"


def candidates(
    rng, stats, averages=None, settings=None, count=4, brokers=2, leader=True, namespace="shop/eu"
):
    """Return a case with some bundles of one broker, and other brokers without bundles."""
    mine = names(namespace, max(count, len(stats), 1))
    known = {mine[index]: data for index, data in enumerate(averages or []) if data is not None}
    data = {
        "b1": {
            "cpu": {"usage": 10, "limit": 100},
            "bundles": mine[: len(stats)],
            "lastStats": dict(zip(mine, stats)),
        }
    }
    data.update({f"b{index}": {} for index in range(2, brokers + 1)})
    return {
        "settings": settings or {},
        "leader": leader,
        "brokers": data,
        "bundles": known,
        "namespaceBundles": {namespace: count},
    }


@branch("bundles.split_candidates", weight=2)
def switches_of_splitting(rng, version):
    """checkNamespaceBundleSplit: the switch, the leader, the number of brokers; whether parts are unloaded."""
    settings = {}
    for name in [
        "loadBalancerAutoBundleSplitEnabled",
        "loadBalancerAutoUnloadSplitBundlesEnabled",
        "loadBalancerEnabled",
    ]:
        if rng.random() < 0.4:
            settings[name] = rng.choice([False, True, "false"])
    return candidates(
        rng,
        [{"topics": 2000}, {"topics": 1}],
        settings=settings,
        brokers=rng.choice([1, 2, 2, 3]),
        leader=rng.random() < 0.8,
    )


@branch("bundles.split_candidates", weight=2)
def bundles_that_are_gone(rng, version):
    """checkBundleDataExistInNamespaceBundles: bundles in reports that the namespace no longer has."""
    quarters, halves = names("shop/eu", 4), names("shop/eu", 2)
    owned = rng.choice([quarters, quarters[:2], quarters[1:], halves, halves[1:], []])
    known = [*quarters, *halves, *names("shop/eu", 1)]
    cut = rng.randint(0, len(owned))
    brokers = {
        name: {
            "bundles": mine,
            "lastStats": {one: {"topics": rng.choice([1, 2000])} for one in rng.sample(known, 3)},
        }
        for name, mine in (("b1", owned[:cut]), ("b2", owned[cut:]))
    }
    return {
        "settings": {"loadBalancerNamespaceMaximumBundles": rng.choice([128, 128, 5, 6])},
        "leader": True,
        "brokers": brokers,
        "bundles": {},
        "namespaceBundles": {"shop/eu": 4},
    }


@branch("bundles.split_candidates", weight=3)
def topics_over_the_limit(rng, version):
    """BundleSplitterTask: topics > limit; bundles with fewer than two topics are skipped (not in
    2.4).
    """
    limit = rng.choice([1000, 1, 0, -1, 2, 10])
    stats = [
        {"topics": max(limit + step, 0), "producerCount": rng.choice([0, 3])}
        for step in rng.sample([-1, 0, 1, 2, 3], 3)
    ]
    return candidates(rng, stats, settings={} if limit == 1000 else {LIMIT + "Topics": limit})


@branch("bundles.split_candidates", weight=3)
def sessions_over_the_limit(rng, version):
    """BundleSplitterTask: producers + consumers > limit, if the limit is over 0 (in 2.4, with any
    limit).
    """
    limit = rng.choice([1000, 0, -1, 1, 7])
    stats = []
    for _ in range(3):
        total = max(limit + rng.choice([-1, 0, 1]), 0)
        first = rng.randrange(total + 1)
        stats.append(
            {
                "topics": rng.choice([2, 2, 1, 0]),
                "producerCount": first,
                "consumerCount": total - first,
            }
        )
    return candidates(rng, stats, settings={} if limit == 1000 else {LIMIT + "Sessions": limit})


@branch("bundles.split_candidates", weight=4)
def long_term_over_the_limit(rng, version):
    """BundleSplitterTask: long-term rate > limit, long-term bytes > limit x MIBI; no split without data."""
    rate, size = (
        rng.choice([30000, 0, -1, 100]),
        rng.choice([100, 0, -1, 1, 2047, 2048, 4096, 5000]),
    )
    averages = []
    for _ in range(3):
        messages = max(near(rng, rate, rng.choice([1e-9, 0.5, 1])), 0) if rng.random() < 0.5 else 0
        volume = max(near(rng, size * MIB, rng.choice([1e-3, 1])), 0) if rng.random() < 0.5 else 0
        long = {
            "msgRateIn": messages / 2,
            "msgRateOut": messages / 2,
            "msgThroughputIn": volume,
            "numSamples": rng.choice([1000, 1, 0]),
        }
        data = rng.choice(
            [
                {"longTermData": long},
                {"longTermData": long, "shortTermData": {"msgRateIn": 1e9, "numSamples": 10}},
                {"shortTermData": long},
                None,
                {},
            ]
        )
        averages.append(data)
    settings = {}
    if rate != 30000:
        settings[LIMIT + "MsgRate"] = rate
    if size != 100:
        settings[LIMIT + "BandwidthMbytes"] = size
    return candidates(rng, [{"topics": 5, "msgRateIn": 1e9}] * 3, averages, settings)


@branch("bundles.split_candidates", weight=3)
def room_in_the_namespace(rng, version):
    """BundleSplitterTask: bundles + chosen in this round < loadBalancerNamespaceMaximumBundles (2.4: bundles alone)."""
    most = rng.choice([128, 4, 5, 1, 0, -1])
    count = max(most - rng.choice([0, 1, 2, 3]), 1)
    return candidates(
        rng,
        [{"topics": 2000}] * min(rng.choice([1, 2, 4]), count),
        count=count,
        settings={} if most == 128 else {"loadBalancerNamespaceMaximumBundles": most},
    )


@branch("bundles.split_candidates")
def bundles_that_cannot_be_split(rng, version):
    """NamespaceBundleFactory.canSplitBundle, and from 4.2 on NamespaceBundles.validateBundle: the
    bundle must exist.
    """
    case = candidates(rng, [{"topics": 2000}])
    name = "shop/eu/" + rng.choice(
        [
            "0x00000000_0x00000001",
            "0xfffffffe_0xffffffff",
            "0x00000000_0x00000002",
            "0x00000001_0x40000000",
            "0x00000000_0xffffffff",
        ]
    )
    case["brokers"]["b1"].update({"bundles": [name], "lastStats": {name: {"topics": 2000}}})
    return case


@branch("bundles.split_candidates")
def stats_of_what_is_not_owned(rng, version):
    """BundleSplitterTask uses only getLastStats, and the namespace in the bundle's name."""
    case = candidates(rng, [{"topics": 2000}, {"topics": 3000}], count=rng.choice([4, 127]))
    if rng.random() < 0.5:
        case["brokers"]["b1"]["bundles"] = case["brokers"]["b1"]["bundles"][:1]
    other = names(rng.choice(["bank/core", "pulsar/system", "pulsar/b1:8080"]), 4)[1]
    case["brokers"]["b2"] = {"bundles": [other], "lastStats": {other: {"topics": 5000}}}
    if rng.random() < 0.6:
        case["namespaceBundles"][other.rsplit("/", 1)[0]] = rng.choice([1, 4, 128])
    return case


@branch("bundles.split_candidates")
def many_bundles_of_many_brokers(rng, version):
    """BundleSplitterTask in a large cluster: the order of hash maps decides which bundles are still split."""
    mine = names("shop/eu", 120)
    brokers = {
        f"b{index}": {
            "bundles": mine[index::10],
            "lastStats": {
                name: {"topics": rng.choice([5, 1001, 1000])} for name in mine[index::10]
            },
        }
        for index in range(10)
    }
    return {
        "settings": rng.choice([{}, {"loadBalancerNamespaceMaximumBundles": 1000}]),
        "leader": True,
        "brokers": brokers,
        "bundles": {},
        "namespaceBundles": {"shop/eu": 120},
    }
