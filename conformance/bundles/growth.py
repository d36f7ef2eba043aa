"""SPLIT: the bundles that the leader splits automatically."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance.conformance.bundles.draw_splits import DEFAULT_ALGORITHM
from pulsar_conformance.conformance.bundles.operations import SPLIT_CANDIDATES, Candidates, exceeds
from pulsar_conformance.conformance.common.check import Expect
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing import aim, composite, control_aims, loads, names
from pulsar_conformance.conformance.drawing.loads import randoms
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
from pulsar_conformance.reference.context import UNLIMITED
from pulsar_conformance.reference.numbers import plain
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.splitting import RANGE, TOPICS

LIMITS: Mapping[str, float] = {
    MAX_TOPICS: 1000,
    MAX_SESSIONS: 1000,
    MAX_MESSAGES: 30000,
    MAX_MEGABYTES: 100,
}
"""The documented thresholds."""

LOW_LIMITS: Mapping[str, float] = {
    MAX_TOPICS: 3,
    MAX_SESSIONS: 10,
    MAX_MESSAGES: 500,
    MAX_MEGABYTES: 1,
}
"""Thresholds lower than the documented thresholds."""

ABOVE_32_BITS: Mapping[str, float] = {
    MAX_TOPICS: 2**31 - 1,
    MAX_SESSIONS: 2**31,
    MAX_MESSAGES: 2**31,
    MAX_MEGABYTES: 2048,
}
"""Thresholds beyond 32 bits; 2048 binary megabytes are 2^31 bytes."""

ABOVE_53_BITS: Mapping[str, float] = {**ABOVE_32_BITS, MAX_MESSAGES: 2**53, MAX_MEGABYTES: 2**33}
"""Thresholds beyond 53 bits."""

ZERO_LIMITS: Mapping[str, float] = dict.fromkeys(LIMITS, 0)
"""Thresholds that any load exceeds."""

ABOUT_ASSUMED = tuple({**LIMITS, MAX_MESSAGES: 100 + more} for more in (-2, 2))
"""Thresholds near the 100 messages per second that are assumed for an unmeasured bundle."""

EITHER_MEGABYTE = (1_000_000, 1_048_576)

ONE_IS_A_STEP = 2**40
"""Limit above which some number types cannot represent a difference of 1."""

DEFAULT_MOST = 128
"""Default maximum number of bundles of a namespace."""

ALGORITHM_NAMED = 0.2
"""Share of cases that name the default split algorithm, although no answer here depends on it."""

threshold_sets = st.sampled_from(
    (LIMITS, LIMITS, LOW_LIMITS, ABOVE_32_BITS, ABOVE_53_BITS, ZERO_LIMITS, *ABOUT_ASSUMED)
)
bundle_maximums = st.sampled_from((None, DEFAULT_MOST, 16, 60, 1000) * 2 + (0,))
room_kinds = st.sampled_from(("plenty", "just enough", "just enough"))


def _number_near(random: Random, limit: float) -> float:
    """Return a number at a limit, just above or below it, far from it, or 0."""
    step = 1 if limit < ONE_IS_A_STEP else limit // 1024
    below = max(limit - step, 0)
    return random.choice((limit, limit + step, below, limit / 2, limit * 1.5, limit * 20, 0))


class _LoadDrawer:
    """Draws bundle loads near one threshold, or near all of them."""

    def __init__(self, random: Random, grows: str | None, limits: Mapping[str, float]) -> None:
        self.random = random
        self.grows = grows
        self.limits = limits
        self.grown = False
        """True if the bundle drawn last may exceed a threshold."""

    def amount(self, name: str) -> float:
        limit = self.limits[name]
        if self.grows in (name, None):
            found = _number_near(self.random, limit)
        else:
            found = self.random.choice((0, limit / 2, limit)) if self.grows else limit / 2
        self.grown = self.grown or found > limit
        return found

    def rates(self) -> dict[str, float]:
        messages = self.amount(MAX_MESSAGES)
        size, limit = self.amount(MAX_MEGABYTES), self.limits[MAX_MEGABYTES]
        if size == limit:
            size *= self.random.choice(EITHER_MEGABYTE)
            self.grown = True
        else:
            size *= EITHER_MEGABYTE[size > limit]
        return loads.by_direction(messages, size, self.random.choice(loads.SHARES))

    def stats(self, rates: Mapping[str, float]) -> Json:
        sessions = int(self.amount(MAX_SESSIONS))
        producers = self.random.choice((0, sessions // 2, sessions))
        counts = {"producerCount": producers, "consumerCount": sessions - producers}
        known = {**rates, "topics": int(self.amount(MAX_TOPICS)), **counts}
        whole = self.random.random() < 2 / 3  # Else, what is 0 is left out.
        return {name: value for name, value in known.items() if value or whole}

    def next_bundle(self) -> tuple[Json, Json]:
        """Return a bundle's latest statistics and its long-term average."""
        self.grown, random = False, self.random
        long_term = self.rates()
        latest = long_term if random.random() < 0.5 else self.rates()
        return self.stats(latest), {"longTermData": loads.as_average(long_term, 1000, 1000)}


