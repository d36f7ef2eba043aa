"""Bundles to assign, all things considered: policies, groups, other bundles of the namespace."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.drawing.names import bundles_of
from pulsar_conformance.conformance.placement import draw_placements as placements

OPERATION = "place.broker"
NAMESPACE = "shop/new"
ROOM = 256
"""As many bundles the namespace of the bundle to place is divided into."""

Change = Callable[[Json, Random], None]


def assigning(*changes: Change) -> st.SearchStrategy[Trial]:
    """A bundle of a namespace of its own, to be assigned once all of this has been done."""
    clusters = placements.cases(placements.used_alike, placements.balanced)

    def made(case: Json, random: Random) -> Trial:
        bare = {name: value for name, value in case.items() if name != "candidates"}
        moved = bare["bundles"].pop(bare["bundle"], None)
        bare["bundle"] = bundles_of(NAMESPACE, ROOM)[0]
        bare["bundles"] |= {} if moved is None else {bare["bundle"]: moved}
        whole = {**bare, "domains": {}, "groups": {}, "isolation": [], "versions": {}}
        for change in changes:
            change(whole, random)
        return Trial.of(OPERATION, whole)

    return st.builds(made, clusters, randoms)


def isolated(case: Json, random: Random) -> None:
    """The namespace is under a policy, or another one is, or both."""
    brokers = list(case["brokers"])
    for namespace in random.choice(([NAMESPACE], ["bank/vault"], [NAMESPACE, "bank/vault"])):
        primary = random.sample(brokers, random.randint(0, len(brokers)))
        case["isolation"].append(
            {
                "namespaces": [namespace],
                "primary": [*primary, "broker-that-is-down"],
                "secondary": random.sample(brokers, random.randint(0, len(brokers))),
                "least": random.choice((0, 1, 2, len(primary), len(primary) + 1)),
            }
        )


def grouped(case: Json, random: Random) -> None:
    """The namespace is in a group, of which some brokers serve others, in domains or in none."""
    brokers = random.sample(list(case["brokers"]), len(case["brokers"]))
    case["groups"][NAMESPACE] = "blue"
    if random.random() < 0.7:
        for place, name in enumerate(brokers):
            case["domains"].setdefault(f"domain-{place % 3 + 1}", []).append(name)
    for place in range(random.randrange(len(brokers) + 2)):
        _serve(case, random.choice(brokers), f"shop/app-{place + 1}", 0)
        case["groups"][f"shop/app-{place + 1}"] = random.choice(("blue", "blue", "green"))


def served(case: Json, random: Random) -> None:
    """Brokers have other bundles of the namespace, one of them none or fewer than others."""
    brokers = list(case["brokers"])
    most = random.choice((1, 2, 5))
    counts = [random.randint(1, most) for _ in brokers]
    counts[random.randrange(len(brokers))] = random.randint(0, most - 1)
    taken = 0
    for name, count in zip(brokers, counts, strict=True):
        for _ in range(count):
            taken += 1
            _serve(case, name, NAMESPACE, taken, ahead=random.random() < 0.2)


def crowded(case: Json, random: Random) -> None:
    """Some brokers have as many topics as they may, others more."""
    most = random.choice((None, 10, 1000))
    if most is not None:
        case["settings"]["loadBalancerBrokerMaxTopics"] = most
    limit = 50_000 if most is None else most
    for report in case["brokers"].values():
        report["numTopics"] = limit + random.choice((-5, 0, 1, 100))


def versioned(case: Json, random: Random) -> None:
    """Brokers run several versions, of which later ones are preferred; some may not tell."""
    case["settings"]["preferLaterVersions"] = random.random() < 0.9
    for name in case["brokers"]:
        case["versions"][name] = random.choice(("3.0.7", "3.0.10", "2.10.5", "4.0.7"))
    if random.random() < 0.2:
        del case["versions"][random.choice(list(case["brokers"]))]


def by_load_alone(case: Json, random: Random) -> None:
    """Bundles of a namespace may be spread unevenly, in releases that have such a setting."""
    case["settings"]["loadBalancerDistributeBundlesEvenlyEnabled"] = random.random() < 0.3


def overloaded(case: Json, random: Random) -> None:
    """Some brokers, or all, are overloaded."""
    for name in random.sample(list(case["brokers"]), random.randint(0, len(case["brokers"]))):
        case["brokers"][name]["cpu"] = {"usage": 99.5, "limit": 100}


def _serve(case: Json, broker: str, namespace: str, place: int, ahead: bool = False) -> None:
    """Gives a broker one more bundle, which carries nothing."""
    bundle = bundles_of(namespace, ROOM)[place]
    if ahead:
        case["preallocated"].setdefault(broker, []).append(bundle)
    else:
        case["brokers"][broker]["bundles"].append(bundle)
    idle = {"numSamples": 1, "msgRateIn": 0, "msgRateOut": 0}
    case["bundles"][bundle] = {"shortTermData": dict(idle), "longTermData": dict(idle)}
