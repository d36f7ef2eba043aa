"""ISOLATION: which brokers policies permit, and which namespaces a policy change unloads."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.check import Expect
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing import composite
from pulsar_conformance.conformance.drawing.loads import randoms, sometimes_as_text
from pulsar_conformance.conformance.placement.operations import (
    ASSIGN,
    CHANGE,
    ChangedPolicy,
    isolation_policy,
)
from pulsar_conformance.conformance.placement.quantities import either
from pulsar_conformance.conformance.placement.view import Assigning, Placed
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.placement import LEAST_RATE, PLACEMENT_STRATEGY
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.shedding import PACKAGE

Unloaded = frozenset[str]

TENANTS = ("finance", "shop", "bank")
SPACES = ("payments", "risk", "risk-eu", "orders", "eu")
NAMESPACES = tuple(f"{tenant}/{space}" for tenant in TENANTS for space in SPACES)
SCOPES = (None, "changed", "all_matching", "none")


def _namespace_regexes(random: Random) -> list[str]:
    """Return regexes that match single namespaces, prefixes of namespaces, or tenants."""
    forms = (*NAMESPACES, *(f"{one}/.*" for one in TENANTS), "finance/risk.*", "(shop|bank)/eu")
    return random.sample(forms, random.randint(2, 4))


def _broker_regexes(random: Random) -> list[str]:
    return random.sample(["b[01][.]svc", "b2[.]svc", "b[3-5][.]svc", "b.*"], random.randint(1, 2))


CHANGES = ("added", "removed", "exchanged", "created", "nothing", "permuted")

LISTS: Sequence[tuple[Sequence[str], Sequence[str]]] = (
    (("b7[.]svc",), ("b8[.]svc",)),
    (("b7[.]svc", "b8[.]svc"), ()),
    (("b7[.]svc|b8[.]svc",), ()),
    (("b7[.]svc",), ()),
    (("b8[.]svc",), ("b7[.]svc",)),
    (("b8[.]svc", "b7[.]svc"), ()),
)
"""Pairs of primary and secondary regexes; no two pairs have the same primary regexes."""


@composite
def changed_policies(
    draw: st.DrawFn,
    scopes: Sequence[str | None] = SCOPES,
    primary: Sequence[bool] = (False, True),
    changes: Sequence[str] = CHANGES,
) -> Trial:
    """Draw a change of an isolation policy.

    `changes` lists the possible changes of the policy's namespace regexes. `primary` has True if
    the list of primary brokers may change, and False if it may stay the same.
    """
    random, scope = draw(randoms), draw(st.sampled_from(scopes))
    regexes, kind = _namespace_regexes(random), draw(st.sampled_from(changes))
    old: Json | None = isolation_policy(regexes, _broker_regexes(random), ["b[6-9][.]svc"])
    before, now = {
        "added": (regexes[:-1], regexes),
        "removed": (regexes, regexes[:-1]),
        "exchanged": (regexes[:-1], regexes[1:]),
        "permuted": (regexes, regexes[::-1]),
    }.get(kind, (regexes, regexes))
    assert old is not None
    new = {**old, "namespaces": now}
    old = None if kind == "created" else {**old, "namespaces": before}
    if draw(st.sampled_from(primary)):
        listed = new["primary"]
        shorter = len(listed) > 1 and random.random() < 0.5
        new["primary"] = listed[:-1] if shorter else [*listed, "b7[.]svc"]
        if old is not None and random.random() < 0.5:
            for one, lists in zip((old, new), random.sample(LISTS, 2), strict=True):
                one["primary"], one["secondary"] = map(list, lists)
    elif random.random() < 0.5:
        new["secondary"] = random.choice(([], ["b8[.]svc"], ["b9[.]svc", *new["secondary"]]))
    if random.random() < 0.5:
        new |= {"minLimit": 2, "usageThreshold": 50}
    namespaces = random.sample(NAMESPACES, random.randint(6, len(NAMESPACES)))
    case = {"scope": scope, "old": old, "new": new, "namespaces": namespaces}
    return Trial.of(CHANGE.id, case)


def _demand_unloaded(wanted: Sequence[str], unloaded: Unloaded, expect: Expect, why: str) -> None:
    """Demand that these namespaces are unloaded."""
    if expect.reached(bool(wanted)):
        missing = [one for one in wanted if one not in unloaded]
        expect.that(not missing, f"{', '.join(wanted)} unloaded: {why}", sorted(unloaded))


def _demand_kept(kept: Sequence[str], unloaded: Unloaded, expect: Expect, why: str) -> None:
    """Demand that these namespaces are not unloaded."""
    if expect.reached(bool(kept)):
        expect.nothing([one for one in kept if one in unloaded], why)


def _namespaces_by_change(case: ChangedPolicy, expect: Expect) -> None:
    expect.given(case.scope == "changed", "the unload scope is changed")


@CHANGE.check("ISOLATION-01", draws=changed_policies(SCOPES[:2], (False,), CHANGES[:4]))
def changed_regexes_unload(case: ChangedPolicy, unloaded: Unloaded, expect: Expect) -> None:
    """Namespaces matched by added or removed regexes are unloaded."""
    _namespaces_by_change(case, expect)
    changed = case.regexes("old") ^ case.regexes("new")
    _demand_unloaded(
        case.matching_wholly(changed), unloaded, expect, "their regex was added or removed"
    )


@CHANGE.check("ISOLATION-02", draws=changed_policies(SCOPES[:2], (True,)))
def another_primary_list_unloads(case: ChangedPolicy, unloaded: Unloaded, expect: Expect) -> None:
    """If the primary list changed, all namespaces matched by old or new regexes are unloaded."""
    _namespaces_by_change(case, expect)
    expect.given(case.primary_changed is True, "the primary list changed")
    every = case.regexes("old") | case.regexes("new")
    _demand_unloaded(case.matching_wholly(every), unloaded, expect, "the primary list changed")


@CHANGE.check("ISOLATION-03", draws=changed_policies(("all_matching",)))
def all_matching_unloads_all(case: ChangedPolicy, unloaded: Unloaded, expect: Expect) -> None:
    """With the scope `all_matching`, all namespaces matched by old or new regexes are unloaded."""
    expect.given(case.scope == "all_matching", "the scope is all_matching")
    every = case.regexes("old") | case.regexes("new")
    _demand_unloaded(case.matching_wholly(every), unloaded, expect, "the scope is all_matching")


@CHANGE.check("ISOLATION-04", draws=changed_policies(("none",)))
def none_unloads_nothing(case: ChangedPolicy, unloaded: Unloaded, expect: Expect) -> None:
    """With the scope `none`, no namespace is unloaded."""
    if expect.reached(case.scope == "none"):
        expect.nothing(sorted(unloaded), "the scope is none")


@CHANGE.check("ISOLATION-05", draws=changed_policies(SCOPES[:2], (False,)))
def unchanged_regexes_keep(case: ChangedPolicy, unloaded: Unloaded, expect: Expect) -> None:
    """With an unchanged primary list, namespaces matched by unchanged regexes are not unloaded."""
    _namespaces_by_change(case, expect)
    expect.given(case.primary_changed is False, "the primary list is the same")
    changed = set(case.matching_in_part(case.regexes("old") ^ case.regexes("new")))
    stayed = case.matching_wholly(case.regexes("old") & case.regexes("new"))
    kept = [one for one in stayed if one not in changed]
    _demand_kept(kept, unloaded, expect, "their regexes and the primary list are the same")


@CHANGE.check("ISOLATION-06", draws=changed_policies())
def unmatched_namespaces_are_not_unloaded(
    case: ChangedPolicy, unloaded: Unloaded, expect: Expect
) -> None:
    """A namespace that no regex of the policy matches is not unloaded."""
    perhaps = set(case.matching_in_part(case.regexes("old") | case.regexes("new")))
    kept = [one for one in case["namespaces"] if one not in perhaps]
    _demand_kept(kept, unloaded, expect, "these match no regex")


HOST = "broker-{}.svc.example.com"
HOST_ENDING_REGEX = "[.]svc[.]example[.]com"
GROUPS = (
    (f"broker-[01]{HOST_ENDING_REGEX}", f"broker-([2-9]|1[0-9]){HOST_ENDING_REGEX}"),
    (f"broker-[0-4]{HOST_ENDING_REGEX}", f"broker-[5-9]{HOST_ENDING_REGEX}"),
    (f"broker-1{HOST_ENDING_REGEX}", f"broker-(0|1[0-9]){HOST_ENDING_REGEX}"),
)
"""Pairs of regexes of primary and of secondary brokers."""

ADDRESS = "[fd00:10::{}:a]"
ADDRESS_GROUPS = (
    (".?fd00:10::[01]:a.?", ".?fd00:10::([2-9]|1[0-9]):a.?"),
    (".?fd00:10::[0-4]:a.?", ".?fd00:10::[5-9]:a.?"),
)
"""Hosts that contain colons, and pairs of regexes that match them with or without the brackets."""

PARTIAL_REGEXES = ("broker-[0-9]+", "svc[.]example[.]com", f"roker-[0-9]+{HOST_ENDING_REGEX}")
WITH_PORT = (f"broker-[0-9]+{HOST_ENDING_REGEX}:8080", ".*:8080")
"""Regexes that match only part of a broker's host, or a host together with its port."""

