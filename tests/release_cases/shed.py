"""Branches of shed.select: ModularLoadManagerImpl.doLoadShedding, and cases for every strategy."""

from release_cases.common import IMPL, Cluster, at_least, branch, loads, named, near

THRESHOLD, OVERLOAD, UNIFORM, AVG = (
    "ThresholdShedder",
    "OverloadShedder",
    "UniformLoadShedder",
    "AvgShedder",
)


def strategies(version):
    if version == "2.4.2":
        return [OVERLOAD]
    return [THRESHOLD, OVERLOAD, UNIFORM] + ([AVG] if at_least(version, "3.0.7") else [])


def busy(rng, version, strategy=None, namespace=None):
    """Return a cluster in which the strategy unloads bundles, and its settings."""
    strategy = strategy or rng.choice(strategies(version))
    cluster = Cluster(rng, namespace)
    volume = rng.choice([1e7, 1e8])
    cluster.broker(rng.choice([90, 95, 99.5]), loads(rng, rng.randrange(2, 7), volume))
    cluster.broker(rng.choice([10, 20]), [(10, 1e5)])
    if rng.random() < 0.5:
        cluster.broker(rng.choice([15, 30]), [(20, 2e5), (5, 1e4)])
    settings = {}
    if strategy == AVG:
        settings = {
            "loadBalancerAvgShedderHitCountHighThreshold": 1,
            "loadBalancerAvgShedderHitCountLowThreshold": 1,
        }
    return cluster, strategy, settings


@branch("shed.select", since="2.10.5")
def hidden_settings_left_out(rng, version):
    """ServiceConfiguration: the defaults of hidden settings, which require 10 MiB/s, 1000
    messages/s and 1 MiB/s for an unload.
    """
    cluster, strategy, settings = busy(rng, version)
    return cluster.case(named(rng, strategy), settings)


@branch("shed.select")
def balancer_or_shedding_switched_off(rng, version):
    """LoadManagerShared.isLoadSheddingEnabled: loadBalancerEnabled and loadBalancerSheddingEnabled."""
    cluster, strategy, settings = busy(rng, version)
    for name in rng.choice(
        [
            ["loadBalancerEnabled"],
            ["loadBalancerSheddingEnabled"],
            ["loadBalancerEnabled", "loadBalancerSheddingEnabled"],
        ]
    ):
        settings[name] = rng.choice([False, False, True, "false", "true"])
    return cluster.case(named(rng, strategy), settings)


@branch("shed.select")
def at_most_one_broker(rng, version):
    """ModularLoadManagerImpl.doLoadShedding: getAvailableBrokers().size() <= 1."""
    cluster, strategy, settings = busy(rng, version)
    cluster.brokers = dict(list(cluster.brokers.items())[: rng.choice([0, 1, 1, 2])])
    return cluster.case(named(rng, strategy), settings)


@branch("shed.select", weight=3)
def grace_period_at_its_edges(rng, version):
    """ModularLoadManagerImpl.doLoadShedding: removeIf(timestamp < now - loadBalancerSheddingGracePeriodMinutes).

    Ages within two seconds of the period are not asked, since they depend on the adapter's clock.
    """
    cluster, strategy, settings = busy(rng, version)
    period = rng.choice([None, 30, 5, 1, 0, -1, 10000])
    if period is not None:
        settings["loadBalancerSheddingGracePeriodMinutes"] = period
    length = 30 if period is None else period
    owned = [name for data in cluster.brokers.values() for name in data["bundles"]]
    ages = [max(length - 0.1, 0), length + 0.1, length / 2, length + 0.5, 2 * abs(length) + 1, 0.25]
    ages = [age for age in ages if age != length and age >= 0]
    recent = {
        name: rng.choice(ages) for name in rng.sample(owned, rng.randrange(1, len(owned) + 1))
    }
    return cluster.case(named(rng, strategy), settings, recent)


@branch("shed.select", weight=2)
def strategy_of_the_settings(rng, version):
    """LoadManagerShared / ModularLoadManagerImpl.createLoadSheddingStrategy: the class that the setting names."""
    cluster, strategy, settings = busy(rng, version)
    if version != "2.4.2" and rng.random() < 0.8:
        settings["loadBalancerLoadSheddingStrategy"] = rng.choice(
            [
                IMPL + strategy,
                IMPL + strategy,
                IMPL + strategy + " ",
                "",
                "org.example.Nothing",
                strategy,
            ]
        )
    if rng.random() < 0.2 and at_least(version, "3.0.7"):
        settings["loadBalancerLoadPlacementStrategy"] = IMPL + rng.choice(
            [
                AVG,
                "LeastResourceUsageWithWeight",
                "RoundRobinBrokerSelector",
                "LeastLongTermMessageRate",
            ]
        )
    return cluster.case(None, settings)


