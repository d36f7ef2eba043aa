"""Draws cycles for TransferShedder, each close to the limit of one of its conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing import loads as loading
from pulsar_conformance.conformance.drawing import names
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.shedding.operations import CYCLES, SHED
from pulsar_conformance.reference.ranges import HashRange
from pulsar_conformance.reference.shedding import (
    DELAY,
    EXCLUDED,
    GRACE,
    HITS,
    LIFETIME,
    MANAGER,
    MAX_REPORTED_BUNDLES,
    MAX_SHEDDING_BROKERS,
    TRANSFER_ENABLED,
    TRANSFER_SHEDDER,
    TRANSFER_TARGET,
    WITH_POLICIES,
)
from pulsar_conformance.reference.threshold import HISTORY_SHARE

SHARES = ((4, 10, 26, 60), (5, 15, 30, 50), (10, 20, 30, 40), (3, 7, 20, 30, 40))
"""Possible divisions of a broker's traffic over its bundles, in percent."""

LARGE_SHARES = ((30, 33, 37),)
"""Divisions of a broker's traffic over large bundles, in percent. The smallest bundle has less than
a third of the traffic, which is half the gap from 60 % to 20 %.
"""

BYTES = 100_000
"""A broker's bytes per second for each percent of its load; every message has 1000 bytes."""


def _bundles_of(place: int, load: float, shares: Sequence[int], namespace: str) -> dict[str, float]:
    """Return a broker's bundles with their messages per second, in proportion to `shares`."""
    lower, rate = place << 24, load * BYTES / 1000
    ends = [lower + (number << 16) for number in range(len(shares) + 1)]
    each = zip(pairwise(ends), shares, strict=True)
    return {f"{namespace}/{HashRange(*two).name}": rate * share / 100 for two, share in each}


def cluster(
    random: Random,
    loads: Mapping[str, float],
    idle: str | None = None,
    namespaces: Mapping[str, str] | None = None,
    shares: Sequence[Sequence[int]] = SHARES,
) -> Json:
    """Return brokers with the given load in percent, and bundles with proportional traffic.

    The broker `idle` has no traffic. `namespaces` gives the namespace of a broker's bundles.
    """
    brokers: Json = {}
    bundles: dict[str, float] = {}
    for index, (name, load) in enumerate(loads.items()):
        namespace = (namespaces or {}).get(name, "shop/eu")
        own = _bundles_of(index, 0 if name == idle else load, random.choice(shares), namespace)
        resource = random.choice(("cpu", "bandwidthIn"))
        kept = list(own) if name != idle or random.random() < 1 / 2 else []
        brokers[name] = {
            resource: {"usage": load, "limit": 100},
            **_traffic(sum(own.values())),
            "bundles": kept,
        }
        bundles |= {one: own[one] for one in kept}
    data = {one: {"numSamples": 10, **_traffic(rate)} for one, rate in bundles.items()}
    return {
        "brokers": {name: brokers[name] for name in random.sample(list(brokers), len(brokers))},
        "bundles": {
            name: {"shortTermData": one, "longTermData": one} for name, one in data.items()
        },
        "recentlyUnloaded": {},
    }


def _traffic(rate: float) -> Json:
    return {"msgRateIn": rate, "msgThroughputIn": rate * 1000}


MakeCycle = Callable[[Random], Json]


def one_cycle(make: MakeCycle) -> st.SearchStrategy[Trial]:
    """Return a strategy for trials of one cycle, with settings by which one cycle can unload."""

    def made(random: Random) -> Trial:
        found = make(random)
        settings = {HITS: 0, **found.pop("settings")}
        case = {"strategy": TRANSFER_SHEDDER, "settings": settings, **found}
        return Trial.of(SHED.id, case)

    return randoms.map(made)


def deviating(random: Random) -> Json:
    """Return a cycle whose loads deviate by more than the target."""
    loads, settings = loading.unbalanced_loads(random)
    return {"settings": settings, **cluster(random, loads)}


def unbalanced(random: Random) -> Json:
    """Return a cycle whose loads deviate by more than the target.

    In some cycles, all bundles are large, or policies cover namespaces of other brokers.
    """
    kind = random.choice((deviating, deviating, deviating, _of_large_bundles, _beside_policies))
    return kind(random)


def _of_large_bundles(random: Random) -> Json:
    """Return an unbalanced cycle; each bundle has a large share of its broker's traffic."""
    loads, settings = loading.unbalanced_loads(random)
    return {"settings": settings, **cluster(random, loads, shares=LARGE_SHARES)}


def _beside_policies(random: Random) -> Json:
    """Return an unbalanced cycle; only brokers of medium load have namespaces under policies.

    The other brokers have bundles of a namespace with a similar name.
    """
    loads, settings = loading.unbalanced_loads(random, fewest=3)
    inner = sorted(loads, key=lambda name: loads[name])[1:-1]
    under = names.similar_namespaces(random, {"shop/eu"})
    found = cluster(random, loads, namespaces={name: random.choice(under) for name in inner})
    group = {"groups": dict.fromkeys(under, "apart")}
    policy = {"isolation": [{**_policy(under[0], inner, 1), "namespaces": under}]}
    return {"settings": settings, **found, **random.choice((group, policy))}


