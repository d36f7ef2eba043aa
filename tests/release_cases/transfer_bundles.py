"""Branches of shed.select: the bundles that TransferShedder moves between a pair of brokers."""

from release_cases.common import branch
from release_cases.transfer import MOVES, TARGET, Fleet, settings, uneven, volumes

TOP = "loadBalancerMaxNumberOfBundlesInBundleLoadReport"
DEBUG = "loadBalancerDebugModeEnabled"
WITH_POLICIES = "loadBalancerSheddingBundlesWithPoliciesEnabled"


@branch("shed.select", since="3.0.7", weight=3)
def bundles_within_grace(rng, _version):
    """UnloadScheduler.execute: bundles unloaded within the grace period stay, and count as remaining bundles."""
    fleet = uneven(rng)
    period = rng.choice([30, 5, 0])
    recent = {
        bundle: rng.choice([max(period - 1, 0.1), period + 1, 0.5])
        for bundle in rng.sample(list(fleet.bundles), rng.randrange(1, len(fleet.bundles)))
    }
    given = {} if period == 30 else {"loadBalancerSheddingGracePeriodMinutes": period}
    return fleet.case(settings(rng, **given), recent)


@branch("shed.select", since="3.0.7", weight=4)
def few_top_bundles(rng, _version):
    """findBundlesForUnloading: a broker with fewer than two top bundles sheds nothing, and is used
    up; of several, the last stays.
    """
    fleet = Fleet(rng)
    for percent in rng.sample([95, 90, 80, 20, 10, 5], rng.choice([2, 3, 4, 6])):
        fleet.broker(percent, volumes(rng, rng.choice([0, 1, 1, 2, 3]), 1e7))
    return fleet.case(settings(rng, **{TARGET: rng.choice([0.05, 0.25])}))


@branch("shed.select", since="3.0.7", weight=6)
def smallest_of_the_top_first(rng, _version):
    """TopKBundles.update, partitionSort: the k largest, reported from the smallest on; the order of equals varies."""
    fleet = Fleet(rng)
    step = rng.choice([1e5, 1e5, 5e4, 1e6])
    for percent in (90, rng.choice([10, 60])):
        sizes = [
            step * rng.choice([0.2, 0.49, 0.5, 0.51, 1, 1.4, 2, 3, 7])
            for _ in range(rng.randrange(3, 20))
        ]
        fleet.broker(percent, sizes)
    most = rng.choice([None, 1, 2, 3, 5, 10, 50])
    return fleet.case(settings(rng, **({} if most is None else {TOP: most})))


@branch("shed.select", since="3.0.7", weight=3)
def order_by_in_out_and_rate(rng, _version):
    """NamespaceBundleStats.compareTo: bytes in, bytes out, then messages, each in steps; the sum does not count."""
    fleet = Fleet(rng)
    for percent in (90, 15):
        for bundle in fleet.broker(percent, [1e6] * rng.randrange(3, 9)):
            one = {
                "numSamples": 10,
                "msgThroughputIn": rng.choice([0, 1e5, 1.4e5, 2e5, 9e5]),
                "msgThroughputOut": rng.choice([0, 5e4, 1e5, 3e5, 2e6]),
                "msgRateIn": rng.choice([0, 40, 60, 100, 1000]),
                "msgRateOut": rng.choice([0, 50, 100, 149]),
            }
            fleet.bundles[bundle] = {"shortTermData": one, "longTermData": one}
    return fleet.case(settings(rng, **({TOP: rng.choice([2, 4])} if rng.random() < 0.4 else {})))


@branch("shed.select", since="3.0.7", weight=4)
def bundles_without_traffic(rng, version):
    """TopKBundles.update and the strategy omit bundles without traffic from 4.0 on; in 3.0, these are unloaded."""
    fleet = Fleet(rng)
    for percent in (rng.choice([90, 60]), rng.choice([10, 20, 50])):
        sizes = [rng.choice([0, 0, 1e6, 3e6]) for _ in range(rng.randrange(2, 7))]
        fleet.broker(percent, sizes, reported=rng.choice([None, None, 0, 1e7]))
    return fleet.case(settings(rng, **{TARGET: rng.choice([0.05, 0.25])}))


@branch("shed.select", since="3.0.7", weight=2)
def bundles_without_samples(rng, _version):
    """TopKBundles.update: bundles that are missing in a broker's statistics are not reported."""
    fleet = uneven(rng)
    for bundle in rng.sample(list(fleet.bundles), rng.randrange(1, len(fleet.bundles))):
        if rng.random() < 0.5:
            del fleet.bundles[bundle]
        else:
            fleet.bundles[bundle]["shortTermData"]["numSamples"] = 0
    return fleet.case(settings(rng))