@branch("shed.select")
def every_class_of_the_jar(rng, version):
    """Classes in org.apache.pulsar.broker.loadbalance that a setting could name, and some that do not exist."""
    cluster, _, settings = busy(rng, version)
    strategy = rng.choice(
        [
            IMPL + OVERLOAD,
            IMPL + THRESHOLD,
            IMPL + UNIFORM,
            IMPL + AVG,
            IMPL + "DeviationShedder",
            "org.apache.pulsar.broker.loadbalance.extensions.scheduler.TransferShedder",
            "TransferShedder",
            "thresholdshedder",
            IMPL + "LeastLongTermMessageRate",
            "org.example.Shedder",
        ]
    )
    return cluster.case(strategy, settings)


@branch("shed.select", weight=3)
def namespaces_of_the_system(rng, version):
    """LoadData.getBundleDataForLoadShedding: NamespaceService.isSLAOrHeartbeatNamespace."""
    special = rng.choice(
        [
            "pulsar/b1:8080",
            "pulsar/use/b1:8080",
            "sla-monitor/use/b1:8080",
            "sla-monitor/b1:8080",
            "pulsar/system",
            "pulsar/b1",
            "pulsar/b1:80a",
            "pulsarx/b1:8080",
            "pulsar/a:b:8080",
        ]
    )
    cluster, strategy, settings = busy(rng, version)
    cluster.broker(97, loads(rng, 2, 1e8), namespace=special)
    mixed = cluster.broker(98, loads(rng, 1, 1e8), namespace=special)
    other = cluster.take()
    cluster.bundles[other] = {"shortTermData": {"msgThroughputIn": 1e6, "numSamples": 10}}
    cluster.brokers["b" + str(len(cluster.brokers))]["bundles"] = mixed + [other]
    return cluster.case(named(rng, strategy), settings)


@branch("shed.select", since="4.2.4", weight=4)
def excluded_namespaces(rng, version):
    """ModularLoadManagerImpl.doLoadShedding: loadBalancerSheddingExcludedNamespaces, after the strategy chose."""
    cluster, strategy, settings = busy(rng, version)
    cluster.broker(93, loads(rng, 3, 1e8), namespace="games/eu")
    settings["loadBalancerSheddingExcludedNamespaces"] = rng.choice(
        [
            cluster.namespace,
            "games/eu",
            f"{cluster.namespace},games/eu",
            f"games/eu, {cluster.namespace}",
            "",
            "games",
            "games/*",
            "games/eu/",
            " games/eu ",
        ]
    )
    return cluster.case(named(rng, strategy), settings)


@branch("shed.select", weight=3)
def destination_is_the_owner(rng, version):
    """ModularLoadManagerImpl.doLoadShedding: nothing is unloaded if selectBroker names the owner (3.0 and later)."""
    cluster = Cluster(rng)
    cluster.broker(95, [(0, rng.choice([6e7, 9e7])), (1, 3e7), (0, 2e7)])
    for _ in range(rng.choice([1, 2])):
        cluster.broker(rng.choice([20, 85, 86, 99]), [(rng.choice([500, 9000]), 1e6)])
    settings = rng.choice(
        [
            {},
            {"loadBalancerBrokerOverloadedThresholdPercentage": 96},
            {"loadBalancerDistributeBundlesEvenlyEnabled": False},
        ]
    )
    return cluster.case(named(rng, rng.choice([OVERLOAD, THRESHOLD])), dict(settings))


@branch("shed.select", weight=2)
def bundles_without_data_or_owner(rng, version):
    """The strategies' filters: only bundles in BundleData and in the broker's set (PR 5002) are considered."""
    cluster, strategy, settings = busy(rng, version)
    for name in rng.sample(sorted(cluster.bundles), rng.randrange(len(cluster.bundles) + 1)):
        kind = rng.choice(["gone", "unmeasured", "short", "long", "empty", "kept"])
        data = cluster.bundles[name]
        if kind == "gone":
            del cluster.bundles[name]
        elif kind == "unmeasured":
            data["shortTermData"]["numSamples"] = data["longTermData"]["numSamples"] = 0
        elif kind == "short":
            del data["longTermData"]
        elif kind == "long":
            del data["shortTermData"]
        elif kind == "empty":
            cluster.bundles[name] = {}
    cluster.bundles[cluster.take()] = {
        "shortTermData": {"msgThroughputIn": 5e8, "msgRateIn": 1e4, "numSamples": 3}
    }
    return cluster.case(named(rng, strategy), settings)


@branch("shed.select")
def sixty_brokers_five_hundred_bundles(rng, version):
    """Every strategy over a big cluster: order of hash maps, sums of many usages."""
    strategy = rng.choice(strategies(version))
    cluster = Cluster(rng)
    for _ in range(rng.choice([20, 60])):
        cluster.broker(
            rng.choice([10, 20, 50, 84.9, 85, 97]) + rng.random() * rng.choice([0, 1]),
            loads(rng, rng.randrange(0, 9), 3e7),
        )
    return cluster.case(
        named(rng, strategy),
        {"loadBalancerAvgShedderHitCountHighThreshold": 1} if strategy == AVG else {},
    )