@composite
def _draw_growth(
    draw: st.DrawFn, grows: str | None, full: bool, settings: Mapping[str, Any]
) -> Trial:
    """Draw a run of automatic splits, with bundles near the threshold `grows` (None: near any)."""
    size, chosen, most = draw(loads.sizes(1)), draw(threshold_sets), draw(bundle_maximums)
    room = "too little" if full else draw(room_kinds)
    random = draw(randoms)
    grower = _LoadDrawer(random, grows, chosen)
    bundles = names.bundles(random, max(size.bundles, 1))
    waiting = iter(bundles)
    brokers, data, growing = Json(), Json(), Counter[str]()
    for index, count in enumerate(loads.bundles_per_broker(random, size.brokers, len(bundles))):
        mine = [next(waiting) for _ in range(count)]
        stats = {}
        for bundle in mine:
            stats[bundle], known = grower.next_bundle()
            growing[namespace_of(bundle)] += grower.grown
            if random.random() < 0.95:
                data[bundle] = known
        brokers[f"broker-{index + 1}"] = {"bundles": mine, "lastStats": stats}
    named = {name: value for name, value in chosen.items() if value != LIMITS[name]}
    case: Json = {
        "settings": {**named, **({} if most is None else {MAX_BUNDLES: most}), **settings},
        "leader": True,
        "brokers": brokers,
        "bundles": data,
        "namespaceBundles": _bundle_counts(
            random, bundles, growing, room, DEFAULT_MOST if most is None else most
        ),
    }
    if random.random() < ALGORITHM_NAMED:
        case["settings"][DEFAULT_ALGORITHM] = random.choice((RANGE, TOPICS))
    case["settings"] = loads.sometimes_as_text(random, case["settings"])
    return Trial.of("bundles.split_candidates", case)


def _bundle_counts(
    random: Random, bundles: Sequence[str], growing: Mapping[str, int], room: str, most: int
) -> dict[str, int]:
    """Return each namespace's number of bundles: the number drawn, or nearly the maximum."""
    counted = Counter(map(namespace_of, bundles))
    if room == "plenty":
        return dict(counted)
    if room == "just enough":
        left = {namespace: growing[namespace] + random.choice((0, 0, 1)) for namespace in counted}
    else:
        left = {namespace: random.choice((0, 1, 1, 2, 5)) for namespace in counted}
    return {namespace: max(count, most - left[namespace]) for namespace, count in counted.items()}


def automatic_splits(
    grows: str | None = None, full: bool = False, settings: Mapping[str, Any] | None = None
) -> st.SearchStrategy[Trial]:
    """Return a strategy for runs of automatic splits, with bundles near the threshold `grows`.

    If `grows` is None, bundles are near any threshold. If `full`, namespaces have the maximum
    number of bundles, or nearly that many.
    """
    return _draw_growth(grows, full, settings or {})


def splits_switched_off() -> st.SearchStrategy[Trial]:
    """Return a strategy for runs with automatic splits disabled."""
    return automatic_splits(settings={AUTO_SPLIT: False})


def unloading_switched_off() -> st.SearchStrategy[Trial]:
    """Return a strategy for runs in which the unloading of split bundles is disabled."""
    return automatic_splits(settings={AUTO_UNLOAD: False})


def unloading_switched_on() -> st.SearchStrategy[Trial]:
    """Return a strategy for runs in which the unloading of split bundles is enabled or not set."""
    return st.one_of(automatic_splits(), automatic_splits(settings={AUTO_UNLOAD: True}))


