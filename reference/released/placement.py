"""Placement of a bundle in a release, `LeastLongTermMessageRate.selectBroker`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import Fraction, messages, plain
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.released.loads import Leader, as_percent

FRAME = "longTermData"


class ReleasedPlacement:
    """One bundle to place among the candidates."""

    def __init__(self, known: Leader) -> None:
        self.known = known
        self.threshold = known.number(OVERLOAD_THRESHOLD) / 100.0

    @property
    def candidates(self) -> Sequence[str]:
        """Brokers that may take the bundle."""
        return tuple(self.known.case["candidates"])

    @cached_property
    def usage(self) -> dict[str, tuple[float, str]]:
        """Each candidate's usage as a share of one, and the resource that has it."""
        weighted = self.known.way("overload-usage") == "weighted"
        return {name: self.known.usage(name, weighted) for name in self.candidates}

    @cached_property
    def scores(self) -> dict[str, float]:
        """The long-term message rate of each candidate that is not overloaded."""
        return {
            name: self.rate(name)
            for name in self.candidates
            if self.usage[name][0] <= self.threshold
        }

    def rate(self, name: str) -> float:
        """Average message rate of the candidate's owned and preallocated bundles."""
        known = self.known
        owned = known.owned(name)
        given = known.case["preallocated"].get(name, ())
        ahead = [one for one in given if one not in owned]
        return self._sum(ahead) + self._sum(owned)

    def _sum(self, bundles: Sequence[str]) -> float:
        """Sum in the order in which the release adds."""
        total = 0.0
        for bundle in bundles:
            total += self.known.traffic(bundle, "msgRate", FRAME)
        return total

    @cached_property
    def best(self) -> Sequence[str]:
        """Candidates of which one is chosen at random."""
        if not self.scores:
            return sorted(self.candidates)
        least = min(self.scores.values())
        return sorted(name for name, score in self.scores.items() if score == least)

    def steps(self) -> Iterator[Step]:
        """Each candidate's usage and score, and the decision."""
        place = self.known.release.place("placement-draw")
        yield Step("threshold", f"{plain(as_percent(self.threshold))} %")
        for name in self.candidates:
            usage, resource = self.usage[name]
            at = f"{plain(as_percent(usage))} % of {resource}"
            out = "" if name in self.scores else ": overloaded, left out"
            yield Step(name, f"{at}, {messages(Fraction(self.rate(name)))} long-term{out}")
        if not self.best:
            yield Step("decision", "nowhere: no broker may take it")
        elif not self.scores:
            yield Step("decision", f"{' or '.join(self.best)}, drawn: all are overloaded")
        elif len(self.best) > 1:
            yield Step("decision", f"{' or '.join(self.best)}, drawn: all have the least ({place})")
        else:
            yield Step("decision", f"{self.best[0]}: the least")