def even_loads(random: Random) -> Json:
    """Return a cycle in which no condition for unloading holds, though some may nearly hold."""
    usual, nearly = loading.balanced_loads, (loading.hardly_loaded, loading.hardly_overloaded)
    loads, settings = random.choice((usual, usual, usual, usual, *nearly))(random)
    return {"settings": settings, **cluster(random, loads)}


def without_traffic(random: Random) -> Json:
    """Return a cycle in which the least loaded broker has no traffic."""
    loads, settings = loading.slightly_uneven(random)
    return {"settings": settings, **cluster(random, loads, idle=next(iter(loads)))}


def underloaded(random: Random) -> Json:
    """Return a cycle with an underloaded broker and a small deviation."""
    loads, settings = loading.underloaded_levels(random)
    return {"settings": settings, **cluster(random, loads)}


def overloaded_broker(random: Random) -> Json:
    """Return a cycle with an overloaded broker and a small deviation."""
    loads, settings = loading.overloaded_levels(random)
    return {"settings": settings, **cluster(random, loads)}


def one_condition(random: Random) -> Json:
    """Return a cycle in which one of the conditions for unloading holds."""
    return random.choice((deviating, deviating, without_traffic, underloaded, overloaded_broker))(
        random
    )


def without_transfers(random: Random) -> Json:
    """Return an unbalanced cycle with transfers disabled."""
    found = one_condition(random)
    return {
        **found,
        "settings": {**found["settings"], TRANSFER_ENABLED: random.choice((False, "false"))},
    }


def few_brokers(random: Random) -> Json:
    """Return a cycle in which more brokers could unload than the configured limit permits."""
    loads, settings = loading.uneven_after_moves(random)
    most = random.choice((1, 2, 2, 3, None))
    limit = {} if most is None else {MAX_SHEDDING_BROKERS: most}
    return {"settings": {**settings, **limit}, **cluster(random, loads)}


def outdated(random: Random) -> Json:
    """Return a balanced cycle with one more broker, which has outdated data and extreme load."""
    loads, settings = loading.balanced_loads(random)
    strange = "broker-old"
    found = cluster(random, {**loads, strange: random.choice((0.5, 1, 99))})
    lifetime = random.choice((None, 300, 600))
    age = (lifetime or 1800) + random.choice((60, 3600))
    found["brokers"][strange]["age"] = age
    for name in loads:
        found["brokers"][name]["age"] = random.choice((0, 5, 60))
    limit = {} if lifetime is None else {LIFETIME: lifetime}
    return {"settings": {**settings, **limit}, **found}


def without_data(random: Random) -> Json:
    """Return an unbalanced cycle with a registered broker that has no load data."""
    return {**deviating(random), "withoutData": ["broker-new"]}


def under_policies(random: Random) -> Json:
    """Return an unbalanced cycle; a policy covers a namespace on the most loaded broker.

    The policy is an isolation policy or an anti-affinity group.
    """
    loads, settings = loading.unbalanced_loads(random)
    found = cluster(random, loads, namespaces=_busiest_has(loads, "shop/us"))
    policy: Json = {"groups": {"shop/us": "apart"}}
    if random.random() < 1 / 2:
        policy = {"isolation": [_policy("shop/us", list(loads), 1)]}
    off = random.choice(({}, {WITH_POLICIES: False}))
    return {"settings": {**settings, **off}, **found, **policy}


def policy_excludes_least_loaded(random: Random) -> Json:
    """Return an unbalanced cycle whose policy permits the most loaded broker, but not the least
    loaded one.
    """
    loads, settings = loading.unbalanced_loads(random, fewest=3)
    least, most = min(loads, key=lambda name: loads[name]), max(loads, key=lambda one: loads[one])
    others = [name for name in loads if name not in (least, most)]
    primary = [most, *random.sample(others, random.randint(1, len(others)))]
    found = cluster(random, loads, namespaces=dict.fromkeys(primary, "shop/us"))
    policies = {"isolation": [_policy("shop/us", primary, len(primary))]}
    return {"settings": {**settings, WITH_POLICIES: True}, **found, **policies}


def _policy(namespace: str, primary: list[str], least: int) -> Json:
    return {"namespaces": [namespace], "primary": primary, "secondary": [], "least": least}


def _busiest_has(loads: Mapping[str, float], namespace: str) -> dict[str, str]:
    return {max(loads, key=lambda name: loads[name]): namespace}


SIMILAR_SHARE = 0.5
"""Share of the cases with excluded namespaces in which these only have similar names."""


def excluded(random: Random) -> Json:
    """Return an unbalanced cycle; the most loaded broker serves an excluded namespace.

    In some cases, no broker does, and the excluded namespaces have similar names.
    """
    loads, settings = loading.unbalanced_loads(random)
    listed = random.choice(("shop/us", "pulsar/system,shop/us"))
    if random.random() < SIMILAR_SHARE:
        listed = ",".join(names.similar_namespaces(random, {"shop/eu", "shop/us"}))
    found = cluster(random, loads, namespaces=_busiest_has(loads, "shop/us"))
    return {"settings": {**settings, EXCLUDED: listed}, **found}


