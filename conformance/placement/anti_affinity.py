"""ANTI: a group's namespaces are spread over domains, then over the brokers of each domain.

A rule about a single condition fails only if a mistake in that condition, and no other mistake,
explains the choice. If uneven spreading explains the choice, too, the rules about even spreading
fail instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from pulsar_conformance.conformance.common.check import Expect
from pulsar_conformance.conformance.common.trial import Asked
from pulsar_conformance.conformance.placement import draw_domains as draws
from pulsar_conformance.conformance.placement.operations import ASSIGN, SPREAD
from pulsar_conformance.conformance.placement.quantities import certain_candidates, either
from pulsar_conformance.conformance.placement.view import Assigning, GroupSpread, Placed, Spreading
from pulsar_conformance.reference.numbers import Fraction, plain
from pulsar_conformance.reference.ranges import namespace_of


def assume_ordinary(case: Spreading, expect: Expect) -> GroupSpread:
    """Return how the group is spread, assuming the situation that the documents describe.

    The namespace is in a group and not served yet, and each namespace of a group is served by at
    most one broker.
    """
    spread = case.spread
    expect.given(spread.group is not None, "the namespace is in a group")
    served = Counter(one for names in case["owned"].values() for one in names)
    expect.given(not served[spread.namespace], "no broker serves the namespace yet")
    grouped = (count for one, count in served.items() if one in spread.groups)
    expect.given(max(grouped, default=0) <= 1, "each namespace is served by one broker")
    return spread


def assume_named_candidate(case: Spreading, answer: Placed, expect: Expect) -> GroupSpread:
    """Return the result of `assume_ordinary`, assuming also that the answer is a candidate."""
    expect.given(answer.broker in case["candidates"], "a candidate is chosen")
    return assume_ordinary(case, expect)


def assume_unmixed(spread: GroupSpread, expect: Expect) -> None:
    """Assume that all candidates or none are in a domain; no document describes other cases."""
    expect.given(not spread.only_some_have_a_domain, "all candidates are in a domain, or none is")


def assume_two_spreads(
    asked: Sequence[Asked[Spreading, Placed]], changed: frozenset[str], expect: Expect
) -> tuple[GroupSpread, GroupSpread, Placed]:
    """Return the spreads in two questions that differ only in `changed`, and the second answer."""
    expect.given(len(asked) == 2, "a cluster before and after a change")
    (before, _), (after, answer) = asked
    kept = before.case.keys() - changed
    expect.given(all(before.case[key] == after.case[key] for key in kept), "nothing else changes")
    return assume_ordinary(before, expect), assume_ordinary(after, expect), answer


Mistakes = Iterator[tuple[GroupSpread, str]]
"""Iterator of mistakes: the spread to which each mistake leads, and its description."""


def not_as_if(spread: GroupSpread, answer: Placed, mistakes: Mistakes, expect: Expect) -> None:
    """Reject a choice that these mistakes explain, unless uneven spreading explains it, too."""
    assume_unmixed(spread, expect)
    right = set(spread.best)
    for other, mistake in mistakes:
        if expect.reached(not right & set(other.best)) and answer.broker in other.best:
            expect.that(is_uneven(spread, answer), either(right), f"{answer}, as {mistake}")


def is_uneven(spread: GroupSpread, answer: Placed) -> bool:
    """True if the choice could result from ignoring domains, or the brokers within a domain."""
    among = [one for domain in spread.best_domains for one in spread.candidates_in(domain)]
    return answer.broker in (*replace(spread, domains={}).best, *among)


def spreads_with_other_groups(spread: GroupSpread) -> Mistakes:
    """Yield the spreads that result from wrongly counting namespaces of other groups."""
    grouped = dict.fromkeys(spread.groups, str(spread.group))
    served = (one for names in spread.owned.values() for one in names)
    every = grouped | dict.fromkeys(served, str(spread.group))
    yield replace(spread, groups=every), "if every namespace counted"
    yield replace(spread, groups=grouped), "if all groups were one"


def may_result_from_spread(spread: GroupSpread, answer: Placed) -> bool:
    """True if the choice could result from uneven spreading or from counting other groups."""
    wrong = (other.best for other, _ in spreads_with_other_groups(spread))
    return is_uneven(spread, answer) or any(answer.broker in best for best in wrong)


@SPREAD.check("ANTI-01", draws=draws.spreading(draws.even, draws.uneven, draws.more_than_domains))
def domains_fill_evenly(case: Spreading, answer: Placed, expect: Expect) -> None:
    """A namespace goes to a domain with the fewest of its group's namespaces."""
    spread = assume_named_candidate(case, answer, expect)
    home = spread.home.get(str(answer.broker))
    counts = {name: count for name, count in spread.counts_by_domain.items() if name is not None}
    fewest = min(counts.values(), default=0)
    fuller = [name for name, count in counts.items() if count > fewest]
    if expect.reached(bool(fuller)) and home in fuller:
        emptier = either(counts.keys() - fuller)
        allowed = f"a broker of {emptier}, with {fewest} of the group"
        expect.that(False, allowed, f"{answer} of {home}, with {counts[home]}")


