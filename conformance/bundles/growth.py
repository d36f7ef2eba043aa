"""SPLIT: the bundles that the leader splits by itself."""

from __future__ import annotations

from collections import Counter
from functools import partial

from pulsar_conformance.conformance.bundles import draw_growth as draws
from pulsar_conformance.conformance.bundles.operations import SPLIT_CANDIDATES, Candidates, exceeds
from pulsar_conformance.conformance.common.expect import Expect
from pulsar_conformance.reference.candidates import (
    AUTO_SPLIT,
    AUTO_UNLOAD,
    MAX_BUNDLES,
    MAX_MEGABYTES,
    MAX_MESSAGES,
    MAX_SESSIONS,
    MAX_TOPICS,
    Growth,
)
from pulsar_conformance.reference.numbers import plain
from pulsar_conformance.reference.ranges import namespace_of


def _may_split(growth: Growth) -> list[str]:
    """Return the bundles that exceed a threshold, or almost do."""
    names = growth.limits
    return [b for b in growth.stats if any(exceeds(growth, b, n) is not False for n in names)]


def _crowded(growth: Growth) -> set[str]:
    """Return the namespaces that may have more candidates than room for new bundles."""
    counted = Counter(map(namespace_of, _may_split(growth)))
    return {namespace for namespace, count in counted.items() if count > growth.room(namespace)}


def is_a_candidate(name: str, case: Growth, answer: Candidates, expect: Expect) -> None:
    """A bundle that exceeds the threshold is split, where its namespace has room."""
    expect.given(case.enabled, "the leader splits by itself")
    full = _crowded(case)
    for bundle in case.stats:
        over = exceeds(case, bundle, name) and namespace_of(bundle) not in full
        if expect.reached(bool(over)):
            measured, limit = (plain(n) for n in (case.measured(bundle, name), case.limits[name]))
            allowed = f"{bundle} is split: {measured} is more than {limit} ({name})"
            expect.that(bundle in answer.split, allowed, ", ".join(answer.split) or "nothing split")


for rule, limited in {
    "SPLIT-01": MAX_TOPICS,
    "SPLIT-02": MAX_SESSIONS,
    "SPLIT-03": MAX_MESSAGES,
    "SPLIT-04": MAX_MEGABYTES,
}.items():
    SPLIT_CANDIDATES.check(rule, draws=draws.growths(limited))(partial(is_a_candidate, limited))


@SPLIT_CANDIDATES.check("SPLIT-05", draws=draws.growths())
def others_stay_whole(case: Growth, answer: Candidates, expect: Expect) -> None:
    """A bundle that exceeds no threshold is not split."""
    expect.given(case.enabled, "the leader splits by itself")
    growing = set(_may_split(case))
    expect.reached(len(growing) < len(case.stats))
    wrong = [bundle for bundle in answer.split if bundle not in growing]
    expect.nothing(wrong, "these exceed no threshold")


@SPLIT_CANDIDATES.check("SPLIT-06", draws=draws.growths(full=True))
def a_namespace_keeps_to_its_maximum(case: Growth, answer: Candidates, expect: Expect) -> None:
    """The splits of one round leave no namespace with more bundles than it may have."""
    expect.given(case.enabled, "the leader splits by itself")
    chosen = Counter(map(namespace_of, set(answer.split)))
    growing = Counter(map(namespace_of, _may_split(case)))
    for namespace, count in growing.items():
        room = max(case.room(namespace), 0)
        if expect.reached(count > room):
            most = plain(case.settings.number(MAX_BUNDLES))
            allowed = f"at most {room} more bundles in {namespace}, {most} in all"
            expect.that(chosen[namespace] <= room, allowed, f"{chosen[namespace]} more")


@SPLIT_CANDIDATES.check("SPLIT-07", draws=draws.switched_off())
def nothing_is_split_when_switched_off(case: Growth, answer: Candidates, expect: Expect) -> None:
    """With the automatic split switched off, nothing is split."""
    if expect.reached(not case.settings.flag(AUTO_SPLIT) and bool(case.candidates)):
        expect.nothing(answer.split, "the automatic split is switched off")


@SPLIT_CANDIDATES.check("SPLIT-08", draws=draws.unloaded_at_once())
def parts_are_unloaded_at_once(case: Growth, answer: Candidates, expect: Expect) -> None:
    """By default, the bundles that are split are unloaded, and no others."""
    expect.given(case.enabled, "the leader splits by itself")
    expect.given(case.settings.flag(AUTO_UNLOAD), "split bundles are unloaded")
    if expect.reached(bool(answer.split)):
        expect.equal(sorted(set(answer.unload)), sorted(set(answer.split)), "unloaded")


@SPLIT_CANDIDATES.check("SPLIT-09", draws=draws.kept_loaded())
def parts_stay_when_unloading_is_off(case: Growth, answer: Candidates, expect: Expect) -> None:
    """With unloading switched off, the parts of a split bundle stay where they are."""
    expect.given(case.enabled, "the leader splits by itself")
    off = not case.settings.flag(AUTO_UNLOAD)
    if expect.reached(off and bool(case.candidates)):
        expect.nothing(answer.unload, "split bundles are not unloaded")


FEWEST_TOPICS = FEWEST_BROKERS = 2
"""The least number of topics of a bundle, and of brokers, for a split."""


@SPLIT_CANDIDATES.check("SPLIT-24", draws=draws.growths())
def nothing_is_split_with_one_broker(case: Growth, answer: Candidates, expect: Expect) -> None:
    """With one broker nothing is split."""
    if expect.reached(len(case.case["brokers"]) < FEWEST_BROKERS):
        expect.nothing(answer.split, "one broker is up")


@SPLIT_CANDIDATES.check("SPLIT-25", draws=draws.growths())
def a_single_topic_stays_whole(case: Growth, answer: Candidates, expect: Expect) -> None:
    """A bundle with fewer than two topics stays whole."""
    small = [bundle for bundle, stats in case.stats.items() if stats.topics < FEWEST_TOPICS]
    expect.reached(bool(small))
    wrong = [bundle for bundle in answer.split if bundle in small]
    expect.nothing(wrong, "these have fewer than two topics")


@SPLIT_CANDIDATES.check("SPLIT-26", draws=draws.growths())
def two_topics_over_a_limit_are_split(case: Growth, answer: Candidates, expect: Expect) -> None:
    """A bundle with two topics over a limit is split, where its namespace has room."""
    expect.given(case.enabled, "the leader splits by itself")
    expect.given(len(case.case["brokers"]) >= FEWEST_BROKERS, "two brokers are up")
    full = _crowded(case)
    for bundle, stats in case.stats.items():
        able = stats.topics >= FEWEST_TOPICS and namespace_of(bundle) not in full
        over = [name for name in case.limits if exceeds(case, bundle, name)]
        if expect.reached(able and bool(over)):
            allowed = f"{bundle} is split: it exceeds {', '.join(over)}"
            expect.that(bundle in answer.split, allowed, ", ".join(answer.split) or "nothing split")
