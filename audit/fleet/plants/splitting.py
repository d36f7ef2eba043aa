"""Violations of the rules about splitting bundles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference.ranges import namespace_of

MOST_TOPICS, MOST_SESSIONS = 1000, 1000
"""Documented limits of a bundle; a bundle exactly at a limit is not split."""

SETTLED = 500
"""Number of topics above which a bundle may be about to be split anyway."""

AUTO_SPLIT = "loadBalancerAutoBundleSplitEnabled"
MOST_BUNDLES = "loadBalancerNamespaceMaximumBundles"


@dataclass
class SplitInput:
    """The latest reports and the settings of a cycle, which an edit changes."""

    reports: Mapping[str, Json]
    settings: Json

    def pick(self) -> tuple[Json, str] | None:
        """Return a report and its bundle with the most topics below `SETTLED`, or None."""
        for said in self.reports.values():
            known = {name: one["topics"] for name, one in said["lastStats"].items()}
            small = [name for name, topics in known.items() if topics < SETTLED]
            if small:
                return said, max(small, key=lambda name: known[name])
        return None

    def grow(self, **stats: int) -> str | None:
        """Give a bundle this many topics or sessions; return its name."""
        picked = self.pick()
        if picked is None:
            return None
        said, bundle = picked
        said["lastStats"][bundle] = {**said["lastStats"][bundle], **stats}
        return bundle


@dataclass(frozen=True)
class Due:
    """A bundle, and whether it is to be split."""

    bundle: str
    split: bool


Edit = Callable[[SplitInput], Due | None]
"""Changes reports and settings; returns None if the cycle is unsuitable."""


def _due(bundle: str | None, split: bool) -> Due | None:
    return None if bundle is None else Due(bundle, split)


def too_many_topics(growth: SplitInput) -> Due | None:
    """Keep a bundle that exceeds the limit by one topic."""
    return _due(growth.grow(topics=MOST_TOPICS + 1), split=False)


def too_many_sessions(growth: SplitInput) -> Due | None:
    """Keep a bundle that exceeds the limit by one session."""
    half = MOST_SESSIONS // 2
    return _due(growth.grow(producerCount=half, consumerCount=half + 1), split=False)


def at_the_limit(growth: SplitInput) -> Due | None:
    """Split a bundle with exactly the allowed number of topics."""
    return _due(growth.grow(topics=MOST_TOPICS), split=True)


def split_without_room(growth: SplitInput) -> Due | None:
    """Split a bundle whose namespace already has the maximum number of bundles."""
    bundle = growth.grow(topics=MOST_TOPICS + 1)
    if bundle is None:
        return None
    owned = (one for said in growth.reports.values() for one in said["bundles"])
    growth.settings[MOST_BUNDLES] = Counter(map(namespace_of, owned))[namespace_of(bundle)]
    return Due(bundle, split=True)


def splits_when_off(growth: SplitInput) -> Due | None:
    """Split a bundle with too many topics although splitting is disabled."""
    growth.settings[AUTO_SPLIT] = False
    return _due(growth.grow(topics=MOST_TOPICS + 1), split=True)
