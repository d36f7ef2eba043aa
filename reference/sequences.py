"""Consecutive shedding cycles and the state kept between them. [SHED-15, SHED-16]"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from pulsar_conformance.reference.context import Readings, Settings
from pulsar_conformance.reference.numbers import Minutes, Percent, exact
from pulsar_conformance.reference.shedding import ENABLED, TRANSFER_SHEDDER, Cycle
from pulsar_conformance.reference.threshold import Levels


class Past(NamedTuple):
    """An earlier cycle, its unloads, and how many minutes ago it ran. [TRANSFER-06, TRANSFER-11]"""

    cycle: Cycle
    unloads: tuple[str, ...]
    ago: Minutes
    hits: int | None = None
    """Number of consecutive cycles with an imbalance, up to this cycle; None if it is unknown."""

    @property
    def sources(self) -> frozenset[str]:
        """The brokers that unloaded bundles in the cycle."""
        gone = set(self.unloads)
        brokers = self.cycle.brokers.items()
        return frozenset(name for name, one in brokers if gone.intersection(one.bundles))


@dataclass(frozen=True)
class CycleSequence:
    """A `shed.cycles` case: consecutive cycles of one load manager with one strategy."""

    case: Mapping[str, Any]
    settings: Settings
    readings: Readings

    def __len__(self) -> int:
        return len(self.case["cycles"])

    def alone(self, place: int) -> Cycle:
        """Return the cycle at an index, without the history of earlier cycles."""
        return self._cycle(self.case["cycles"][place])

    def after(self, unloads: Sequence[Iterable[str]]) -> Cycle:
        """Return the next cycle, given the bundles that each earlier cycle unloaded.

        If the strategy keeps a history, the earlier cycles become part of the case.
        """
        now = {**self._later_case(unloads), "brokers": self._with_history(len(unloads))}
        if self._strategy == "AvgShedder":
            now["earlier"] = list(zip(self._usages, map(bool, unloads), strict=False))
        if self._strategy == TRANSFER_SHEDDER:
            now["earlier"] = [self._past_cycle(unloads, index) for index in range(len(unloads))]
        return self._cycle(now)

    @property
    def _strategy(self) -> str:
        return self.alone(0).strategy

    def _past_cycle(self, unloads: Sequence[Iterable[str]], place: int) -> Past:
        seen = {**self.case["cycles"][place], "brokers": self._with_history(place)}
        passed = self.minutes(place, len(unloads))
        return Past(self._cycle(seen), tuple(unloads[place]), passed)

    def after_unloads(self, unloads: Sequence[Iterable[str]]) -> Cycle:
        """Return the next cycle without usage history, for a strategy that keeps its own state."""
        return self._cycle(self._later_case(unloads))

    def _later_case(self, unloads: Sequence[Iterable[str]]) -> dict[str, Any]:
        now = self.case["cycles"][len(unloads)]
        return {**now, "recentlyUnloaded": self.unloaded_before(unloads)}

    def unloaded_before(self, unloads: Sequence[Iterable[str]]) -> dict[str, Minutes]:
        """Return the minutes since each bundle was last unloaded, by an earlier cycle or before the
        first.
        """
        place = len(unloads)
        found: dict[str, Minutes] = {}
        for earlier in range(place + 1):
            passed = self.minutes(earlier, place)
            told = self.case["cycles"][earlier]["recentlyUnloaded"].items()
            ages = {bundle: passed + exact(ago) for bundle, ago in told}
            if earlier < place:
                ages |= dict.fromkeys(unloads[earlier], passed)
            for bundle, ago in ages.items():
                found[bundle] = min(ago, found.get(bundle, ago))
        return found

    def minutes(self, earlier: int, later: int) -> Minutes:
        """Return the minutes between two cycles."""
        cycles = self.case["cycles"][earlier + 1 : later + 1]
        return sum((exact(one["minutes"]) for one in cycles), exact(0))

    def _with_history(self, place: int) -> dict[str, Any]:
        brokers = self.case["cycles"][place]["brokers"]
        smoothed = self._strategy in ("ThresholdShedder", TRANSFER_SHEDDER)
        if not smoothed or not self.settings.flag(ENABLED):
            return dict(brokers)
        past = self._usages[:place]
        return {
            name: {**report, "usageHistory": [one[name] for one in past]}
            for name, report in brokers.items()
        }

    @cached_property
    def _usages(self) -> list[dict[str, Percent]]:
        """Each broker's weighted usage in each cycle."""
        return [Levels(self.alone(index)).present for index in range(len(self))]

    def _cycle(self, seen: Mapping[str, Any]) -> Cycle:
        case = {name: value for name, value in seen.items() if name != "minutes"}
        return Cycle({"strategy": self.case["strategy"], **case}, self.settings, self.readings)
