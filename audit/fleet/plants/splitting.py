"""Edits that violate the rules about splitting bundles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference.ranges import namespace_of

MAX_TOPICS, MAX_SESSIONS = 1000, 1000
"""Documented limits of a bundle's topics and of its sessions; a bundle exactly at a limit is not
split.
"""

TOPICS_NEAR_SPLIT = 500
"""Minimum number of topics of a bundle that may be split even without a planted violation."""

AUTO_SPLIT = "loadBalancerAutoBundleSplitEnabled"
MAX_BUNDLES = "loadBalancerNamespaceMaximumBundles"


@dataclass
class SplitInput:
    """The latest reports and the settings in a cycle, which edits can change."""

    reports: Mapping[str, Json]
    settings: Json

    def pick_bundle(self) -> tuple[Json, str] | None:
        """Return a report and one of its bundles; None if no bundle is suitable.

        It is the bundle with the most topics among those with fewer than `TOPICS_NEAR_SPLIT`.
        """
        for said in self.reports.values():
            known = {name: one["topics"] for name, one in said["lastStats"].items()}
            small = [name for name, topics in known.items() if topics < TOPICS_NEAR_SPLIT]
            if small:
                return said, max(small, key=lambda name: known[name])
        return None

    def set_counts(self, **stats: int) -> str | None:
        """Set the number of topics or sessions of a suitable bundle.

        Return the bundle's name; None if no bundle is suitable.
        """
        picked = self.pick_bundle()
        if picked is None:
            return None
        said, bundle = picked
        said["lastStats"][bundle] = {**said["lastStats"][bundle], **stats}
        return bundle


@dataclass(frozen=True)
class PlannedSplit:
    """A planned violation: a bundle, and whether it is split, or is due to be split but is not."""

    bundle: str
    split: bool


Edit = Callable[[SplitInput], PlannedSplit | None]
"""A function that changes reports and settings to plan a violation of a rule about splits.

It returns the planned split or omission; None if no bundle is suitable.
"""


def _plan_split(bundle: str | None, split: bool) -> PlannedSplit | None:
    return None if bundle is None else PlannedSplit(bundle, split)


def keeps_bundle_with_many_topics(growth: SplitInput) -> PlannedSplit | None:
    """Do not split a bundle with one more topic than the limit."""
    return _plan_split(growth.set_counts(topics=MAX_TOPICS + 1), split=False)


def keeps_bundle_with_many_sessions(growth: SplitInput) -> PlannedSplit | None:
    """Do not split a bundle with one more session than the limit."""
    half = MAX_SESSIONS // 2
    return _plan_split(growth.set_counts(producerCount=half, consumerCount=half + 1), split=False)


def splits_at_the_limit(growth: SplitInput) -> PlannedSplit | None:
    """Split a bundle with exactly as many topics as the limit allows."""
    return _plan_split(growth.set_counts(topics=MAX_TOPICS), split=True)


def splits_without_room(growth: SplitInput) -> PlannedSplit | None:
    """Split a bundle whose namespace already has the maximum number of bundles."""
    bundle = growth.set_counts(topics=MAX_TOPICS + 1)
    if bundle is None:
        return None
    owned = (one for said in growth.reports.values() for one in said["bundles"])
    growth.settings[MAX_BUNDLES] = Counter(map(namespace_of, owned))[namespace_of(bundle)]
    return PlannedSplit(bundle, split=True)


def splits_when_off(growth: SplitInput) -> PlannedSplit | None:
    """Split a bundle with too many topics although splitting is disabled."""
    growth.settings[AUTO_SPLIT] = False
    return _plan_split(growth.set_counts(topics=MAX_TOPICS + 1), split=True)