@branch("shed.select")
def settings_as_text_or_nothing(rng, version):
    """PulsarConfigurationLoader: strings for numbers, null, unknown names, and decimals such as 8.0
    for whole numbers.
    """
    cluster, strategy, settings = busy(rng, version)
    settings.update(
        rng.choice(
            [
                {"loadBalancerBrokerOverloadedThresholdPercentage": "85"},
                {"loadBalancerBrokerOverloadedThresholdPercentage": 85.0},
                {"loadBalancerBrokerOverloadedThresholdPercentage": None},
                {"loadBalancerBrokerThresholdShedderPercentage": " 10 "},
                {"loadBalancerBrokerThresholdShedderPercentage": 10.5},
                {"loadBalancerHistoryResourcePercentage": "0.9"},
                {"noSuchSetting": 7},
                {"loadBalancerCPUResourceWeight": "0.5"},
                {"loadBalancerCPUResourceWeight": ""},
                {"loadBalancerSheddingEnabled": "yes"},
                {"loadBalancerSheddingEnabled": " true "},
                {"loadBalancerSheddingEnabled": "TRUE"},
                {"loadBalancerMsgRateDifferenceShedderThreshold": "50"},
                {"maxUnloadPercentage": "0.5"},
                {"minUnloadMessage": "1000"},
                {"minUnloadMessage": 1e3},
                {"loadBalancerSheddingGracePeriodMinutes": 0.5},
                {"loadBalancerBandwidthInResourceWeight": 0.5},
                {"loadBalancerBandwithInResourceWeight": 0.5},
            ]
        )
    )
    return cluster.case(named(rng, strategy), settings)


# OverloadShedder.findBundlesForUnloading


@branch("shed.select", weight=6)
def overload_around_its_threshold(rng, version):
    """OverloadShedder skips currentUsage < overloadThreshold; both are fractions, until 3.0 from
    float percentages.
    """
    limit = rng.choice([None, 0, -1, 1, 100, 150] + [5 * part for part in range(1, 20)])
    around = 85 if limit is None else limit
    cluster = Cluster(rng)
    for _ in range(rng.randrange(2, 5)):
        cluster.broker(
            max(near(rng, around, rng.choice([1e-7, 1e-5, 0.01, 1, 10])), 0),
            loads(rng, rng.randrange(0, 5)),
            kind=rng.choice(
                ["cpu", "cpu", "directMemory", "bandwidthIn", "bandwidthOut", "memory"]
            ),
        )
    return cluster.case(
        named(rng, OVERLOAD),
        {} if limit is None else {"loadBalancerBrokerOverloadedThresholdPercentage": limit},
    )


@branch("shed.select", weight=3)
def overload_amount(rng, version):
    """OverloadShedder: bundles, most bytes first, until (usage - threshold + 0.05) x reported bytes
    are marked; at least one.
    """
    cluster = Cluster(rng)
    total = 1e8
    piece = total * (0.95 - 0.85 + 0.05)
    first = rng.choice([piece / 3, piece / 2, piece, near(rng, piece), 1e6])
    mine = [
        (rng.randrange(2000), value)
        for value in [first] * rng.choice([1, 2, 3]) + [1.5e6, 0.5e6, 0]
    ]
    cluster.broker(95, mine, reported=rng.choice([None, (100, total), (0, 0), (10, 2e8)]))
    cluster.broker(20, [(1, 1e6)])
    return cluster.case(named(rng, OVERLOAD), {})


@branch("shed.select", weight=2)
def overload_weights(rng, version):
    """OverloadShedder: getMaxResourceUsage, with weights from 4.0 (PIP-358); 2.4.2 has no weights."""
    cluster = Cluster(rng)
    for _ in range(3):
        cluster.broker(
            rng.choice([60, 85, 90, 120]),
            loads(rng, 3),
            kind=rng.choice(["cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut"]),
        )
    cluster.broker(10)
    return cluster.case(named(rng, OVERLOAD), weights(rng) if version != "2.4.2" else {})


def weights(rng):
    return {
        f"loadBalancer{kind}ResourceWeight": rng.choice([0, 1, 1.0, 0.5, 0.9, 2, 0.1, -1])
        for kind in ["CPU", "Memory", "DirectMemory", "BandwithIn", "BandwithOut"]
        if rng.random() < 0.6
    }


@branch("shed.select", weight=2)
def equal_bundles(rng, version):
    """The sort is stable, so bundles with equal traffic are in the order of the hash map; a tie is no difference."""
    cluster, strategy, settings = busy(rng, version)
    cluster = Cluster(rng)
    cluster.broker(95, [(1000, 1e7)] * rng.randrange(2, 9))
    cluster.broker(10, [(1000, 1e7)])
    return cluster.case(named(rng, strategy), settings)
