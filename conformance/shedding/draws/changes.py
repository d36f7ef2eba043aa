"""Changes of a cluster between two cycles, or before one."""

from __future__ import annotations

from random import Random

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.drawing import loads
from pulsar_conformance.conformance.shedding.draws.settings import OVERLOAD
from pulsar_conformance.reference.cluster import RESOURCES
from pulsar_conformance.reference.ranges import FULL_UPPER, HashRange, namespace_of
from pulsar_conformance.reference.shedding import PACKAGE, STRATEGY


def after_splits(random: Random, case: Json) -> Json:
    """Some unloaded bundles have been split since: their names were those of both halves."""
    unloaded = case["recentlyUnloaded"]
    for name in list(unloaded):
        part = HashRange.parse(name)
        if random.random() < 0.5:
            # The last bundle of a namespace is wider by what could not be divided.
            end = part.upper + part.width
            upper = FULL_UPPER if end + part.width > FULL_UPPER else end
            whole = HashRange(part.lower, upper)
            unloaded[f"{namespace_of(name)}/{whole.name}"] = unloaded.pop(name)
    return case


def by_settings(random: Random, case: Json) -> Json:
    """The same cycle, with the strategy in the setting instead of the case."""
    name = case["strategy"].removeprefix(PACKAGE)
    case["settings"] = {**case["settings"], STRATEGY: random.choice(("", PACKAGE)) + name}
    case["strategy"] = None
    return case


def unnamed(_random: Random, case: Json) -> Json:
    """The same cycle, with no strategy named anywhere."""
    return {**case, "strategy": None}


def with_other_brokers_changed(random: Random, case: Json) -> Json:
    """The same cluster with other usages of all brokers except one."""
    brokers = list(case["brokers"])
    kept = random.choice(brokers)
    for name in brokers:
        if name != kept:
            level = random.choice((0, 5, 50, 80, 95, 100))
            case["brokers"][name] |= {r: {"usage": 0, "limit": 100} for r in RESOURCES}
            case["brokers"][name] |= loads.usages(random, level, exact=False)
    return case


def with_another_overload_threshold(random: Random, case: Json) -> Json:
    """The same cycle with another overload threshold."""
    case["settings"][OVERLOAD] = random.choice((1, 10, 30, 99))
    return case


def with_another_long_term(random: Random, case: Json) -> Json:
    """The same cycle, a third of the time with long-term averages that bundles have exchanged."""
    known = [data for data in case["bundles"].values() if "longTermData" in data]
    if random.random() < 1 / 3:
        exchanged = random.sample([data["longTermData"] for data in known], len(known))
        for data, other in zip(known, exchanged, strict=True):
            data["longTermData"] = other
    return case