@SPREAD.check("ANTI-02", draws=draws.spreading(draws.even, draws.uneven, draws.more_than_domains))
def brokers_of_a_domain_fill_evenly(case: Spreading, answer: Placed, expect: Expect) -> None:
    """In the chosen domain, a broker with the fewest of the group's namespaces is chosen."""
    spread = assume_named_candidate(case, answer, expect)
    for domain in spread.counts_by_domain:
        if domain is not None:
            _expect_fewest(spread, answer, domain, expect)


def _expect_fewest(spread: GroupSpread, answer: Placed, domain: str | None, expect: Expect) -> None:
    """Demand that the broker serves no more of the group than other candidates in its domain.

    Brokers without a domain are compared with each other.
    """
    counts = {broker: len(spread.rivals(broker)) for broker in spread.candidates_in(domain)}
    fewest = min(counts.values())
    fuller = [broker for broker, count in counts.items() if count > fewest]
    if expect.reached(bool(fuller)) and answer.broker in fuller:
        place = f"in {domain}" if domain else "in no domain"
        answered = f"{answer}, with {counts[answer.broker]} of the group"
        allowed = f"{either(counts.keys() - fuller)} {place}, with {fewest} of the group"
        expect.that(False, allowed, answered)


@SPREAD.check("ANTI-03", draws=draws.spreading(draws.even))
def the_sequence_of_the_table(case: Spreading, answer: Placed, expect: Expect) -> None:
    """The broker, domains and candidates in the answer follow the documented steps.

    Domains and candidates are compared only if the answer has them.
    """
    spread = assume_ordinary(case, expect)
    assume_unmixed(spread, expect)
    expect.reached(bool(spread.best))
    if spread.best:
        expect.that(answer.broker in spread.best, either(spread.best), answer)
        _as_answered(spread, answer, expect)


def _as_answered(spread: GroupSpread, answer: Placed, expect: Expect) -> None:
    if answer.domains is not None:
        right = {domain for domain in spread.best_domains if domain is not None}
        named = f"domains {either(answer.domains)}"
        expect.that(set(answer.domains) == right, f"domains {either(right)}", named)
    if answer.candidates is not None:
        best = set(spread.best)
        counts = {broker: len(spread.rivals(broker)) for broker in best}
        least = {broker for broker in best if counts[broker] == min(counts.values())}
        named = f"candidates {either(answer.candidates)}"
        between = least <= set(answer.candidates) <= best
        expect.that(between, f"candidates {either(best)}", named)


