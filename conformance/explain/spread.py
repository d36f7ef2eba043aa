"""Shows the topics in each bundle, and the probability that chance spreads them so unevenly.

Also shows where a bundle goes after its owner's next report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import ceil
from typing import Any

from pulsar_conformance.conformance.bundles.operations import LOCATE
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.explain.paper import MAX_ALIKE, REST, SHOWN_OF_MANY
from pulsar_conformance.conformance.explain.running import comparable_answers
from pulsar_conformance.conformance.placement.operations import ASSIGN
from pulsar_conformance.reference import Model
from pulsar_conformance.specs.text import columns, counted, paragraph

MAX_TOPICS = 500
"""Maximum number of topics for which the probability of their spread is computed."""

HASHES = 2**32

LEAST_SHARE = 0.001
"""Smallest probability that is printed as a number; smaller ones are printed as a bound."""


def spread_lines(
    operation: str, case: Mapping[str, Any], answer: Mapping[str, Any], every: bool = False
) -> Iterator[str]:
    """Yield the number of topics in each bundle, and the probability of a spread that is so uneven.

    If there are many bundles, only those with the most topics are listed, unless `every` is true.
    """
    if operation != LOCATE.id or len(case["topics"]) < 2 or "bundles" not in answer:
        return
    yield from ("", "topics in each bundle")
    yield from _count_lines(answer["bundles"], _hash_shares(case), "in one bundle", every)


def broker_lines(
    case: Mapping[str, Any],
    answer: Mapping[str, Any],
    owned: Mapping[str, Sequence[str]],
    every: bool = False,
) -> Iterator[str]:
    """Yield the bundles' owners, the topics per broker, and the probability of so uneven a spread.

    `owned` has the ranges of the bundles that each broker owns. If there are many brokers, only
    those with the most topics are listed, unless `every` is true.
    """
    owners = {bundle: broker for broker, bundles in owned.items() for bundle in bundles}
    shares: dict[str, float] = dict.fromkeys(owned, 0.0)
    for bundle, share in _hash_shares(case).items():
        broker = owners.get(bundle, NO_BROKER)
        shares[broker] = shares.get(broker, 0) + share
    used = dict.fromkeys(sorted(answer["bundles"]))
    yield from ("", "owners of these bundles")
    rows = [(f"  {bundle}", owners.get(bundle, NO_BROKER)) for bundle in used]
    if len(rows) > MAX_ALIKE and not every:
        rows[SHOWN_OF_MANY:] = [(f"  {len(rows) - SHOWN_OF_MANY} more", REST)]
    yield from columns(rows)
    yield from ("", "topics on each broker")
    placed = [owners.get(bundle, NO_BROKER) for bundle in answer["bundles"]]
    yield from _count_lines(placed, shares, "on one broker", every)


NO_BROKER = "no broker"
"""Label for topics in bundles that no broker owns."""


def _hash_shares(case: Mapping[str, Any]) -> dict[str, float]:
    """Return the fraction of the hash range that each bundle covers."""
    edges = [int(edge, 16) for edge in case["boundaries"]]
    return {f"0x{low:08x}_0x{high:08x}": (high - low) / HASHES for low, high in pairwise(edges)}


def _count_lines(
    placed: Sequence[str], shares: Mapping[str, float], where: str, every: bool
) -> Iterator[str]:
    found = Counter(placed)
    listed = list(shares)
    if len(listed) > MAX_ALIKE and not every:
        fullest = {
            *sorted(filter(found.__getitem__, listed), key=lambda one: -found[one])[:SHOWN_OF_MANY]
        }
        listed = [name for name in shares if name in fullest]
    rest = [found[name] for name in shares if name not in listed]
    rows = [(f"  {name}", counted(found[name], "topic")) for name in listed]
    if rest:
        some = [number for number in rest if number]
        rows += [(f"  {len(some)} more", _topics_each(some))] if some else []
        rows += [(f"  {rest.count(0)} more", "no topics")] if 0 in rest else []
        rows[-1] = (rows[-1][0], f"{rows[-1][1]} ({REST})")
    yield from columns(rows)
    unowned = shares.get(NO_BROKER, 0.0)
    del found[NO_BROKER]
    if found and len(placed) <= MAX_TOPICS:
        most = max(found.values())
        taken = [share for name, share in shares.items() if share and name != NO_BROKER]
        if not unowned and most == ceil(len(placed) / len(taken)):
            yield f"  No distribution has fewer topics {where.replace('one', 'the fullest')}."
            return
        share = 1 - probability_of_at_most(most - 1, len(placed), taken, unowned)
        yield from paragraph(
            f"If {counted(len(placed), 'name')} were hashed at random, the probability of {most} "
            f"or more {where} would be {_rounded_share(share)}.",
            2,
        )


def _topics_each(numbers: Sequence[int]) -> str:
    """Format the smallest and the largest of these numbers of topics as text."""
    least, most = min(numbers), max(numbers)
    return f"{counted(most, 'topic')} each" if least == most else f"{least} to {most} topics each"


def _rounded_share(share: float) -> str:
    """Format a probability in percent; near 0 and 1, as "under 0.1 %" or "over 99.9 %"."""
    if share < LEAST_SHARE / 2:
        return "under 0.1 %"
    if share >= 1 - LEAST_SHARE / 2:
        return "over 99.9 %"
    return f"{share:.1%}".replace("%", " %")


def probability_of_at_most(
    most: int, topics: int, shares: Sequence[float], other: float = 0.0
) -> float:
    """Return the probability that no bundle gets more than `most` of the topics.

    `shares` has the fraction of the hash range that each bundle covers. `other` is the fraction
    outside these bundles, which may get any number of topics. The bundles are processed one after
    the other: the number of topics in a bundle has a binomial distribution over the topics that are
    not in earlier bundles.
    """
    left = [0.0] * topics + [1.0]
    rest = sum(shares) + other
    for share in shares:
        after = [0.0] * (topics + 1)
        part = min(1.0, share / rest)
        rest -= share
        for count, chance in enumerate(left):
            if chance:
                for taken, weight in enumerate(_binomial_probabilities(count, part, most)):
                    after[count - taken] += chance * weight
        left = after
    return sum(left) if other else left[0]


def _binomial_probabilities(count: int, part: float, most: int) -> Iterator[float]:
    """Yield the probabilities that 0, 1, … up to `most` of `count` topics fall into a bundle.

    `part` is the probability that a topic falls into the bundle.
    """
    if part >= 1:
        yield from (float(taken == count) for taken in range(min(count, most) + 1))
        return
    weight = (1 - part) ** count
    for taken in range(min(count, most) + 1):
        yield weight
        weight *= (count - taken) / (taken + 1) * part / (1 - part)


def next_report_lines(trial: Trial, model: Model) -> Iterator[str]:
    """Yield where a bundle goes after its owner's next report, if it would go elsewhere now.

    Clients look up a bundle as soon as it is unloaded; the leader then still counts it as owned by
    its former owner (ModularLoadManagerImpl.updateBundleData).
    """
    if trial.operation != ASSIGN.id or len(trial.questions) > 1:
        return
    case = trial.questions[0].case
    owner = owner_of(case, case["bundle"])
    if owner is None:
        return
    after = Trial((Question(ASSIGN.id, _with_bundle_released(case, owner)),))
    decided = comparable_answers(after, model)
    if decided == comparable_answers(trial, model):
        return
    told = " or ".join(sorted(decided))
    yield ""
    yield from paragraph(
        f"until the next report of {owner}, the leader counts the bundle there, even after its "
        f"unload; placed after that report, it goes {told}"
    )


def owner_of(case: Any, bundle: str) -> str | None:
    """Return the broker whose report has the bundle; None if no report has it."""
    reports = case["brokers"].items()
    return next((name for name, one in reports if bundle in one.get("bundles", ())), None)


def _with_bundle_released(case: Any, owner: str) -> Any:
    """Return the case with the bundle removed from the owner's report."""
    bundle, report = case["bundle"], dict(case["brokers"][owner])
    report["bundles"] = [one for one in report["bundles"] if one != bundle]
    stats = report.get("lastStats", {})
    report["lastStats"] = {name: rates for name, rates in stats.items() if name != bundle}
    return {**case, "brokers": {**case["brokers"], owner: report}}
