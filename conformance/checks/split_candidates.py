"""SPLIT: which bundles the leader splits by itself."""

from __future__ import annotations

from collections import Counter
from functools import partial

from pulsar_conformance.conformance.draws import growth as draws
from pulsar_conformance.conformance.expect import Expect, same
from pulsar_conformance.conformance.registry import check
from pulsar_conformance.conformance.views import Chosen
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


def exceeds(growth: Growth, bundle: str, name: str) -> bool | None:
    """Whether a bundle exceeds a threshold; none where floating point might decide."""
    measured, limit = growth.measured(bundle, name), growth.limits[name]
    whole = measured.denominator == limit.denominator == 1
    if measured != limit and not whole and same(measured, limit):
        return None
    return measured > limit


def _may_split(growth: Growth) -> list[str]:
    """The bundles that exceed a threshold, or nearly do."""
    names = growth.limits
    return [b for b in growth.stats if any(exceeds(growth, b, n) is not False for n in names)]


def crowded(growth: Growth) -> set[str]:
    """The namespaces that may have more candidates than room."""
    counted = Counter(map(namespace_of, _may_split(growth)))
    return {space for space, count in counted.items() if count > growth.room(space)}


def is_a_candidate(name: str, case: Growth, answer: Chosen, expect: Expect) -> None:
    """A bundle that exceeds the threshold is split, where its namespace has room."""
    expect.given(case.enabled, "the leader splits by itself")
    full = crowded(case)
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
    check(rule, draws=draws.growths(limited))(partial(is_a_candidate, limited))


@check("SPLIT-05", draws=draws.growths())
def others_stay_whole(case: Growth, answer: Chosen, expect: Expect) -> None:
    """A bundle that exceeds no threshold is not split."""
    expect.given(case.enabled, "the leader splits by itself")
    growing = set(_may_split(case))
    expect.reached(len(growing) < len(case.stats))
    wrong = [bundle for bundle in answer.split if bundle not in growing]
    expect.nothing(wrong, "these exceed no threshold")


@check("SPLIT-06", draws=draws.growths(full=True))
def a_namespace_keeps_to_its_maximum(case: Growth, answer: Chosen, expect: Expect) -> None:
    """With those split in this round, no namespace has more bundles than it may."""
    expect.given(case.enabled, "the leader splits by itself")
    chosen = Counter(map(namespace_of, set(answer.split)))
    growing = Counter(map(namespace_of, _may_split(case)))
    for space, count in growing.items():
        room = max(case.room(space), 0)
        if expect.reached(count > room):
            most = plain(case.settings.number(MAX_BUNDLES))
            allowed = f"at most {room} more bundles in {space}, {most} in all"
            expect.that(chosen[space] <= room, allowed, f"{chosen[space]} more")


@check("SPLIT-07", draws=draws.switched_off())
def nothing_is_split_when_switched_off(case: Growth, answer: Chosen, expect: Expect) -> None:
    """With the automatic split switched off, nothing is split."""
    if expect.reached(not case.settings.flag(AUTO_SPLIT) and bool(case.candidates)):
        expect.nothing(answer.split, "the automatic split is switched off")


@check("SPLIT-08", draws=draws.unloaded_at_once())
def parts_are_unloaded_at_once(case: Growth, answer: Chosen, expect: Expect) -> None:
    """By default, whatever is split is unloaded, and nothing else."""
    expect.given(case.enabled, "the leader splits by itself")
    expect.given(case.settings.flag(AUTO_UNLOAD), "split bundles are unloaded")
    if expect.reached(bool(answer.split)):
        expect.equal(sorted(set(answer.unload)), sorted(set(answer.split)), "unloaded")


@check("SPLIT-09", draws=draws.kept_loaded())
def parts_stay_when_unloading_is_off(case: Growth, answer: Chosen, expect: Expect) -> None:
    """With unloading switched off, the parts of what is split stay where they are."""
    expect.given(case.enabled, "the leader splits by itself")
    off = not case.settings.flag(AUTO_UNLOAD)
    if expect.reached(off and bool(case.candidates)):
        expect.nothing(answer.unload, "split bundles are not unloaded")