def _cluster_of_one_bundle(settings: Json, latest: Json, long_term: Json | None) -> Json:
    [bundle] = names.bundles(Random(0), 1)
    data = {} if long_term is None else {bundle: {"longTermData": long_term}}
    counts = {"topics": 5, "producerCount": 1, "consumerCount": 1}
    report = {"bundles": [bundle], "lastStats": {bundle: {**latest, **counts}}}
    return {
        "settings": settings,
        "leader": True,
        "brokers": {"broker-1": report, "broker-2": {"bundles": []}},
        "bundles": data,
        "namespaceBundles": {namespace_of(bundle): 1},
    }


def busy_in_one_term(random: Random) -> Json:
    """Return a case of a bundle with a high message rate in its latest or in its long-term load."""
    quiet, busy = {"msgRateIn": 10}, {"msgRateIn": 500}
    latest, long_term = random.choice(((quiet, busy), (busy, quiet)))
    return _cluster_of_one_bundle(
        {MAX_MESSAGES: 100}, latest, loads.as_average(long_term, 10, 1000)
    )


def between_the_megabytes(random: Random) -> Json:
    """Return a case of a bundle that carries between 100 decimal and 100 binary MB per second."""
    rate = {"msgThroughputIn": random.choice((101, 102, 104)) * loads.MEGABYTE}
    return _cluster_of_one_bundle({MAX_MEGABYTES: 100}, rate, loads.as_average(rate, 10, 1000))


def never_measured_in_kilobytes(random: Random) -> Json:
    """Return a case of a bundle without samples, with a limit near its assumed traffic.

    The assumed rate exceeds the limit only if a kilobyte is 1024 bytes, or only if it is 1000.
    """
    limit = random.choice((0.101, 0.0965))
    latest = {"msgThroughputIn": 101_000}
    return _cluster_of_one_bundle({MAX_MEGABYTES: limit}, latest, None)


def over_the_topic_limit(_random: Random) -> Json:
    """Return a case of a bundle that exceeds the topic limit, but no other limit."""
    few = {"msgRateIn": 10, "msgThroughputIn": 1000}
    limits = {MAX_TOPICS: 3, MAX_MESSAGES: 100, MAX_MEGABYTES: 100}
    return _cluster_of_one_bundle(limits, few, loads.as_average(few, 10, 1000))


AIMED = (
    *control_aims(
        SPLIT_CANDIDATES.id, ("split-rate-window", "megabyte", "kilobyte"), over_the_topic_limit
    ),
    aim("split-rate-window", "bundles.split_candidates", busy_in_one_term),
    aim("megabyte", "bundles.split_candidates", between_the_megabytes),
    aim("kilobyte", "bundles.split_candidates", never_measured_in_kilobytes),
)


def _may_split(growth: Growth) -> list[str]:
    """Return the bundles that exceed a threshold, or may exceed one because of rounding."""
    names = growth.limits
    return [b for b in growth.stats if any(exceeds(growth, b, n) is not False for n in names)]


def _crowded_namespaces(growth: Growth) -> set[str]:
    """Return the namespaces whose maximum could prevent some of the possible splits."""
    counted = Counter(map(namespace_of, _may_split(growth)))
    return {namespace for namespace, count in counted.items() if count > growth.room(namespace)}


def a_bundle_above_the_threshold_is_split(
    name: str, case: Growth, answer: Candidates, expect: Expect
) -> None:
    """A bundle that exceeds the threshold is split if its namespace may have more bundles."""
    expect.given(case.enabled, "automatic splits are switched on")
    full = _crowded_namespaces(case)
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
    SPLIT_CANDIDATES.check(rule, draws=automatic_splits(limited))(
        partial(a_bundle_above_the_threshold_is_split, limited)
    )


@SPLIT_CANDIDATES.check("SPLIT-05", draws=automatic_splits())
def bundles_within_limits_stay_whole(case: Growth, answer: Candidates, expect: Expect) -> None:
    """A bundle that exceeds no threshold is not split."""
    expect.given(case.enabled, "automatic splits are switched on")
    growing = set(_may_split(case))
    expect.reached(len(growing) < len(case.stats))
    wrong = [bundle for bundle in answer.split if bundle not in growing]
    expect.nothing(wrong, "these exceed no threshold")


@SPLIT_CANDIDATES.check(
    "SPLIT-31", draws=automatic_splits(MAX_SESSIONS, settings={MAX_SESSIONS: -1})
)
def sessions_have_no_limit(case: Growth, answer: Candidates, expect: Expect) -> None:
    """With a limit of -1, no bundle is split because of its number of sessions."""
    expect.given(case.enabled, "automatic splits are switched on")
    expect.given(case.limits[MAX_SESSIONS] == UNLIMITED, "sessions have no limit")
    growing = set(_may_split(case))
    expect.reached(any(one.sessions for name, one in case.stats.items() if name not in growing))
    wrong = [bundle for bundle in answer.split if bundle not in growing]
    expect.nothing(wrong, "these exceed no other threshold")