OWN, OTHER = ("finance/payments", "finance/risk")
OWN_REGEXES = (
    [OWN],
    ["finance/pay.*"],
    ["bank/.*", OWN],
)
"""Lists of regexes that match `OWN` and not `OTHER`."""

OTHER_HOSTS = ("other.example.com", *(f"{HOST.format(1)}.old", f"old.{HOST.format(1)}"))
"""Hosts of other brokers, some of which begin or end like a host that a policy permits."""

REGEX_OF_NO_BROKER = f"absent-[0-9]{HOST_ENDING_REGEX}"
"""A regex that matches no broker."""

CAPITALS = (("broker-", "Broker-"), ("finance/", "Finance/"), ("svc", "SVC"))
CAPITALS_SHARE = 0.1
"""Share of the cases in which each of these parts of names and regexes has a capital letter."""

BY_LOAD_SHARE = 0.75
"""Share of the cases in which load, and not chance, decides among the permitted brokers."""

GROUPED_SHARE = 0.3
"""Share of the cases whose namespace is in an anti-affinity group."""


@composite
def isolated_brokers(
    draw: st.DrawFn,
    least: Sequence[int] = (1, 2, 3),
    own: bool = True,
    up: str = "both",
    traps: bool = False,
    shared: bool = False,
    host: str = HOST,
) -> Trial:
    """Draw a bundle to place; if `own` is true, a policy covers the bundle's namespace.

    `up` says which of the policy's brokers are up: "primary", "secondary", "both" or "neither".
    """
    random = draw(randoms)
    primary, secondary = draw(st.sampled_from(GROUPS if host == HOST else ADDRESS_GROUPS))
    policy = isolation_policy(
        random.choice(OWN_REGEXES),
        random.choice(
            ([primary], [REGEX_OF_NO_BROKER, primary], [f"{primary}|{REGEX_OF_NO_BROKER}"])
        ),
        [secondary],
        draw(st.sampled_from(least)),
    )
    policies = [policy]
    if not own and draw(st.booleans()):
        policies.append(
            isolation_policy([OTHER], [f"broker-([5-7]|1[0-4]){HOST_ENDING_REGEX}"], [])
        )
    if own and not shared and random.random() < 0.3:
        policies.append(isolation_policy([OTHER], [secondary], []))
    if random.random() < 0.2:
        policy["secondary"].append(primary)
    if shared:
        policies.insert(random.randrange(2), isolation_policy([OTHER], [primary], []))
    if traps:
        policy["secondary"].append(draw(st.sampled_from(PARTIAL_REGEXES + WITH_PORT)))
        policy["secondary"].remove(secondary)
    numbers = {
        "both": random.sample(range(20), random.randint(2, 8)),
        "secondary": random.sample(range(5, 10), random.randint(1, 3)),
        "primary": random.sample((0, 1), random.randint(1, 2)),
        "neither": random.sample(range(20, 40), random.randint(1, 3)),
    }[up]
    names = [f"{host.format(one)}:8080" for one in numbers]
    if up == "neither" or (up == "both" and draw(st.booleans())):
        names.append(f"{random.choice(OTHER_HOSTS)}:8080")
    bundles = {
        f"shop/us-{n}/0x00000000_0xffffffff": _measured_data(random) for n in range(len(names))
    }
    brokers = {
        name: {"cpu": {"usage": random.choice((0, 10, 50, 80, 95)), "limit": 100}, "bundles": [one]}
        for name, one in zip(random.sample(names, len(names)), bundles, strict=True)
    }
    namespace = random.choice((OWN, OTHER)) if shared else OWN if own else "shop/eu"
    lower = random.randrange(4) << 30
    settings: Json = {OVERLOAD_THRESHOLD: 85}
    if random.random() < BY_LOAD_SHARE:
        settings[PLACEMENT_STRATEGY] = PACKAGE + LEAST_RATE
    apart = [namespace_of(one) for one in bundles if random.random() < 0.7]
    grouped = random.random() < GROUPED_SHARE
    case = {
        "settings": sometimes_as_text(random, settings),
        "bundle": f"{namespace}/0x{lower:08x}_0x{min(lower + (1 << 30), 0xFFFFFFFF):08x}",
        "brokers": brokers,
        "bundles": bundles,
        **{name: {} for name in ("preallocated", "domains", "versions")},
        "groups": dict.fromkeys((namespace, *apart), "apart") if grouped else {},
        "isolation": [],
        "policies": policies,
    }
    text = json.dumps(case)
    for part, other in CAPITALS:
        text = text.replace(part, other) if random.random() < CAPITALS_SHARE else text
    return Trial.of(ASSIGN.id, json.loads(text))


