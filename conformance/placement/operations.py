"""Operations on placement, and cases that distinguish the alternatives of readings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.clusters import (
    LEFT,
    RIGHT,
    bundle_name_problems,
    cluster_problems,
    example_broker,
    example_bundle_data,
    namespace_name_problems,
    overlap_problems,
)
from pulsar_conformance.conformance.common.operation import (
    NamesUsed,
    Operation,
    Problems,
    same_field,
)
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing import Aim, aim, composite, loads, names
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.conformance.placement.draw_placements import (
    LEAST_RATE_CLASS,
    OPERATION,
    REPETITIONS,
)
from pulsar_conformance.conformance.placement.quantities import (
    assigning_is_determined,
    placing_is_determined,
    spreading_is_determined,
)
from pulsar_conformance.conformance.placement.view import (
    Assigning,
    GroupSpread,
    Placed,
    Placing,
    Spreading,
)
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.placement import PLACEMENT_STRATEGY
from pulsar_conformance.reference.shedding import STRATEGY


def read_placed(_case: object, answer: Json) -> Placed:
    """Convert an answer to the type that checks use."""
    domains, candidates = (
        tuple(answer[key]) if key in answer else None for key in ("domains", "candidates")
    )
    return Placed(answer["broker"], domains, candidates)


def named_brokers(case: Json, answer: Json) -> list[NamesUsed]:
    """Return the brokers that an answer names, and the candidates in its case."""
    taken = [answer["broker"]] if answer["broker"] is not None else []
    return [NamesUsed((*taken, *answer.get("candidates", ())), case["candidates"])]


def _legal_selection(case: Json, settings: Settings) -> Problems:
    settings.number(OVERLOAD_THRESHOLD)
    if PLACEMENT_STRATEGY in settings.defaults:
        for name in (PLACEMENT_STRATEGY, STRATEGY):
            settings.text(name)
    plan = case.get("plan")
    if plan and plan["from"] == plan["to"]:
        yield f"case.plan: {plan['to']} is both the source and the destination"
    yield from cluster_problems(case, settings)
    yield from bundle_name_problems(case["bundle"])
    for one in (*case["candidates"], *case["preallocated"]):
        if one not in case["brokers"]:
            yield f"case.brokers: {one} is missing"
    owners = {
        bundle: name
        for name, report in case["brokers"].items()
        for bundle in report.get("bundles", ())
    }
    for name, bundles in case["preallocated"].items():
        for bundle in bundles:
            yield from bundle_name_problems(bundle)
            if bundle == case["bundle"]:
                yield f"case.preallocated.{name}: {bundle} is the bundle to be placed"
            if bundle in owners:
                yield f"case.preallocated.{name}: {bundle} is already assigned to {owners[bundle]}"
            owners[bundle] = name


def _example_selection(cpu: float) -> Json:
    return {
        "settings": {OVERLOAD_THRESHOLD: 85},
        "bundle": RIGHT,
        "candidates": ["broker-1", "broker-2"],
        "brokers": {
            "broker-1": example_broker(cpu, 0, []),
            "broker-2": example_broker(50.0, 4, [LEFT]),
        },
        "bundles": example_bundle_data(),
        "preallocated": {},
    }


PLACE = Operation(
    id="place.select",
    view=Placing,
    read=read_placed,
    matches=same_field("broker"),
    examples=(_example_selection(95.0), _example_selection(50.0)),
    legal=_legal_selection,
    removable=frozenset({"brokers", "bundles", "candidates", "preallocated"}),
    names=named_brokers,
    determined=placing_is_determined,
)


def _legal_groups(case: Json, _settings: Settings) -> Problems:
    home: dict[str, str] = {}
    for domain, brokers in case["domains"].items():
        for broker in brokers:
            if broker in home:
                yield f"case.domains.{domain}: {broker} is already registered in {home[broker]}"
            home[broker] = domain


def _matches(allowed: Json, answer: Json) -> bool:
    """True if answers have equal brokers, and equal domains and candidates if both have them."""
    named = [name for name in ("domains", "candidates") if name in allowed and name in answer]
    same = all(set(allowed[name]) == set(answer[name]) for name in named)
    return same and bool(allowed["broker"] == answer["broker"])


def _example_groups(owner: str) -> Json:
    return {
        "settings": {},
        "domains": {"east": ["broker-1"], "west": ["broker-2"]},
        "groups": {"t/first": "orders", "t/second": "orders"},
        "owned": {owner: ["t/first"]},
        "candidates": ["broker-1", "broker-2"],
        "namespace": "t/second",
    }


SPREAD = Operation(
    id="place.anti_affinity",
    view=lambda case, settings, readings: Spreading(
        case, settings, GroupSpread.of(case, readings["domain-counts"])
    ),
    read=read_placed,
    matches=_matches,
    examples=(_example_groups("broker-1"), _example_groups("broker-2")),
    legal=_legal_groups,
    removable=frozenset({"brokers", "candidates", "domains", "groups", "owned"}),
    names=named_brokers,
    regardless_of_order=lambda _case, answer: answer["broker"],
    determined=spreading_is_determined,
)


def _legal_whole(case: Json, settings: Settings) -> Problems:
    yield from PLACE.legal({**case, "candidates": []}, settings)
    yield from SPREAD.legal(case, settings)
    owned = [one for report in case["brokers"].values() for one in report.get("bundles", ())]
    ahead = [one for names in case["preallocated"].values() for one in names]
    placed = [] if case["bundle"] in owned else [case["bundle"]]
    yield from overlap_problems([*owned, *ahead, *placed], "case")
    under = Counter(one for policy in case["isolation"] for one in policy["namespaces"])
    for name, count in under.items():
        if count > 1:
            yield f"case.isolation: {name} is under {count} policies"
    for name in case["versions"]:
        if name not in case["brokers"]:
            yield f"case.brokers: {name} is missing"
    yield from _policy_problems(case)


def _policy_problems(case: Json) -> Problems:
    """Yield a problem for each policy and each broker ID whose form no document describes."""
    policies = case.get("policies", ())
    if policies and case["isolation"]:
        yield "case.isolation: leave this empty, because case.policies gives the policies"
    for broker in case["brokers"] if policies else ():
        if not broker.rpartition(":")[0]:
            yield f"case.brokers: {broker} is not an ID of the form host:port"
    regexes = [
        one
        for policy in policies
        for group in ("namespaces", "primary", "secondary")
        for one in policy[group]
    ]
    yield from (f"case.policies: {one!r} is not a regular expression" for one in _invalid(regexes))
    namespace = case["bundle"].rpartition("/")[0]
    if sum(_any_matches_part(policy["namespaces"], namespace) for policy in policies) > 1:
        yield f"case.policies: {namespace} is under two policies"


def _invalid(regexes: Sequence[str]) -> list[str]:
    found = []
    for one in regexes:
        try:
            re.compile(one)
        except re.error:
            found.append(one)
    return found


def _any_matches_part(regexes: Sequence[str], text: str) -> bool:
    """True if any valid regex matches part of a text."""
    return any(re.search(one, text) for one in regexes if not _invalid([one]))


def _names_used(case: Json, answer: Json) -> list[NamesUsed]:
    taken = [answer["broker"]] if answer["broker"] is not None else []
    return [NamesUsed((*taken, *answer.get("candidates", ())), case["brokers"])]


def _example_whole(cpu: float) -> Json:
    return {
        "settings": {OVERLOAD_THRESHOLD: 85},
        "bundle": RIGHT,
        "brokers": {
            "broker-1": example_broker(cpu, 0, []),
            "broker-2": example_broker(50.0, 4, [LEFT]),
        },
        "bundles": example_bundle_data(),
        "preallocated": {},
        "domains": {},
        "groups": {},
        "isolation": [],
        "versions": {},
    }


ASSIGN = Operation(
    id="place.broker",
    view=Assigning,
    read=read_placed,
    matches=same_field("broker"),
    examples=(_example_whole(95.0), _example_whole(50.0)),
    legal=_legal_whole,
    removable=frozenset({"brokers", "bundles", "preallocated", "domains", "groups", "versions"}),
    names=_names_used,
    determined=assigning_is_determined,
)


@dataclass(frozen=True)
class ChangedPolicy:
    """A `policy.changed` case: an isolation policy before and after, and all namespaces."""

    case: Json

    def __getitem__(self, name: str) -> Any:
        return self.case[name]

    def regexes(self, name: str) -> set[str]:
        """Return the namespace regexes of the old or the new policy."""
        return set(self.case[name]["namespaces"] if self.case[name] else ())

    @property
    def scope(self) -> str:
        """The unload scope; `changed` if none is given."""
        return "changed" if self.case["scope"] is None else str(self.case["scope"])

    @property
    def primary_changed(self) -> bool | None:
        """True if the primary list changed; None if only its order changed."""
        old, new = (self.case[name]["primary"] if self.case[name] else None for name in OLD_AND_NEW)
        if old is None or old == new:
            return False
        return None if Counter(old) == Counter(new) else True

    def matching_wholly(self, regexes: Collection[str]) -> list[str]:
        """Return the namespaces that one of these regexes matches completely."""
        each = self.case["namespaces"]
        return [one for one in each if any(re.fullmatch(regex, one) for regex in regexes)]

    def matching_in_part(self, regexes: Collection[str]) -> list[str]:
        """Return the namespaces that one of these regexes matches at least in part."""
        return [one for one in self.case["namespaces"] if _any_matches_part([*regexes], one)]


OLD_AND_NEW = ("old", "new")


def _change_problems(case: Json, _settings: Settings) -> Problems:
    for name in OLD_AND_NEW:
        for group in ("namespaces", "primary", "secondary"):
            for one in _invalid(case[name][group] if case[name] else ()):
                yield f"case.{name}.{group}: {one!r} is not a regular expression"
    yield from namespace_name_problems(case["namespaces"], "case.namespaces")


def isolation_policy(
    namespaces: Sequence[str], primary: Sequence[str], secondary: Sequence[str], least: int = 1
) -> Json:
    """Return an isolation policy of regexes; `least` is its `min_limit`."""
    groups = {"namespaces": [*namespaces], "primary": [*primary], "secondary": [*secondary]}
    return {**groups, "minLimit": least, "usageThreshold": 80}


def _example_change(scope: str) -> Json:
    old, new = (isolation_policy([one], ["b1[.].*"], []) for one in ("t/a", "t/b"))
    return {"scope": scope, "old": old, "new": new, "namespaces": ["t/a", "t/b", "t/c"]}


CHANGE = Operation(
    id="policy.changed",
    view=lambda case, _settings, _readings: ChangedPolicy(case),
    read=lambda _case, answer: frozenset(answer["unload"]),
    matches=lambda allowed, answer: set(allowed["unload"]) == set(answer["unload"]),
    examples=(_example_change("changed"), _example_change("none")),
    legal=_change_problems,
    removable=frozenset({"namespaces"}),
    names=lambda case, answer: [NamesUsed(answer["unload"], case["namespaces"])],
    regardless_of_order=lambda _case, answer: sorted(answer["unload"]),
)


def _placing_cluster(
    random: Random, threshold: float, usages: Sequence[float], rates: Sequence[float], more: float
) -> Json:
    """Return a case with one bundle on each broker and one more bundle to place.

    Each broker has one of the CPU usages, and its bundle one of the message rates; the bundle to
    place has the rate `more`. The candidates are in random order.
    """
    bundle, *others = names.bundles(random, len(usages) + 1)
    brokers = [f"broker-{index + 1}" for index in range(len(usages))]
    loads_of = dict(zip(others, rates, strict=True)) | {bundle: more}
    return {
        "settings": {OVERLOAD_THRESHOLD: threshold, PLACEMENT_STRATEGY: LEAST_RATE_CLASS},
        "bundle": bundle,
        "candidates": random.sample(brokers, len(brokers)),
        "brokers": {
            name: {"cpu": {"usage": usage, "limit": 100}, "bundles": [mine]}
            for name, usage, mine in zip(brokers, usages, others, strict=True)
        },
        "bundles": {
            name: {"longTermData": loads.as_average({"msgRateIn": rate}, 1000, 1000)}
            for name, rate in loads_of.items()
        },
        "preallocated": {},
    }


def a_best_broker_by_each_score(random: Random) -> Json:
    """Return a case of three brokers, each the best under a different alternative of the score.

    One has the lowest rate, one the lowest score, and one the lowest score including the bundle.
    """
    few = random.choice((10, 100, 250))
    rates = (few, 2 * few, 10 * few)
    return _placing_cluster(random, 85, (84, 45, 5), rates, more=100 * few)


@composite
def one_at_the_threshold(draw: st.DrawFn) -> Trial:
    """Draw a repeated question about two brokers: one exactly at the threshold, and one above it.

    If the broker at the threshold is eligible, it always gets the bundle; otherwise both brokers
    are overloaded.
    """
    random, level = draw(randoms), draw(st.sampled_from([25, 50, 75]))
    above = random.sample([percent for percent in (50, 75, 100) if percent > level], 1)
    case = _placing_cluster(random, level, (level, *above), (100, 10), more=100)
    return Trial.of(OPERATION, *[case] * REPETITIONS)


def served_by_no_candidate(random: Random) -> Json:
    """Return a case in which a domain's only broker that serves the group is not a candidate."""
    served = random.choice((2, 3))
    groups = {f"shop/app-{number}": "blue" for number in range(served + 2)}
    owned = {
        "east-1": [f"shop/app-{number}" for number in range(1, served + 1)],
        "west-1": [f"shop/app-{served + 1}"],
    }
    return {
        "settings": {},
        "domains": {"east": ["east-1", "east-2"], "west": ["west-1", "west-2"]},
        "groups": groups,
        "owned": owned,
        "candidates": random.sample(["east-2", "west-1", "west-2"], 3),
        "namespace": "shop/app-0",
    }


AIMED = (
    aim("placement-score", OPERATION, a_best_broker_by_each_score),
    Aim("placement-at-threshold", OPERATION, one_at_the_threshold()),
    aim("domain-counts", "place.anti_affinity", served_by_no_candidate),
)