@SPREAD.check("ANTI-04", draws=draws.spreading(draws.first_of_its_group))
def the_first_of_a_group_goes_anywhere(case: Spreading, answer: Placed, expect: Expect) -> None:
    """The first namespace of a group may go to any candidate."""
    spread = assume_ordinary(case, expect)
    members = [one for one, group in spread.groups.items() if group == spread.group]
    expect.given(members == [spread.namespace], "it is the first of its group")
    mixed = None in spread.counts_by_domain and len(spread.counts_by_domain) > 1
    expect.given(not mixed, "its candidates are all in domains, or all in none")
    if expect.reached(bool(spread.candidates)):
        every = set(spread.candidates)
        expect.that(answer.broker in every, f"any of {either(every)}", answer)
        if answer.candidates is not None:
            named = f"candidates {either(answer.candidates)}"
            expect.that(set(answer.candidates) == every, f"candidates {either(every)}", named)


@SPREAD.check("ANTI-05", draws=draws.spreading(draws.without_domains))
def without_domains_brokers_fill_evenly(case: Spreading, answer: Placed, expect: Expect) -> None:
    """Without domains, a broker with the fewest of the group's namespaces is chosen."""
    spread = assume_named_candidate(case, answer, expect)
    expect.given(None in spread.counts_by_domain, "a candidate is in no domain")
    _expect_fewest(spread, answer, None, expect)


@SPREAD.check("ANTI-06", draws=draws.spreading(draws.several_groups))
def only_its_own_group_counts(case: Spreading, answer: Placed, expect: Expect) -> None:
    """Namespaces outside the group do not affect the choice."""
    spread = assume_named_candidate(case, answer, expect)
    not_as_if(spread, answer, spreads_with_other_groups(spread), expect)


@SPREAD.check_together(
    "ANTI-07", draws=draws.changing(draws.into_another_group, draws.several_groups)
)
def the_new_group_replaces_the_old(
    asked: Sequence[Asked[Spreading, Placed]], expect: Expect
) -> None:
    """A namespace that moved to another group counts only in its new group."""
    before, after, answer = assume_two_spreads(asked, frozenset({"groups"}), expect)
    expect.given(answer.broker in after.candidates, "a candidate is chosen")
    expect.given(before.groups.keys() == after.groups.keys(), "every namespace remains in a group")
    not_as_if(after, answer, _in_the_old_group(before, after), expect)


def _in_the_old_group(before: GroupSpread, after: GroupSpread) -> Mistakes:
    yield replace(after, groups=before.groups), "in the old group"
    old, new = before.group, after.group
    both = {one: str(new) if group == old else group for one, group in after.groups.items()}
    yield replace(after, groups=both), "in both groups"


@SPREAD.check_together(
    "ANTI-08", draws=draws.changing(draws.broker_moved, draws.uneven, draws.one_broker_much_fuller)
)
def a_broker_counts_in_its_one_domain(
    asked: Sequence[Asked[Spreading, Placed]], expect: Expect
) -> None:
    """A broker that moved to another domain counts there with all its namespaces."""
    before, after, answer = assume_two_spreads(asked, frozenset({"domains"}), expect)
    expect.given(answer.broker in after.candidates, "a candidate is chosen")
    moved = [one for one in after.home if after.home[one] != before.home.get(one, after.home[one])]
    expect.given(len(moved) == 1, "one broker was moved")
    not_as_if(after, answer, _left_behind(before, after, moved[0]), expect)


def _left_behind(before: GroupSpread, after: GroupSpread, moved: str) -> Mistakes:
    yield replace(after, domains=before.domains), "in the old domain"
    home, serves = before.home[moved], after.owned.get(moved, ())
    ghost = max((*after.owned, *after.home, *after.candidates), key=len) + "'"
    domains = {**after.domains, home: (*after.domains.get(home, ()), ghost)}
    both = {**after.owned, ghost: serves}
    yield replace(after, domains=domains, owned=both), "in both domains"
    stayed = {one: names for one, names in both.items() if one != moved}
    yield (
        replace(after, domains=domains, owned=stayed),
        "if its namespaces had stayed in the old domain",
    )