def _measured_data(random: Random) -> Json:
    return {"longTermData": {"msgRateIn": random.choice((100, 1000)), "numSamples": 10}}


def _demand_one_of(brokers: Sequence[str], answer: Placed, expect: Expect) -> None:
    """Demand that the bundle is placed on one of these brokers."""
    expect.that(answer.broker in brokers, either(brokers), answer)


def _assume_own_policy(
    case: Assigning, expect: Expect
) -> tuple[Json, tuple[str, ...], tuple[str, ...]]:
    expect.given(bool(case.case.get("policies")), "there are policies")
    policy, primary, secondary = case.policy_and_brokers
    expect.given(policy is not None, "the namespace is under a policy")
    assert policy is not None
    return policy, primary, secondary


def _assume_shared_brokers(case: Assigning, expect: Expect) -> tuple[str, ...]:
    """Assume a namespace without a policy, and return the brokers that no policy reserves."""
    expect.given(bool(case.case.get("policies")), "there are policies")
    policy, primary, _ = case.policy_and_brokers
    expect.given(policy is None, "the namespace is under no policy")
    return tuple(one for one in case.case["brokers"] if one not in primary)


@ASSIGN.check("ISOLATION-07", draws=isolated_brokers((1, 2)))
def primary_brokers_get_the_bundle(case: Assigning, answer: Placed, expect: Expect) -> None:
    """If enough primary brokers are up, one of them gets the bundle."""
    policy, primary, _ = _assume_own_policy(case, expect)
    if expect.reached(len(primary) >= policy["minLimit"]):
        _demand_one_of(primary, answer, expect)


