"""Draws failure domains and anti-affinity groups, with a namespace or bundle to place."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial, copied
from pulsar_conformance.conformance.drawing.loads import randoms, sometimes_as_text
from pulsar_conformance.conformance.drawing.names import equal_bundles, similar_namespaces
from pulsar_conformance.conformance.placement import draw_placements as placements
from pulsar_conformance.conformance.placement.view import GroupSpread
from pulsar_conformance.reference.placement import PLACEMENT_STRATEGY

OPERATION = "place.anti_affinity"
OTHER_GROUPS = ("green", "blue-2", "blu", "dark-blue", "lue")
"""Groups other than the group "blue"; most have similar names.

None differs only in capital letters: releases take such names for one group, and no document says
whether they are.
"""


Maker = Callable[[Random], Json]
Change = Callable[[Random, Json], Json]


def spreading(*makers: Maker) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials that place a namespace; one of the makers builds the cluster."""
    return _placement_cases(makers).map(lambda case: Trial.of(OPERATION, case))


def changing(change: Change, *makers: Maker) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials that place a namespace before and after a change."""
    return st.builds(
        lambda case, random: Trial.of(OPERATION, case, change(random, copied(case))),
        _placement_cases(makers),
        randoms,
    )


def _placement_cases(makers: tuple[Maker, ...]) -> st.SearchStrategy[Json]:
    return st.builds(
        lambda maker, random: maker(random),
        st.sampled_from(makers),
        randoms,
    )


def _unserved_case(random: Random, sizes: list[int], namespaces: int) -> Json:
    """Return a case with domains of these sizes, and namespaces that no broker serves yet."""
    brokers = [f"broker-{number + 1}" for number in range(sum(sizes))]
    waiting = iter(random.sample(brokers, len(brokers)))
    names = [f"shop/app-{number + 1}" for number in range(namespaces)]
    shares = random.choice(((1, 0, 0, 0), (5, 1, 1, 1), (2, 2, 2, 1)))
    groups = "blue", *random.sample(OTHER_GROUPS, 2), None
    grouped = {name: random.choices(groups, shares)[0] for name in names}
    return {
        "settings": {},
        "domains": {
            f"domain-{index + 1}": [next(waiting) for _ in range(size)]
            for index, size in enumerate(sizes)
        },
        "groups": {"shop/new": "blue", **{n: group for n, group in grouped.items() if group}},
        "owned": {},
        "candidates": random.sample(brokers, len(brokers)),
        "namespace": "shop/new",
        "ungrouped": [name for name, group in grouped.items() if not group],
    }


def _domain_sizes(random: Random) -> list[int]:
    """Return the number of brokers in each domain, equal or very different."""
    count = 20 if random.random() < 0.04 else random.choice((1, 2, 2, 3, 3, 4, 5))
    if random.random() < 0.3:
        return [random.choice((1, 2, 3))] * count
    return [random.randint(1, 5) for _ in range(count)]


def _namespaces(random: Random) -> int:
    return random.choice((0, 1, 2, 3, 5, 8, 20, 24, 30))


def _place_others(random: Random, case: Json, evenly: bool) -> Json:
    """Place all namespaces except the case's own: as documented if `evenly`, else at random."""
    others = [name for name in case["groups"] if name != case["namespace"]]
    others += case.pop("ungrouped")
    for name in others:
        best = (
            GroupSpread.of({**case, "namespace": name}, "all").best
            if evenly
            else case["candidates"]
        )
        case["owned"].setdefault(random.choice(best), []).append(name)
    return case


def even(random: Random) -> Json:
    """Return a case in which all other namespaces were placed as documented, one by one."""
    world = _unserved_case(random, _domain_sizes(random), random.choice((0, 1, 2, 3, 4, 7, 20)))
    return _place_others(random, world, evenly=True)


SHARE_WITH_MANY_NAMESPACES = 0.04
"""Share of unevenly placed cases in which each domain has over a hundred namespaces."""


