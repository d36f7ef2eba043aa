"""Branches of place.broker: ModularLoadManagerImpl.selectBrokerForAssignment, with its filters."""

from release_cases.common import IMPL, at_least, average, branch, names
from release_cases.place import world


def whole(rng, brokers, bundles, settings=None, namespace="shop/eu", **more):
    case = {
        "settings": settings or {},
        "bundle": names(namespace, 64)[0],
        "brokers": brokers,
        "bundles": bundles,
        "preallocated": {},
        "domains": {},
        "groups": {},
        "isolation": [],
        "versions": {},
    }
    case.update(more)
    return case


@branch("place.broker", weight=3)
def isolation_policies(rng, version):
    """LoadManagerShared.applyNamespacePolicies: primary brokers, also secondary ones if fewer than
    `least`, else shared brokers.
    """
    brokers, bundles = world(rng, 4)
    policies = []
    for _ in range(rng.choice([1, 2])):
        policies.append(
            {
                "namespaces": rng.choice(
                    [["shop/eu"], ["bank/core"], ["shop/eu", "bank/core"], []]
                ),
                "primary": rng.sample(["b1", "b2", "b3", "b9"], rng.randrange(0, 3)),
                "secondary": rng.sample(["b1", "b3", "b4", "b8"], rng.randrange(0, 3)),
                "least": rng.choice([0, 1, 2, 3]),
            }
        )
    return whole(rng, brokers, bundles, isolation=policies)


@branch("place.broker", weight=2)
def brokers_with_many_topics(rng, version):
    """LoadManagerShared.filterBrokersWithLargeTopicCount: brokers over loadBalancerBrokerMaxTopics
    are left out, unless all are.
    """
    brokers, bundles = world(rng, 3)
    most = rng.choice([50000, 100, 0, -1])
    for data in brokers.values():
        data["numTopics"] = max(most + rng.choice([-1, 0, 1, 5]), 0)
    return whole(
        rng, brokers, bundles, {} if most == 50000 else {"loadBalancerBrokerMaxTopics": most}
    )


@branch("place.broker", weight=3)
def spread_evenly(rng, version):
    """LoadManagerShared.removeMostServicingBrokersForNamespace: always until 2.10, then by setting, and pulsar/system."""
    namespace = rng.choice(["shop/eu", "shop/eu", "pulsar/system", "public/default"])
    brokers, bundles = world(rng, 4, namespace=rng.choice([namespace, "bank/core"]))
    for data in brokers.values():
        data["lastStats"] = {name: {"topics": 1, "msgRateIn": 1} for name in data["bundles"]}
    settings = {}
    if at_least(version, "3.0.7") and rng.random() < 0.6:
        settings["loadBalancerDistributeBundlesEvenlyEnabled"] = rng.choice([False, False, True])
    given = {}
    if rng.random() < 0.4:
        given["b1"] = [names(namespace, 64)[1]]
    return whole(rng, brokers, bundles, settings, namespace, preallocated=given)


@branch("place.broker", weight=3)
def latest_versions(rng, version):
    """BrokerVersionFilter.filter: preferLaterVersions; a broker without a version restores all permitted brokers."""
    brokers, bundles = world(rng, 4)
    versions = {
        name: rng.choice(["2.10.5", "3.0.7", "3.0.10", "3.1.0"])
        for name in brokers
        if rng.random() < 0.9
    }
    return whole(
        rng,
        brokers,
        bundles,
        {"preferLaterVersions": rng.choice([True, True, False])},
        versions=versions,
    )


@branch("place.broker", weight=3)
def chosen_one_is_overloaded(rng, version):
    """selectBroker: if the chosen broker is over the threshold, it chooses again among all permitted brokers."""
    brokers, bundles = world(rng, 4, percent=rng.choice([86, 99]))
    brokers["b2"]["cpu"] = {"usage": rng.choice([10, 85, 86]), "limit": 100}
    groups = rng.choice([{}, {"shop/eu": "g", "bank/core": "g"}])
    bundles.update(
        {name: {"longTermData": average(rng, 50, 5e3, 1000)} for name in names("bank/core", 4)[:1]}
    )
    brokers["b2"]["bundles"] = brokers["b2"]["bundles"] + names("bank/core", 4)[:1]
    return whole(rng, brokers, bundles, groups=groups)


@branch("place.broker", weight=3)
def groups_and_domains(rng, version):
    """filterAntiAffinityGroupOwnedBrokers within the whole assignment; failure domains only where they are enabled."""
    brokers, bundles = world(rng, 4, percent=20)
    free = {space: names(space, 8) for space in ["shop/a", "shop/b", "shop/c", "shop/eu"]}
    for name in brokers:
        for space in rng.sample(sorted(free), rng.randrange(0, 3)):
            brokers[name]["bundles"] = brokers[name]["bundles"] + [
                free[space].pop() if space != "shop/eu" else names("shop/eu", 64)[1 + int(name[1])]
            ]
    for data in brokers.values():
        data["lastStats"] = {bundle: {"topics": 1} for bundle in data["bundles"]}
    return whole(
        rng,
        brokers,
        bundles,
        {"failureDomainsEnabled": rng.random() < 0.6},
        domains=rng.choice(
            [
                {},
                {"D1": ["b1", "b2"], "D2": ["b3", "b4"]},
                {"D1": ["b1"], "D2": ["b2", "b3"]},
                {"D1": ["b1", "b9"]},
            ]
        ),
        groups={space: rng.choice(["g", "g", "G", "h"]) for space in free if rng.random() < 0.8},
    )


@branch("place.broker", weight=2)
def already_preallocated(rng, version):
    """selectBrokerForAssignment: a preallocated bundle stays on its broker; other bundles of the namespace count."""
    brokers, bundles = world(rng, 3, percent=20)
    given = {
        rng.choice(["b1", "b2", "b3"]): names(rng.choice(["shop/eu", "bank/core"]), 64)[
            1 : rng.choice([2, 3])
        ]
    }
    return whole(rng, brokers, bundles, preallocated=given)


@branch("place.broker", since="4.2.4", weight=3)
def excluded_from_shedding(rng, version):
    """ModularLoadManagerImpl.selectBroker: round robin for loadBalancerSheddingExcludedNamespaces."""
    brokers, bundles = world(rng, 4)
    return whole(
        rng,
        brokers,
        bundles,
        {
            "loadBalancerSheddingExcludedNamespaces": rng.choice(
                ["shop/eu", "bank/core", "shop/eu,bank/core"]
            )
        },
    )


@branch("place.broker", since="3.0.7", weight=2)
def whole_by_another_strategy(rng, version):
    """selectBroker with each placement strategy of the release."""
    brokers, bundles = world(rng, rng.choice([0, 1, 2, 4]))
    return whole(
        rng,
        brokers,
        bundles,
        {
            "loadBalancerLoadPlacementStrategy": IMPL
            + rng.choice(
                [
                    "LeastResourceUsageWithWeight",
                    "RoundRobinBrokerSelector",
                    "AvgShedder",
                    "LeastLongTermMessageRate",
                ]
            )
        },
    )