@ASSIGN.check("ISOLATION-08", draws=isolated_brokers((2, 3)) | isolated_brokers(up="secondary"))
def secondary_brokers_stand_in(case: Assigning, answer: Placed, expect: Expect) -> None:
    """With too few primary brokers up, a primary or secondary broker gets the bundle.

    If the answer names its candidates, a secondary broker is among them.
    """
    policy, primary, secondary = _assume_own_policy(case, expect)
    few = len(primary) < policy["minLimit"]
    if expect.reached(few and bool(primary + secondary)):
        _demand_one_of(primary + secondary, answer, expect)
        plain = not any(case.case[name] for name in ("domains", "groups", "versions"))
        if plain and secondary and answer.candidates is not None:
            named = sorted({*answer.candidates}.intersection(secondary))
            expect.that(bool(named), f"{either(secondary)} is a candidate", answer.candidates)


@ASSIGN.check("ISOLATION-09", draws=isolated_brokers(up="neither"))
def no_other_broker_gets_the_bundle(case: Assigning, answer: Placed, expect: Expect) -> None:
    """With no primary or secondary broker up, no broker gets the bundle."""
    _, primary, secondary = _assume_own_policy(case, expect)
    if expect.reached(not primary + secondary):
        expect.that(answer.broker is None, "no broker", answer)