@SPREAD.check_together("ANTI-09", draws=draws.changing(draws.domain_down, draws.even, draws.uneven))
def a_domain_that_is_down_leaves_the_others(
    asked: Sequence[Asked[Spreading, Placed]], expect: Expect
) -> None:
    """If all brokers of a domain go down, a namespace is placed in the other domains as before."""
    before, after, answer = assume_two_spreads(asked, frozenset({"candidates", "owned"}), expect)
    assume_unmixed(before, expect)
    down = set(before.candidates) - set(after.candidates)
    gone = {before.home.get(one) for one in down}
    whole = {one for one, home in before.home.items() if home in gone}
    expect.given(
        None not in gone and not whole & set(after.candidates), "all brokers of a domain are down"
    )
    expect.given(set(after.candidates) <= set(before.candidates), "no broker is new")
    kept = {one: names for one, names in before.owned.items() if one not in whole}
    expect.given(
        _served(kept) == _served(after.owned), "all other brokers serve the same namespaces"
    )
    right = set(before.best) - whole
    if expect.reached(bool(down and right)) and answer.broker not in right:
        expect.that(may_result_from_spread(after, answer), f"as before: {either(right)}", answer)


def _served(owned: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    return {broker: set(names) for broker, names in owned.items() if names}


@SPREAD.check_together(
    "ANTI-10",
    draws=draws.changing(draws.domains_changed, draws.uneven, draws.one_broker_much_fuller),
)
def only_current_domains_count(asked: Sequence[Asked[Spreading, Placed]], expect: Expect) -> None:
    """After domains are changed or deleted, only the current domains count."""
    before, after, answer = assume_two_spreads(asked, frozenset({"domains"}), expect)
    expect.given(answer.broker in after.candidates, "a candidate is chosen")
    former = replace(after, domains=before.domains), "by the domains before"
    not_as_if(after, answer, iter([former]), expect)


MAX_TOPICS, EVENLY, PREFER_LATER = (
    "loadBalancerBrokerMaxTopics",
    "loadBalancerDistributeBundlesEvenlyEnabled",
    "preferLaterVersions",
)
DEFAULT_MAX_TOPICS = Fraction(50_000)
"""Default maximum number of topics on a broker."""


@ASSIGN.check(
    "PLACE-14",
    draws=draws.assigning(draws.add_isolation_policies)
    | draws.assigning(draws.add_isolation_policies, draws.join_group),
)
def an_eligible_broker_gets_the_bundle(case: Assigning, answer: Placed, expect: Expect) -> None:
    """The chosen broker is eligible; if no broker is eligible, none is chosen."""
    expect.reached(len(case.permitted) < len(case.case["brokers"]))
    allowed = either(case.permitted) if case.permitted else "no broker"
    expect.that(answer.broker in (case.permitted or (None,)), allowed, answer)


@ASSIGN.check("ANTI-17", draws=draws.ASSIGNED_TO_GROUP)
def the_group_stays_apart(case: Assigning, answer: Placed, expect: Expect) -> None:
    """The chosen broker has the fewest of the group's namespaces, in a domain with the fewest."""
    _ordinary(case, answer, expect)
    spread = case.spread
    expect.given(spread.group is not None, "the namespace is in a group")
    expect.given(len(case.permitted) == len(case.case["brokers"]), "every broker may take it")
    served = [one for names in spread.owned.values() for one in names]
    expect.given(case.namespace not in served, "no broker serves the namespace yet")
    grouped = [one for one in served if one in spread.groups]
    expect.given(len(grouped) == len(set(grouped)), "each namespace is served by one broker")
    expect.given(not spread.only_some_have_a_domain, "all brokers are in a domain, or none is")
    expect.reached(len(spread.best) < len(case.permitted))
    expect.that(answer.broker in spread.best, either(spread.best), answer)


@ASSIGN.check(
    "PLACE-15",
    draws=draws.assigning(draws.serve_other_bundles)
    | draws.assigning(draws.serve_other_bundles, draws.set_even_distribution),
)
def a_namespace_is_spread_evenly(case: Assigning, answer: Placed, expect: Expect) -> None:
    """The chosen broker has the fewest of the namespace's bundles."""
    _ordinary(case, answer, expect)
    expect.given(case.spread.group is None, "the namespace is in no group")
    expect.given(not case.owned, "no broker has the bundle")
    evenly = case.settings.given.get(EVENLY) is None or case.settings.flag(EVENLY)
    expect.given(evenly, "bundles are distributed evenly")
    counts = _bundles_of_namespace(case)
    fewest = [name for name, count in counts.items() if count == min(counts.values())]
    expect.reached(len(fewest) < len(counts))
    about = f"with {counts.get(str(answer.broker))} bundles of {case.namespace}"
    expect.that(answer.broker in fewest, either(fewest), answer.described(about))


@ASSIGN.check("PLACE-16", draws=draws.assigning(draws.set_topics_near_maximum))
def too_many_topics_keep_bundles_away(case: Assigning, answer: Placed, expect: Expect) -> None:
    """The chosen broker has no more topics than its limit, unless every broker has more."""
    _not_overloaded(case, answer, expect)
    expect.given(not case.case["versions"], "no broker reports its version")
    within = [name for name in case.permitted if not _is_full(case, name)]
    if expect.reached(0 < len(within) < len(case.permitted)):
        about = f"with more than {plain(_most_topics(case))} topics"
        expect.that(answer.broker in within, either(within), answer.described(about))


@ASSIGN.check("PLACE-17", draws=draws.assigning(draws.set_versions))
def later_versions_come_first(case: Assigning, answer: Placed, expect: Expect) -> None:
    """If later versions are preferred and all are known, a broker with the latest is chosen."""
    _not_overloaded(case, answer, expect)
    versions, counts = case.case["versions"], _bundles_of_namespace(case)
    expect.given(not case.owned, "no broker has the bundle")
    expect.given(case.settings.flag(PREFER_LATER), "later versions are preferred")
    expect.given(
        all(name in versions for name in case.permitted), "each broker reports its version"
    )
    expect.given(case.spread.group is None, "the namespace is in no group")
    even = len({*counts.values()}) == 1
    expect.given(even, "all brokers have equally many bundles of the namespace")
    _assume_few_topics(case, expect)
    number = {name: tuple(map(int, versions[name].split("."))) for name in case.permitted}
    latest = [name for name in case.permitted if number[name] == max(number.values())]
    expect.reached(len(latest) < len(case.permitted))
    about = f"with version {versions.get(str(answer.broker))}"
    expect.that(answer.broker in latest, either(latest), answer.described(about))


def _ordinary(case: Assigning, answer: Placed, expect: Expect) -> None:
    """Assume that only anti-affinity groups, numbers of bundles, and load can affect the choice."""
    _not_overloaded(case, answer, expect)
    expect.given(not case.case["versions"], "no broker reports its version")
    _assume_few_topics(case, expect)


def _assume_few_topics(case: Assigning, expect: Expect) -> None:
    few = not any(_is_full(case, name) for name in case.permitted)
    expect.given(few, "no broker has too many topics")


def _not_overloaded(case: Assigning, answer: Placed, expect: Expect) -> None:
    possible = (None, *case.permitted) if case.permitted else ()
    expect.given(answer.broker in possible, "the chosen broker may take the bundle")
    considered = certain_candidates(case.comparison, out=False)
    expect.given(len(considered) == len(case.permitted), "no broker is overloaded")


def _is_full(case: Assigning, name: str) -> bool:
    return bool(case.case["brokers"][name].get("numTopics", 0) > _most_topics(case))


def _most_topics(case: Assigning) -> Fraction:
    given = case.settings.given.get(MAX_TOPICS) is not None
    return case.settings.number(MAX_TOPICS) if given else DEFAULT_MAX_TOPICS


def _bundles_of_namespace(case: Assigning) -> Mapping[str, int]:
    """Return the number of the namespace's bundles on each eligible broker."""
    return {
        name: sum(namespace_of(one) == case.namespace for one in case.serving[name])
        for name in case.permitted
    }
