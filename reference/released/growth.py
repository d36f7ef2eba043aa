"""Automatic splits in a release (`BundleSplitterTask.findBundlesToSplit`)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from pulsar_conformance.reference.candidates import (
    AUTO_SPLIT,
    AUTO_UNLOAD,
    MAX_BUNDLES,
    MAX_MEGABYTES,
    MAX_MESSAGES,
    MAX_SESSIONS,
    MAX_TOPICS,
)
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import Fraction, plain
from pulsar_conformance.reference.ranges import FULL_UPPER, HashRange, namespace_of
from pulsar_conformance.reference.released.java import in_map_order, wrap_int
from pulsar_conformance.reference.released.loads import Json, Leader

MEBIBYTE = 1024 * 1024
FEWEST = 2
"""Minimum number of brokers, and of topics of a bundle, for a split."""


class SplitterTask:
    """One run of the split task over the brokers' reports."""

    def __init__(self, known: Leader) -> None:
        self.known = known

    @cached_property
    def why_off(self) -> str | None:
        """The reason why no bundle is split at all; None if splitting is enabled."""
        known = self.known
        if not known.case["leader"]:
            return "only the leader splits"
        if not known.settings.flag(AUTO_SPLIT):
            return f"{AUTO_SPLIT} is not true"
        if known.way("lone-broker") == "keeps" and len(known.case["brokers"]) < FEWEST:
            return f"one broker is up ({known.release.place('lone-broker')})"
        return None

    @cached_property
    def stats(self) -> list[tuple[str, Json]]:
        """The latest statistics of each bundle, in report order."""
        return [
            (bundle, stats)
            for name in self.known.brokers
            for bundle, stats in self.known.report(name).get("lastStats", {}).items()
        ]

    @cached_property
    def _known_boundaries(self) -> Mapping[str, list[int]]:
        """The boundaries of each namespace that are known from the bundles that brokers own."""
        cuts: dict[str, set[int]] = defaultdict(lambda: {0, FULL_UPPER})
        for bundle in (one for name in self.known.brokers for one in self.known.owned(name)):
            part = HashRange.parse(bundle)
            cuts[namespace_of(bundle)] |= {part.lower, part.upper}
        return defaultdict(lambda: [0, FULL_UPPER], {one: sorted(cuts[one]) for one in cuts})

    def _why_whole(self, bundle: str) -> str:
        """Return why a bundle stays whole although it exceeds a limit; empty if it is split."""
        part = HashRange.parse(bundle)
        if part.upper - part.lower <= 1:
            return "it is one hash wide"
        if self.known.way("removed-bundle") == "split":
            return ""
        exists = (part.lower, part.upper) in pairwise(self._known_boundaries[namespace_of(bundle)])
        return "" if exists else f"it no longer exists ({self._place_in_source('removed-bundle')})"

    @cached_property
    def limits(self) -> dict[str, float]:
        """The four limits; bandwidth in bytes per second."""
        plain_ones = (MAX_TOPICS, MAX_SESSIONS, MAX_MESSAGES)
        limits = {name: self.known.number(name) for name in plain_ones}
        limits[MAX_MEGABYTES] = float(wrap_int(int(self.known.number(MAX_MEGABYTES)) * MEBIBYTE))
        return limits

    def measured(self, bundle: str, stats: Json) -> dict[str, float]:
        """Return the quantities of a bundle to which a limit applies."""
        known = self.known
        rate = throughput = 0.0
        if bundle in known.case["bundles"]:
            rate = known.traffic(bundle, "msgRate", "longTermData")
            throughput = known.traffic(bundle, "msgThroughput", "longTermData")
        return {
            MAX_TOPICS: float(stats.get("topics", 0)),
            MAX_SESSIONS: float(stats.get("producerCount", 0) + stats.get("consumerCount", 0)),
            MAX_MESSAGES: rate,
            MAX_MEGABYTES: throughput,
        }

    def over(self, bundle: str, stats: Json) -> dict[str, float]:
        """Return the quantities of a bundle that exceed their limits."""
        has = self.measured(bundle, stats).items()
        return {
            name: value
            for name, value in has
            if name not in self.unlimited and value > self.limits[name]
        }

    @cached_property
    def unlimited(self) -> tuple[str, ...]:
        """The limits that are off."""
        off_at_0 = self.known.way("session-limit") == "off-at-0"
        return (MAX_SESSIONS,) if off_at_0 and self.limits[MAX_SESSIONS] <= 0 else ()

    def has_too_few_topics(self, stats: Json) -> bool:
        """True if a bundle has too few topics to be split."""
        topics, way = stats.get("topics", 0), self.known.way("few-topics")
        return topics < FEWEST if way == "keeps" else way == "keeps-one" and topics == 1

    @cached_property
    def decided(self) -> Mapping[str, str]:
        """The reason why each bundle is not split; empty for a bundle that is split."""
        found, taken = dict[str, str](), Counter[str]()
        for bundle, stats in self.stats:
            space = namespace_of(bundle)
            why = self._why_not_split(bundle, stats, taken[space])
            taken[space] += not why
            # A bundle that moved may be in two reports; either of them can cause its split.
            if not why and found.get(bundle):
                del found[bundle]
            if not why or bundle not in found:
                found[bundle] = why
        return found

    def _why_not_split(self, bundle: str, stats: Json, taken: int) -> str:
        """Return why a bundle is not split; empty if it is split.

        `taken` is the number of bundles of its namespace that were already chosen.
        """
        if self.has_too_few_topics(stats):
            few = "a single topic" if stats.get("topics") else "fewer than 2 topics"
            return f"it has {few} ({self._place_in_source('few-topics')})"
        if not self.over(bundle, stats):
            return "nothing is exceeded"
        space, most = namespace_of(bundle), int(self.known.number(MAX_BUNDLES))
        bundles = int(self.known.case["namespaceBundles"].get(space, 1))
        counted = self.known.way("room") == "counted"
        full = bundles + (taken if counted else 0) >= most
        return f"{space} may have at most {most} bundles" if full else ""

    @cached_property
    def split(self) -> Sequence[str]:
        """The bundles that the cycle splits, in the order of the release's map."""
        if self.why_off is not None:
            return ()
        chosen = [bundle for bundle, why in self.decided.items() if not why]
        return [one for one in in_map_order(chosen) if not self._why_whole(one)]

    @property
    def unload(self) -> Sequence[str]:
        """The split bundles whose parts are unloaded immediately."""
        return self.split if self.known.settings.flag(AUTO_UNLOAD) else ()

    def steps(self) -> Iterator[Step]:
        """Yield for each bundle whether it is split and why; for a bundle that stays, also its
        quantities.
        """
        if self.why_off is not None:
            yield Step("splitting", f"{self.why_off}: nothing is split")
            return
        for bundle, stats in self.stats:
            over = ", ".join(
                f"{plain(Fraction(value))} > {plain(Fraction(self.limits[name]))} ({name})"
                for name, value in self.over(bundle, stats).items()
            )
            why = self.decided[bundle] or self._why_whole(bundle)
            yield Step(bundle, f"stays whole: {why}" if why else f"split: {over}")
            yield from self._measured_steps(bundle, stats) if why else ()
            if bundle not in self.known.case["bundles"]:
                unknown = (
                    f"the leader has no data of it ({self._place_in_source('unknown-growth')})"
                )
                yield Step("  traffic", f"none counts, as {unknown}")
        if self.limits[MAX_MEGABYTES] < 0:
            yield Step(
                MAX_MEGABYTES, f"overflows an int ({self._place_in_source('bandwidth-limit')})"
            )

    def _measured_steps(self, bundle: str, stats: Json) -> Iterator[Step]:
        """Yield as steps a bundle's quantities, each with its limit."""
        from pulsar_conformance.reference.split_steps import WRITTEN, measure_step, sessions_text

        sessions = sessions_text(stats.get("producerCount", 0), stats.get("consumerCount", 0))
        for name, value in self.measured(bundle, stats).items():
            written = sessions if name == MAX_SESSIONS else WRITTEN[name](Fraction(value))
            limit = None if name in self.unlimited else Fraction(self.limits[name])
            yield measure_step(name, written, limit, detail=False)

    def _place_in_source(self, way: str) -> str:
        return self.known.release.place(way)
