"""PLACE, ANTI: the broker that takes a bundle by isolation, groups, topics, versions and load."""

from __future__ import annotations

from collections.abc import Mapping

from pulsar_conformance.conformance.common.expect import Expect
from pulsar_conformance.conformance.placement import draw_domains as draws
from pulsar_conformance.conformance.placement.operations import ASSIGN
from pulsar_conformance.conformance.placement.quantities import certainly, either
from pulsar_conformance.conformance.placement.view import Assigning, Placed
from pulsar_conformance.reference.ranges import namespace_of

MOST_TOPICS, EVENLY, LATER = (
    "loadBalancerBrokerMaxTopics",
    "loadBalancerDistributeBundlesEvenlyEnabled",
    "preferLaterVersions",
)
MOST = 50_000
"""The most topics of a broker by default."""


@ASSIGN.check("PLACE-14", draws=draws.assigning(draws.isolated))
def one_that_may_take_it(case: Assigning, answer: Placed, expect: Expect) -> None:
    """The broker is one that may take the bundle; if there is none, no broker takes it."""
    expect.reached(len(case.permitted) < len(case.case["brokers"]))
    allowed = either(case.permitted) if case.permitted else "no broker"
    expect.that(answer.broker in (case.permitted or (None,)), allowed, answer)


@ASSIGN.check("ANTI-17", draws=draws.assigning(draws.grouped))
def the_group_stays_apart(case: Assigning, answer: Placed, expect: Expect) -> None:
    """The broker has the fewest of the group, in a domain with the fewest."""
    _ordinary(case, answer, expect)
    spread = case.spread
    expect.given(spread.group is not None, "the namespace is in a group")
    expect.given(len(case.permitted) == len(case.case["brokers"]), "every broker may take it")
    served = [one for names in spread.owned.values() for one in names]
    expect.given(case.namespace not in served, "the namespace is served by nobody yet")
    grouped = [one for one in served if one in spread.groups]
    expect.given(len(grouped) == len(set(grouped)), "each namespace is served by one broker")
    expect.given(not spread.mixed, "all brokers are in a domain, or none is")
    expect.reached(len(spread.best) < len(case.permitted))
    expect.that(answer.broker in spread.best, either(spread.best), answer)


@ASSIGN.check(
    "PLACE-15",
    draws=draws.assigning(draws.served) | draws.assigning(draws.served, draws.by_load_alone),
)
def a_namespace_is_spread_evenly(case: Assigning, answer: Placed, expect: Expect) -> None:
    """The broker is one with the fewest bundles of the namespace."""
    _ordinary(case, answer, expect)
    expect.given(case.spread.group is None, "the namespace is in no group")
    expect.given(case.settings.given.get(EVENLY) is not False, "bundles are distributed evenly")
    counts = _served(case)
    fewest = [name for name, count in counts.items() if count == min(counts.values())]
    expect.reached(len(fewest) < len(counts))
    answered = f"{answer}, with {counts[str(answer.broker)]} bundles of {case.namespace}"
    expect.that(answer.broker in fewest, either(fewest), answered)


@ASSIGN.check("PLACE-16", draws=draws.assigning(draws.crowded))
def too_many_topics_keep_bundles_away(case: Assigning, answer: Placed, expect: Expect) -> None:
    """The broker is within its maximum of topics, if any broker is."""
    _not_overloaded(case, answer, expect)
    expect.given(not case.case["versions"], "no broker tells its version")
    within = [name for name in case.permitted if not _crowded(case, name)]
    if expect.reached(0 < len(within) < len(case.permitted)):
        most = case.settings.given.get(MOST_TOPICS, MOST)
        expect.that(
            answer.broker in within, either(within), f"{answer}, with more than {most} topics"
        )


@ASSIGN.check("PLACE-17", draws=draws.assigning(draws.versioned))
def later_versions_come_first(case: Assigning, answer: Placed, expect: Expect) -> None:
    """The broker is of the latest version, if later ones are preferred and all are known."""
    _not_overloaded(case, answer, expect)
    versions, counts = case.case["versions"], _served(case)
    expect.given(case.settings.given.get(LATER) is True, "later versions are preferred")
    expect.given(all(name in versions for name in case.permitted), "each tells its version")
    expect.given(case.spread.group is None, "the namespace is in no group")
    expect.given(len({*counts.values()}) == 1, "each has as many bundles of the namespace")
    expect.given(not any(_crowded(case, name) for name in case.permitted), "none is crowded")
    number = {name: tuple(map(int, versions[name].split("."))) for name in case.permitted}
    latest = [name for name in case.permitted if number[name] == max(number.values())]
    expect.reached(len(latest) < len(case.permitted))
    expect.that(answer.broker in latest, either(latest), f"{answer} of {versions[answer.broker]}")


def _ordinary(case: Assigning, answer: Placed, expect: Expect) -> None:
    """Assume that nothing but groups, bundles and load can decide."""
    _not_overloaded(case, answer, expect)
    expect.given(not case.case["versions"], "no broker tells its version")
    expect.given(not any(_crowded(case, name) for name in case.permitted), "none is crowded")


def _not_overloaded(case: Assigning, answer: Placed, expect: Expect) -> None:
    expect.given(answer.broker in case.permitted, "a broker that may take it is chosen")
    considered = certainly(case.comparison, out=False)
    expect.given(len(considered) == len(case.permitted), "no broker is overloaded")


def _crowded(case: Assigning, name: str) -> bool:
    most = case.settings.given.get(MOST_TOPICS, MOST)
    return bool(case.case["brokers"][name].get("numTopics", 0) > most)


def _served(case: Assigning) -> Mapping[str, int]:
    """Return the number of bundles of the namespace on each broker that may take the bundle."""
    return {
        name: sum(namespace_of(one) == case.namespace for one in case.serving[name])
        for name in case.permitted
    }