def moved_before(random: Random) -> Json:
    """Return an unbalanced cycle; some bundles of the most loaded broker were recently unloaded."""
    loads, settings = loading.unbalanced_loads(random)
    found = cluster(random, loads)
    grace = random.choice((None, 10, 60))
    most, minutes = max(loads, key=lambda name: loads[name]), 30 if grace is None else grace
    bundles = found["brokers"][most]["bundles"]
    moved = random.sample(bundles, random.randint(1, len(bundles)))
    ages = (1, minutes / 2, minutes - 1, minutes + 1, 2 * minutes)
    found["recentlyUnloaded"] = {bundle: random.choice(ages) for bundle in moved}
    limit = {} if grace is None else {GRACE: grace}
    return {"settings": {**settings, **limit}, **found}


def top_bundles(random: Random) -> Json:
    """Return an unbalanced cycle in which brokers report only some of their bundles."""
    loads, settings = loading.unbalanced_loads(random)
    most = random.choice((1, 2, 3))
    shares = ((3, 4, 5, 6, 7, 8, 27, 40), (5, 6, 7, 8, 9, 10, 15, 40))
    return {
        "settings": {**settings, MAX_REPORTED_BUNDLES: most},
        **cluster(random, loads, shares=shares),
    }


def _cycles_in_a_row(
    random: Random, uneven: Sequence[bool], minutes: Sequence[float]
) -> list[Json]:
    """Return cycles with the same brokers and bundles; `uneven` has True for unbalanced cycles."""
    names = loading.broker_names(random, random.randint(2, 5))
    middle = dict.fromkeys(names, 50.0)
    apart = {**middle, names[0]: 5.0, names[-1]: 95.0}
    far = cluster(random, apart)
    near = {
        **far,
        "brokers": {name: _usage_fields(one, 50) for name, one in far["brokers"].items()},
    }
    kinds = zip(uneven, minutes, strict=True)
    return [{"minutes": passed, **(far if wide else near)} for wide, passed in kinds]


def _usage_fields(report: Json, percent: float) -> Json:
    traffic = {name: one for name, one in report.items() if not isinstance(one, dict)}
    return {**traffic, "cpu": {"usage": percent, "limit": 100}}


WITHOUT_HISTORY = {HISTORY_SHARE: 0, TRANSFER_TARGET: 0.1}
"""Settings under which a broker's load is its current usage, and a gap of 90 points is
unbalanced.
"""


def hits_in_a_row(random: Random) -> Trial:
    """Return a trial of unbalanced cycles in a row: enough or too few, with or without a break."""
    count = random.choice((None, 0, 1, 2, 2, 3, 4))
    needed = (3 if count is None else count) + 1
    course = random.choice(
        (
            [True] * needed,
            [True] * (needed + 1),
            [True] * (needed - 1),
            [True] * (needed - 1) + [False] + [True] * needed,
            [False, *[True] * needed],
        )
    )
    course = course or [True]
    limit = {} if count is None else {HITS: count}
    cycles = _cycles_in_a_row(random, course, [random.choice((1, 1, 2)) for _ in course])
    case = {
        "strategy": TRANSFER_SHEDDER,
        "settings": {**WITHOUT_HISTORY, **limit},
        "cycles": cycles,
    }
    return Trial.of(CYCLES.id, case)


def after_an_unload(random: Random) -> Trial:
    """Return a trial of unbalanced cycles, within the delay after an unload or just after it.

    Just after it, the load data are from within the delay.
    """
    delay = random.choice((None, 120, 300, 600))
    seconds = 180 if delay is None else delay
    passed = [0, *[random.choice((1, 2)) for _ in range(random.randint(1, 3))]]
    stale = random.random() < 1 / 2
    passed = [0, seconds // 60 + random.choice((0, 1))] if stale else passed
    cycles = [dict(one) for one in _cycles_in_a_row(random, [True] * len(passed), passed)]
    if stale:
        age = passed[1] * 60 - seconds + random.choice((30, 60))
        reports = cycles[1]["brokers"].items()
        cycles[1]["brokers"] = {name: {**one, "age": age} for name, one in reports}
    limit = {} if delay is None else {DELAY: delay}
    settings = {**WITHOUT_HISTORY, HITS: 0, **limit}
    return Trial.of(
        CYCLES.id, {"strategy": TRANSFER_SHEDDER, "settings": settings, "cycles": cycles}
    )


def with_and_without_strategy(random: Random) -> Trial:
    """Return a trial of a cycle under TransferShedder, and the same cycle without a strategy."""
    found = one_condition(random)
    settings = {HITS: 0, **found.pop("settings"), MANAGER: EXTENSIBLE}
    named = {"strategy": TRANSFER_SHEDDER, "settings": settings, **found}
    return Trial.of(SHED.id, named, {**named, "strategy": None})


EXTENSIBLE = "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl"
