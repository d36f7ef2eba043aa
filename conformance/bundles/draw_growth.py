"""Clusters whose bundles are near the thresholds for splitting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing import loads, names
from pulsar_conformance.conformance.drawing.aims import aim
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.reference.candidates import (
    AUTO_SPLIT,
    AUTO_UNLOAD,
    MAX_BUNDLES,
    MAX_MEGABYTES,
    MAX_MESSAGES,
    MAX_SESSIONS,
    MAX_TOPICS,
)
from pulsar_conformance.reference.ranges import namespace_of

LIMITS: Mapping[str, float] = {
    MAX_TOPICS: 1000,
    MAX_SESSIONS: 1000,
    MAX_MESSAGES: 30000,
    MAX_MEGABYTES: 100,
}
"""The documented thresholds."""

LOW: Mapping[str, float] = {
    MAX_TOPICS: 3,
    MAX_SESSIONS: 10,
    MAX_MESSAGES: 500,
    MAX_MEGABYTES: 1,
}
"""Thresholds below the documented ones."""

VAST: Mapping[str, float] = {
    MAX_TOPICS: 2**31 - 1,
    MAX_SESSIONS: 2**31,
    MAX_MESSAGES: 2**31,
    MAX_MEGABYTES: 2048,
}
"""Thresholds beyond 32 bits; 2048 binary megabytes are 2^31 bytes."""

VASTER: Mapping[str, float] = {**VAST, MAX_MESSAGES: 2**53, MAX_MEGABYTES: 2**33}
"""Thresholds beyond 53 bits."""

EITHER_MEGABYTE = (1_000_000, 1_048_576)

ONE_IS_A_STEP = 2**40
"""Above it, a difference of 1 is too small for some types of number."""

DEFAULT_MOST = 128
"""The most bundles of a namespace by default."""

limits = st.sampled_from((LIMITS, LIMITS, LOW, VAST, VASTER))
maxima = st.sampled_from((None, DEFAULT_MOST, 16, 60, 1000))
rooms = st.sampled_from(("plenty", "just enough", "just enough"))


def _around(random: Random, limit: float) -> float:
    """Return a number at a limit, just above or below it, far from it, or 0."""
    step = 1 if limit < ONE_IS_A_STEP else limit // 1024
    return random.choice((limit, limit + step, limit - step, limit / 2, limit * 1.5, limit * 20, 0))


class _Grower:
    """Draws the load of bundles around one threshold, or around all."""

    def __init__(self, random: Random, grows: str | None, limits: Mapping[str, float]) -> None:
        self.random = random
        self.grows = grows
        self.limits = limits
        self.grown = False
        """True if the latest bundle may exceed a threshold."""

    def amount(self, name: str) -> float:
        limit = self.limits[name]
        if self.grows in (name, None):
            found = _around(self.random, limit)
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
        return loads.both_ways(messages, size, self.random.choice(loads.SHARES))

    def stats(self, rates: Mapping[str, float]) -> Json:
        sessions = int(self.amount(MAX_SESSIONS))
        producers = self.random.choice((0, sessions // 2, sessions))
        topics = int(self.amount(MAX_TOPICS))
        counts = {"producerCount": producers, "consumerCount": sessions - producers}
        return {**rates, "topics": topics, **counts}

    def next_bundle(self) -> tuple[Json, Json]:
        """Return the latest numbers of a bundle, and its long-term average."""
        self.grown, random = False, self.random
        long_term = self.rates()
        latest = long_term if random.random() < 0.5 else self.rates()
        return self.stats(latest), {"longTermData": loads.average(long_term, 1000, 1000)}


@st.composite
def _growing(draw: st.DrawFn, grows: str | None, full: bool, settings: Mapping[str, Any]) -> Trial:
    """Draw one inspection; bundles are near the threshold `grows`, or near any if it is None."""
    size, chosen, most = draw(loads.sizes(1)), draw(limits), draw(maxima)
    room = "too little" if full else draw(rooms)
    random = draw(randoms)
    grower = _Grower(random, grows, chosen)
    bundles = names.bundles(random, max(size.bundles, 1))
    waiting = iter(bundles)
    brokers: Json = {}
    data: Json = {}
    growing: Counter[str] = Counter()
    for place, count in enumerate(loads.owned(random, size.brokers, len(bundles))):
        mine = [next(waiting) for _ in range(count)]
        stats = {}
        for bundle in mine:
            stats[bundle], known = grower.next_bundle()
            growing[namespace_of(bundle)] += grower.grown
            if random.random() < 0.95:
                data[bundle] = known
        brokers[f"broker-{place + 1}"] = {"bundles": mine, "lastStats": stats}
    named = {name: value for name, value in chosen.items() if value != LIMITS[name]}
    limit = {} if most is None else {MAX_BUNDLES: most}
    case = {
        "settings": {**named, **limit, **settings},
        "leader": True,
        "brokers": brokers,
        "bundles": data,
        "namespaceBundles": _counted(random, bundles, growing, room, most or DEFAULT_MOST),
    }
    return Trial.of("bundles.split_candidates", case)


def _counted(
    random: Random, bundles: Sequence[str], growing: Mapping[str, int], room: str, most: int
) -> dict[str, int]:
    """Return the number of bundles in each namespace: the known ones, or close to the limit."""
    counted = Counter(map(namespace_of, bundles))
    if room == "plenty":
        return dict(counted)
    if room == "just enough":
        left = {namespace: growing[namespace] + random.choice((0, 0, 1)) for namespace in counted}
    else:
        left = {namespace: random.choice((0, 1, 1, 2, 5)) for namespace in counted}
    return {namespace: max(count, most - left[namespace]) for namespace, count in counted.items()}


def growths(
    grows: str | None = None, full: bool = False, settings: Mapping[str, Any] | None = None
) -> st.SearchStrategy[Trial]:
    """An inspection of a cluster whose bundles are near one threshold, or near any.

    If `full`, its namespaces have the maximum number of bundles, or almost.
    """
    return _growing(grows, full, settings or {})


def switched_off() -> st.SearchStrategy[Trial]:
    """An inspection with the automatic split switched off."""
    return growths(settings={AUTO_SPLIT: False})


def kept_loaded() -> st.SearchStrategy[Trial]:
    """An inspection with the unloading of split bundles switched off."""
    return growths(settings={AUTO_UNLOAD: False})


def unloaded_at_once() -> st.SearchStrategy[Trial]:
    """An inspection with the unloading of split bundles not set, or switched on."""
    return st.one_of(growths(), growths(settings={AUTO_UNLOAD: True}))


def _cluster_of_one_bundle(settings: Json, latest: Json, long_term: Json | None) -> Json:
    [bundle] = names.bundles(Random(0), 1)
    data = {} if long_term is None else {bundle: {"longTermData": long_term}}
    counts = {"topics": 5, "producerCount": 1, "consumerCount": 1}
    report = {"bundles": [bundle], "lastStats": {bundle: {**latest, **counts}}}
    return {
        "settings": settings,
        "leader": True,
        "brokers": {"broker-1": report},
        "bundles": data,
        "namespaceBundles": {namespace_of(bundle): 1},
    }


def busy_once(random: Random) -> Json:
    """Return a bundle whose message rate is high in the long term or at present, not in both."""
    quiet, busy = {"msgRateIn": 10}, {"msgRateIn": 500}
    latest, long_term = random.choice(((quiet, busy), (busy, quiet)))
    return _cluster_of_one_bundle({MAX_MESSAGES: 100}, latest, loads.average(long_term, 10, 1000))


def between_the_megabytes(random: Random) -> Json:
    """Return a bundle with more than 100 decimal and fewer than 100 binary megabytes."""
    rate = {"msgThroughputIn": random.choice((101, 102, 104)) * loads.MEGABYTE}
    return _cluster_of_one_bundle({MAX_MEGABYTES: 100}, rate, loads.average(rate, 10, 1000))


def never_measured_in_kilobytes(random: Random) -> Json:
    """Return a bundle without data, and a limit between 100 decimal and 100 binary kilobytes."""
    limit = random.choice((0.101, 0.0965))
    latest = {"msgThroughputIn": 101_000}
    return _cluster_of_one_bundle({MAX_MEGABYTES: limit}, latest, None)


AIMED = (
    aim("split-rate-window", "bundles.split_candidates", busy_once),
    aim("megabyte", "bundles.split_candidates", between_the_megabytes),
    aim("kilobyte", "bundles.split_candidates", never_measured_in_kilobytes),
)
