"""Clusters whose bundles grow: around the thresholds for splitting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance.conformance.draws import loads, names
from pulsar_conformance.conformance.draws.clusters import owned
from pulsar_conformance.conformance.draws.namespaces import randoms
from pulsar_conformance.conformance.trial import Json, Trial
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

LOWER: Mapping[str, float] = {
    MAX_TOPICS: 3,
    MAX_SESSIONS: 10,
    MAX_MESSAGES: 500,
    MAX_MEGABYTES: 1,
}
"""Thresholds set lower."""

EITHER_MEGABYTE = (1_000_000, 1_048_576)


def _around(random: Random, limit: float) -> float:
    """At a limit, just beyond it, just below, far from it, or nothing."""
    return random.choice((limit, limit + 1, limit - 1, limit / 2, limit * 1.5, limit * 20, 0))


class _Grower:
    """Draws what bundles carry; those that shall grow do so in one way, or in any."""

    def __init__(self, random: Random, grows: str | None) -> None:
        self.random = random
        self.grows = grows
        self.limits = dict(random.choice((LIMITS, LIMITS, LOWER)))

    def amount(self, name: str) -> float:
        limit = self.limits[name]
        if self.grows in (name, None):
            return _around(self.random, limit)
        return self.random.choice((0, limit / 2, limit)) if self.grows else limit / 2

    def rates(self) -> dict[str, float]:
        share = self.random.choice((0, 0.25, 0.5, 1))
        messages = self.amount(MAX_MESSAGES)
        size = self.amount(MAX_MEGABYTES)
        if size == self.limits[MAX_MEGABYTES]:
            size *= self.random.choice(EITHER_MEGABYTE)
        else:
            size *= EITHER_MEGABYTE[size > self.limits[MAX_MEGABYTES]]
        return {
            "msgRateIn": messages * share,
            "msgRateOut": messages * (1 - share),
            "msgThroughputIn": size * share,
            "msgThroughputOut": size * (1 - share),
        }

    def stats(self, rates: Mapping[str, float]) -> Json:
        sessions = int(self.amount(MAX_SESSIONS))
        producers = self.random.choice((0, sessions // 2, sessions))
        topics = int(self.amount(MAX_TOPICS))
        counts = {"producerCount": producers, "consumerCount": sessions - producers}
        return {**rates, "topics": topics, **counts}


def growing(
    random: Random, size: loads.Size, grows: str | None, settings: Mapping[str, Any], full: bool
) -> Json:
    """A cluster; `grows` names the threshold that bundles come near to (none: any of them).

    Where `full`, its namespaces have nearly as many bundles as they may.
    """
    grower = _Grower(random, grows)
    bundles = names.bundles(random, max(size.bundles, 1))
    waiting = iter(bundles)
    brokers: Json = {}
    data: Json = {}
    for place, count in enumerate(owned(random, size.brokers, len(bundles))):
        mine = [next(waiting) for _ in range(count)]
        stats = {}
        for bundle in mine:
            long_term = grower.rates()
            latest = long_term if random.random() < 0.5 else grower.rates()
            stats[bundle] = grower.stats(latest)
            if random.random() < 0.95:
                data[bundle] = {"longTermData": loads.average(long_term, 1000, 1000)}
        brokers[f"broker-{place + 1}"] = {"bundles": mine, "lastStats": stats}
    counted = Counter(map(namespace_of, bundles))
    spaces, limit = dict(counted), random.choice(({}, {MAX_BUNDLES: 1000}))
    if full:
        most = max(random.choice((128, 128, 16, 60)), *counted.values())
        limit = {MAX_BUNDLES: most} if most != 128 else {}
        spaces = {s: max(n, most - random.choice((0, 1, 1, 2, 5))) for s, n in counted.items()}
    named = {name: value for name, value in grower.limits.items() if value != LIMITS[name]}
    return {
        "settings": {**named, **limit, **settings},
        "leader": True,
        "brokers": brokers,
        "bundles": data,
        "namespaceBundles": spaces,
    }


def growths(
    grows: str | None = None, full: bool = False, settings: Mapping[str, Any] | None = None
) -> st.SearchStrategy[Trial]:
    """One look of the leader at a cluster whose bundles grow."""
    return st.builds(
        lambda random, size: Trial.of(
            "bundles.split_candidates", growing(random, size, grows, settings or {}, full)
        ),
        randoms,
        loads.sizes(1),
    )


def switched_off() -> st.SearchStrategy[Trial]:
    """The automatic split switched off."""
    return growths(settings={AUTO_SPLIT: False})


def kept_loaded() -> st.SearchStrategy[Trial]:
    """The unloading of split bundles switched off."""
    return growths(settings={AUTO_UNLOAD: False})


def unloaded_at_once() -> st.SearchStrategy[Trial]:
    """The unloading of split bundles left as it is, or switched on."""
    return st.one_of(growths(), growths(settings={AUTO_UNLOAD: True}))