@ASSIGN.check("ISOLATION-10", draws=isolated_brokers(own=False))
def primary_brokers_are_reserved(case: Assigning, answer: Placed, expect: Expect) -> None:
    """A bundle whose namespace has no policy does not go to a primary broker of any policy."""
    pool = _assume_shared_brokers(case, expect)
    if expect.reached(len(pool) < len(case.case["brokers"])):
        expect.that(answer.broker in (pool or (None,)), either(pool) or "no broker", answer)


@ASSIGN.check("ISOLATION-11", draws=isolated_brokers(own=False, up="secondary"))
def secondary_brokers_are_shared(case: Assigning, answer: Placed, expect: Expect) -> None:
    """A bundle whose namespace has no policy is assigned if any non-primary broker is up."""
    pool = _assume_shared_brokers(case, expect)
    if expect.reached(bool(pool)):
        _demand_one_of(pool, answer, expect)


@ASSIGN.check(
    "ISOLATION-12",
    draws=isolated_brokers(least=(2, 3), traps=True) | isolated_brokers(host=ADDRESS),
)
def the_whole_host_matches(case: Assigning, answer: Placed, expect: Expect) -> None:
    """A regex that matches only part of a broker's host, or needs its port, does not permit the
    broker.

    In an address with several colons, the last colon separates the host from the port.
    """
    policy, _, _ = _assume_own_policy(case, expect)
    regexes = {*policy["primary"], *policy["secondary"]}
    allowed = case.permitted
    others = [one for one in case.case["brokers"] if one not in allowed]
    expect.reached(any(one.count(":") > 1 for one in allowed))
    expect.reached(any(re.search(regex, one) for regex in regexes for one in others))
    expect.that(answer.broker in (allowed or (None,)), either(allowed) or "no broker", answer)


@ASSIGN.check("ISOLATION-13", draws=isolated_brokers((1,), up="primary", shared=True))
def two_policies_share_brokers(case: Assigning, answer: Placed, expect: Expect) -> None:
    """A broker that is primary in two policies can get bundles of both policies' namespaces."""
    policy, primary, _ = _assume_own_policy(case, expect)
    others = (one for one in case.case["policies"] if one is not policy)
    both = {name for one in others for name in case.matching_brokers("primary", one)}.intersection(
        primary
    )
    if expect.reached(bool(both) and len(primary) >= policy["minLimit"]):
        _demand_one_of(primary, answer, expect)