def uneven(random: Random) -> Json:
    """Return a case in which all other namespaces were placed unevenly, at random."""
    if random.random() < SHARE_WITH_MANY_NAMESPACES:
        return _many_namespaces(random)
    case = _place_others(
        random, _unserved_case(random, _domain_sizes(random), _namespaces(random)), evenly=False
    )
    if random.random() < 0.2:
        keep = random.randint(1, len(case["candidates"]))
        case["candidates"] = case["candidates"][:keep]
    return case


def more_than_domains(random: Random) -> Json:
    """Return a case with more namespaces than domains, or even than brokers."""
    case = _unserved_case(random, _domain_sizes(random), 0)
    extra = random.randint(len(case["domains"]), 3 * len(case["candidates"]))
    case["groups"] |= {f"shop/app-{number + 1}": "blue" for number in range(extra)}
    return _place_others(random, case, evenly=random.random() < 0.5)


def several_groups(random: Random) -> Json:
    """Return a case whose brokers also serve namespaces of other groups and of no group."""
    world = _unserved_case(random, _domain_sizes(random), random.choice((4, 8, 20, 30)))
    if random.random() < 0.3:
        return _place_others(random, world, evenly=False)
    case = _without_placements(random)
    groups = "blue", *random.sample(OTHER_GROUPS, 2), None
    rooms = {group: random.choice(list(case["domains"])) for group in groups}
    for domain, brokers in case["domains"].items():
        for broker in brokers:
            for group, room in rooms.items():
                _place_namespaces(
                    case, broker, 0 if room == domain else random.choice((1, 1, 2)), group
                )
    return case


def one_broker_much_fuller(random: Random) -> Json:
    """Return a case in which one broker serves more of the group than all brokers of any other
    domain.

    The other brokers of its domain serve no namespace of the group.
    """
    case = _without_placements(random)
    full, *_ = home = case["domains"][random.choice(list(case["domains"]))]
    for broker in case["candidates"]:
        most = len(case["candidates"]) if broker == full else 0 if broker in home else 1
        _place_namespaces(case, broker, most, "blue")
    return case


def _many_namespaces(random: Random) -> Json:
    """Return a case in which each domain serves over a hundred namespaces of the group.

    The broker with the fewest namespaces is not in the domain with the fewest namespaces.
    """
    case = _unserved_case(random, [random.choice((2, 3)) for _ in range(random.choice((2, 3)))], 0)
    del case["ungrouped"]
    fewest = random.randint(101, 120)
    domains = random.sample(list(case["domains"].values()), len(case["domains"]))
    for place, brokers in enumerate(domains):
        few = fewest // len(brokers) // 2 if place else fewest // len(brokers) + 1
        for broker in brokers[1:]:
            _place_namespaces(case, broker, few, "blue")
        others = few * (len(brokers) - 1)
        _place_namespaces(case, brokers[0], fewest + random.randint(5, 20) * place - others, "blue")
    return case


def _without_placements(random: Random) -> Json:
    world = _unserved_case(random, _domain_sizes(random), 0)
    del world["ungrouped"]
    return world


def _place_namespaces(case: Json, broker: str, count: int, group: str | None) -> None:
    """Place `count` more namespaces, of a group or of no group, on a broker."""
    for _ in range(count):
        name = f"shop/app-{sum(map(len, case['owned'].values())) + 1}"
        case["owned"].setdefault(broker, []).append(name)
        case["groups"] |= {name: group} if group else {}


def first_of_its_group(random: Random) -> Json:
    """Return a case with a namespace that is the first of its group."""
    case = several_groups(random)
    case["groups"][case["namespace"]] = "new"
    return case


