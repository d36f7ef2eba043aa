"""What the anti-affinity checks know of a namespace to place, and of mistakes in placing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pulsar_conformance.conformance.common.exchange import Asked
from pulsar_conformance.conformance.common.expect import Expect
from pulsar_conformance.conformance.placement.view import Placed, Spreading
from pulsar_conformance.reference.anti_affinity import Spread


def ordinary(case: Spreading, expect: Expect) -> Spread:
    """What the documents speak about: each namespace of the group is served by one broker."""
    spread = case.spread
    expect.given(spread.group is not None, "the namespace is in a group")
    served = Counter(one for names in case["owned"].values() for one in names)
    expect.given(not served[spread.namespace], "the namespace is served by nobody yet")
    grouped = (count for one, count in served.items() if one in spread.groups)
    expect.given(max(grouped, default=0) <= 1, "each namespace is served by one broker")
    return spread


def chosen(case: Spreading, answer: Placed, expect: Expect) -> Spread:
    """The same, where a candidate was chosen."""
    expect.given(answer.broker in case["candidates"], "a candidate is chosen")
    return ordinary(case, expect)


def unmixed(spread: Spread, expect: Expect) -> None:
    """What brokers in no domain count beside others, no document says."""
    mixed = None in spread.in_domain and len(spread.in_domain) > 1
    expect.given(not mixed, "all candidates are in a domain, or none is")


def told(names: Iterable[str | None]) -> str:
    """Names as a person lists them: b1 or b2."""
    return " or ".join(sorted(name for name in names if name)) or "nothing"


def pair(
    asked: Sequence[Asked[Spreading, Placed]], changed: frozenset[str], expect: Expect
) -> tuple[Spread, Spread, Placed]:
    """Two questions that differ in these fields alone, and what was answered to the second."""
    expect.given(len(asked) == 2, "a world before and after")
    (before, _), (after, answer) = asked
    kept = before.case.keys() - changed
    expect.given(all(before.case[key] == after.case[key] for key in kept), "nothing else changes")
    return ordinary(before, expect), ordinary(after, expect), answer


Mistakes = Iterator[tuple[Spread, str]]
"""What a mistake makes of the world, with what it is."""


def not_as_if(spread: Spread, answer: Placed, mistakes: Mistakes, expect: Expect) -> None:
    """Demands that the choice is not one that only such a mistake explains."""
    unmixed(spread, expect)
    right = set(spread.best)
    for other, mistake in mistakes:
        if expect.reached(not right & set(other.best)) and answer.broker in other.best:
            expect.that(uneven(spread, answer), told(right), f"{answer}, as {mistake}")


def uneven(spread: Spread, answer: Placed) -> bool:
    """Whether the choice is what comes of neglecting domains, or the brokers within them.

    Then it is for the rules about evenness.
    """
    among = [one for domain in spread.best_domains for one in spread.within(domain)]
    return answer.broker in (*replace(spread, domains={}).best, *among)


def of_other_groups(spread: Spread) -> Mistakes:
    """What comes of counting namespaces that are not of the group."""
    grouped = dict.fromkeys(spread.groups, str(spread.group))
    served = (one for names in spread.owned.values() for one in names)
    every = grouped | dict.fromkeys(served, str(spread.group))
    yield replace(spread, groups=every), "if every namespace counted"
    yield replace(spread, groups=grouped), "if all groups were one"


def explained(spread: Spread, answer: Placed) -> bool:
    """Whether the choice is what comes of uneven placement, or of counting other groups."""
    wrong = (other.best for other, _ in of_other_groups(spread))
    return uneven(spread, answer) or any(answer.broker in best for best in wrong)