@SPLIT_CANDIDATES.check("SPLIT-06", draws=automatic_splits(full=True))
def a_namespace_keeps_to_its_maximum(case: Growth, answer: Candidates, expect: Expect) -> None:
    """The splits of a run leave each namespace within its maximum number of bundles."""
    expect.given(case.enabled, "automatic splits are switched on")
    chosen = Counter(map(namespace_of, set(answer.split)))
    growing = Counter(map(namespace_of, _may_split(case)))
    for namespace, count in growing.items():
        room = max(case.room(namespace), 0)
        if expect.reached(count > room):
            most = plain(case.settings.number(MAX_BUNDLES))
            allowed = f"at most {room} more bundles in {namespace}, {most} in all"
            expect.that(chosen[namespace] <= room, allowed, f"{chosen[namespace]} more")


@SPLIT_CANDIDATES.check("SPLIT-07", draws=splits_switched_off())
def nothing_is_split_when_switched_off(case: Growth, answer: Candidates, expect: Expect) -> None:
    """With automatic splits disabled, nothing is split."""
    if expect.reached(not case.settings.flag(AUTO_SPLIT) and bool(case.candidates)):
        expect.nothing(answer.split, "the automatic split is switched off")


@SPLIT_CANDIDATES.check("SPLIT-08", draws=unloading_switched_on())
def parts_are_unloaded_at_once(case: Growth, answer: Candidates, expect: Expect) -> None:
    """By default, exactly the split bundles are unloaded."""
    expect.given(case.enabled, "automatic splits are switched on")
    expect.given(case.settings.flag(AUTO_UNLOAD), "split bundles are unloaded")
    if expect.reached(bool(answer.split)):
        expect.equal(sorted(set(answer.unload)), sorted(set(answer.split)), "unloaded")


@SPLIT_CANDIDATES.check("SPLIT-09", draws=unloading_switched_off())
def parts_stay_when_unloading_is_off(case: Growth, answer: Candidates, expect: Expect) -> None:
    """With unloading disabled, split bundles are not unloaded."""
    expect.given(case.enabled, "automatic splits are switched on")
    off = not case.settings.flag(AUTO_UNLOAD)
    if expect.reached(off and bool(case.candidates)):
        expect.nothing(answer.unload, "split bundles are not unloaded")


FEWEST_TOPICS = FEWEST_BROKERS = 2
"""Minimum number of topics in a bundle, and of brokers in the cluster, for a split."""


@SPLIT_CANDIDATES.check("SPLIT-24", draws=automatic_splits())
def nothing_is_split_with_one_broker(case: Growth, answer: Candidates, expect: Expect) -> None:
    """With a single broker, nothing is split."""
    if expect.reached(len(case.case["brokers"]) < FEWEST_BROKERS):
        expect.nothing(answer.split, "one broker is up")


@SPLIT_CANDIDATES.check("SPLIT-25", draws=automatic_splits())
def a_single_topic_stays_whole(case: Growth, answer: Candidates, expect: Expect) -> None:
    """A bundle with fewer than two topics is not split."""
    small = [bundle for bundle, stats in case.stats.items() if stats.topics < FEWEST_TOPICS]
    expect.reached(bool(small))
    wrong = [bundle for bundle in answer.split if bundle in small]
    expect.nothing(wrong, "these have fewer than two topics")


@SPLIT_CANDIDATES.check("SPLIT-26", draws=automatic_splits())
def two_topics_over_a_limit_are_split(case: Growth, answer: Candidates, expect: Expect) -> None:
    """A bundle with two topics over a limit is split if its namespace may have more bundles."""
    expect.given(case.enabled, "automatic splits are switched on")
    expect.given(len(case.case["brokers"]) >= FEWEST_BROKERS, "two brokers are up")
    full = _crowded_namespaces(case)
    for bundle, stats in case.stats.items():
        able = stats.topics >= FEWEST_TOPICS and namespace_of(bundle) not in full
        over = [name for name in case.limits if exceeds(case, bundle, name)]
        if expect.reached(able and bool(over)):
            allowed = f"{bundle} is split: it exceeds {', '.join(over)}"
            expect.that(bundle in answer.split, allowed, ", ".join(answer.split) or "nothing split")