def without_domains(random: Random) -> Json:
    """Return a case with brokers outside any domain, sometimes mixed with brokers in a domain."""
    case = uneven(random)
    gone = list(case["domains"])
    for name in gone if random.random() < 0.7 else gone[: len(gone) // 2]:
        del case["domains"][name]
    return case


def into_another_group(random: Random, case: Json) -> Json:
    """Move a namespace to another group."""
    grouped = list(case["groups"])
    name = case["namespace"] if random.random() < 0.6 else random.choice(grouped)
    others = [one for one in ("blue", *OTHER_GROUPS) if one != case["groups"][name]]
    case["groups"][name] = random.choice(others)
    return case


def broker_moved(random: Random, case: Json) -> Json:
    """Move a broker to another domain, with all namespaces that it serves."""
    domains, owned = case["domains"], case["owned"]
    serving = [one for brokers in domains.values() for one in brokers if one in owned]
    if len(domains) < 2 or not serving:
        return case
    moved = random.choice((random.choice(serving), max(serving, key=lambda one: len(owned[one]))))
    home = next(name for name, brokers in domains.items() if moved in brokers)
    domains[home].remove(moved)
    domains[random.choice([name for name in domains if name != home])].append(moved)
    return case


def domain_down(random: Random, case: Json) -> Json:
    """Take down the brokers of one domain; they then serve no namespaces."""
    if len(case["domains"]) > 1:
        down = case["domains"][random.choice(list(case["domains"]))]
        case["candidates"] = [one for one in case["candidates"] if one not in down]
        case["owned"] = {one: names for one, names in case["owned"].items() if one not in down}
    return case


def domains_changed(random: Random, case: Json) -> Json:
    """Delete a domain and move its brokers to another domain, or replace all domains."""
    domains = case["domains"]
    if len(domains) > 1 and random.random() < 0.6:
        gone = domains.pop(random.choice(list(domains)))
        domains[random.choice(list(domains))] += gone
        return case
    brokers = [one for brokers in domains.values() for one in brokers]
    random.shuffle(brokers)
    half = random.randint(1, len(brokers))
    made = {"north": brokers[:half], "south": brokers[half:]}
    case["domains"] = {name: members for name, members in made.items() if members}
    return case


ASSIGN_OPERATION = "place.broker"
NAMESPACE = "shop/new"
BUNDLES_OF_NAMESPACE = 256
"""Number of bundles into which the namespace of the bundle to assign is divided."""

Detail = Callable[[Json, Random], None]


def assigning(*changes: Detail) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials that assign a bundle of a new namespace.

    Each function in `changes` modifies the case first.
    """
    clusters = placements.cases(placements.with_equal_usage, placements.balanced)

    def made(case: Json, random: Random) -> Trial:
        bare = {name: value for name, value in case.items() if name != "candidates"}
        bare["settings"].pop(PLACEMENT_STRATEGY, None)
        moved = bare["bundles"].pop(bare["bundle"], None)
        bare["bundle"] = equal_bundles(NAMESPACE, BUNDLES_OF_NAMESPACE)[0]
        bare["bundles"] |= {} if moved is None else {bare["bundle"]: moved}
        whole = {**bare, "domains": {}, "groups": {}, "isolation": [], "versions": {}}
        for change in changes:
            change(whole, random)
        whole["settings"] = sometimes_as_text(random, whole["settings"])
        return Trial.of(ASSIGN_OPERATION, whole)

    return st.builds(made, clusters, randoms)


def add_isolation_policies(case: Json, random: Random) -> None:
    """Add an isolation policy for the namespace, for another namespace, or for both.

    The name of the other namespace is similar.
    """
    brokers = list(case["brokers"])
    other = random.choice(similar_namespaces(random, {NAMESPACE}))
    for namespace in random.choice(([NAMESPACE], [other], [NAMESPACE, other], [other, NAMESPACE])):
        primary = random.sample(brokers, random.randint(0, len(brokers)))
        case["isolation"].append(
            {
                "namespaces": [namespace],
                "primary": [*primary, "broker-that-is-down"],
                "secondary": random.sample(brokers, random.randint(0, len(brokers))),
                "least": random.choice((0, 1, 2, len(primary), len(primary) + 1)),
            }
        )


def join_group(case: Json, random: Random) -> None:
    """Add the namespace to a group; brokers already serve other namespaces of this group."""
    brokers = random.sample(list(case["brokers"]), len(case["brokers"]))
    case["groups"][NAMESPACE], other = "blue", random.choice(OTHER_GROUPS)
    if random.random() < 0.7:
        for index, name in enumerate(brokers):
            case["domains"].setdefault(f"domain-{index % 3 + 1}", []).append(name)
    for index in range(random.randrange(len(brokers) + 2)):
        ahead = random.random() < 0.3
        _give_bundle(case, random.choice(brokers), f"shop/app-{index + 1}", 0, ahead)
        case["groups"][f"shop/app-{index + 1}"] = random.choice(("blue", other))


def serve_similar_group(case: Json, random: Random) -> None:
    """Add the namespace to a group of which all brokers but one serve a namespace.

    That broker serves more namespaces of another group, which in most cases has a similar name.
    """
    case["groups"][NAMESPACE], other = "blue", random.choice(OTHER_GROUPS)
    one, *others = random.sample(list(case["brokers"]), len(case["brokers"]))
    for index, broker in enumerate((one, one, *others)):
        name = f"shop/app-{index + 1}"
        _give_bundle(case, broker, name, 0, ahead=random.random() < 0.3)
        case["groups"][name] = other if broker == one else "blue"


ASSIGNED_TO_GROUP = (assigning(join_group), assigning(serve_similar_group))
"""Strategies for trials that assign a bundle of a namespace that is in a group."""


def serve_other_bundles(case: Json, random: Random) -> None:
    """Place other bundles of the namespace on brokers, usually fewer on one than on the others."""
    brokers = list(case["brokers"])
    most = random.choice((1, 2, 5))
    counts = [random.randint(1, most) for _ in brokers]
    counts[random.randrange(len(brokers))] = random.randint(0, most - 1)
    owners = [name for name, count in zip(brokers, counts, strict=True) for _ in range(count)]
    for index, name in enumerate(owners[: BUNDLES_OF_NAMESPACE - 1], start=1):
        _give_bundle(case, name, NAMESPACE, index, ahead=random.random() < 0.2)


def set_topics_near_maximum(case: Json, random: Random) -> None:
    """Give each broker a number of topics just below, at, or above the maximum."""
    most = random.choice((None, 10, 1000))
    if most is not None:
        case["settings"]["loadBalancerBrokerMaxTopics"] = most
    limit = 50_000 if most is None else most
    for report in case["brokers"].values():
        report["numTopics"] = limit + random.choice((-5, 0, 1, 100))


def set_versions(case: Json, random: Random) -> None:
    """Give brokers different versions and prefer later ones; one version may be unknown."""
    case["settings"]["preferLaterVersions"] = random.random() < 0.9
    for name in case["brokers"]:
        case["versions"][name] = random.choice(("3.0.7", "3.0.10", "2.10.5", "4.0.7"))
    if random.random() < 0.2:
        del case["versions"][random.choice(list(case["brokers"]))]


def set_even_distribution(case: Json, random: Random) -> None:
    """Set whether a namespace's bundles are spread evenly; only some releases have this setting."""
    case["settings"]["loadBalancerDistributeBundlesEvenlyEnabled"] = random.random() < 0.3


def overload_some(case: Json, random: Random) -> None:
    """Overload a random number of brokers: none, some, or all."""
    for name in random.sample(list(case["brokers"]), random.randint(0, len(case["brokers"]))):
        case["brokers"][name]["cpu"] = {"usage": 99.5, "limit": 100}


def _give_bundle(case: Json, broker: str, namespace: str, place: int, ahead: bool = False) -> None:
    """Give a broker one more bundle without load; if `ahead`, the broker has not reported it."""
    bundle = equal_bundles(namespace, BUNDLES_OF_NAMESPACE)[place]
    if ahead:
        case["preallocated"].setdefault(broker, []).append(bundle)
    else:
        case["brokers"][broker]["bundles"].append(bundle)
    idle = {"numSamples": 1, "msgRateIn": 0, "msgRateOut": 0}
    case["bundles"][bundle] = {"shortTermData": dict(idle), "longTermData": dict(idle)}