@branch("shed.select", since="3.0.7", weight=8)
def exchanges_for_a_large_bundle(rng, _version):
    """findBundlesForUnloading: bundles come back until the busier broker is below 3/4 of before,
    but not below the other.
    """
    fleet = Fleet(rng)
    whole = rng.choice([1e6, 1e7, 1e8])
    busy = [
        whole * share
        for share in rng.choice([[0.9, 0.1], [0.6, 0.4], [0.5, 0.3, 0.2], [0.7, 0.2, 0.1]])
    ]
    idle = [
        whole * rng.choice([0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.75])
        for _ in range(rng.randrange(0, 7))
    ]
    fleet.broker(rng.choice([90, 80]), busy, reported=rng.choice([None, None, whole * 1.5]))
    fleet.broker(rng.choice([10, 40, 70]), idle, reported=rng.choice([None, None, whole * 0.2]))
    for _ in range(rng.choice([0, 0, 1])):
        fleet.broker(50, volumes(rng, 3, whole / 2))
    more = rng.choice([{}, {}, {}, {MOVES: False}, {DEBUG: True}])
    return fleet.case({TARGET: rng.choice([0.05, 0.1]), **more})


@branch("shed.select", since="3.0.7", weight=4)
def several_exchanges(rng, _version):
    """findBundlesForUnloading: sent traffic counts for the next large bundle; gained traffic only in debug mode."""
    fleet = Fleet(rng)
    unit = rng.choice([1e5, 1e6])
    fleet.broker(90, [unit * rng.choice([4, 5, 6, 8]) for _ in range(rng.randrange(3, 7))])
    fleet.broker(20, [unit * rng.choice([1, 2, 3]) for _ in range(rng.randrange(2, 8))])
    for _ in range(rng.choice([0, 1, 2])):
        fleet.broker(rng.choice([30, 70]), volumes(rng, 3, unit * 8))
    debug = rng.choice([{}, {DEBUG: True}, {DEBUG: False}])
    return fleet.case({TARGET: rng.choice([0.02, 0.05, 0.25]), **debug})


@branch("shed.select", since="3.0.7", weight=3)
def reported_otherwise_than_bundles_sum(rng, _version):
    """The amount depends on reported traffic, and bundles on measured traffic; reported traffic of 0 gives NaN."""
    fleet = Fleet(rng)
    for percent in (rng.choice([90, 0.0001]), rng.choice([0, 20])):
        fleet.broker(
            percent, volumes(rng, rng.randrange(2, 6), 1e7), reported=rng.choice([0, 1, 1e6, 1e9])
        )
    return fleet.case(settings(rng, **{TARGET: rng.choice([0, 0.05, 0.25])}))


@branch("shed.select", since="3.0.7", weight=3)
def namespaces_not_reported(rng, version):
    """TopKBundles.update: NamespaceService.isSystemServiceNamespace, with a cluster in its name until 3.0."""
    special = [
        "pulsar/system",
        "pulsar/broker-1:8080",
        "sla-monitor/broker-1:8080",
        "pulsar/broker-1",
        "pulsar/a:b:80",
        "pulsarx/b:80",
        "public/default",
    ]
    fleet = Fleet(rng)
    for percent in (95, 10):
        fleet.broker(percent, volumes(rng, 6, 1e7), [rng.choice(special), "shop/eu"])
    return fleet.case(settings(rng))


@branch("shed.select", since="4.2.4", weight=4)
def namespaces_excluded(rng, version):
    """TopKBundles.update, findBundlesForUnloading: loadBalancerSheddingExcludedNamespaces, exact names."""
    fleet = Fleet(rng)
    for percent in (95, 60, 10):
        fleet.broker(percent, volumes(rng, 5, 1e7), ["shop/eu", "shop/us", "bank/core"])
    excluded = rng.choice(["shop/eu", "shop/eu,shop/us", "shop/us, shop/eu", "shop", "", "shop/*"])
    return fleet.case(settings(rng, loadBalancerSheddingExcludedNamespaces=excluded))


def policy(namespace, primary, secondary=(), least=1):
    return {
        "namespaces": [namespace],
        "primary": list(primary),
        "secondary": list(secondary),
        "least": least,
    }


@branch("shed.select", since="3.0.7", weight=5)
def isolated_namespaces(rng, _version):
    """isTransferable: the setting, then the filter; the destination must remain, and must not be the owner."""
    fleet = Fleet(rng)
    for percent in rng.sample([95, 90, 50, 10, 5], rng.randrange(2, 6)):
        fleet.broker(
            percent, volumes(rng, 5, 1e7), rng.choice([["shop/us"], ["shop/us", "shop/eu"]])
        )
    brokers = list(fleet.brokers)
    some = rng.sample(brokers, rng.randrange(1, len(brokers) + 1))
    rest = [name for name in brokers if name not in some]
    least = rng.choice([1, 1, len(some), len(some) + 1])
    fleet.more["isolation"] = [
        policy("shop/us", some, rng.sample(rest, rng.randrange(len(rest) + 1)), least)
    ]
    given = {} if rng.random() < 0.3 else {WITH_POLICIES: rng.random() < 0.8}
    return fleet.case({**settings(rng), **given})


@branch("shed.select", since="3.0.7", weight=2)
def namespaces_in_groups(rng, _version):
    """TopKBundles.hasPolicies: namespaces of an anti-affinity group are not reported unless the setting says so."""
    fleet = Fleet(rng)
    for percent in (95, 50, 10):
        fleet.broker(percent, volumes(rng, 5, 1e7), ["shop/us", "shop/eu"])
    fleet.more["groups"] = {"shop/us": "apart"}
    return fleet.case(settings(rng))
